//! Requests for operations that s3s has no types for.

use bytes::Bytes;
use http::{Response, StatusCode};
use s3s::S3Result;

use super::authorized::Authorized;
use liteio_wire::reply::ReplyBody;

/// A request for a plain handler, with its verified document: empty if the operation has none.
pub(super) type PlainRequest = Authorized<Bytes>;

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
