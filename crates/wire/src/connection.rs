//! [`ConnectionState`]: the state of one connection, shared by its byte stream, its bodies and the
//! driver that times them.
//!
//! ```text
//!          bytes read            head complete
//!   Idle ─────────────► Head ─────────────────► Request ◄────────► Blocked
//!    ▲                                            │    write blocked │ bytes written
//!    └────────────────────────────────────────────┘
//!         body read or given up, answer handed over and flushed
//! ```

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::budget::{Client, Place};

/// Flag: a request is at work.
const REQUEST: u8 = 1;
/// Flag: its body has not been read to its end.
const BODY_UNREAD: u8 = 1 << 1;
/// Flag: its answer has not been handed over completely.
const RESPONSE_OPEN: u8 = 1 << 2;
/// Flag: bytes of the next request have arrived.
const HEAD: u8 = 1 << 3;
/// Flag: bytes of an answer wait for the client to take them.
const WRITE_BLOCKED: u8 = 1 << 4;
/// Flag: a body was abandoned before its end, so more of it may be in flight.
const ABANDONED: u8 = 1 << 5;
/// Flag: the handler waits for the first bytes of a body.
const BODY_WANTED: u8 = 1 << 6;

/// The phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Between requests, or before the first one.
    Idle,
    /// Receiving the head of a request.
    Head,
    /// Serving a request.
    Request,
    /// Waiting for the client to take more of the answer.
    Blocked,
}

/// The flags of one connection, or of one HTTP/2 stream. They do not order other memory accesses,
/// so relaxed operations suffice.
#[derive(Debug, Default)]
pub struct ConnectionState {
    flags: AtomicU8,
    /// Counts progress: a phase that continues but made progress restarts its time-out.
    progress: AtomicU32,
    /// Bytes that the system has accepted for the client.
    written: AtomicU64,
    /// Heads of answers that hyper has been given, and that are not on their way to the client.
    heads: AtomicU32,
    /// The place of the request at work, if any.
    place: Mutex<Option<Place>>,
}

impl ConnectionState {
    fn load(&self) -> u8 {
        self.flags.load(Ordering::Relaxed)
    }

    fn clear(&self, flags: u8) {
        self.flags.fetch_and(!flags, Ordering::Relaxed);
    }

    fn set(&self, flags: u8) {
        self.flags.fetch_or(flags, Ordering::Relaxed);
    }

    fn count(&self) {
        self.progress.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that the head of a request of `client` is complete. `false` when too many requests are
    /// at work. The place is kept until the answer is written, however long that takes after its
    /// end was handed over.
    pub(crate) fn request_started(&self, client: &Client) -> bool {
        let mut place = self.place.lock();
        // A pipelined request takes over the place of its predecessor.
        if !place.as_ref().is_some_and(|place| place.is_of(client)) {
            // Release the old place first: the new client may be charged for the last one.
            *place = None;
            *place = client.place();
        }
        self.count();
        self.flags.store(REQUEST | BODY_UNREAD | RESPONSE_OPEN, Ordering::Relaxed);
        place.is_some()
    }

    /// Notes that an HTTP/2 stream has begun on the connection.
    pub(crate) fn began(&self) {
        if self.load() & REQUEST == 0 {
            self.count();
        }
        self.set(REQUEST | RESPONSE_OPEN);
    }

    /// Notes that the last stream has ended.
    pub fn ended(&self) {
        self.clear(RESPONSE_OPEN);
    }

    /// Notes that the handler waits for the body, of which nothing has arrived.
    pub(crate) fn body_wanted(&self) {
        self.set(BODY_WANTED);
    }

    /// `true` once after the handler has begun to wait for the body.
    pub(crate) fn take_body_wanted(&self) -> bool {
        let is_wanted = self.load() & BODY_WANTED != 0;
        if is_wanted {
            self.clear(BODY_WANTED);
        }
        is_wanted
    }

    /// Notes that the body of the request has been read to its end.
    pub(crate) fn request_ended(&self) {
        self.clear(BODY_UNREAD);
    }

    /// Notes that the rest of the body will not be read.
    pub(crate) fn request_abandoned(&self) {
        self.set(ABANDONED);
        self.clear(BODY_UNREAD);
    }

    /// `true` while a part of the body is, or may be, still to come.
    pub(crate) fn is_request_unread(&self) -> bool {
        self.load() & (BODY_UNREAD | ABANDONED) != 0
    }

    /// Notes that the answer has been handed over to its end, or given up.
    pub(crate) fn response_ended(&self) {
        self.clear(RESPONSE_OPEN);
    }

    /// Notes that the next bytes to be written begin with the head of an answer.
    pub(crate) fn head_due(&self) {
        self.heads.fetch_add(1, Ordering::Relaxed);
    }

    /// `true` for each head that was noted, once.
    pub(crate) fn take_head(&self) -> bool {
        let is_due = self.heads.load(Ordering::Relaxed) > 0;
        if is_due {
            self.heads.fetch_sub(1, Ordering::Relaxed);
        }
        is_due
    }

    pub(crate) fn bytes_read(&self) {
        if self.load() & (REQUEST | HEAD) == 0 {
            self.set(HEAD);
            self.count();
        }
    }

    pub(crate) fn bytes_written(&self, bytes: usize) {
        self.written.fetch_add(bytes as u64, Ordering::Relaxed);
        self.write_unblocked();
    }

    pub(crate) fn write_blocked(&self) {
        self.set(WRITE_BLOCKED);
    }

    /// Notes that everything to be written has been accepted.
    pub(crate) fn write_unblocked(&self) {
        if self.load() & WRITE_BLOCKED != 0 {
            self.clear(WRITE_BLOCKED);
            self.count();
        }
    }

    /// Notes that no bytes are on their way to the client. A request whose bodies have ended is
    /// complete now.
    pub(crate) fn flushed(&self) {
        if self.load() & (REQUEST | BODY_UNREAD | RESPONSE_OPEN | WRITE_BLOCKED) == REQUEST {
            self.clear(REQUEST | HEAD);
            *self.place.lock() = None;
            self.count();
        }
    }

    /// Bytes written since the connection was accepted.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// `true` while a request is at work.
    pub(crate) fn is_in_request(&self) -> bool {
        self.load() & REQUEST != 0
    }

    /// The phase, and a number that changes with every progress.
    pub(crate) fn phase(&self) -> (Phase, u32) {
        let flags = self.load();
        let phase = match flags {
            _ if flags & WRITE_BLOCKED != 0 => Phase::Blocked,
            _ if flags & REQUEST != 0 => Phase::Request,
            _ if flags & HEAD != 0 => Phase::Head,
            _ => Phase::Idle,
        };
        (phase, self.progress.load(Ordering::Relaxed))
    }
}
