//! Health checks: the state they report, and LiteIO's own routes.

use std::borrow::Cow;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use futures_util::future::BoxFuture;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// Liveness: the process runs and responds, and may serve again.
const LIVE_PATH: &str = "/_liteio/health/live";
/// Readiness: requests can be served.
pub const READY_PATH: &str = "/_liteio/health/ready";

/// The response of `/_liteio/health/ready`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// All functions work.
    Ready,
    /// Reads work, but something else does not, for the given reason: writes (for example, the disk
    /// is full), or the deletion of orphans. Still 200, so that load balancers keep sending
    /// requests.
    Degraded(Cow<'static, str>),
    /// No requests should be sent here, for the given reason. 503.
    NotReady(Cow<'static, str>),
}

/// The callbacks that provide the state, called for each request.
pub struct Health {
    pub(super) readiness: Box<dyn Fn() -> Readiness + Send + Sync>,
    details: Box<dyn Fn() -> BoxFuture<'static, Map<String, Value>> + Send + Sync>,
    pub(super) has_buckets: Box<dyn Fn() -> BoxFuture<'static, bool> + Send + Sync>,
    over: Box<dyn Fn() -> Option<String> + Send + Sync>,
    pub(super) started: Timestamp,
}

impl Health {
    /// Creates the checks: `readiness`, the `details` that go with it, and `has_buckets` are called
    /// for each request.
    pub fn new(
        readiness: impl Fn() -> Readiness + Send + Sync + 'static,
        details: impl Fn() -> BoxFuture<'static, Map<String, Value>> + Send + Sync + 'static,
        has_buckets: impl Fn() -> BoxFuture<'static, bool> + Send + Sync + 'static,
    ) -> Health {
        Health {
            readiness: Box::new(readiness),
            details: Box::new(details),
            has_buckets: Box::new(has_buckets),
            over: Box::new(|| None),
            started: Timestamp::now(),
        }
    }

    /// The same, with the reason why the process can never serve again. Each request for liveness asks for it,
    /// so it must not wait. A supervisor starts the process again then.
    #[must_use]
    pub fn with_over(self, over: impl Fn() -> Option<String> + Send + Sync + 'static) -> Health {
        Health { over: Box::new(over), ..self }
    }

    /// The status of liveness: 503 once only another start can serve again.
    pub(super) fn liveness(&self) -> StatusCode {
        match (self.over)() {
            Some(_) => StatusCode::SERVICE_UNAVAILABLE,
            None => StatusCode::OK,
        }
    }
}

/// The routes.
pub(super) fn routes() -> Router<Arc<Health>> {
    Router::new().route(LIVE_PATH, get(live)).route(READY_PATH, get(ready))
}

pub(super) async fn live(State(health): State<Arc<Health>>) -> Response {
    match (health.over)() {
        Some(reason) => {
            line(StatusCode::SERVICE_UNAVAILABLE, &json!({ "status": "over", "reason": reason }))
        }
        None => line(StatusCode::OK, &json!({ "status": "live" })),
    }
}

pub(super) async fn ready(State(health): State<Arc<Health>>) -> Response {
    // First: work that ends in between must not be shown as ended beside a status from before it.
    let details = (health.details)().await;
    let (code, mut told) = match (health.readiness)() {
        Readiness::Ready => (StatusCode::OK, json!({ "status": "ready" })),
        Readiness::Degraded(reason) => {
            (StatusCode::OK, json!({ "status": "degraded", "reason": reason }))
        }
        Readiness::NotReady(reason) => {
            (StatusCode::SERVICE_UNAVAILABLE, json!({ "status": "not ready", "reason": reason }))
        }
    };
    for (name, detail) in details {
        told[name] = detail;
    }
    line(code, &told)
}

/// A response with one line of JSON.
fn line(status: StatusCode, value: &Value) -> Response {
    let json_type = HeaderValue::from_static("application/json");
    (status, [(CONTENT_TYPE, json_type)], format!("{value}\n")).into_response()
}
