//! One connection, from its first byte to its last.
//!
//! hyper allocates a read buffer, a write buffer and the state of a request as soon as it serves a
//! connection. So it is started when the first bytes arrive, and dropped after a while without a request:
//! an idle connection is a socket and a small task.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

use super::io::ConnectionIo;
use super::transport::Transport;
use super::watchdog::Watchdog;
use crate::budget::Seat;
use crate::connection::{ConnectionState, Phase};
use crate::front::exchange::ResponseBody;
use crate::front::limits::{CONNECTION_BUFFER_BYTES_MAX, HEAD_BYTES_MAX, HEADERS_MAX};
use crate::front::{Front, check, limits::LINGER_BYTES_MAX, request_timeout};
use crate::origin::Peer;
use crate::reply::{ApiError, ErrorCode};

type AnswerFuture = Pin<
    Box<dyn Future<Output = Result<http::Response<ResponseBody>, std::convert::Infallible>> + Send>,
>;

/// Gives hyper's requests to the front.
struct FrontService {
    front: Arc<Front>,
    state: Arc<ConnectionState>,
    peer: Peer,
}

impl Service<Request<Incoming>> for FrontService {
    type Response = http::Response<ResponseBody>;
    type Error = std::convert::Infallible;
    type Future = AnswerFuture;

    fn call(&self, request: Request<Incoming>) -> AnswerFuture {
        let (front, state) = (Arc::clone(&self.front), Arc::clone(&self.state));
        let peer = self.peer;
        Box::pin(async move { front.answer(request, peer, state).await })
    }
}

/// The end of hyper's part of a connection.
enum Ended {
    /// By itself: closed by either side, or broken.
    Closed,
    /// By bytes that are no request; in its first line, or behind that.
    Malformed { has_line: bool },
    /// Nothing has happened for a while.
    Parked,
    /// A phase has lasted too long.
    TimedOut(Phase),
}

fn http() -> http1::Builder {
    let mut http = http1::Builder::new();
    // The watchdog distinguishes a slow head from an idle connection, which hyper's time-out does not.
    http.header_read_timeout(None)
        .max_header_size(HEAD_BYTES_MAX)
        .max_buf_size(CONNECTION_BUFFER_BYTES_MAX);
    // hyper's default, and on the stack only as long as it is not set.
    const { assert!(HEADERS_MAX == 100) };
    http
}

/// Serves one connection until it closes, stalls, or `stopping` turns true.
pub(super) async fn serve(
    stream: Transport,
    seat: Seat,
    front: Arc<Front>,
    stopping: watch::Receiver<bool>,
) {
    let state = Arc::new(ConnectionState::new(seat));
    let mut io = ConnectionIo::new(stream, Arc::clone(&state));
    loop {
        if !io.has_unused() && !wait_for_bytes(&io, &front, stopping.clone()).await {
            return;
        }
        // In a box: else every idle connection would keep room for it.
        let (ended, returned) =
            Box::pin(serve_requests(io, &front, &state, stopping.clone())).await;
        io = returned;
        match ended {
            Ended::Parked => {}
            Ended::Closed if state.is_request_unread() => {
                return Box::pin(linger(io.into_stream(), &front)).await;
            }
            Ended::Closed => return,
            Ended::Malformed { has_line } => {
                let error = rejection(io.rejected(), has_line);
                return Box::pin(reject(io.into_stream(), &front, &error)).await;
            }
            Ended::TimedOut(Phase::Head) => {
                let error = request_timeout();
                return Box::pin(reject(io.into_stream(), &front, &error)).await;
            }
            Ended::TimedOut(_) => return,
        }
    }
}

/// Waits for the first bytes of a request. False at the end of the stream, after the idle time-out,
/// and when the server stops.
async fn wait_for_bytes(
    io: &ConnectionIo,
    front: &Front,
    mut stopping: watch::Receiver<bool>,
) -> bool {
    let bytes = timeout(front.limits.idle_timeout, io.stream().has_bytes());
    tokio::select! {
        has_bytes = bytes => has_bytes.unwrap_or(false),
        _ = stopping.wait_for(|stopping| *stopping) => false,
    }
}

async fn serve_requests(
    io: ConnectionIo,
    front: &Arc<Front>,
    state: &Arc<ConnectionState>,
    mut stopping: watch::Receiver<bool>,
) -> (Ended, ConnectionIo) {
    let peer = io.stream().peer();
    let service = FrontService { front: Arc::clone(front), state: Arc::clone(state), peer };
    let mut connection = http().serve_connection(io, service);
    let mut watchdog = Watchdog::new(&front.limits, state);
    let mut stop = pin!(stopping.wait_for(|stopping| *stopping));
    let mut stopped = false;
    let ended = poll_fn(|context| {
        loop {
            match connection.poll_without_shutdown(context) {
                Poll::Ready(Ok(())) => return Poll::Ready(Ended::Closed),
                Poll::Ready(Err(error)) => {
                    tracing::debug!(%error, "connection broken");
                    let malformed = error.is_parse() && !state.is_in_request();
                    return Poll::Ready(match malformed {
                        true => Ended::Malformed { has_line: true },
                        false => Ended::Closed,
                    });
                }
                Poll::Pending => {}
            }
            if !stopped && stop.as_mut().poll(context).is_ready() {
                // Closes at once when idle, after the answer when not.
                stopped = true;
                Pin::new(&mut connection).graceful_shutdown();
                continue;
            }
            return watchdog.poll(state, context).map(|phase| match phase {
                Phase::Idle => Ended::Parked,
                late => Ended::TimedOut(late),
            });
        }
    })
    .await;
    let parts = connection.into_parts();
    let ended = match ended {
        Ended::Malformed { .. } => Ended::Malformed { has_line: parts.read_buf.contains(&b'\n') },
        ended => ended,
    };
    let mut io = parts.io;
    // Empty bytes would keep their whole buffer.
    if !parts.read_buf.is_empty() {
        io.unread(parts.read_buf);
    }
    (ended, io)
}

/// The error for hyper's own answer. A head that is too large before its first line has ended has a URI
/// that is too long.
fn rejection(status: Option<u16>, has_line: bool) -> ApiError {
    match status {
        Some(414) => check::uri_too_long(),
        Some(431) if !has_line => check::uri_too_long(),
        Some(431) => ApiError::new(
            ErrorCode::RequestHeaderSectionTooLarge,
            "Your request header and query parameters exceed the maximum allowed size or number.",
        ),
        _ => ApiError::new(ErrorCode::InvalidRequest, "The request is not well-formed HTTP/1.1."),
    }
}

/// Answers what never became a request, and closes.
pub(super) async fn reject(mut stream: Transport, front: &Front, error: &ApiError) {
    let answer = front.reject(error);
    let written = timeout(front.limits.linger_timeout, stream.write_all(&answer)).await;
    if matches!(written, Ok(Ok(()))) {
        linger(stream, front).await;
    }
}

/// Closes a connection on which the client may still be sending. Closing it at once would reset it, and
/// the client might lose the answer.
async fn linger(mut stream: Transport, front: &Front) {
    let deadline = Instant::now() + front.limits.linger_timeout;
    if stream.shutdown().await.is_err() {
        return;
    }
    let mut scratch = vec![0; 16 << 10];
    let mut bytes_left = LINGER_BYTES_MAX;
    while let Ok(Ok(bytes @ 1..)) = timeout_at(deadline, stream.read(&mut scratch)).await {
        bytes_left = bytes_left.saturating_sub(bytes);
        if bytes_left == 0 {
            return;
        }
    }
}
