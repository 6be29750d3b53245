//! Limits of one connection, of one request, and of all of them together. Anything above is refused
//! with an answer, never queued without bound.

use std::time::Duration;

use crate::budget::Resource;

/// Maximum headers of one request.
pub(crate) const HEADERS_MAX: usize = 100;
/// Maximum bytes of request line and headers together. AWS allows 8 KiB of each; presigned URLs
/// with long session tokens come near.
pub(crate) const HEAD_BYTES_MAX: usize = 32 << 10;
/// Maximum bytes of the request target. A key of 1,024 bytes takes 3,072 when every byte is
/// escaped.
pub(crate) const URI_BYTES_MAX: usize = 16 << 10;
/// Maximum characters of the reason of a refusal in the log: it may quote a document of the client.
pub(super) const REASON_CHARACTERS_MAX: usize = 512;
/// Maximum bytes of a body as sent: the largest part (5 GiB) plus the framing of signed chunks.
pub const BODY_BYTES_MAX: u64 = 6 << 30;
/// Bytes that hyper may read ahead, or collect before a write, on one connection.
pub(crate) const CONNECTION_BUFFER_BYTES_MAX: usize = 256 << 10;
/// Bytes of a body that are not charged: the memory limit of requests already includes them for
/// each. So small bodies, and the fields of a form, are never refused for lack of room.
pub(crate) const BODY_FREE_BYTES: u64 = 32 << 10;
/// Maximum charge of a streamed body: about the bytes that are in memory at a time.
pub const BODY_WINDOW_BYTES_MAX: u64 = 2 << 20;
/// Charge for each byte of a body that is held as a whole: one copy as received, and one rewritten
/// for the parser.
pub(crate) const HELD_BODY_COPIES: u64 = 2;
/// Bytes of an answer that are not charged, like [`BODY_FREE_BYTES`]. The store copies pieces of
/// this length out of its buffers.
pub const ANSWER_FREE_BYTES: u64 = 16 << 10;
/// Charge for a piece of an object that is on its way to the client.
pub const ANSWER_PIECE_BYTES: u64 = 256 << 10;
/// Maximum memory of a connection before its first request: the buffer for the head.
pub(crate) const CONNECTION_MEMORY_BYTES: u64 = 64 << 10;
/// The same for a TLS connection, which has record buffers of its own, and may have the buffers of
/// HTTP/2.
pub(crate) const TLS_CONNECTION_MEMORY_BYTES: u64 = 160 << 10;
/// Maximum open streams of an HTTP/2 connection. Each counts as a request.
pub(crate) const STREAMS_MAX: u32 = 128;
/// Bytes of one body that an HTTP/2 stream receives ahead of its handler.
pub(crate) const STREAM_WINDOW_BYTES: u32 = 512 << 10;
/// The same for all streams of a connection together. It has room for several streams, so that a
/// handler that reads nothing does not stop the others.
pub(crate) const STREAMS_WINDOW_BYTES: u32 = 2 << 20;
/// Bytes of one answer that an HTTP/2 stream collects before they are written.
pub(crate) const STREAM_SEND_BYTES_MAX: usize = 256 << 10;
/// Streams of a connection that the client may reset before their answers, in addition to one for
/// each answered stream. Beyond it the connection is closed.
pub const STREAM_RESETS_MAX: u64 = 200;
/// Maximum memory of a request at work, with its connection, without charged bytes.
pub(crate) const REQUEST_MEMORY_BYTES: u64 = 128 << 10;
/// Number of connections from which on [`UNSENT_BYTES_MAX`] applies to new ones.
pub(crate) const FREELY_SENT_CONNECTIONS_MAX: u64 = 128;
/// Bytes of an answer that the system accepts before the client has room for them. Bytes in flight
/// are not included, so long distances are no slower. With the usual megabytes, clients that take
/// nothing would exhaust the system's memory for all sockets, and it would reset the sockets of
/// others. The first connections are exempt, because the limit costs a large answer a fifth more
/// processor time.
pub(crate) const UNSENT_BYTES_MAX: u32 = 256 << 10;
/// Bytes that a rejected client may still send before the connection is closed. They are read and
/// discarded, so that the client gets the answer instead of a reset.
pub(crate) const LINGER_BYTES_MAX: usize = 16 << 20;
/// The same after an answer that came before the end of the request's body. SDKs for Python send a
/// whole body before they read, without `Expect`. The limit is ten times the largest body of S3
/// Vectors, so that they see the error that states the allowed size.
pub(crate) const UNREAD_BODY_BYTES_MAX: usize = 256 << 20;

/// Connections below which the start warns of the limit of open files: pools of a few clients use them up.
const FEW_CONNECTIONS: usize = 1024;

const _: () = assert!(URI_BYTES_MAX < HEAD_BYTES_MAX);
const _: () = assert!(HEAD_BYTES_MAX < CONNECTION_BUFFER_BYTES_MAX);
const _: () = assert!(HEAD_BYTES_MAX as u64 <= CONNECTION_MEMORY_BYTES);
const _: () =
    assert!(CONNECTION_MEMORY_BYTES + BODY_FREE_BYTES + ANSWER_FREE_BYTES <= REQUEST_MEMORY_BYTES);

/// The limits of a running server. One address may use half of the connections, requests and bytes,
/// a user three quarters of the bytes; with more clients each may use less. Tests shorten the
/// limits; the server uses [`Limits::default`], lowered to the resources of the system.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Open connections. Further ones are answered 503 `SlowDown` and closed.
    pub connections_max: usize,
    /// Connections that are being answered `SlowDown`. Further ones are closed without an answer.
    pub rejections_max: usize,
    /// Requests at work, until their answers are written. Further ones are answered 503 `SlowDown`.
    pub requests_max: usize,
    /// Bytes of all request bodies in memory, without the uncharged first bytes of each.
    pub body_bytes_max: u64,
    /// Bytes of all answers in memory, without the uncharged first bytes of each.
    pub answer_bytes_max: u64,
    /// Longest time from the first byte of a request to the end of its headers, and again to the
    /// end of the form fields that hold its signature. With TLS also from the first byte to the end
    /// of the handshake.
    pub header_timeout: Duration,
    /// Longest time without a request, also between requests. Longer than the idle time of the
    /// usual SDKs' connection pools (60 s), so that the client closes first.
    pub idle_timeout: Duration,
    /// Time without a request after which the buffers of a connection are freed.
    pub park_after: Duration,
    /// Minimum speed in bytes a second at which a client must send a body, and take an answer. Only
    /// time during which the server waits for it counts, averaged over a window.
    pub bytes_per_second_min: u32,
    /// The averaging window for bodies.
    pub body_window: Duration,
    /// The averaging window for answers. It is longer: while a client takes an answer slowly from a
    /// large buffer of its system, the server sees no progress for some time.
    pub answer_window: Duration,
    /// Longest time in which the rest of a rejected request is read, and longest pause in a body
    /// that was answered before its end.
    pub linger_timeout: Duration,
    /// Longest time in which the rest of a body is read after an early answer.
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
    /// These limits, lowered to the resources of the system. Half of the file descriptors are for
    /// connections, the other half for files. At most half of the memory is for connections,
    /// requests and their bytes.
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
        // Four shares of an eighth each: connections, requests, bodies and answers.
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

    /// The warning about a limit of open files that leaves few connections; `None` for others.
    pub fn warning_of_files(self, files: u64) -> Option<String> {
        let Limits { connections_max, requests_max, .. } = self.within(files, u64::MAX, false);
        (connections_max < self.connections_max.min(FEW_CONNECTIONS)).then(|| {
            format!(
                "the limit of open files is {files}, which leaves {connections_max} connections and {requests_max} requests at \
                 work: raise its hard limit (`ulimit -Hn`, LimitNOFILE= of systemd, --ulimit nofile= of a container), to 65536 \
                 for all limits"
            )
        })
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
        let warning = limits.warning_of_files(1024).expect("few connections");
        assert!(warning.contains("448 connections and 256 requests"), "{warning}");
        assert_eq!(limits.warning_of_files(4096), None);
        // A limit of the caller is no lack of files.
        let own = Limits { connections_max: 10, ..limits };
        assert_eq!(own.warning_of_files(1024), None);

        let memory = Limits::default().within(1 << 20, 512 << 20, false);
        assert_eq!([memory.connections_max, memory.requests_max], [1024, 512]);
        assert_eq!([memory.body_bytes_max, memory.answer_bytes_max], [64 << 20; 2]);
        let tls = Limits::default().within(1 << 20, 512 << 20, true);
        assert_eq!([tls.connections_max, tls.requests_max], [409, 512]);
    }
}
