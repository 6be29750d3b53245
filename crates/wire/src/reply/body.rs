//! The body of a response.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// Any error, as bodies report it.
pub type BoxError = Box<dyn Error + Send + Sync>;

type BoxedBody = Pin<Box<dyn Body<Data = Bytes, Error = BoxError> + Send>>;

/// The body of a response: bytes in memory, or a stream.
#[derive(Default)]
pub struct ReplyBody(Kind);

enum Kind {
    Bytes(Bytes),
    Stream(BoxedBody),
}

impl Default for Kind {
    fn default() -> Kind {
        Kind::Bytes(Bytes::new())
    }
}

impl ReplyBody {
    /// The empty body.
    pub fn empty() -> ReplyBody {
        ReplyBody::default()
    }

    /// A body that streams the frames of `body`.
    pub fn stream<B>(body: B) -> ReplyBody
    where
        B: Body<Data = Bytes, Error = BoxError> + Send + 'static,
    {
        ReplyBody(Kind::Stream(Box::pin(body)))
    }
}

impl ReplyBody {
    /// The bytes of a body that is in memory as a whole.
    pub fn in_memory(&mut self) -> Option<&mut Bytes> {
        match &mut self.0 {
            Kind::Bytes(bytes) => Some(bytes),
            Kind::Stream(_) => None,
        }
    }
}

impl<T: Into<Bytes>> From<T> for ReplyBody {
    fn from(bytes: T) -> ReplyBody {
        ReplyBody(Kind::Bytes(bytes.into()))
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.0 {
            Kind::Bytes(bytes) if bytes.is_empty() => Poll::Ready(None),
            Kind::Bytes(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Kind::Stream(body) => body.as_mut().poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Bytes(bytes) => bytes.is_empty(),
            Kind::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Bytes(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Stream(body) => body.size_hint(),
        }
    }
}

impl fmt::Debug for ReplyBody {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Bytes(bytes) => formatter.debug_tuple("Bytes").field(&bytes.len()).finish(),
            Kind::Stream(_) => formatter.debug_tuple("Stream").finish_non_exhaustive(),
        }
    }
}
