//! One connection, from its first byte to its last.
//!
//! hyper allocates a read buffer, a write buffer and the state of a request as soon as it serves a
//! connection. So it is started when the first bytes arrive, and dropped after some time without a
//! request. An idle connection is then a socket and a small task.
//!
//! ```text
//!              first byte                 no request for `park_after`
//!   waiting ───────────────► served by hyper ───────────────► waiting
//!      │ idle time-out, stop      │
//!      ▼                          ├─► closed by either side, body read    ──► close
//!    close                        ├─► answered before the end of its body ──► take_rest_of_body
//!                                 ├─► malformed, or head too slow         ──► reject, linger
//!                                 └─► answer taken too slowly             ──► drop
//! ```

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use rustls::ServerConfig;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::watch;
use tokio::time::timeout;

use super::http2;
use super::io::ConnectionIo;
use super::transport::Transport;
use super::watchdog::Watchdog;
use crate::budget::Seat;
use crate::connection::{ConnectionState, Phase};
use crate::front::exchange::ResponseBody;
use crate::front::limits::{
    CONNECTION_BUFFER_BYTES_MAX, HEAD_BYTES_MAX, HEADERS_MAX, LINGER_BYTES_MAX,
    UNREAD_BODY_BYTES_MAX,
};
use crate::front::received::ReceivedBody;
use crate::front::{Front, Sender, check, request_timeout};
use crate::pinned::pin_in;
use crate::reply::{ApiError, ErrorCode, Withheld};

type AnswerFuture =
    Pin<Box<dyn Future<Output = Result<http::Response<ResponseBody>, Withheld>> + Send>>;

/// Passes hyper's requests to the front.
struct FrontService {
    front: Arc<Front>,
    state: Arc<ConnectionState>,
    sender: Sender,
}

impl Service<Request<Incoming>> for FrontService {
    type Response = http::Response<ResponseBody>;
    /// An error makes hyper close the connection without an answer.
    type Error = Withheld;
    type Future = AnswerFuture;

    fn call(&self, request: Request<Incoming>) -> AnswerFuture {
        let (front, state) = (Arc::clone(&self.front), Arc::clone(&self.state));
        let sender = self.sender.clone();
        let request = request.map(ReceivedBody::Http1);
        pin_in(Box::new_uninit(), async move {
            let response = front.answer(request, sender, state).await?;
            // hyper writes the head as soon as it has the answer.
            response.body().connection().head_due();
            Ok(response)
        }) as _
    }
}

/// The reason why hyper's part of a connection ended.
enum Ended {
    /// Closed by either side, or broken.
    Closed,
    /// The bytes are not a request; `has_line` tells whether a whole first line arrived.
    Malformed { has_line: bool, is_tls: bool },
    /// No request for some time.
    Parked,
    /// A phase lasted too long.
    TimedOut(Phase),
}

fn http() -> http1::Builder {
    let mut http = http1::Builder::new();
    // The watchdog distinguishes a slow head from an idle connection; hyper's own time-out does
    // not.
    http.header_read_timeout(None)
        .max_header_size(HEAD_BYTES_MAX)
        .max_buf_size(CONNECTION_BUFFER_BYTES_MAX);
    // hyper's default. Only while it is not set does hyper keep the parsed headers on the stack.
    const { assert!(HEADERS_MAX == 100) };
    http
}

/// The first byte of a TLS handshake: the record type `handshake` (RFC 8446, section 5.1).
const HANDSHAKE: u8 = 22;

/// Encrypts one connection, and serves it with the protocol that the client has chosen.
pub(super) async fn serve_encrypted(
    stream: Transport,
    seat: Seat,
    config: Arc<ServerConfig>,
    front: Arc<Front>,
    mut stopping: watch::Receiver<bool>,
) {
    let encrypted = tokio::select! {
        // Boxed, like every state but the idle one: it would enlarge the task of each idle
        // connection.
        encrypted = encrypt(stream, config, &front) => encrypted,
        _ = stopping.wait_for(|stopping| *stopping) => return,
    };
    match encrypted {
        Some(stream) if stream.is_http2() => {
            Box::pin(http2::serve(stream, seat, front, stopping)).await;
        }
        Some(stream) => serve(stream, seat, front, stopping).await,
        None => {}
    }
}

/// The connection after the handshake. `None` if the handshake failed; then the client has been
/// told.
async fn encrypt(stream: Transport, config: Arc<ServerConfig>, front: &Front) -> Option<Transport> {
    let first = timeout(front.limits.idle_timeout, stream.first_byte()).await.ok()??;
    // A plain HTTP method begins with a letter: answer such a client in its own protocol, or it
    // would see a TLS alert as garbage.
    if first != HANDSHAKE && first.is_ascii_alphabetic() {
        let error = ApiError::new(
            ErrorCode::InvalidRequest,
            "This address takes encrypted connections only: use https:// instead of http://.",
        );
        Box::pin(reject(stream, front, &error)).await;
        return None;
    }
    let handshake = Box::pin(stream.encrypt(config));
    match timeout(front.limits.header_timeout, handshake).await.ok()? {
        Ok(stream) => Some(stream),
        Err((error, stream)) => {
            tracing::debug!(%error, client = %stream.peer().name(), "no TLS handshake");
            // The alert of the failed handshake is sent already; wait for the client, so that a
            // reset does not discard it.
            Box::pin(linger(stream, front)).await;
            None
        }
    }
}

/// Answers an encrypted connection for which there is no room, and closes it.
pub(super) async fn reject_encrypted(
    stream: Transport,
    config: Arc<ServerConfig>,
    front: &Front,
    error: &ApiError,
) {
    let handshake = timeout(front.limits.linger_timeout, stream.encrypt(config));
    if let Ok(Ok(stream)) = handshake.await {
        reject(stream, front, error).await;
    }
}

/// Serves one connection until it closes, stalls, or `stopping` becomes true.
pub(super) async fn serve(
    stream: Transport,
    seat: Seat,
    front: Arc<Front>,
    stopping: watch::Receiver<bool>,
) {
    let state = Arc::new(ConnectionState::default());
    let sender = Sender::new(stream.peer(), stream.entrance(), &seat, &front);
    let mut io = ConnectionIo::new(stream, Arc::clone(&state));
    // The first request may have arrived with the end of the handshake. Then it is in the buffers
    // of TLS, where `first_byte`, which peeks at the socket, does not see it.
    let mut may_have_unused = sender.peer.secure;
    loop {
        let has_unused = std::mem::take(&mut may_have_unused) || io.has_unused();
        if !has_unused && !wait_for_bytes(&io, &front, stopping.clone()).await {
            return close(io.into_stream(), &front).await;
        }
        // Boxed: otherwise every idle connection would reserve room for it.
        let (ended, returned) =
            Box::pin(serve_requests(io, &front, &state, &sender, stopping.clone())).await;
        io = returned;
        match ended {
            Ended::Parked => {}
            Ended::Closed if state.is_request_unread() => {
                return Box::pin(take_rest_of_body(io.into_stream(), &front, stopping)).await;
            }
            Ended::Closed => return close(io.into_stream(), &front).await,
            Ended::Malformed { is_tls: true, .. } => {
                let client = sender.peer.name();
                tracing::info!(%client, "a client began TLS on an address of plain HTTP");
                let error = ApiError::new(
                    ErrorCode::InvalidRequest,
                    "This address takes plain HTTP only: use http:// instead of https://, or start the server with \
                     --tls-self-signed or --tls-cert.",
                );
                return Box::pin(reject(io.into_stream(), &front, &error)).await;
            }
            Ended::Malformed { has_line, .. } => {
                let error = rejection(io.rejected(), has_line);
                return Box::pin(reject(io.into_stream(), &front, &error)).await;
            }
            Ended::TimedOut(Phase::Head) => {
                let error = request_timeout();
                return Box::pin(reject(io.into_stream(), &front, &error)).await;
            }
            // The client takes nothing, so an answer would not reach it.
            Ended::TimedOut(_) => return,
        }
    }
}

/// Waits for the first bytes of a request. `false` at the end of the stream, after the idle
/// time-out, or when the server stops.
async fn wait_for_bytes(
    io: &ConnectionIo,
    front: &Front,
    mut stopping: watch::Receiver<bool>,
) -> bool {
    let byte = timeout(front.limits.idle_timeout, io.stream().first_byte());
    tokio::select! {
        byte = byte => byte.is_ok_and(|byte| byte.is_some()),
        _ = stopping.wait_for(|stopping| *stopping) => false,
    }
}

async fn serve_requests(
    io: ConnectionIo,
    front: &Arc<Front>,
    state: &Arc<ConnectionState>,
    sender: &Sender,
    mut stopping: watch::Receiver<bool>,
) -> (Ended, ConnectionIo) {
    let (front, state, sender) = (Arc::clone(front), Arc::clone(state), sender.clone());
    let sender_is_secure = sender.peer.secure;
    let service = FrontService { front: Arc::clone(&front), state: Arc::clone(&state), sender };
    let mut connection = http().serve_connection(io, service);
    let mut watchdog = Watchdog::new(&front.limits, &state);
    let mut stop = pin!(stopping.wait_for(|stopping| *stopping));
    let mut stopped = false;
    let ended = poll_fn(|context| {
        loop {
            // `poll_without_shutdown` leaves the socket open: this module shuts it down, after its
            // own answer if one is due.
            match connection.poll_without_shutdown(context) {
                Poll::Ready(Ok(())) => return Poll::Ready(Ended::Closed),
                Poll::Ready(Err(error)) => {
                    tracing::debug!(%error, "connection broken");
                    let malformed = error.is_parse() && !state.is_in_request();
                    return Poll::Ready(match malformed {
                        true => Ended::Malformed { has_line: true, is_tls: false },
                        false => Ended::Closed,
                    });
                }
                Poll::Pending => {}
            }
            if !stopped && stop.as_mut().poll(context).is_ready() {
                // Closes an idle connection at once, a busy one after its answer.
                stopped = true;
                Pin::new(&mut connection).graceful_shutdown();
                continue;
            }
            return watchdog.poll(&state, context).map(|phase| match phase {
                Phase::Idle => Ended::Parked,
                late => Ended::TimedOut(late),
            });
        }
    })
    .await;
    let parts = connection.into_parts();
    let ended = match ended {
        Ended::Malformed { .. } => Ended::Malformed {
            has_line: parts.read_buf.contains(&b'\n'),
            is_tls: !sender_is_secure && parts.read_buf.first() == Some(&HANDSHAKE),
        },
        ended => ended,
    };
    let mut io = parts.io;
    io.release();
    // An empty `Bytes` would keep the whole read buffer alive.
    if !parts.read_buf.is_empty() {
        io.unread(parts.read_buf);
    }
    (ended, io)
}

/// The error in place of hyper's own answer. If the head is too large before its first line has
/// ended, the URI is too long.
fn rejection(status: Option<u16>, has_line: bool) -> ApiError {
    match status {
        Some(414) => check::uri_too_long(),
        Some(431) if !has_line => check::uri_too_long(),
        Some(431) => check::head_too_large(),
        _ => ApiError::new(ErrorCode::InvalidRequest, "The request is not well-formed HTTP/1.1."),
    }
}

/// Answers bytes that never became a request, and closes.
pub(super) async fn reject(mut stream: Transport, front: &Front, error: &ApiError) {
    let answer = front.reject(error, &stream.peer());
    let written = timeout(front.limits.linger_timeout, stream.write_all(&answer)).await;
    if matches!(written, Ok(Ok(()))) {
        linger(stream, front).await;
    }
}

/// Closes a connection on which nothing is expected. An encrypted one ends with `close_notify`, so
/// that the client can distinguish the end from a truncation.
async fn close(mut stream: Transport, front: &Front) {
    if stream.peer().secure {
        let _ = Box::pin(timeout(front.limits.linger_timeout, stream.shutdown())).await;
    }
}

/// Closes a connection on which the client may still be sending. An immediate close would reset it
/// (the kernel does so while unread bytes are queued), and the client could lose the answer.
async fn linger(stream: Transport, front: &Front) {
    let patience = front.limits.linger_timeout;
    let _ = timeout(patience, discard(stream, patience, LINGER_BYTES_MAX)).await;
}

/// Like `linger`, after an answer to a request whose body is still being sent: waits longer, as
/// long as the client continues and the server does not stop.
async fn take_rest_of_body(stream: Transport, front: &Front, mut stopping: watch::Receiver<bool>) {
    let limits = &front.limits;
    let stopped = async {
        let _ = stopping.wait_for(|stopping| *stopping).await;
        tokio::time::sleep(limits.linger_timeout).await;
    };
    let discarded = discard(stream, limits.linger_timeout, UNREAD_BODY_BYTES_MAX);
    tokio::select! {
        _ = timeout(limits.unread_body_timeout, discarded) => {}
        () = stopped => {}
    }
}

/// Shuts down the sending side, and reads up to `bytes_max` bytes, until the client ends or pauses
/// for longer than `pause_max`.
async fn discard(mut stream: Transport, pause_max: Duration, bytes_max: usize) {
    if stream.shutdown().await.is_err() {
        return;
    }
    let mut scratch = vec![0; 16 << 10];
    let mut bytes_left = bytes_max;
    while let Ok(Ok(bytes @ 1..)) = timeout(pause_max, stream.read(&mut scratch)).await {
        bytes_left = bytes_left.saturating_sub(bytes);
        if bytes_left == 0 {
            return;
        }
    }
}
