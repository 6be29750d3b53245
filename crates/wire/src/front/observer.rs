//! [`Observer`]: whoever is told of every request that has ended.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, Method, Uri, Version};

use crate::origin::Origin;
use crate::reply::ApiError;

/// Is told of every request, on the thread that ends it: it must not wait for anything.
pub trait Observer: Send + Sync + 'static {
    /// True while it wants the heads of requests, which are copied for it.
    fn wants_heads(&self) -> bool {
        false
    }

    /// A request has ended: its answer has been taken in whole, or its connection is gone.
    fn finished(&self, finished: &Finished<'_>);

    /// Bytes that never became a request were answered with this error.
    fn rejected(&self, error: &ApiError) {
        let _ = error;
    }
}

/// The observers of a server.
pub type Observers = Arc<[Arc<dyn Observer>]>;

/// A request that has ended.
pub struct Finished<'f> {
    /// The origin of the request.
    pub origin: &'f Origin,
    /// The HTTP method.
    pub method: &'f Method,
    /// 0: the client went away before there was an answer.
    pub status: u16,
    /// The code of an error.
    pub code: Option<&'f str>,
    /// Bytes of the request body that were received.
    pub bytes_in: u64,
    /// Bytes of the response body that were sent.
    pub bytes_out: u64,
    /// Duration from the head of the request to the end of the response.
    pub duration: Duration,
    /// Where an observer [wanted](Observer::wants_heads) them when the request came.
    pub heads: Option<&'f Heads>,
}

impl Finished<'_> {
    /// When the request came.
    pub fn begun(&self) -> SystemTime {
        let now = SystemTime::now();
        now.checked_sub(self.duration).unwrap_or(now)
    }
}

/// The heads of a request and its answer, as they were sent: with secrets in them.
#[derive(Clone, Debug)]
pub struct Heads {
    /// The request target.
    pub uri: Uri,
    /// The HTTP version.
    pub version: Version,
    /// Headers of the request.
    pub request: HeaderMap,
    /// Empty where there was no answer.
    pub response: HeaderMap,
}
