//! Limits of one connection, one request and all of them together. Everything above is refused with an
//! answer, never queued without bound.

use std::time::Duration;

use crate::budget::Resource;

/// Headers of one request.
pub(crate) const HEADERS_MAX: usize = 100;
/// Request line and headers together. AWS allows 8 KiB of each; presigned URLs with long session
/// tokens come near.
pub(crate) const HEAD_BYTES_MAX: usize = 32 << 10;
/// The request target. A key of 1,024 bytes is 3,072 when every byte is escaped.
pub(crate) const URI_BYTES_MAX: usize = 16 << 10;
/// A body as it travels: the largest part (5 GiB) with the framing of signed chunks.
pub const BODY_BYTES_MAX: u64 = 6 << 30;
/// Bytes that hyper may read ahead, or gather before it writes, on one connection.
pub(crate) const CONNECTION_BUFFER_BYTES_MAX: usize = 256 << 10;
/// Bytes of a body that are not charged: as many requests at work as there may be have room for so much
/// each. Small bodies, and the fields of a form, are never refused for want of room.
pub(crate) const BODY_FREE_BYTES: u64 = 32 << 10;
/// The most that a streamed body is charged for: about the bytes of it in memory at a time.
pub const BODY_WINDOW_BYTES_MAX: u64 = 2 << 20;
/// The charge for each byte of a body that is held whole: once as received, and once more as rewritten
/// for the parser.
pub(crate) const HELD_BODY_COPIES: u64 = 2;
/// Bytes of an answer that are not charged, as [`BODY_FREE_BYTES`]. The store copies pieces of this length
/// out of its buffers.
pub const ANSWER_FREE_BYTES: u64 = 16 << 10;
/// The charge for a piece of an object that is on its way to the client.
pub const ANSWER_PIECE_BYTES: u64 = 256 << 10;
/// The most memory of a connection whose request has not begun: the buffer that its head is read into.
pub(crate) const CONNECTION_MEMORY_BYTES: u64 = 64 << 10;
/// The same of a connection with TLS, which has its own buffers for records, and may have those of HTTP/2.
pub(crate) const TLS_CONNECTION_MEMORY_BYTES: u64 = 160 << 10;
/// Streams of one connection of HTTP/2 that may be open at a time. Each counts as a request.
pub(crate) const STREAMS_MAX: u32 = 128;
/// Bytes of one body that a stream of HTTP/2 receives ahead of its handler.
pub(crate) const STREAM_WINDOW_BYTES: u32 = 512 << 10;
/// The same for all streams of a connection together, so that a handler that reads nothing does not stop
/// the others.
pub(crate) const STREAMS_WINDOW_BYTES: u32 = 2 << 20;
/// Bytes of one answer that a stream of HTTP/2 gathers before they are written.
pub(crate) const STREAM_SEND_BYTES_MAX: usize = 256 << 10;
/// Streams of one connection that the client may reset before they are answered, beside as many as are
/// answered. One more, and the connection is closed.
pub const STREAM_RESETS_MAX: u64 = 200;
/// The most memory of a request at work, with its connection, but for what is charged.
pub(crate) const REQUEST_MEMORY_BYTES: u64 = 128 << 10;
/// Connections above which [`UNSENT_BYTES_MAX`] holds for the next.
pub(crate) const FREELY_SENT_CONNECTIONS_MAX: u64 = 128;
/// Bytes of an answer that the system takes before the client's system has room for them. Bytes on their way
/// are beside it, so a long way is no slower. With the usual megabytes, clients that take nothing would use
/// up what the system has for all sockets, and it would reset those of others. Not for the first
/// connections, since it costs a large answer a fifth more processor time.
pub(crate) const UNSENT_BYTES_MAX: u32 = 256 << 10;
/// Bytes that a rejected request may still send before the connection is closed. They are read and
/// discarded, so that the client gets the answer and not a reset.
pub(crate) const LINGER_BYTES_MAX: usize = 16 << 20;
/// The same after an answer that came before the end of its request's body. SDKs for Python send all of a
/// body before they read, without asking whether it is wanted: ten times the largest body of S3 Vectors, so
/// that they see the error that says how much is allowed.
pub(crate) const UNREAD_BODY_BYTES_MAX: usize = 256 << 20;

const _: () = assert!(URI_BYTES_MAX < HEAD_BYTES_MAX);
const _: () = assert!(HEAD_BYTES_MAX < CONNECTION_BUFFER_BYTES_MAX);
const _: () = assert!(HEAD_BYTES_MAX as u64 <= CONNECTION_MEMORY_BYTES);
const _: () =
    assert!(CONNECTION_MEMORY_BYTES + BODY_FREE_BYTES + ANSWER_FREE_BYTES <= REQUEST_MEMORY_BYTES);

/// The limits of a running server. Of connections, requests and bytes one address may use half, and a user
/// three quarters of the bytes; the more clients there are, the less each. Tests shorten them; the server
/// uses [`Limits::default`], lowered to what the system grants.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Open connections. One more is answered 503 `SlowDown` and closed.
    pub connections_max: usize,
    /// Connections that are being answered `SlowDown`. One more is closed without an answer.
    pub rejections_max: usize,
    /// Requests at work, until their answers are written. One more is answered 503 `SlowDown`.
    pub requests_max: usize,
    /// Bytes of request bodies in memory, all requests together, beside the first of each.
    pub body_bytes_max: u64,
    /// Bytes of answers in memory, all requests together, beside the first of each.
    pub answer_bytes_max: u64,
    /// Longest time from the first byte of a request to the end of its headers, and again to the end of the
    /// fields of a form, which hold its signature. With TLS the same from the first byte to the end of its
    /// handshake.
    pub header_timeout: Duration,
    /// Longest time without a request, also between requests. Longer than that of connection pools of the
    /// usual SDKs (60 s), so that the client closes first.
    pub idle_timeout: Duration,
    /// Time without a request after which the buffers of a connection are freed.
    pub park_after: Duration,
    /// Bytes that a client has to send of a body, and to take of an answer, in each second for which the
    /// server waits for it, on the average of a window.
    pub bytes_per_second_min: u32,
    /// The window for bodies.
    pub body_window: Duration,
    /// The window for answers. Longer: a client that takes them slowly from a large buffer of its system
    /// lets the server see nothing for a while.
    pub answer_window: Duration,
    /// Longest time in which the rest of a rejected request is read, and longest wait for more of a body that
    /// was answered before its end.
    pub linger_timeout: Duration,
    /// Longest time in which the rest of a body that was answered before its end is read.
    pub unread_body_timeout: Duration,
    /// Longest time for requests in flight at shutdown.
    pub shutdown_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections_max: 16_384,
            rejections_max: 256,
            requests_max: 8_192,
            body_bytes_max: 512 << 20,
            answer_bytes_max: 512 << 20,
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            park_after: Duration::from_secs(1),
            bytes_per_second_min: 1 << 10,
            body_window: Duration::from_secs(30),
            answer_window: Duration::from_secs(120),
            linger_timeout: Duration::from_secs(2),
            unread_body_timeout: Duration::from_secs(30),
            shutdown_timeout: Duration::from_secs(30),
        }
    }
}

impl Limits {
    /// These limits, lowered to what the system grants. Half of the files are for connections, the other half
    /// for what they read and write. Half of the memory at most is for connections, requests and
    /// their bytes.
    #[must_use]
    pub fn within(self, files: u64, memory_bytes: u64, tls: bool) -> Limits {
        let count = |wanted: usize, limits: [u64; 2]| {
            let limit = limits.into_iter().min().unwrap_or_default();
            wanted.min(usize::try_from(limit).unwrap_or(usize::MAX)).max(1)
        };
        let eighth = memory_bytes / 8;
        let connection_bytes = match tls {
            true => TLS_CONNECTION_MEMORY_BYTES,
            false => CONNECTION_MEMORY_BYTES,
        };
        Limits {
            connections_max: count(
                self.connections_max,
                [files / 16 * 7, eighth / connection_bytes],
            ),
            rejections_max: count(self.rejections_max, [files / 16, u64::MAX]),
            requests_max: count(self.requests_max, [files / 4, eighth / REQUEST_MEMORY_BYTES]),
            body_bytes_max: self.body_bytes_max.min(eighth),
            answer_bytes_max: self.answer_bytes_max.min(eighth),
            ..self
        }
    }

    /// The limit of a resource.
    pub fn of(&self, resource: Resource) -> u64 {
        match resource {
            Resource::Connections => self.connections_max as u64,
            Resource::Requests => self.requests_max as u64,
            Resource::BodyBytes => self.body_bytes_max,
            Resource::AnswerBytes => self.answer_bytes_max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_lowered_to_what_the_system_grants() {
        let all = Limits::default().within(1 << 20, 64 << 30, false);
        let limits = Limits::default();
        assert_eq!(
            [all.connections_max, all.rejections_max, all.requests_max],
            [limits.connections_max, limits.rejections_max, limits.requests_max]
        );
        assert_eq!(all.body_bytes_max, limits.body_bytes_max);

        let files = Limits::default().within(1024, 64 << 30, false);
        assert_eq!(
            [files.connections_max, files.rejections_max, files.requests_max],
            [448, 64, 256]
        );
        assert_eq!(files.body_bytes_max, limits.body_bytes_max);

        let memory = Limits::default().within(1 << 20, 512 << 20, false);
        assert_eq!([memory.connections_max, memory.requests_max], [1024, 512]);
        assert_eq!([memory.body_bytes_max, memory.answer_bytes_max], [64 << 20; 2]);
        let tls = Limits::default().within(1 << 20, 512 << 20, true);
        assert_eq!([tls.connections_max, tls.requests_max], [409, 512]);
    }
}
