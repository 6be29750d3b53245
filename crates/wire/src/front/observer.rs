//! [`Observer`]: notified of every request that has ended.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, Method, Uri, Version};

use crate::origin::Origin;
use crate::reply::ApiError;

/// Notified of every request, on the thread that ends it, so it must not block.
pub trait Observer: Send + Sync + 'static {
    /// `true` while it wants the heads of requests, which are copied for it.
    fn wants_heads(&self) -> bool {
        false
    }

    /// Called when a request has ended: its answer was taken completely, or its connection is gone.
    fn finished(&self, finished: &Finished<'_>);

    /// Called when bytes that never became a request were answered with this error.
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
    /// The status; 0 if the client left before there was an answer.
    pub status: u16,
    /// The error code, if the answer is an error.
    pub code: Option<&'f str>,
    /// Bytes of the request body that were received.
    pub bytes_in: u64,
    /// Bytes of the response body that were sent.
    pub bytes_out: u64,
    /// Duration from the head of the request to the end of the response.
    pub duration: Duration,
    /// Duration from the head of the request to the head of the response, if there was one.
    pub first_byte: Option<Duration>,
    /// The heads, if an observer [wanted](Observer::wants_heads) them when the request arrived.
    pub heads: Option<&'f Heads>,
}

impl Finished<'_> {
    /// The time at which the request arrived.
    pub fn begun(&self) -> SystemTime {
        let now = SystemTime::now();
        now.checked_sub(self.duration).unwrap_or(now)
    }
}

/// The heads of a request and its answer as sent. They contain secrets.
#[derive(Clone, Debug)]
pub struct Heads {
    /// The request target.
    pub uri: Uri,
    /// The HTTP version.
    pub version: Version,
    /// Headers of the request.
    pub request: HeaderMap,
    /// Headers of the response; empty where there was no answer.
    pub response: HeaderMap,
}
