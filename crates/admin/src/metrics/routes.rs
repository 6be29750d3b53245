//! The routes of metrics.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::StatusCode;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE};

use super::figures::Figures;
use super::minio::Part;
use super::page::Format;
use super::{Metrics, access, minio, own};
use crate::operator::Refused;
use liteio_wire::origin::{Origin, log_failure};
use liteio_wire::reply::{ApiError, Dialect, ErrorCode};

/// Path prefix of MinIO's metrics.
const MINIO: &str = "/minio/v2/metrics/";
/// The path of MinIO's metrics version 1.
const MINIO_FIRST: &str = "/minio/prometheus/metrics";

/// The path of MinIO's metrics version 3, and the beginning of those of their parts.
const MINIO_THIRD: &str = "/minio/metrics/v3";

/// True for a path of MinIO's metrics, which is served only while no bucket has the name in the
/// path.
pub fn is_minio(path: &str) -> bool {
    path.starts_with(MINIO) || path == MINIO_FIRST || path.starts_with(MINIO_THIRD)
}

/// The routes.
pub fn routes() -> Router<Arc<Metrics>> {
    Router::new()
        .route("/_liteio/metrics", get(answer_own))
        .route("/minio/v2/metrics/{part}", get(answer_minio))
        .route(MINIO_FIRST, get(answer_all_of_minio))
        .route(MINIO_THIRD, get(answer_third))
        .route("/minio/metrics/v3/{*part}", get(answer_third))
}

async fn answer_own(
    State(metrics): State<Arc<Metrics>>,
    request: Request,
) -> Result<Response, Refused> {
    let accept = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok());
    let format = Format::accepted(accept.unwrap_or_default());
    let figures = gather(&metrics, request).await?;
    Ok(respond(format, own::page(&figures, format)))
}

async fn answer_minio(
    State(metrics): State<Arc<Metrics>>,
    Path(part): Path<String>,
    request: Request,
) -> Result<Response, Refused> {
    let figures = gather(&metrics, request).await?;
    let part = Part::named(&part).ok_or_else(no_such_page)?;
    Ok(respond(Format::Text, minio::page(&figures, part)))
}

async fn answer_third(
    State(metrics): State<Arc<Metrics>>,
    request: Request,
) -> Result<Response, Refused> {
    gather(&metrics, request).await?;
    Err(no_such_page())
}

fn no_such_page() -> Refused {
    ApiError::new(
        ErrorCode::NoSuchKey,
        "Of MinIO's metrics there are /minio/v2/metrics/cluster, node and bucket. LiteIO's own are at /_liteio/metrics.",
    )
    .into()
}

async fn answer_all_of_minio(
    State(metrics): State<Arc<Metrics>>,
    request: Request,
) -> Result<Response, Refused> {
    let figures = gather(&metrics, request).await?;
    Ok(respond(Format::Text, minio::page(&figures, Part::All)))
}

async fn gather(metrics: &Metrics, request: Request) -> Result<Figures, Refused> {
    let (mut head, _) = request.into_parts();
    if let Some(origin) = head.extensions.get::<Arc<Origin>>() {
        origin.found.note_routine();
    }
    let owner = access::decide(metrics, &mut head).await?;
    Figures::gather(metrics, owner).await.map_err(|error| {
        log_failure("metrics cannot be read", &error);
        let message = "Metrics cannot be read: the log has the reason.";
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        ApiError::with_status(Dialect::S3, "InternalError", status, message).into()
    })
}

fn respond(format: Format, page: String) -> Response {
    let headers = [(CONTENT_TYPE, format.content_type()), (CACHE_CONTROL, "no-store")];
    (headers, page).into_response()
}
