//! The routes below `/_liteio/console/`.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH, REFERRER_POLICY, VARY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{StatusCode, Uri, header};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::files::{File, Found};
use super::{Console, PATH, keys, oidc, session};
use crate::operator::{Operator, Refused};
use liteio_auth::SignedAs;
use liteio_iam::{Circumstances, is_denied};
use liteio_identity::Session;
use liteio_wire::origin::{Origin, log_failure};
use liteio_wire::reply::{ApiError, ErrorCode};

/// The longest body, which holds the names of an object.
const BODY_BYTES_MAX: usize = 16 << 10;

/// Content security policy: scripts and styles from this server only, no frames, no markup from
/// strings.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; \
     frame-src 'self'; connect-src 'self'; \
     frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; \
     trusted-types 'none'",
);

/// The headers of every response.
const HEADERS: [(HeaderName, HeaderValue); 6] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
];

/// The routes.
pub fn routes() -> Router<Arc<Console>> {
    Router::new()
        .route("/_liteio/console", get(to_index))
        // Pages of MinIO's console, which browsers have as bookmarks.
        .route("/login", get(to_index))
        .route("/browser", get(to_index))
        .route("/browser/", get(to_index))
        .route("/browser/{*path}", get(to_bucket))
        .route(PATH, get(index))
        .route("/_liteio/console/{*path}", get(file))
        .route("/_liteio/console/session", get(about).post(sign_in))
        .route("/_liteio/console/oidc/begin", post(oidc::begin))
        .route("/_liteio/console/oidc/finish", post(oidc::finish))
        .route("/_liteio/console/share", post(share))
        .route("/_liteio/console/keys", get(keys::list).post(keys::create))
        .route(
            "/_liteio/console/keys/{id}",
            get(keys::info).post(keys::change).delete(keys::remove),
        )
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
}

async fn to_index(signed: Option<Extension<SignedAs>>) -> Result<Redirect, Refused> {
    check_unsigned(signed)?;
    Ok(Redirect::temporary(PATH))
}

async fn to_bucket(uri: Uri, signed: Option<Extension<SignedAs>>) -> Result<Redirect, Refused> {
    check_unsigned(signed)?;
    Ok(Redirect::temporary(&page_of_bucket(uri.path())))
}

/// The page of a bucket or a folder whose page in MinIO's console is `/browser/BUCKET/FOLDER`, where FOLDER is encoded as one
/// segment.
fn page_of_bucket(path: &str) -> String {
    let rest = path.trim_start_matches("/browser/");
    let (bucket, folder) = rest.split_once('/').unwrap_or((rest, ""));
    // An object has the page of its bucket, and so has a folder of a former version, which encoded it in base64.
    let is_encoded = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.!~*'()%".contains(&byte);
    match folder.ends_with("%2F") && folder.bytes().all(is_encoded) {
        true => format!("{PATH}#/buckets/{bucket}?prefix={folder}"),
        false => format!("{PATH}#/buckets/{bucket}"),
    }
}

async fn index(
    signed: Option<Extension<SignedAs>>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    check_unsigned(signed)?;
    answer("", &headers)
}

async fn file(
    Path(path): Path<String>,
    signed: Option<Extension<SignedAs>>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    check_unsigned(signed)?;
    answer(&path, &headers)
}

/// `true` for the address of the console, and for all that is below it.
pub(crate) fn is_below(path: &str) -> bool {
    path == PATH.trim_end_matches('/') || path.starts_with(PATH)
}

/// Refuses the request of a client of S3 whose endpoint is the address of the console: no browser signs the request for a page.
pub(crate) fn check_unsigned(signed: Option<Extension<SignedAs>>) -> Result<(), Refused> {
    match signed.and_then(|Extension(signed)| signed.service()) {
        None => Ok(()),
        Some(_) => Err(Refused::from(ApiError::new(
            ErrorCode::InvalidRequest,
            "This is the address of the console. The endpoint for clients has no path: remove /_liteio/console/ from it.",
        ))),
    }
}

/// Serves a static file. Browsers keep it if its path names the release, and otherwise revalidate it by ETag.
fn answer(path: &str, asked: &HeaderMap) -> Result<Response, Refused> {
    let Found { file, is_fixed } = File::at(path)
        .ok_or_else(|| ApiError::new(ErrorCode::NoSuchKey, "There is no such page."))?;
    let named = |name: &HeaderName| asked.get(name).and_then(|it| it.to_str().ok());
    let is_known = named(&IF_NONE_MATCH).is_some_and(|it| it.contains(file.etag()));
    let is_zipped = named(&ACCEPT_ENCODING).is_some_and(|it| it.contains("gzip"));
    let mut response = match (is_known, is_zipped) {
        (true, _) => StatusCode::NOT_MODIFIED.into_response(),
        (false, true) => ([(CONTENT_ENCODING, "gzip")], axum::body::Body::from(file.compressed()))
            .into_response(),
        (false, false) => axum::body::Body::from(file.bytes()).into_response(),
    };
    let headers = response.headers_mut();
    headers.extend(HEADERS);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(file.content_type()));
    let kept = if is_fixed { "public, max-age=31536000, immutable" } else { "no-cache" };
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(kept));
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    headers.extend(HeaderValue::from_str(file.etag()).map(|etag| (ETAG, etag)));
    Ok(response)
}

pub(super) fn json_answer(value: &Value) -> Response {
    let mut response = value.to_string().into_response();
    let headers = response.headers_mut();
    headers.extend(HEADERS);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.remove(header::VARY);
    response
}

/// The values that signing needs, region and server time, available to everybody.
async fn about(
    State(console): State<Arc<Console>>,
    Extension(origin): Extension<Arc<Origin>>,
) -> Response {
    json_answer(&json!({
        "region": console.app.region,
        "address": origin.peer.address.ip().to_canonical(),
        "now": Timestamp::from_second(console.app.now_unix_seconds()).unwrap_or_default().to_string(),
        "version": env!("CARGO_PKG_VERSION"),
        "open": console.is_open,
        "issuer": console.sign_in.as_ref().map(|it| it.issuer_name()),
    }))
}

/// Creates a session for the user whose long-term keys signed this request.
async fn sign_in(
    State(console): State<Arc<Console>>,
    operator: Operator,
    Extension(origin): Extension<Arc<Origin>>,
) -> Result<Response, Refused> {
    if operator.user().session.is_some() {
        return Err(ApiError::new(
            ErrorCode::AccessDenied,
            "Sign in with the keys of a user: a session cannot begin another session.",
        )
        .into());
    }
    if operator.key().is_of_service {
        return Err(ApiError::new(
            ErrorCode::AccessDenied,
            "Sign in with the keys of a user: a service account cannot begin a session.",
        )
        .into());
    }
    let (user, now) = (operator.user(), console.app.now_unix_seconds());
    let session = session::of_console(&user.caller.user_id, origin.peer.address.ip(), now);
    let mut told = issue(&console, session)?;
    told["user"] = json!(user.name);
    told["arn"] = json!(user.caller.arn);
    tracing::info!(user = user.name, client = %origin.peer.name(), "signed in to the console");
    Ok(json_answer(&told))
}

/// The object to link to.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Share {
    bucket: String,
    key: String,
    seconds: u32,
}

/// Creates temporary keys that read one object, for a link to it. They grant no more than their
/// creator has.
async fn share(
    State(console): State<Arc<Console>>,
    operator: Operator,
    body: Bytes,
) -> Result<Response, Refused> {
    let invalid = |message: String| ApiError::new(ErrorCode::InvalidArgument, message);
    let Share { bucket, key, seconds } =
        serde_json::from_slice(&body).map_err(|error| invalid(format!("The link: {error}.")))?;
    if !(1..=session::SHARE_SECONDS_MAX).contains(&seconds) {
        return Err(invalid(format!(
            "A link is good for 1 to {} seconds.",
            session::SHARE_SECONDS_MAX
        ))
        .into());
    }
    if bucket.is_empty() || key.is_empty() || bucket.contains(['/', ':', '*', '?', '$']) {
        return Err(
            invalid("A link is to an object: give its bucket and its key.".to_owned()).into()
        );
    }
    let arn = format!("arn:aws:s3:::{bucket}/{key}");
    let user = operator.user();
    // Otherwise a link's keys could create further links, and so never expire.
    let may_share = match &user.session {
        Some(session) => session.is_of_console,
        None => !operator.key().is_of_service,
    };
    let context: Circumstances<'_> = operator.circumstances();
    if !may_share || is_denied(user, "s3:GetObject", &arn, &context) {
        return Err(ApiError::new(
            ErrorCode::AccessDenied,
            "This session may not make links to objects.",
        )
        .into());
    }
    let session = session::of_object(user, &arn, console.app.now_unix_seconds(), seconds);
    Ok(json_answer(&issue(&console, session)?))
}

pub(super) fn issue(console: &Console, session: Session) -> Result<Value, ApiError> {
    let expires = Timestamp::from_second(session.expires).unwrap_or_default();
    let issued = console.app.directory.begin(session).map_err(|error| {
        log_failure("no session could be begun", &error);
        ApiError::new(
            ErrorCode::SlowDown,
            "No session could be begun: look into the log of the server.",
        )
    })?;
    Ok(json!({
        "access_key": issued.access_key,
        "secret_key": issued.secret_key,
        "token": issued.token,
        "expires": expires.to_string(),
    }))
}
