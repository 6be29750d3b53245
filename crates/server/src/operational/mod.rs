//! The operational routes: those below `/_liteio/`, and the health paths of [other servers](others).
//!
//! An axum router, reached only by requests whose path is one of these:
//! matching it would cost an S3 request 0.7 µs, the comparison costs nothing that can be measured.

mod others;

use std::borrow::Cow;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::{ALLOW, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::request::Parts;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tower_service::Service as _;

use crate::origin::Target;
use crate::reply::{ApiError, ErrorCode, Reply, ReplyBody};

/// The first segment of every operational path. No bucket can have this name, for it starts with an
/// underscore.
const FIRST_SEGMENT: &str = "_liteio";
/// The process runs and answers.
const LIVE_PATH: &str = "/_liteio/health/live";
/// Requests can be served.
pub(crate) const READY_PATH: &str = "/_liteio/health/ready";

/// The answer of `/_liteio/health/ready`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// Everything works.
    Ready,
    /// Reads work and something else does not, for this reason: writes (the disk is full, say), or the
    /// deletion of orphans. Still 200, so that load balancers keep sending requests.
    Degraded(Cow<'static, str>),
    /// Nothing should be sent here, for this reason. 503.
    NotReady(Cow<'static, str>),
}

/// The sources of an answer, asked for each request.
struct Health {
    readiness: Box<dyn Fn() -> Readiness + Send + Sync>,
    details: Box<dyn Fn() -> Map<String, Value> + Send + Sync>,
    has_buckets: Box<dyn Fn() -> bool + Send + Sync>,
    started: Timestamp,
}

/// The claim of these routes to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// It is for a service.
    None,
    /// It is operational.
    Owned,
    /// It is operational unless there is a bucket of the name in its path.
    Borrowed,
}

/// The routes of one server.
pub(crate) struct Operational {
    router: Router,
}

impl Operational {
    /// The routes; `readiness`, the `details` that go with it, and `has_buckets` are asked for each request.
    pub(crate) fn new(
        readiness: impl Fn() -> Readiness + Send + Sync + 'static,
        details: impl Fn() -> Map<String, Value> + Send + Sync + 'static,
        has_buckets: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Operational {
        let health = Arc::new(Health {
            readiness: Box::new(readiness),
            details: Box::new(details),
            has_buckets: Box::new(has_buckets),
            started: Timestamp::now(),
        });
        let router = others::routes()
            .route(LIVE_PATH, get(live))
            .route(READY_PATH, get(ready))
            .fallback(unknown)
            .method_not_allowed_fallback(method_not_allowed)
            .with_state(health);
        Operational { router }
    }

    /// Tells whether a request is operational. In virtual-host addressing everything is a key.
    pub(crate) fn claim(head: &Parts, target: &Target) -> Claim {
        let path = target.path();
        if path.starts_with("/_") {
            let is_own = |bucket| bucket == FIRST_SEGMENT || others::SEGMENTS.contains(&bucket);
            return match target.host_bucket().is_none() && is_own(target.bucket()) {
                true => Claim::Owned,
                false => Claim::None,
            };
        }
        let is_read = || matches!(head.method, Method::GET | Method::HEAD);
        let is_borrowed = others::is_borrowed(path)
            && target.host_bucket().is_none()
            && is_read()
            && !is_signed(head);
        if is_borrowed { Claim::Borrowed } else { Claim::None }
    }

    /// Answers one request. Its body is not read.
    pub(crate) async fn call(&self, request: Request<()>) -> Reply {
        let called = self.router.clone().call(request.map(|()| Body::empty())).await;
        let mut response = called.unwrap_or_else(|never| match never {});
        match response.extensions_mut().remove::<ApiError>() {
            Some(error) => Err(error),
            None => Ok(response.map(|body| ReplyBody::stream(body.map_err(Into::into)))),
        }
    }
}

/// True for a request that somebody has signed, or has tried to.
fn is_signed(head: &Parts) -> bool {
    let names = head.uri.query().unwrap_or_default().split('&');
    let mut names = names.filter_map(|pair| pair.split('=').next());
    head.headers.contains_key(AUTHORIZATION)
        || names.any(|name| matches!(name, "X-Amz-Signature" | "Signature"))
}

/// An error leaves the router as a value, in the extensions of an empty response.
impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

async fn live() -> Response {
    line(StatusCode::OK, &json!({ "status": "live" }))
}

async fn ready(State(health): State<Arc<Health>>) -> Response {
    let (code, mut told) = match (health.readiness)() {
        Readiness::Ready => (StatusCode::OK, json!({ "status": "ready" })),
        Readiness::Degraded(reason) => {
            (StatusCode::OK, json!({ "status": "degraded", "reason": reason }))
        }
        Readiness::NotReady(reason) => {
            (StatusCode::SERVICE_UNAVAILABLE, json!({ "status": "not ready", "reason": reason }))
        }
    };
    for (name, detail) in (health.details)() {
        told[name] = detail;
    }
    line(code, &told)
}

async fn unknown() -> ApiError {
    ApiError::new(ErrorCode::NoSuchKey, "There is no such operational route.")
}

async fn method_not_allowed() -> ApiError {
    let error = ApiError::new(
        ErrorCode::MethodNotAllowed,
        "The specified method is not allowed against this resource.",
    );
    let mut headers = HeaderMap::new();
    headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    error.with_headers(headers)
}

/// A line of JSON.
fn line(status: StatusCode, value: &Value) -> Response {
    let json_type = HeaderValue::from_static("application/json");
    (status, [(CONTENT_TYPE, json_type)], format!("{value}\n")).into_response()
}
