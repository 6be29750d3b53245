//! Limits of one connection, one request and all of them together. Everything above is refused with an
//! answer, never queued without bound.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Headers of one request.
pub(crate) const HEADERS_MAX: usize = 100;
/// Request line and headers together. AWS allows 8 KiB of each; presigned URLs with long session
/// tokens come near.
pub(crate) const HEAD_BYTES_MAX: usize = 32 << 10;
/// The request target. A key of 1,024 bytes is 3,072 when every byte is escaped.
pub(crate) const URI_BYTES_MAX: usize = 16 << 10;
/// A body as it travels: the largest part (5 GiB) with the framing of signed chunks.
pub(crate) const BODY_BYTES_MAX: u64 = 6 << 30;
/// Bytes that hyper may read ahead, or gather before it writes, on one connection.
pub(crate) const CONNECTION_BUFFER_BYTES_MAX: usize = 256 << 10;
/// The charge for a streamed body: about the bytes of it in memory at a time.
pub(crate) const BODY_WINDOW_BYTES_MAX: u64 = 2 << 20;
/// The charge for each byte of a body that is held whole: once as received, and once more as rewritten
/// for the parser.
pub(crate) const HELD_BODY_COPIES: u64 = 2;
/// Bytes that a rejected request may still send before the connection is closed. They are read and
/// discarded, so that the client gets the answer and not a reset.
pub(crate) const LINGER_BYTES_MAX: usize = 16 << 20;

const _: () = assert!(URI_BYTES_MAX < HEAD_BYTES_MAX);
const _: () = assert!(HEAD_BYTES_MAX < CONNECTION_BUFFER_BYTES_MAX);

/// The limits of a running server. Tests shorten them; the server uses [`Limits::default`].
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Open connections. One more is answered 503 `SlowDown` and closed.
    pub connections_max: usize,
    /// Connections that are being answered `SlowDown`. One more is closed without an answer.
    pub rejections_max: usize,
    /// Requests at work. One more is answered 503 `SlowDown`.
    pub requests_max: usize,
    /// Bytes of request bodies in memory, all requests together, each counted by its window.
    pub body_bytes_max: u64,
    /// Longest time from the first byte of a request to the end of its headers.
    pub header_timeout: Duration,
    /// Longest time without a request, also between requests. Longer than that of connection pools of the
    /// usual SDKs (60 s), so that the client closes first.
    pub idle_timeout: Duration,
    /// Time without a request after which the buffers of a connection are freed.
    pub park_after: Duration,
    /// Longest time without a byte of a body that is being received.
    pub body_stall_timeout: Duration,
    /// Longest time in which the client takes no byte of an answer.
    pub response_stall_timeout: Duration,
    /// Longest time in which the rest of a rejected request is read.
    pub linger_timeout: Duration,
    /// Longest time for requests in flight at shutdown.
    pub shutdown_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections_max: 16_384,
            rejections_max: 256,
            requests_max: 4_096,
            body_bytes_max: 512 << 20,
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            park_after: Duration::from_secs(1),
            body_stall_timeout: Duration::from_secs(60),
            response_stall_timeout: Duration::from_secs(120),
            linger_timeout: Duration::from_secs(2),
            shutdown_timeout: Duration::from_secs(30),
        }
    }
}

/// The budget that all requests of a server share.
#[derive(Debug)]
pub(crate) struct Budget {
    requests: Arc<Semaphore>,
    body_kib: Arc<Semaphore>,
}

/// The share of one request, released when dropped.
#[derive(Debug)]
pub(crate) struct Share {
    _request: OwnedSemaphorePermit,
    body: Option<OwnedSemaphorePermit>,
    body_kib: Arc<Semaphore>,
}

impl Share {
    /// Makes room for so many bytes of the body, all that it had before included. False when there is
    /// no room.
    pub(crate) fn grow_to(&mut self, bytes: u64) -> bool {
        let kib = usize::try_from(bytes.div_ceil(1 << 10)).unwrap_or(usize::MAX);
        let held = self.body.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let Some(missing) = kib.checked_sub(held).filter(|missing| *missing > 0) else {
            return true;
        };
        let missing = u32::try_from(missing).unwrap_or(u32::MAX);
        let Ok(more) = Arc::clone(&self.body_kib).try_acquire_many_owned(missing) else {
            return false;
        };
        match &mut self.body {
            Some(body) => body.merge(more),
            None => self.body = Some(more),
        }
        true
    }
}

impl Budget {
    pub(crate) fn new(limits: &Limits) -> Budget {
        let body_kib = usize::try_from(limits.body_bytes_max >> 10).unwrap_or(usize::MAX);
        Budget {
            requests: Arc::new(Semaphore::new(limits.requests_max)),
            body_kib: Arc::new(Semaphore::new(body_kib.min(Semaphore::MAX_PERMITS))),
        }
    }

    /// The share of a request, without any bytes of its body, or `None` when there are too many
    /// requests. Never waits: a queue would only move the load into memory.
    pub(crate) fn try_share(&self) -> Option<Share> {
        let request = Arc::clone(&self.requests).try_acquire_owned().ok()?;
        Some(Share { _request: request, body: None, body_kib: Arc::clone(&self.body_kib) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A share with so many bytes of a body.
    fn share(budget: &Budget, bytes: u64) -> Option<Share> {
        budget.try_share().and_then(|mut share| share.grow_to(bytes).then_some(share))
    }

    #[test]
    fn the_budget_refuses_and_recovers_at_once() {
        let limits = Limits {
            requests_max: 3,
            body_bytes_max: 2 * BODY_WINDOW_BYTES_MAX,
            ..Limits::default()
        };
        let budget = Budget::new(&limits);
        let first = share(&budget, BODY_WINDOW_BYTES_MAX).expect("one window");
        let second = share(&budget, BODY_WINDOW_BYTES_MAX).expect("the other window");
        assert!(share(&budget, 1).is_none(), "no body bytes are left");
        let third = share(&budget, 0).expect("a request without a body costs no bytes");
        assert!(share(&budget, 0).is_none(), "three requests are at work");
        drop((second, third));
        assert!(share(&budget, 1).is_some());
        drop(first);
        assert!(share(&budget, BODY_WINDOW_BYTES_MAX).is_some());
    }

    #[test]
    fn a_share_grows_within_the_budget() {
        let limits = Limits { body_bytes_max: 4 * BODY_WINDOW_BYTES_MAX, ..Limits::default() };
        let budget = Budget::new(&limits);
        let mut share = budget.try_share().expect("a request");
        assert!(share.grow_to(1), "one KiB");
        assert!(share.grow_to(BODY_WINDOW_BYTES_MAX) && share.grow_to(1));
        assert!(share.grow_to(4 * BODY_WINDOW_BYTES_MAX), "all there is");
        assert!(!share.grow_to(4 * BODY_WINDOW_BYTES_MAX + 1) && !share.grow_to(u64::MAX));
        let mut other = budget.try_share().expect("a request without a body");
        assert!(!other.grow_to(1), "no body bytes are left");
        drop(share);
        assert!(other.grow_to(4 * BODY_WINDOW_BYTES_MAX));
    }
}
