//! Requests before the signature, and their bodies while they are sent.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::Method;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::mpsc::Receiver;

/// An operation on the service, a bucket or an object. An empty bucket or key means none.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) query: Vec<(String, String)>,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
    /// `true` if the request is idempotent.
    pub(crate) repeatable: bool,
    /// `true` if the service may take long to answer.
    pub(crate) slow: bool,
    /// Callback for the progress.
    pub(super) sent: Option<Sent>,
}

/// A function that gets the change of the number of bytes that were sent; negative before a
/// repetition.
pub(crate) type Sent = Arc<dyn Fn(i64) + Send + Sync>;

impl Request {
    pub(crate) fn new(method: Method, bucket: &str, key: &str) -> Request {
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

/// Bytes of a body from another task. An error breaks the request off.
pub(crate) type Feed = Receiver<Result<Bytes, io::Error>>;

/// A body in memory, or one that another task feeds. It counts the bytes taken by the connection.
#[derive(Debug)]
pub(crate) struct Payload {
    rest: Bytes,
    /// Bytes that are still to come, and where they come from.
    fed: Option<(u64, Feed)>,
    /// Shared with the waiting caller: as long as it grows, the connection is alive.
    gone: Arc<AtomicU64>,
}

/// Size of one write to the socket.
const FRAME_BYTES: usize = 128 << 10;

impl Payload {
    pub(super) fn new(bytes: Bytes, gone: Arc<AtomicU64>) -> Payload {
        Payload { rest: bytes, fed: None, gone }
    }

    /// A body of exactly `bytes` from `feed`.
    pub(super) fn fed(bytes: u64, feed: Feed, gone: Arc<AtomicU64>) -> Payload {
        Payload { rest: Bytes::new(), fed: Some((bytes, feed)), gone }
    }
}

impl Payload {
    fn left(&self) -> u64 {
        self.rest.len() as u64 + self.fed.as_ref().map_or(0, |(left, _)| *left)
    }
}

impl Body for Payload {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        while self.rest.is_empty() {
            let Some((left, feed)) = self.fed.as_mut().filter(|(left, _)| *left > 0) else {
                return Poll::Ready(None);
            };
            let Some(chunk) = ready!(feed.poll_recv(context)).transpose()? else {
                return Poll::Ready(Some(Err(io::Error::other("the body ends too early"))));
            };
            let Some(rest) = left.checked_sub(chunk.len() as u64) else {
                return Poll::Ready(Some(Err(io::Error::other("the body is too long"))));
            };
            *left = rest;
            self.rest = chunk;
        }
        let bytes = self.rest.len().min(FRAME_BYTES);
        let frame = self.rest.split_to(bytes);
        self.gone.fetch_add(bytes as u64, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(frame))))
    }

    fn is_end_stream(&self) -> bool {
        self.left() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left())
    }
}
