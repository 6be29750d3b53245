//! Health paths of other servers, which clients, images and test libraries made for them poll.
//!
//! | Paths | Of |
//! |---|---|
//! | `/minio/health/{live,ready,cluster,cluster/read}` | MinIO (`cmd/healthcheck-router.go`) |
//! | `/_localstack/{health,init,init/STAGE,info}` | LocalStack (`localstack/services/internal.py`); `state/reset` is the test API's |
//! | `/favicon.ico` | S3Mock |
//! | `/_floci/health` | Floci |
//! | `/healthz`, `/healthz/{live,ready}` | LiteIO's ancestor, and habit |
//!
//! Bucket names cannot start with an underscore, so those paths are always served. The others could
//! name an object: they are [borrowed](is_borrowed), that is, served only while no such bucket
//! exists.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use jiff::Timestamp;

use super::health::{Health, Readiness, live, ready};
use crate::operator::Refused;
use liteio_wire::reply::{ApiError, ErrorCode};

/// First segments of other servers' paths that are not valid bucket names.
pub(super) const SEGMENTS: [&str; 2] = ["_localstack", "_floci"];
/// Path prefix of LocalStack's resets, of which the test API has the one of all services.
pub(super) const STATE_PATHS: &str = "/_localstack/state/";

const MINIO_LIVE: &str = "/minio/health/live";
const MINIO_READY: &str = "/minio/health/ready";
const MINIO_CLUSTER: &str = "/minio/health/cluster";
const MINIO_CLUSTER_READ: &str = "/minio/health/cluster/read";
const FAVICON: &str = "/favicon.ico";
const HEALTHZ: &str = "/healthz";
const HEALTHZ_LIVE: &str = "/healthz/live";
const HEALTHZ_READY: &str = "/healthz/ready";

/// The emulated version of LocalStack, the last one that needed no account.
const LOCALSTACK_VERSION: &str = "4.14.0";

/// True while the process runs startup scripts. They are of the process, whose container they come with, not of one
/// of its servers.
static SCRIPTS_RUN: AtomicBool = AtomicBool::new(false);

/// Notes that startup scripts are about to run, or have ended.
pub fn set_scripts_run(run: bool) {
    SCRIPTS_RUN.store(run, Ordering::Relaxed);
}

/// LocalStack's stages of startup scripts, and whether each is complete. Only the scripts of READY are run.
fn stages() -> [(&'static str, bool); 4] {
    let is_ready = !SCRIPTS_RUN.load(Ordering::Relaxed);
    [("BOOT", true), ("START", true), ("READY", is_ready), ("SHUTDOWN", false)]
}

const SERVER_STATUS: HeaderName = HeaderName::from_static("x-minio-server-status");
const WRITE_QUORUM: HeaderName = HeaderName::from_static("x-minio-write-quorum");
const READ_QUORUM: HeaderName = HeaderName::from_static("x-minio-read-quorum");

/// True for a path that is served only while no bucket has the name in it.
pub(super) fn is_borrowed(path: &str) -> bool {
    // Fast path: this runs for every request, so the second byte is tested before the paths are
    // compared.
    matches!(path.as_bytes().get(1), Some(b'm' | b'f' | b'h'))
        && [
            MINIO_LIVE,
            MINIO_READY,
            MINIO_CLUSTER,
            MINIO_CLUSTER_READ,
            FAVICON,
            HEALTHZ,
            HEALTHZ_LIVE,
            HEALTHZ_READY,
        ]
        .contains(&path)
}

/// The routes.
pub(super) fn routes() -> Router<Arc<Health>> {
    Router::new()
        .route(MINIO_LIVE, get(minio_live))
        .route(MINIO_READY, get(minio_ready))
        .route(MINIO_CLUSTER, get(minio_cluster))
        .route(MINIO_CLUSTER_READ, get(minio_cluster_read))
        .route("/_localstack/health", get(localstack_health).post(no_action))
        .route("/_localstack/init", get(localstack_init))
        .route("/_localstack/init/{stage}", get(localstack_stage))
        .route("/_localstack/info", get(localstack_info))
        .route("/_floci/health", get(localstack_health))
        .route(FAVICON, get(async || StatusCode::OK))
        .route(HEALTHZ, get(ready))
        .route(HEALTHZ_READY, get(ready))
        .route(HEALTHZ_LIVE, get(live))
}

/// Liveness is 200 even if the server is not ready, as long as restarting the process would not help.
async fn minio_live(State(health): State<Arc<Health>>) -> Response {
    let offline = (SERVER_STATUS, HeaderValue::from_static("offline"));
    match (health.readiness)() {
        Readiness::NotReady(_) => (health.liveness(), [offline]).into_response(),
        Readiness::Ready | Readiness::Degraded(_) => health.liveness().into_response(),
    }
}

async fn minio_ready(State(health): State<Arc<Health>>) -> StatusCode {
    status(&health)
}

/// With `maintenance`, the question is whether the cluster could lose this node; a single node
/// cannot, so the answer is no.
async fn minio_cluster(State(health): State<Arc<Health>>, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    let status = match status(&health) {
        StatusCode::OK if pairs.any(|pair| pair == ("maintenance".into(), "true".into())) => {
            StatusCode::PRECONDITION_FAILED
        }
        status => status,
    };
    (status, [(WRITE_QUORUM, HeaderValue::from(1))]).into_response()
}

async fn minio_cluster_read(State(health): State<Arc<Health>>) -> Response {
    (status(&health), [(READ_QUORUM, HeaderValue::from(1))]).into_response()
}

/// LocalStack reports a service as running once it was used.
async fn localstack_health(State(health): State<Arc<Health>>) -> Response {
    let state = if (health.has_buckets)().await { "running" } else { "available" };
    let services = ["iam", "s3", "s3tables", "s3vectors", "sts"];
    let services = services.map(|service| format!("\"{service}\": \"{state}\""));
    let services = services.join(", ");
    json(
        status(&health),
        format!(
            "{{\"services\": {{{services}}}, \"edition\": \"community\", \
             \"version\": \"{LOCALSTACK_VERSION}\"}}"
        ),
    )
}

/// LocalStack stops or restarts on a request that anybody may send; this server refuses.
async fn no_action() -> Refused {
    ApiError::new(
        ErrorCode::NotImplemented,
        "The server is not stopped or restarted by a request. Start another one.",
    )
    .into()
}

async fn localstack_init() -> Response {
    let stages = stages().map(|(stage, is_over)| format!("\"{stage}\": {is_over}")).join(", ");
    json(StatusCode::OK, format!("{{\"completed\": {{{stages}}}, \"scripts\": []}}"))
}

async fn localstack_stage(Path(stage): Path<String>) -> Result<Response, Refused> {
    let known = stages().into_iter().find(|(name, _)| name.eq_ignore_ascii_case(&stage));
    let Some((_, is_over)) = known else {
        return Err(ApiError::new(ErrorCode::NoSuchKey, "There is no such stage.").into());
    };
    Ok(json(StatusCode::OK, format!("{{\"completed\": {is_over}, \"scripts\": []}}")))
}

async fn localstack_info(State(health): State<Arc<Health>>) -> Response {
    let now = Timestamp::now();
    let uptime = now.as_second() - health.started.as_second();
    let (time, version) = (now.strftime("%Y-%m-%dT%H:%M:%S"), env!("CARGO_PKG_VERSION"));
    json(
        StatusCode::OK,
        format!(
            "{{\"version\": \"{LOCALSTACK_VERSION}\", \"edition\": \"community\", \
             \"is_license_activated\": false, \"session_id\": \"liteio\", \
             \"machine_id\": \"liteio\", \"system\": \"LiteIO {version}\", \"is_docker\": false, \
             \"server_time_utc\": \"{time}\", \"uptime\": {uptime}}}"
        ),
    )
}

fn status(health: &Health) -> StatusCode {
    match (health.readiness)() {
        Readiness::Ready | Readiness::Degraded(_) => StatusCode::OK,
        Readiness::NotReady(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// A JSON document with a space after colons and commas, as Python writes it: scripts search for
/// `"s3": "running"`.
fn json(status: StatusCode, text: String) -> Response {
    let json_type = HeaderValue::from_static("application/json");
    (status, [(CONTENT_TYPE, json_type)], text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_paths_are_borrowed() {
        for path in [MINIO_LIVE, MINIO_CLUSTER_READ, FAVICON, HEALTHZ, HEALTHZ_READY] {
            assert!(is_borrowed(path), "{path}");
        }
        for path in ["/", "/minio", "/minio/", "/minio/health", "/minio/health/live/", "/healthz/"]
        {
            assert!(!is_borrowed(path), "{path}");
        }
    }
}
