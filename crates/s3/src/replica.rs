//! Requests with which one server gives another its versions, their deletions and changes.
//!
//! The headers are MinIO's, and one of ours: the stamp of the version, which orders the versions of
//! a key. Version ids of MinIO itself have no order, so without the stamp such a request is
//! refused.

use http::{HeaderMap, HeaderName};
use jiff::Timestamp;
use liteio_store::{ETag, Replica, VersionChange, VersionId};
use s3s::{S3Result, s3_error};

use super::details::Details;
use super::error;
use super::headers::header;
use liteio_access::Action;

/// `true` in a request that another server sends for replication.
const REQUEST: &str = "x-minio-source-replication-request";
/// The stamp of the version.
const STAMP: &str = "x-liteio-source-stamp";
const VERSION: &str = "x-minio-source-version-id";
const MODIFIED: &str = "x-minio-source-mtime";
const ETAG: &str = "x-minio-source-etag";
const MARKER: &str = "x-minio-source-deletemarker";
const TAGS_CHANGED: &str = "x-minio-source-replication-tagging-timestamp";
const RETENTION_CHANGED: &str = "x-minio-source-replication-retention-timestamp";
const HOLD_CHANGED: &str = "x-minio-source-replication-legalhold-timestamp";

/// The time of a change of an annotation. Ours: MinIO has none.
const ANNOTATED: &str = "x-liteio-source-annotation-timestamp";

/// The headers that are known.
const KNOWN: [&str; 8] =
    [REQUEST, VERSION, MODIFIED, ETAG, MARKER, TAGS_CHANGED, RETENTION_CHANGED, HOLD_CHANGED];

/// `true` if another LiteIO sends the request for replication.
pub(super) fn is_asked(headers: &HeaderMap) -> bool {
    const NAME: HeaderName = HeaderName::from_static(REQUEST);
    header(headers, NAME) == Some("true") && headers.contains_key(STAMP)
}

/// `true` for a header that a request for replication has.
pub(super) fn knows(name: &str) -> bool {
    KNOWN.contains(&name)
}

/// The action that a request for replication needs besides its own; `None` for an operation that
/// there is no such request for.
pub(super) fn action(operation: &str) -> Option<Action> {
    match operation {
        "PutObject" | "CreateMultipartUpload" | "CompleteMultipartUpload" => {
            Some(Action::ReplicateObject)
        }
        "PutObjectRetention" | "PutObjectLegalHold" => Some(Action::ReplicateObject),
        "PutObjectTagging" | "DeleteObjectTagging" => Some(Action::ReplicateTags),
        "PutObjectAnnotation" | "DeleteObjectAnnotation" => Some(Action::ReplicateObjectAnnotation),
        "DeleteObject" => Some(Action::ReplicateDelete),
        _ => None,
    }
}

/// The version that a write brings, if it is one for replication.
pub(super) fn of_write(headers: &HeaderMap) -> S3Result<Option<Replica>> {
    if !is_asked(headers) {
        return Ok(None);
    }
    let etag = header(headers, ETAG)
        .map(|text| ETag::parse(text.trim_matches('"')).ok_or_else(|| invalid(ETAG, text)));
    Ok(Some(Replica {
        stamp: stamp(headers)?,
        is_null: header(headers, VERSION) == Some("null"),
        modified_ms: time(headers, MODIFIED)?.ok_or_else(|| invalid(MODIFIED, ""))?,
        etag: etag.transpose()?,
    }))
}

/// A deletion for replication.
pub(super) enum Deletion {
    /// Adds a delete marker.
    Marker(Replica),
    /// Deletes a version.
    Version,
}

/// The deletion that a request asks for, if it is one for replication.
pub(super) fn of_deletion(headers: &HeaderMap, names_version: bool) -> S3Result<Option<Deletion>> {
    let Some(replica) = of_write_without_time(headers)? else { return Ok(None) };
    let is_marker = header(headers, MARKER) == Some("true");
    match (is_marker, names_version) {
        (true, false) => Ok(Some(Deletion::Marker(Replica {
            modified_ms: time(headers, MODIFIED)?.ok_or_else(|| invalid(MODIFIED, ""))?,
            ..replica
        }))),
        (false, true) => Ok(Some(Deletion::Version)),
        _ => Err(error::invalid_request(
            "A deletion for replication names a version, or has the header x-minio-source-deletemarker. Nothing was \
             deleted.",
        )),
    }
}

fn of_write_without_time(headers: &HeaderMap) -> S3Result<Option<Replica>> {
    if !is_asked(headers) {
        return Ok(None);
    }
    let is_null = header(headers, VERSION) == Some("null");
    Ok(Some(Replica { stamp: stamp(headers)?, is_null, modified_ms: 0, etag: None }))
}

/// The change as one of another server, if the request is one for replication.
pub(super) fn changed(headers: &HeaderMap, change: VersionChange) -> S3Result<VersionChange> {
    if !is_asked(headers) {
        return Ok(change);
    }
    let name = match &change {
        VersionChange::Tags(_) | VersionChange::NoTags => TAGS_CHANGED,
        VersionChange::Retention { .. } | VersionChange::EventHold { .. } => RETENTION_CHANGED,
        VersionChange::Annotate(_) => ANNOTATED,
        _ => HOLD_CHANGED,
    };
    let at_ms = time(headers, name)?.ok_or_else(|| invalid(name, ""))?;
    Ok(VersionChange::Replicated { at_ms, change: Box::new(change) })
}

fn stamp(headers: &HeaderMap) -> S3Result<[u8; 16]> {
    let text = header(headers, STAMP).unwrap_or_default();
    match VersionId::parse(text) {
        Ok(VersionId::Id(stamp)) => Ok(stamp),
        _ => Err(invalid(STAMP, text)),
    }
}

/// The time in a header, in milliseconds since 1970.
fn time(headers: &HeaderMap, name: &'static str) -> S3Result<Option<u64>> {
    let Some(text) = header(headers, name) else { return Ok(None) };
    let time = text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond);
    let time = time.and_then(|time| u64::try_from(time).ok());
    time.map(Some).ok_or_else(|| invalid(name, text))
}

fn invalid(name: &'static str, value: &str) -> s3s::S3Error {
    let value = error::quoted(value);
    s3_error!(
        Details::argument(name, value),
        InvalidArgument,
        "The value of the header {name} of a request for replication is missing or not valid."
    )
}
