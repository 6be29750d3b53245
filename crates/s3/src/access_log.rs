//! Tells the access log of requests on buckets that have server access logging. Other buckets pay for one look into
//! their settings.

use std::sync::Arc;

use http::{HeaderMap, Method, StatusCode};
use liteio_access::state::App;
use liteio_access::{self as access, AccessLog, Granted, LoggedKind, LoggedRequest};
use liteio_auth::{Identity, SignedAs};
use liteio_store::Bucket;
use liteio_wire::origin::Origin;
use s3s::S3Error;

use super::context::Sent;
use super::route::Target;

/// Tells of a request whose bucket was resolved for `granted`, or was refused.
pub(super) async fn begin(app: &App, sent: Sent<'_>, target: &Target, granted: Option<&Granted>) {
    let Some(origin) = sent.origin() else { return };
    match granted {
        Some(granted) => {
            if let Some(log) = app.access_log_of(granted.bucket()) {
                tell(log, granted.bucket(), sent, origin, target);
            }
        }
        // Refused before the bucket was resolved, or after.
        None if origin.found.owner().is_none() => {}
        None => {
            let bucket = app.look(|store| access::bucket_for_rules(store, &target.bucket)).await;
            // The name may have changed hands since the refusal.
            let is_same = |bucket: &Arc<Bucket>| origin.found.owner() == Some(&*bucket.owner.id);
            if let Some(bucket) = bucket.ok().filter(is_same)
                && let Some(log) = app.access_log_of(&bucket)
            {
                tell(log, &bucket, sent, origin, target);
            }
        }
    }
}

fn tell(
    log: &dyn AccessLog,
    bucket: &Arc<Bucket>,
    sent: Sent<'_>,
    origin: &Origin,
    target: &Target,
) {
    log.begin(
        bucket,
        &LoggedRequest {
            kind: LoggedKind::Api,
            method: sent.method,
            headers: sent.headers,
            key: &target.key,
            version: sent.parameter("versionId"),
            requester: requester(sent),
            signed: sent.extensions.get::<SignedAs>(),
            origin,
        },
    );
}

/// Tells of the read of the source of a copy.
pub(super) fn copy_source(
    app: &App,
    sent: Sent<'_>,
    source: &Granted,
    key: &str,
    version: Option<&str>,
) {
    let Some(log) = app.access_log_of(source.bucket()) else { return };
    let Some(origin) = sent.origin() else { return };
    let signed = sent.extensions.get::<SignedAs>();
    let (kind, method, headers) = (LoggedKind::CopySource, sent.method, sent.headers);
    let requester = requester(sent);
    let request = LoggedRequest { kind, method, headers, key, version, requester, signed, origin };
    log.begin(source.bucket(), &request);
}

/// Tells of the deletion of one of the keys of DeleteObjects.
pub(super) fn deleted(
    log: &dyn AccessLog,
    granted: &Granted,
    sent: Sent<'_>,
    (key, version): (&str, Option<&str>),
    error: Option<&S3Error>,
) {
    let Some(origin) = sent.origin() else { return };
    let (kind, method, headers) = (LoggedKind::BatchDelete, sent.method, sent.headers);
    let (requester, signed) = (requester(sent), sent.extensions.get::<SignedAs>());
    let request = LoggedRequest { kind, method, headers, key, version, requester, signed, origin };
    let status = match error {
        None => StatusCode::NO_CONTENT,
        Some(error) => error.status_code().unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
    };
    let code = error.map(|error| error.code().as_str());
    log.deleted(granted.bucket(), &request, status.as_u16(), code);
}

/// Tells of a request that rules of the bucket answer, to everyone: a preflight, or one to a website.
pub(super) fn by_rules(
    app: &App,
    bucket: &Arc<Bucket>,
    method: &Method,
    headers: &HeaderMap,
    origin: &Origin,
) {
    let Some(log) = app.access_log_of(bucket) else { return };
    let kind = match *method == Method::OPTIONS {
        true => LoggedKind::Preflight,
        false => LoggedKind::Website,
    };
    let (key, version, requester, signed) = (origin.target.key(), None, None, None);
    let request = LoggedRequest { kind, method, headers, key, version, requester, signed, origin };
    log.begin(bucket, &request);
}

fn requester(sent: Sent<'_>) -> Option<&str> {
    let user = sent.extensions.get().and_then(Identity::user)?;
    Some(match user.is_root() {
        true => user.canonical_id(),
        false => &user.caller.arn,
    })
}
