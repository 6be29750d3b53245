//! Requests before the signature, and their bodies while they are sent.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Method;
use http_body::{Body, Frame, SizeHint};

/// An operation on the service, a bucket or an object. An empty bucket or key means none.
#[derive(Clone)]
pub(crate) struct Request {
    pub(super) method: Method,
    pub(super) bucket: String,
    pub(super) key: String,
    pub(super) query: Vec<(String, String)>,
    /// Names in lower case.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Bytes,
    /// `true` if the request is idempotent.
    pub(super) repeatable: bool,
    /// `true` if the service may take long to answer.
    pub(super) slow: bool,
    /// Callback for the progress.
    pub(super) sent: Option<Sent>,
}

/// A function that gets the change of the number of bytes that were sent; negative before a
/// repetition.
pub(crate) type Sent = Arc<dyn Fn(i64) + Send + Sync>;

impl Request {
    pub(super) fn new(method: Method, bucket: &str, key: &str) -> Request {
        Request {
            repeatable: method != Method::POST,
            method,
            bucket: bucket.to_owned(),
            key: key.to_owned(),
            query: Vec::new(),
            headers: Vec::new(),
            body: Bytes::new(),
            slow: false,
            sent: None,
        }
    }

    pub(super) fn query(mut self, name: &str, value: &str) -> Request {
        self.query.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same, if the value exists.
    pub(super) fn query_if(self, name: &str, value: Option<&str>) -> Request {
        match value {
            Some(value) => self.query(name, value),
            None => self,
        }
    }

    pub(super) fn header(mut self, name: &str, value: impl Into<String>) -> Request {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub(super) fn headers(mut self, headers: &[(String, String)]) -> Request {
        self.headers.extend_from_slice(headers);
        self
    }

    pub(super) fn body(mut self, body: impl Into<Bytes>) -> Request {
        self.body = body.into();
        self
    }

    /// Sets a document as the body, with the digest that some operations require.
    pub(super) fn document(self, document: String) -> Request {
        let digest = super::checksum::md5_base64(document.as_bytes());
        self.header("content-md5", digest).header("content-type", "application/xml").body(document)
    }
}

/// A body in memory that counts the bytes taken by the connection.
#[derive(Debug)]
pub(crate) struct Payload {
    rest: Bytes,
    /// Shared with the waiting caller: as long as it grows, the connection is alive.
    gone: Arc<AtomicU64>,
}

/// Size of one write to the socket.
const FRAME_BYTES: usize = 128 << 10;

impl Payload {
    pub(super) fn new(bytes: Bytes, gone: Arc<AtomicU64>) -> Payload {
        Payload { rest: bytes, gone }
    }
}

impl Body for Payload {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        let bytes = self.rest.len().min(FRAME_BYTES);
        let frame = self.rest.split_to(bytes);
        self.gone.fetch_add(bytes as u64, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(frame))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}
