//! [`AccessLog`]: the receiver of requests on buckets with server access logging. It is implemented above the services,
//! which tell it of requests.

use std::fmt;
use std::sync::Arc;

use http::{HeaderMap, Method};
use liteio_auth::SignedAs;
use liteio_store::Bucket;
use liteio_wire::origin::Origin;

/// The receiver of requests on buckets with server access logging.
pub trait AccessLog: fmt::Debug + Send + Sync {
    /// Begins the record of a request on `bucket`, once its name is resolved, and notes it in the origin. It is called
    /// on the threads of connections, so it must not block.
    fn begin(&self, bucket: &Arc<Bucket>, request: &LoggedRequest<'_>);

    /// Records the deletion of one of the keys of a request, with the status and error code for that key. It must not
    /// block either.
    fn deleted(
        &self,
        bucket: &Arc<Bucket>,
        request: &LoggedRequest<'_>,
        status: u16,
        code: Option<&str>,
    );
}

/// The facts about a request that its origin does not have.
#[derive(Clone, Copy, Debug)]
pub struct LoggedRequest<'r> {
    /// The kind of request.
    pub kind: LoggedKind,
    /// The HTTP method.
    pub method: &'r Method,
    /// The headers.
    pub headers: &'r HeaderMap,
    /// The key; empty for a request on the bucket.
    pub key: &'r str,
    /// The version in the query.
    pub version: Option<&'r str>,
    /// The sender: the canonical id of a root user, the ARN of another one; `None` if anonymous.
    pub requester: Option<&'r str>,
    /// The signature; `None` if anonymous.
    pub signed: Option<&'r SignedAs>,
    /// The origin.
    pub origin: &'r Origin,
}

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoggedKind {
    /// A request of the API.
    Api,
    /// The read of the source of a copy, which is a request on another bucket.
    CopySource,
    /// A request for a website.
    Website,
    /// The deletion of one of the keys of a request.
    BatchDelete,
    /// A browser's preflight request.
    Preflight,
}
