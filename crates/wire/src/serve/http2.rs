//! One HTTP/2 connection, and its streams.
//!
//! To the budget and the clocks a stream is like an HTTP/1.1 connection: its request takes a place
//! of its client, its body and its answer have a minimum speed of their own, and a client that does
//! not take one answer delays no other. The connection itself has a clock for bytes that its socket
//! does not take, and for the time without streams.
//!
//! The body of an answer is passed to `h2` only as far as the windows of the client allow it. So
//! all bytes queued there wait for the socket, and `h2` reads nothing while the socket takes
//! nothing.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::SystemTime;

use bytes::Bytes;
use h2::server::{Builder, Connection, SendResponse};
use h2::{Reason, RecvStream, SendStream};
use http::header::{CONTENT_LENGTH, DATE, EXPECT, HOST};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, response};
use http_body::Body as _;
use httpdate::HttpDate;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::io::StreamsIo;
use super::quiet_waker::QuietWaker;
use super::transport::Transport;
use super::watchdog::Watchdog;
use crate::budget::Seat;
use crate::connection::{ConnectionState, Phase};
use crate::front::exchange::ResponseBody;
use crate::front::limits::{
    HEAD_BYTES_MAX, Limits, STREAM_RESETS_MAX, STREAM_SEND_BYTES_MAX, STREAM_WINDOW_BYTES,
    STREAMS_MAX, STREAMS_WINDOW_BYTES,
};
use crate::front::pace::Pace;
use crate::front::received::{ReceivedBody, StreamBody};
use crate::front::{Front, Sender};
use crate::pinned::pin_in;
use crate::reply::Withheld;

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder
        .initial_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(STREAMS_WINDOW_BYTES)
        .max_concurrent_streams(STREAMS_MAX)
        .max_send_buffer_size(STREAM_SEND_BYTES_MAX)
        .max_header_list_size(HEAD_BYTES_MAX as u32);
    builder
}

/// The reason why a connection ended.
enum Ended {
    /// Closed by either side, or broken.
    Closed,
    /// Without a stream for too long, or with too many streams reset by the client. The client gets
    /// a GOAWAY.
    Told,
    /// The client takes its bytes too slowly.
    Blocked,
}

/// The reason why a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamEnded {
    Answered,
    /// Reset by the client before its answer was complete.
    Reset,
    /// Reset by the server: the answer broke off, or the client took it too slowly.
    BrokenOff,
}

/// Serves one connection until it closes, stalls, or `stopping` becomes true.
pub(super) async fn serve(
    stream: Transport,
    seat: Seat,
    front: Arc<Front>,
    mut stopping: watch::Receiver<bool>,
) {
    let sender = Sender::new(stream.peer(), stream.entrance(), &seat, &front);
    let state = Arc::new(ConnectionState::default());
    // The connection's own state times the socket. Each stream gets a state of its own in `answer`.
    let io = StreamsIo::new(stream, Arc::clone(&state));
    let connection = tokio::select! {
        // The client's preface is due like a head: an idle socket must not hold a seat.
        begun = timeout(front.limits.header_timeout, builder().handshake(io)) => begun,
        _ = stopping.wait_for(|stopping| *stopping) => return,
    };
    let Ok(Ok(connection)) = connection else {
        return;
    };
    let streams = JoinSet::new();
    let mut streams = Streams { connection, sender, front, state, streams, answered: 0, reset: 0 };
    if let Ended::Told = streams.serve(stopping).await {
        let closed = poll_fn(|context| streams.connection.poll_closed(context));
        // A client that does not answer the GOAWAY is cut off.
        let _ = timeout(streams.front.limits.linger_timeout, closed).await;
    }
}

/// A connection with its streams.
struct Streams {
    connection: Connection<StreamsIo, Bytes>,
    sender: Sender,
    front: Arc<Front>,
    state: Arc<ConnectionState>,
    /// One task for each stream. They are aborted with the connection.
    streams: JoinSet<StreamEnded>,
    answered: u64,
    reset: u64,
}

impl Streams {
    async fn serve(&mut self, mut stopping: watch::Receiver<bool>) -> Ended {
        let front = Arc::clone(&self.front);
        // An HTTP/2 connection is never parked: the idle time-out applies directly.
        let limits = Limits { park_after: front.limits.idle_timeout, ..front.limits };
        let mut watchdog = Watchdog::new(&limits, &self.state);
        let mut stop = pin!(stopping.wait_for(|stopping| *stopping));
        let mut stopped = false;
        let quiet = QuietWaker::new();
        let waker = Waker::from(Arc::clone(&quiet));
        poll_fn(|task| {
            quiet.keep(task);
            let context = &mut Context::from_waker(&waker);
            loop {
                quiet.begin();
                if !stopped && stop.as_mut().poll(context).is_ready() {
                    stopped = true;
                    self.connection.graceful_shutdown();
                }
                // Rapid reset (CVE-2023-44487): a client that opens streams and resets them at once
                // makes the server work without waiting for answers.
                if self.has_reset_too_many(context) {
                    tracing::debug!(client = %self.sender.peer.name(), "too many streams are reset");
                    self.connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
                    return Poll::Ready(Ended::Told);
                }
                match self.connection.poll_accept(context) {
                    Poll::Ready(Some(Ok((request, respond)))) => {
                        self.begin(request, respond, context);
                    }
                    Poll::Ready(Some(Err(error))) => {
                        tracing::debug!(%error, "connection broken");
                        return Poll::Ready(Ended::Closed);
                    }
                    Poll::Ready(None) => return Poll::Ready(Ended::Closed),
                    Poll::Pending => break,
                }
            }
            quiet.end();
            // After every poll of the connection, which may have changed the phase.
            watchdog.poll(&self.state, task).map(|phase| match phase {
                Phase::Blocked => Ended::Blocked,
                _ => {
                    self.connection.graceful_shutdown();
                    Ended::Told
                }
            })
        })
        .await
    }

    fn begin(
        &mut self,
        request: Request<RecvStream>,
        respond: SendResponse<Bytes>,
        context: &mut Context<'_>,
    ) {
        self.state.began();
        let is_quick = is_quick(&request);
        let place = Box::new_uninit();
        let (front, sender) = (Arc::clone(&self.front), self.sender.clone());
        let mut stream = pin_in(place, answer(request, respond, front, sender));
        if is_quick && let Poll::Ready(ended) = stream.as_mut().poll(context) {
            self.count(ended);
            return;
        }
        // A task for each stream, so that a slow handler does not hold up the others.
        self.streams.spawn(stream);
    }

    fn count(&mut self, ended: StreamEnded) {
        match ended {
            StreamEnded::Answered | StreamEnded::BrokenOff => self.answered += 1,
            StreamEnded::Reset => self.reset += 1,
        }
    }

    /// Counts the ended streams. `true` when the client has reset too many of them.
    fn has_reset_too_many(&mut self, context: &mut Context<'_>) -> bool {
        while let Poll::Ready(Some(ended)) = self.streams.poll_join_next(context) {
            match ended {
                Ok(ended) => self.count(ended),
                Err(error) => tracing::error!(%error, "a stream did not end"),
            }
        }
        if self.streams.is_empty() {
            self.state.ended();
        }
        // Resets are tolerated in proportion to answers, so that a long-lived connection may cancel
        // now and then.
        self.reset > STREAM_RESETS_MAX.saturating_add(self.answered)
    }
}

/// A read of an object, whose answer is often there at once: it needs no task of its own, which would cost as much as
/// the answer. Whatever may be long begins as a task: a body to receive, and what a query asks for, such as a list.
fn is_quick(request: &Request<RecvStream>) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD) && request.uri().query().is_none()
}

/// Answers one stream.
async fn answer(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    front: Arc<Front>,
    sender: Sender,
) -> StreamEnded {
    let state = Arc::new(ConnectionState::default());
    let is_head = *request.method() == Method::HEAD;
    let mut is_to_be_asked = expects_to_be_asked(&request);
    let request = received(request, &state);
    let place = Box::new_uninit();
    let mut answer = pin_in(place, front.answer(request, sender, Arc::clone(&state)));
    let response = poll_fn(|context| {
        if let Poll::Ready(answered) = answer.as_mut().poll(context) {
            return Poll::Ready(Some(answered));
        }
        if is_to_be_asked && state.take_body_wanted() {
            is_to_be_asked = false;
            let mut asked = Response::new(());
            *asked.status_mut() = StatusCode::CONTINUE;
            // An error means that the stream is over, which `poll_reset` reports next.
            let _ = respond.send_informational(asked);
        }
        respond.poll_reset(context).map(|_| None)
    });
    let response = match response.await {
        Some(Ok(response)) => response,
        Some(Err(Withheld)) => {
            respond.send_reset(Reason::INTERNAL_ERROR);
            return StreamEnded::BrokenOff;
        }
        None => return StreamEnded::Reset,
    };
    // The future of the handler goes first: its memory is not needed while the body is sent.
    drop(answer);
    let (head, body) = response.into_parts();
    let has_no_body = is_head
        || matches!(head.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
        || body.is_end_stream();
    // HTTP/2 has no layer that adds `Date` and `Content-Length`, as hyper does for HTTP/1.1.
    let head = completed(head, &body);
    match respond.send_response(Response::from_parts(head, ()), has_no_body) {
        Err(_) => StreamEnded::Reset,
        Ok(_) if has_no_body => StreamEnded::Answered,
        Ok(stream) => Answer::new(stream, state, &front.limits).send(body).await,
    }
}

fn expects_to_be_asked(request: &Request<RecvStream>) -> bool {
    let expect = request.headers().get(EXPECT);
    expect.is_some_and(|expect| expect.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// The request in the form of HTTP/1.1: with a `Host` header, and with only the path in its target.
/// If authority and `Host` differ, both are kept, and the front refuses the request.
fn received(request: Request<RecvStream>, state: &Arc<ConnectionState>) -> Request<ReceivedBody> {
    let (mut head, stream) = request.into_parts();
    if let Some(authority) = head.uri.authority().map(|it| it.as_str().to_owned()) {
        if !head.headers.contains_key(HOST)
            && let Ok(host) = HeaderValue::from_str(&authority)
        {
            head.headers.insert(HOST, host);
        }
        let is_same =
            |host: &HeaderValue| host.as_bytes().eq_ignore_ascii_case(authority.as_bytes());
        if head.headers.get(HOST).is_some_and(is_same)
            && let Some(path) = head.uri.path_and_query().cloned()
        {
            head.uri = Uri::from(path);
        }
    }
    let bytes = head.headers.get(CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse().ok());
    let body = ReceivedBody::Http2(StreamBody::new(stream, bytes, Arc::clone(state)));
    Request::from_parts(head, body)
}

/// Adds the headers that every response has.
fn completed(mut head: response::Parts, body: &ResponseBody) -> response::Parts {
    let headers = &mut head.headers;
    if !headers.contains_key(DATE) {
        let now = HttpDate::from(SystemTime::now()).to_string();
        headers.extend(HeaderValue::try_from(now).ok().map(|now| (DATE, now)));
    }
    if let Some(bytes) = body.size_hint().exact()
        && !headers.contains_key(CONTENT_LENGTH)
        && !matches!(head.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
    {
        headers.insert(CONTENT_LENGTH, bytes.into());
    }
    head
}

/// The body of an answer while it is sent.
struct Answer {
    stream: SendStream<Bytes>,
    /// Held by the unwritten bytes, too, so that the place of the request is released only after
    /// them.
    state: Arc<ConnectionState>,
    pace: Pace,
}

impl Answer {
    fn new(stream: SendStream<Bytes>, state: Arc<ConnectionState>, limits: &Limits) -> Answer {
        let pace = Pace::new(limits.answer_window, limits.bytes_per_second_min);
        Answer { stream, state, pace }
    }

    async fn send(mut self, body: ResponseBody) -> StreamEnded {
        let mut body = pin!(body);
        loop {
            let Some(frame) = self.frame(&mut body).await else {
                return StreamEnded::Reset;
            };
            let mut data = match frame {
                None => Bytes::new(),
                Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
                Some(Err(_)) => {
                    self.stream.send_reset(Reason::INTERNAL_ERROR);
                    return StreamEnded::BrokenOff;
                }
            };
            while !data.is_empty() {
                match self.window(data.len()).await {
                    Ok(bytes) => {
                        // Only as much as the window grants: `h2` would buffer the rest without
                        // bound.
                        let piece = data.split_to(bytes.min(data.len()));
                        self.pace.moved(piece.len() as u64);
                        let held = Held { bytes: piece, _state: Arc::clone(&self.state) };
                        // With the last bytes, since a frame that only ends the stream costs as much as they do.
                        let is_end = data.is_empty() && body.is_end_stream();
                        if self.stream.send_data(Bytes::from_owner(held), is_end).is_err() {
                            return StreamEnded::Reset;
                        }
                        if is_end {
                            return StreamEnded::Answered;
                        }
                    }
                    Err(ended) => return ended,
                }
            }
            if body.is_end_stream() {
                return match self.stream.send_data(Bytes::new(), true) {
                    Ok(()) => StreamEnded::Answered,
                    Err(_) => StreamEnded::Reset,
                };
            }
        }
    }

    /// The next frame of the body; `Some(None)` at its end. `None` when the client has reset the
    /// stream.
    async fn frame(
        &mut self,
        body: &mut Pin<&mut ResponseBody>,
    ) -> Option<Option<Result<http_body::Frame<Bytes>, crate::reply::BoxError>>> {
        poll_fn(|context| match body.as_mut().poll_frame(context) {
            Poll::Ready(frame) => Poll::Ready(Some(frame)),
            Poll::Pending => self.stream.poll_reset(context).map(|_| None),
        })
        .await
    }

    /// Waits until the client's windows have room. Returns the room, at most `bytes`.
    async fn window(&mut self, bytes: usize) -> Result<usize, StreamEnded> {
        self.stream.reserve_capacity(bytes);
        if let granted @ 1.. = self.stream.capacity() {
            return Ok(granted);
        }
        let mut since = Instant::now();
        loop {
            let granted = poll_fn(|context| self.stream.poll_capacity(context));
            // Only waiting counts against the client: the clock stops while bytes flow.
            let granted = timeout(self.pace.left(), granted).await;
            let now = Instant::now();
            self.pace.wait(now - since);
            since = now;
            match granted {
                // A spurious wake-up: the window is still closed.
                Ok(Some(Ok(0))) => {}
                Ok(Some(Ok(granted))) => return Ok(granted),
                Ok(Some(Err(_)) | None) => return Err(StreamEnded::Reset),
                Err(_) if self.pace.begin_window() => {}
                Err(_) => {
                    self.stream.send_reset(Reason::CANCEL);
                    return Err(StreamEnded::BrokenOff);
                }
            }
        }
    }
}

/// Bytes of an answer that hold the place of their request until they are written.
struct Held {
    bytes: Bytes,
    _state: Arc<ConnectionState>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
