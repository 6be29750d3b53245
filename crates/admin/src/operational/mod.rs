//! The operational routes: paths below `/_liteio/`, and paths of [other servers](others).
//!
//! An axum router that only requests with one of these paths reach. Matching in the router would
//! cost each S3 request 0.7 µs; the comparison before it is too cheap to measure.

mod health;
mod others;
mod trace;

use std::sync::Arc;

use axum::body::Body;
use axum::{Extension, Router};
use bytes::Bytes;
use http::header::{ALLOW, HeaderMap, HeaderValue};
use http::request::Parts;
use http::{Method, Request, Uri};
use http_body_util::BodyExt as _;
use tower_service::Service as _;

pub use self::health::{Health, READY_PATH, Readiness};
pub use self::others::set_scripts_run;
use crate::console::{self, Console, browser};
use crate::metrics::{self, Metrics};
use crate::minio::{self as admin, Admin};
use crate::operator::Refused;
use liteio_auth::{SignedAs, is_signed};
use liteio_observe::trace::Audience;
use liteio_wire::origin::Target;
use liteio_wire::reply::{ApiError, BoxError, Dialect, ErrorCode, Reply, ReplyBody};

/// The first segment of every operational path. No bucket can have this name, because it starts
/// with an underscore.
const FIRST_SEGMENT: &str = "_liteio";
/// Path prefix of LiteIO's health checks.
const HEALTH_PATHS: &str = "/_liteio/health/";

/// The processing path of an operational request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A health check, answered to everybody and regardless of load. Its body is not read.
    Health,
    /// Subject to the server's limits, with the sender's identity.
    Operator,
}

/// The result of matching a request to these routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The processing path.
    pub way: Way,
    /// The path is operational only if no bucket has the name in it.
    pub is_borrowed: bool,
}

/// The routes of one server.
pub struct Operational {
    router: Router,
}

impl Operational {
    /// Creates the routes.
    pub fn new(
        health: Arc<Health>,
        audience: Audience,
        console: Option<Arc<Console>>,
    ) -> Operational {
        let router = health::routes().merge(others::routes()).with_state(health);
        let console = console.map(|console| console::routes().with_state(console));
        let router = router
            .merge(trace::routes().with_state(audience))
            .merge(console.unwrap_or_default())
            .fallback(unknown)
            .method_not_allowed_fallback(method_not_allowed);
        Operational { router }
    }

    /// Adds the routes of MinIO's admin API.
    pub fn with_admin(self, admin: Admin) -> Operational {
        let routes = admin::routes().method_not_allowed_fallback(method_not_allowed);
        Operational { router: self.router.merge(routes.with_state(Arc::new(admin))) }
    }

    /// Adds the routes of metrics.
    pub fn with_metrics(self, metrics: Metrics) -> Operational {
        let routes = metrics::routes().method_not_allowed_fallback(method_not_allowed);
        Operational { router: self.router.merge(routes.with_state(Arc::new(metrics))) }
    }

    /// Matches a request; `None` if it is not operational. In virtual-hosted style, every path is a
    /// key.
    pub fn claim(head: &Parts, target: &Target) -> Option<Claim> {
        let path = target.path();
        if path.starts_with("/_") {
            let is_host = target.host_bucket().is_some();
            return match target.bucket() {
                _ if is_host => None,
                FIRST_SEGMENT if !path.starts_with(HEALTH_PATHS) => Some(Way::Operator),
                FIRST_SEGMENT => Some(Way::Health),
                // Resets are for the test API, not for everybody.
                _ if path.starts_with(others::STATE_PATHS) => Some(Way::Operator),
                bucket => others::SEGMENTS.contains(&bucket).then_some(Way::Health),
            }
            .map(|way| Claim { way, is_borrowed: false });
        }
        let is_of_minio = || admin::is_claimed(path) || metrics::is_minio(path);
        if path.starts_with("/minio/") && is_of_minio() && target.host_bucket().is_none() {
            return Some(Claim { way: Way::Operator, is_borrowed: true });
        }
        if target.host_bucket().is_none()
            && !target.is_site()
            && browser::opens_page_of_minio(head, path)
        {
            return Some(Claim { way: Way::Operator, is_borrowed: true });
        }
        let is_read = || matches!(head.method, Method::GET | Method::HEAD);
        let is_borrowed = others::is_borrowed(path)
            && target.host_bucket().is_none()
            && is_read()
            && !is_signed(head);
        is_borrowed.then_some(Claim { way: Way::Health, is_borrowed })
    }

    /// The error of an operational request in the format of its clients.
    pub fn refusal(path: &str, error: ApiError) -> ApiError {
        match admin::is_claimed(path) {
            true => error.in_dialect(Dialect::Admin),
            false => error,
        }
    }

    /// Answers one request.
    pub async fn call<B>(&self, request: Request<B>) -> Reply
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let called = self.router.clone().call(request.map(Body::new)).await;
        let mut response = called.unwrap_or_else(|never| match never {});
        match response.extensions_mut().remove::<ApiError>() {
            Some(error) => {
                // The `Allow` header of the router, which knows the route's methods.
                let allow = response.headers_mut().remove(ALLOW);
                Err(error.with_more_headers(allow.map(|it| (ALLOW, it)).into_iter().collect()))
            }
            None => Ok(response.map(|body| ReplyBody::stream(body.map_err(Into::into)))),
        }
    }
}

async fn unknown(uri: Uri) -> Refused {
    let message = match uri.path() {
        path if path.starts_with("/_liteio/test/") => {
            "The test API is off: start the server with --test-api, or a container with LITEIO_TEST_API=any."
        }
        path if path.starts_with(others::STATE_PATHS) => {
            "POST /_localstack/state/reset resets a server with the test API, as POST /_liteio/test/reset does, and \
             nothing else is here: start the server with --test-api, or a container with LITEIO_TEST_API=any."
        }
        _ => "There is no such operational route.",
    };
    ApiError::new(ErrorCode::NoSuchKey, message).into()
}

async fn method_not_allowed(uri: Uri, signed: Option<Extension<SignedAs>>) -> Refused {
    if console::is_below(uri.path())
        && let Err(refused) = console::check_unsigned(signed)
    {
        return refused;
    }
    let error = ApiError::new(
        ErrorCode::MethodNotAllowed,
        "The specified method is not allowed against this resource.",
    );
    let mut headers = HeaderMap::new();
    headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    error.with_headers(headers).into()
}
