//! Where a request goes: an operational route, or S3. A plain comparison of the path: an S3 request
//! pays a few nanoseconds for it.

use http::header::{ALLOW, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, Response, StatusCode};

use crate::front::target::Target;
use crate::health::Readiness;
use crate::reply::{ApiError, ErrorCode, Reply, ReplyBody};

/// The bucket name that no bucket can have, for it starts with an underscore.
const OPERATIONAL: &str = "_liteio";
/// The process runs and answers.
pub(crate) const LIVE_PATH: &str = "/_liteio/health/live";
/// Requests can be served.
pub(crate) const READY_PATH: &str = "/_liteio/health/ready";

/// Where a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    S3,
    Operational(Operation),
}

/// An operational route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Live,
    Ready,
    Unknown,
}

/// The route of a request. In virtual-host addressing everything is a key.
pub(crate) fn route(target: &Target<'_>, path: &str) -> Route {
    if target.bucket != OPERATIONAL || target.virtual_host {
        return Route::S3;
    }
    Route::Operational(match path {
        LIVE_PATH => Operation::Live,
        READY_PATH => Operation::Ready,
        _ => Operation::Unknown,
    })
}

/// Answers an operational request.
pub(crate) fn answer(operation: Operation, method: &Method, readiness: Readiness) -> Reply {
    if operation == Operation::Unknown {
        return Err(ApiError::new(ErrorCode::NoSuchKey, "There is no such operational route."));
    }
    if !matches!(*method, Method::GET | Method::HEAD) {
        let error = ApiError::new(
            ErrorCode::MethodNotAllowed,
            "The specified method is not allowed against this resource.",
        );
        let mut headers = HeaderMap::new();
        headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return Err(error.with_headers(headers));
    }
    let (status, body) = match (operation, readiness) {
        (Operation::Live, _) => (StatusCode::OK, serde_json::json!({ "status": "live" })),
        (_, Readiness::Ready) => (StatusCode::OK, serde_json::json!({ "status": "ready" })),
        (_, Readiness::Degraded(reason)) => {
            (StatusCode::OK, serde_json::json!({ "status": "degraded", "reason": reason }))
        }
        (_, Readiness::NotReady(reason)) => (
            StatusCode::SERVICE_UNAVAILABLE,
            serde_json::json!({ "status": "not ready", "reason": reason }),
        ),
    };
    let mut response = Response::new(ReplyBody::from(format!("{body}\n")));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}
