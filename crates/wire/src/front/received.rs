//! The body of a request as received by its protocol.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use h2::RecvStream;
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;

use crate::connection::ConnectionState;
use crate::reply::BoxError;

/// A body over HTTP/1.1 or HTTP/2.
pub enum ReceivedBody {
    /// From a connection.
    Http1(Incoming),
    /// From a stream.
    Http2(StreamBody),
}

/// The body of an HTTP/2 stream.
pub struct StreamBody {
    stream: RecvStream,
    /// The declared length, if there is one.
    bytes: Option<u64>,
    /// Notified when the body is waited for, so that the client can be asked to send it (`100
    /// Continue`).
    state: Arc<ConnectionState>,
}

impl StreamBody {
    /// The body of a stream with the state `state` and the declared length `bytes`.
    pub fn new(stream: RecvStream, bytes: Option<u64>, state: Arc<ConnectionState>) -> StreamBody {
        StreamBody { stream, bytes, state }
    }

    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, h2::Error>>> {
        let polled = self.stream.poll_data(context);
        match &polled {
            Poll::Pending => self.state.body_wanted(),
            Poll::Ready(Some(Ok(bytes))) => {
                // Let the client send as much again. An error means that the stream is over.
                let _ = self.stream.flow_control().release_capacity(bytes.len());
                self.bytes = self.bytes.map(|left| left.saturating_sub(bytes.len() as u64));
            }
            Poll::Ready(_) => {}
        }
        polled
    }
}

impl HttpBody for ReceivedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut *self {
            ReceivedBody::Http1(incoming) => {
                Pin::new(incoming).poll_frame(context).map_err(BoxError::from)
            }
            // Trailers are ignored: S3 sends its trailers inside of the body (aws-chunked).
            ReceivedBody::Http2(body) => {
                let polled = body.poll_data(context);
                polled.map(|it| it.map(|it| it.map(Frame::data).map_err(BoxError::from)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            ReceivedBody::Http1(incoming) => incoming.is_end_stream(),
            ReceivedBody::Http2(body) => body.stream.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ReceivedBody::Http1(incoming) => incoming.size_hint(),
            ReceivedBody::Http2(body) => match body.bytes {
                Some(bytes) => SizeHint::with_exact(bytes),
                None if self.is_end_stream() => SizeHint::with_exact(0),
                None => SizeHint::default(),
            },
        }
    }
}
