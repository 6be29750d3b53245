//! Requests for operations that s3s has no types for.

use bytes::Bytes;
use http::header::USER_AGENT;
use http::{HeaderMap, Response, StatusCode};
use s3s::S3Result;

use super::authorized::Authorized;
use liteio_access::state::App;
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

/// `true` for a request whose sender takes MinIO's status 200 alone for success, where AWS answers 204: any
/// request to a server that acts as MinIO, and MinIO's own clients, `mc` among them, at any server.
pub(super) fn wants_status_200(app: &App, headers: &HeaderMap) -> bool {
    let agent = headers.get(USER_AGENT).map(|agent| agent.as_bytes()).unwrap_or_default();
    app.acts_as_minio || agent.starts_with(b"MinIO (")
}
