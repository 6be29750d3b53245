//! [`Observer`]: whoever is told of every request that has ended.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, Method, Uri, Version};

use crate::origin::Origin;
use crate::reply::ApiError;

/// Is told of every request, on the thread that ends it: it must not wait for anything.
pub(crate) trait Observer: Send + Sync + 'static {
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
pub(crate) type Observers = Arc<[Arc<dyn Observer>]>;

/// A request that has ended.
pub(crate) struct Finished<'f> {
    pub(crate) origin: &'f Origin,
    pub(crate) method: &'f Method,
    /// 0: the client went away before there was an answer.
    pub(crate) status: u16,
    /// The code of an error.
    pub(crate) code: Option<&'f str>,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) duration: Duration,
    /// Where an observer [wanted](Observer::wants_heads) them when the request came.
    pub(crate) heads: Option<&'f Heads>,
}

impl Finished<'_> {
    /// When the request came.
    pub(crate) fn begun(&self) -> SystemTime {
        let now = SystemTime::now();
        now.checked_sub(self.duration).unwrap_or(now)
    }
}

/// The heads of a request and its answer, as they were sent: with secrets in them.
#[derive(Clone, Debug)]
pub(crate) struct Heads {
    pub(crate) uri: Uri,
    pub(crate) version: Version,
    pub(crate) request: HeaderMap,
    /// Empty where there was no answer.
    pub(crate) response: HeaderMap,
}
