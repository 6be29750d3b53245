//! Requests for operations that the typed layer has no types for.

use bytes::Bytes;
use http::{Extensions, HeaderMap, Method, Response, StatusCode, Uri};
use s3s::S3Result;

use super::context::Sent;
use liteio_access::Granted;
use liteio_wire::reply::ReplyBody;

/// A request as its handler gets it: permitted, its document verified.
pub(super) struct PlainRequest {
    pub(super) granted: Granted,
    pub(super) key: String,
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    pub(super) extensions: Extensions,
    /// Empty for an operation without one.
    pub(super) document: Bytes,
}

impl PlainRequest {
    /// The request, as a decision about it asks.
    pub(super) fn sent(&self) -> Sent<'_> {
        Sent {
            method: &self.method,
            uri: &self.uri,
            headers: &self.headers,
            extensions: &self.extensions,
        }
    }
}

pub(super) type PlainResponse = S3Result<Response<ReplyBody>>;

/// 204.
pub(super) fn no_content() -> PlainResponse {
    let mut response = Response::new(ReplyBody::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}

/// 200 without a body.
pub(super) fn done() -> PlainResponse {
    Ok(Response::new(ReplyBody::empty()))
}
