//! Requests for operations that s3s has no types for.

use bytes::Bytes;
use http::{Extensions, HeaderMap, Method, Response, StatusCode, Uri};
use s3s::S3Result;

use super::context::Sent;
use liteio_access::Granted;
use liteio_wire::reply::ReplyBody;

/// A request for a plain handler: authorized, with its document verified.
pub(super) struct PlainRequest {
    pub(super) granted: Granted,
    pub(super) key: String,
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    pub(super) extensions: Extensions,
    /// Empty if the operation has no document.
    pub(super) document: Bytes,
}

impl PlainRequest {
    /// The request as the context of a decision.
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

/// A response with status 204.
pub(super) fn no_content() -> PlainResponse {
    let mut response = Response::new(ReplyBody::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}

/// A response with status 200 and no body.
pub(super) fn done() -> PlainResponse {
    Ok(Response::new(ReplyBody::empty()))
}
