//! Bodies with faults: slowed down, or cut off.

use std::pin::Pin;
use std::sync::Weak;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use tokio::time::{Instant, Sleep, sleep_until};

use liteio_wire::reply::{BoxError, ReplyBody, Withheld};

/// A request body of which a part may have been read and put back.
pub(super) type TestBody = UnsyncBoxBody<Bytes, BoxError>;

/// Steps per second in which a slow body is sent.
const STEPS_PER_SECOND: u64 = 20;

pub(super) fn boxed<B>(request: Request<B>) -> Request<TestBody>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    request.map(|body| body.map_err(Into::into).boxed_unsync())
}

/// A body with bytes put back in front.
pub(super) struct PutBack {
    pub(super) front: Bytes,
    pub(super) rest: TestBody,
}

impl Body for PutBack {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if !self.front.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.front)))));
        }
        Pin::new(&mut self.rest).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.front.is_empty() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (front, rest) = (self.front.len() as u64, self.rest.size_hint());
        let mut hint = SizeHint::new();
        if let Some(upper) = rest.upper() {
            hint.set_upper(front + upper);
        }
        hint.set_lower(front + rest.lower());
        hint
    }
}

/// Rates of bodies in bytes per second, each with its rule until that is removed.
pub(super) type Rates = Vec<(u64, Weak<()>)>;

/// The lowest rate of the rules that there still are.
pub(super) fn lowest_rate(rates: &[(u64, Weak<()>)]) -> Option<u64> {
    let active = rates.iter().filter(|(_, rule)| rule.strong_count() > 0);
    active.map(|(rate, _)| *rate).min()
}

/// A body with a limited rate.
pub(super) struct Slow<B> {
    body: B,
    /// The rules that slow it down. Once they are removed the rest goes at full speed: the client of an upload may have gone, which
    /// is noticed only at the end of what it has sent.
    rates: Rates,
    rest: Bytes,
    free_at: Instant,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl<B> Slow<B> {
    /// Limits a body to the lowest of `rates`, none of which must be 0, as long as there are their rules.
    pub(super) fn new(body: B, rates: Rates) -> Slow<B> {
        let (rest, free_at) = (Bytes::new(), Instant::now());
        Slow { body, rates, rest, free_at, sleep: None }
    }
}

impl<B> Body for Slow<B>
where
    B: Body<Data = Bytes, Error = BoxError> + Unpin,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(sleep) = &mut self.sleep {
            std::task::ready!(sleep.poll_unpin(context));
            self.sleep = None;
        }
        if self.rest.is_empty() {
            match std::task::ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                end => return Poll::Ready(end),
            }
        }
        let Some(bytes_per_second) = lowest_rate(&self.rates) else {
            let rest = std::mem::take(&mut self.rest);
            return Poll::Ready(Some(Ok(Frame::data(rest))));
        };
        let step = (bytes_per_second / STEPS_PER_SECOND).max(1);
        let taken = self.rest.len().min(usize::try_from(step).unwrap_or(usize::MAX));
        let piece = self.rest.split_to(taken);
        let takes = Duration::from_secs_f64(taken as f64 / bytes_per_second as f64);
        // Idle time earns no credit: the rate applies from now on.
        self.free_at = self.free_at.max(Instant::now()) + takes;
        self.sleep = Some(Box::pin(sleep_until(self.free_at)));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.rest.is_empty() { self.body.size_hint() } else { SizeHint::default() }
    }
}

/// The error that closes a connection.
#[derive(Debug, thiserror::Error)]
#[error("a fault of the test API cuts the answer off")]
struct CutOff;

/// A body that ends by closing the connection.
struct Cut {
    body: ReplyBody,
    left: u64,
    /// The body exceeds the limit.
    is_cut: bool,
    /// The bytes before the cut had a chance to be written.
    has_rested: bool,
}

/// Cuts off a response body after this many bytes. At 0, nothing is sent, not even the head.
pub(super) fn cut(mut response: Response<ReplyBody>, after: u64) -> Response<ReplyBody> {
    if after == 0 {
        response.extensions_mut().insert(Withheld);
        return response;
    }
    response
        .map(|body| ReplyBody::stream(Cut { body, left: after, is_cut: false, has_rested: false }))
}

impl Body for Cut {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.left == 0 && !self.has_rested {
            // The connection writes its buffer meanwhile.
            self.has_rested = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.is_cut {
            return Poll::Ready(Some(Err(CutOff.into())));
        }
        let frame = match std::task::ready!(Pin::new(&mut self.body).poll_frame(context)) {
            Some(Ok(frame)) => frame,
            end => return Poll::Ready(end),
        };
        let mut data = match frame.into_data() {
            Ok(data) => data,
            Err(frame) => return Poll::Ready(Some(Ok(frame))),
        };
        if self.left == 0 && !data.is_empty() {
            return Poll::Ready(Some(Err(CutOff.into())));
        }
        self.is_cut = data.len() as u64 > self.left;
        data.truncate(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= data.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(data))))
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
