//! The body of a request while it is received: counted, bounded, and given up when the client
//! stalls.

use std::fmt;
use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use super::exchange::Exchange;
use super::limits::{BODY_BYTES_MAX, BODY_WINDOW_BYTES_MAX, HELD_BODY_COPIES, Limits};
use super::pace::Pace;
use super::received::ReceivedBody;
use super::{Plan, body_too_large, request_timeout, slow_down};
use crate::budget::Resource;
use crate::reply::{ApiError, BoxError, ErrorCode};

/// The error when the connection ended, or its framing broke.
fn broken_off(error: &BoxError) -> ApiError {
    tracing::debug!(%error, "the body broke off");
    ApiError::new(
        ErrorCode::IncompleteBody,
        "You did not provide the number of bytes specified by the Content-Length HTTP header.",
    )
}

/// The body that a handler reads.
///
/// Most requests have none, and every layer moves its request into the next: so a body is one
/// pointer.
pub struct RequestBody(Option<Box<Receiving>>);

/// A body that has not ended.
struct Receiving {
    incoming: ReceivedBody,
    exchange: Arc<Exchange>,
    pace: Pace,
    /// Deadline for the authentication of the sender, if the body contains it.
    admitted_by: Option<Instant>,
    /// Start of the current wait for the client.
    waiting_since: Option<Instant>,
    /// Armed at the first wait, and again only when it fires, so that a body that flows never
    /// touches the timer.
    alarm: Option<Pin<Box<Sleep>>>,
    /// The whole body will be in memory at once, not just a window of it.
    held: bool,
    /// The bytes that have been charged to the budget.
    charged: u64,
}

impl RequestBody {
    /// A body that arrives over a connection and is charged to the budget.
    pub fn new(
        incoming: ReceivedBody,
        exchange: Arc<Exchange>,
        limits: &Limits,
        plan: Plan,
    ) -> RequestBody {
        if incoming.is_end_stream() {
            exchange.connection.request_ended();
            return RequestBody(None);
        }
        // A form is authenticated by its first fields, so these are due like a head.
        let admitted_by = plan.form.then(|| exchange.started + limits.header_timeout);
        RequestBody(Some(Box::new(Receiving {
            incoming,
            exchange,
            pace: Pace::new(limits.body_window, limits.bytes_per_second_min),
            admitted_by,
            waiting_since: None,
            alarm: None,
            held: plan.held,
            charged: 0,
        })))
    }

    fn end(&mut self) {
        if let Some(body) = self.0.take() {
            body.exchange.connection.request_ended();
        }
    }
}

impl Receiving {
    /// Called when there is nothing to read. Ready once the client has been too slow.
    fn poll_stalled(&mut self, context: &mut Context<'_>) -> Poll<ApiError> {
        if self.exchange.is_admitted() {
            self.admitted_by = None;
        }
        let mut since = *self.waiting_since.get_or_insert_with(Instant::now);
        let mut deadline = self.deadline(since);
        let mut alarm = self.alarm.take().unwrap_or_else(|| Box::pin(sleep_until(deadline)));
        // The alarm may be older than the current wait; then it is only moved to the present
        // deadline.
        while alarm.as_mut().poll(context).is_ready() {
            let now = Instant::now();
            if now >= deadline {
                self.pace.wait(now - since);
                // Unauthenticated senders get no further window.
                let is_late = self.admitted_by.is_some_and(|by| now >= by);
                if is_late || !self.pace.begin_window() {
                    return Poll::Ready(request_timeout());
                }
                since = now;
                self.waiting_since = Some(since);
                deadline = self.deadline(since);
            }
            alarm.as_mut().reset(deadline);
        }
        self.alarm = Some(alarm);
        Poll::Pending
    }

    /// The end of the patience with a client that has been waited for since `since`.
    fn deadline(&self, since: Instant) -> Instant {
        let paced = since + self.pace.left();
        self.admitted_by.map_or(paced, |by| by.min(paced))
    }

    /// Counts a received frame towards the pace of the client, the largest size, and the memory.
    fn count(&mut self, frame: &Frame<Bytes>) -> Result<(), ApiError> {
        // Only time spent waiting for the client counts against it.
        if let Some(since) = self.waiting_since.take() {
            self.pace.wait(since.elapsed());
        }
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        self.pace.moved(bytes as u64);
        // Counted here for bodies without a declared length; `check_head` refuses declared ones
        // early.
        let received = self.exchange.add_bytes_in(bytes);
        if received > BODY_BYTES_MAX {
            return Err(body_too_large());
        }
        // A streamed body counts for the bytes received so far, up to its window.
        let in_memory = match self.held {
            true => received.saturating_mul(HELD_BODY_COPIES),
            false => received.min(BODY_WINDOW_BYTES_MAX),
        };
        // Charge only growth: most frames of a streamed body stay within the window.
        if in_memory > self.charged {
            if !self.exchange.charge(in_memory) {
                return Err(slow_down(Resource::BodyBytes));
            }
            self.charged = in_memory;
        }
        Ok(())
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = ApiError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ApiError>>> {
        let Some(body) = &mut self.0 else { return Poll::Ready(None) };
        let frame = match Pin::new(&mut body.incoming).poll_frame(context) {
            Poll::Pending => {
                let stalled = std::task::ready!(body.poll_stalled(context));
                return Poll::Ready(Some(Err(stalled)));
            }
            Poll::Ready(None) => {
                self.end();
                return Poll::Ready(None);
            }
            Poll::Ready(Some(Err(error))) => {
                return Poll::Ready(Some(Err(broken_off(&error))));
            }
            Poll::Ready(Some(Ok(frame))) => frame,
        };
        if let Err(error) = body.count(&frame) {
            return Poll::Ready(Some(Err(error)));
        }
        if body.incoming.is_end_stream() {
            self.end();
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map_or(SizeHint::with_exact(0), |body| body.incoming.size_hint())
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if let Some(body) = &self.0 {
            body.exchange.connection.request_abandoned();
        }
    }
}

impl fmt::Debug for RequestBody {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.0.as_ref().map(|body| body.exchange.ids().request_id());
        formatter.debug_tuple("RequestBody").field(&id).finish()
    }
}
