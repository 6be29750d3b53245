//! PutObjectAnnotation, GetObjectAnnotation, ListObjectAnnotations and DeleteObjectAnnotation.
//!
//! Source of limits and errors: botocore's model of 2026-11-20 and "Annotating your objects" in the Amazon S3 User
//! Guide. s3s has no types for them.

use std::str;

use http::header::{CONTENT_LENGTH, CONTENT_TYPE, ETAG, LAST_MODIFIED};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use liteio_store::limits::{ANNOTATION_BYTES_MAX, ANNOTATION_NAME_BYTES_MAX};
use liteio_store::{
    Annotate, AnnotationChange, AnnotationName, AnnotationNameError, AnnotationQuery, Bucket,
    DigestSet, EtagCondition, NewAnnotation, ObjectChecksum, ObjectVersion, ReadConditions,
    ReplicationStatus, VersionChange,
};
use s3s::{S3Error, S3Result, s3_error};

use super::checksum::{self, BodyChecks, DEFAULT_ALGORITHM};
use super::convert::{object_key, version_id};
use super::dates::http_date;
use super::details::Details;
use super::headers::{etag_header, header, insert_text};
use super::page_token::{name_of_token, token_after};
use super::plain::{self, PlainRequest, PlainResponse};
use super::xml::XmlWriter;
use super::{access, encryption, error, event_cause, metadata, object_version, replica};
use liteio_access::Granted;
use liteio_access::state::App;
use liteio_wire::reply::ReplyBody;

/// Most annotations of a page, and the default. S3's limit.
const PAGE_MAX: usize = 1000;

const OBJECT_VERSION: HeaderName = HeaderName::from_static("x-amz-object-version-id");
const OBJECT_IF_MATCH: &str = "x-amz-object-if-match";

pub(super) async fn put_object_annotation(app: &App, request: PlainRequest) -> PlainResponse {
    let name = name(&request)?;
    let checks = BodyChecks::from_request(&request.headers, &request.extensions)?;
    let payload = request.body.clone();
    if payload.is_empty() || payload.len() > ANNOTATION_BYTES_MAX {
        return Err(s3_error!(
            InvalidRequest,
            "The annotation payload must have 1 to {ANNOTATION_BYTES_MAX} bytes."
        ));
    }
    if str::from_utf8(&payload).is_err() {
        return Err(error::custom(
            "UnsupportedMediaType",
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "The annotation payload is not valid UTF-8 encoded text.",
        ));
    }
    // The announced digests were verified when the payload was received.
    let algorithm = checks.algorithm().unwrap_or(DEFAULT_ALGORITHM);
    let mut digests = DigestSet::new(&[algorithm]);
    digests.update(&payload);
    let digests = digests.finish();
    let new = NewAnnotation {
        name: name.clone(),
        payload,
        md5: digests.md5,
        checksum: digests.checksum(algorithm).copied(),
    };
    let (granted, key) = (request.granted.clone(), request.key.clone());
    let changed = change(app, request, AnnotationChange::Put(new)).await?;
    let (object, annotation) = changed;
    let mut xml = XmlWriter::new("PutObjectAnnotationOutput", 0);
    xml.text("Key", &key);
    xml.text("AnnotationName", name.as_str());
    let mut response = Response::new(ReplyBody::from(xml.finish()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    // Nothing is written for a copy that is older than what is here.
    if let Some(annotation) = annotation {
        headers.insert(ETAG, etag_header(&annotation.etag)?);
        let checksum = annotation.checksum.map(ObjectChecksum::full_object);
        checksum.iter().try_for_each(|checksum| checksum::insert(headers, checksum))?;
    }
    insert_object(headers, granted.bucket(), &object)?;
    Ok(response)
}

pub(super) async fn delete_object_annotation(app: &App, request: PlainRequest) -> PlainResponse {
    let name = name(&request)?;
    let granted = request.granted.clone();
    let (object, _) = change(app, request, AnnotationChange::Delete(name)).await?;
    let mut response = plain::no_content()?;
    insert_version(response.headers_mut(), granted.bucket(), &object)?;
    Ok(response)
}

pub(super) async fn get_object_annotation(app: &App, request: PlainRequest) -> PlainResponse {
    let name = name(&request)?;
    let PlainRequest { granted, key, headers, .. } = &request;
    let wants_checksum = header(headers, "x-amz-checksum-mode")
        .is_some_and(|mode| mode.eq_ignore_ascii_case("ENABLED"));
    let key = object_key(key.clone())?;
    let version = version_id(request.sent().parameter("versionId").map(str::to_owned))?;
    let bucket = granted.bucket().clone();
    let read = move |store: &liteio_store::Store| {
        store.get_annotation(&bucket, &key, version.as_ref(), name.as_str())
    };
    let found = app.blocking(read).await.map_err(object_version::from_marker)?;
    held(granted, &found.object)?;
    let annotation = &found.annotation;
    let mut response = Response::new(ReplyBody::from(found.payload));
    let headers = response.headers_mut();
    headers.insert(CONTENT_LENGTH, HeaderValue::from(annotation.bytes));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(ETAG, etag_header(&annotation.etag)?);
    headers.insert(LAST_MODIFIED, http_date(annotation.modified_ms)?);
    if wants_checksum && let Some(checksum) = annotation.checksum {
        checksum::insert(headers, &ObjectChecksum::full_object(checksum))?;
    }
    insert_object(headers, granted.bucket(), &found.object)?;
    if let Some(status) = found.object.replication {
        headers.insert(metadata::REPLICATION_STATUS, HeaderValue::from_static(status.name()));
    }
    Ok(response)
}

pub(super) async fn list_object_annotations(app: &App, request: PlainRequest) -> PlainResponse {
    let sent = request.sent();
    let prefix = sent.parameter("annotation-prefix").unwrap_or_default();
    if prefix.len() > ANNOTATION_NAME_BYTES_MAX {
        return Err(error::custom(
            "InvalidPrefix",
            StatusCode::BAD_REQUEST,
            "The annotation prefix you provided is invalid.",
        ));
    }
    let asked = sent.parameter("max-annotation-results");
    let max = asked.map_or(Some(PAGE_MAX), |text| text.parse().ok());
    let max = max.filter(|max| (1..=PAGE_MAX).contains(max)).ok_or_else(|| {
        let sent = asked.unwrap_or_default();
        s3_error!(
            Details::argument("max-annotation-results", sent),
            InvalidArgument,
            "Argument max-annotation-results must be an integer between 1 and {PAGE_MAX}"
        )
    })?;
    let token = sent.parameter("continuation-token");
    let query = AnnotationQuery {
        prefix: prefix.to_owned(),
        after: token.map(name_of_token).transpose()?,
        max,
    };
    let key = object_key(request.key.clone())?;
    let version = version_id(sent.parameter("versionId").map(str::to_owned))?;
    let bucket = request.granted.bucket().clone();
    let read = {
        let (query, key) = (query.clone(), key.clone());
        move |store: &liteio_store::Store| {
            store.list_annotations(&bucket, &key, version.as_ref(), &query)
        }
    };
    let page = app.blocking(read).await.map_err(object_version::from_marker)?;
    held(&request.granted, &page.object)?;
    let status = page.object.replication.map(ReplicationStatus::name);
    let mut xml = XmlWriter::new("ListObjectAnnotationsOutput", page.annotations.len() * 300);
    xml.open("Annotations");
    for annotation in &page.annotations {
        xml.open("AnnotationEntry");
        xml.text("AnnotationName", &annotation.name);
        xml.date("LastModified", annotation.modified_ms);
        xml.etag(annotation.etag);
        if let Some(checksum) = annotation.checksum {
            xml.word("ChecksumAlgorithm", checksum::name(checksum.algorithm));
        }
        xml.value("Size", annotation.bytes);
        if let Some(status) = status {
            xml.word("ReplicationStatus", status);
        }
        xml.close("AnnotationEntry");
    }
    xml.close("Annotations");
    xml.text("Bucket", request.granted.bucket().name.as_str());
    xml.text("Key", key.as_str());
    xml.optional_text("AnnotationPrefix", Some(prefix).filter(|prefix| !prefix.is_empty()));
    xml.value("MaxAnnotationResults", max);
    xml.value("AnnotationCount", page.annotations.len());
    xml.optional_text("ContinuationToken", token);
    let last = page.annotations.last().filter(|_| page.has_more);
    let next = last.map(|last| token_after(&last.name));
    xml.optional_text("NextContinuationToken", next.as_deref());
    let mut response = Response::new(ReplyBody::from(xml.finish()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    insert_version(headers, request.granted.bucket(), &page.object)?;
    Ok(response)
}

/// The name in the query.
fn name(request: &PlainRequest) -> S3Result<AnnotationName> {
    let sent = request.sent().parameter("annotationName").unwrap_or_default();
    AnnotationName::new(sent).map_err(|refused| {
        let (code, message) = match refused {
            AnnotationNameError::TooLong => (
                "AnnotationNameTooLong",
                format!("The annotation name exceeds {ANNOTATION_NAME_BYTES_MAX} bytes."),
            ),
            AnnotationNameError::Invalid => (
                "InvalidAnnotationName",
                "The annotation name you provided is invalid: it has letters, digits, _, . and -, and does not begin \
                 with aws or s3."
                    .to_owned(),
            ),
        };
        error::custom(code, StatusCode::BAD_REQUEST, &message)
    })
}

/// Changes the annotations of the version in the query, or of the current one.
async fn change(
    app: &App,
    request: PlainRequest,
    change: AnnotationChange,
) -> S3Result<(ObjectVersion, Option<liteio_store::Annotation>)> {
    let conditions = object_conditions(&request.headers)?;
    let cause =
        event_cause::of_request(app, &request.granted, &request.headers, &request.extensions);
    let bypasses_governance = access::bypasses_governance(request.sent());
    let version = request.sent().parameter("versionId").map(str::to_owned);
    let PlainRequest { granted, key, headers, .. } = request;
    if granted.saw_nothing() {
        // The version is missing, or was created after the decision.
        let found = object_version::find_tagged(app, &granted, key, version).await?;
        return Ok((found, None));
    }
    let annotate = Annotate { change, conditions, bypasses_governance };
    let change = replica::changed(&headers, VersionChange::Annotate(Box::new(annotate)))?;
    let (key, version) = (object_key(key)?, version_id(version)?);
    let change = granted.guarded(change);
    let changed = app.store.annotate_object(granted.bucket(), key, version, change, cause).await;
    changed.map_err(|failed| match failed {
        liteio_store::StoreError::ConditionalRequestConflict => error::conflict(),
        liteio_store::StoreError::PreconditionFailed { .. } => {
            error::precondition_failed(OBJECT_IF_MATCH)
        }
        failed => object_version::from_marker(failed),
    })
}

/// The condition on the object. One that names no entity tag is refused: the write would be unconditional.
fn object_conditions(headers: &HeaderMap) -> S3Result<ReadConditions> {
    if !headers.contains_key(OBJECT_IF_MATCH) {
        return Ok(ReadConditions::default());
    }
    let if_match = header(headers, OBJECT_IF_MATCH).and_then(EtagCondition::parse);
    match if_match {
        Some(_) => Ok(ReadConditions { if_match, ..ReadConditions::default() }),
        None => Err(s3_error!(InvalidArgument, "A conditional header names no ETag")),
    }
}

fn held(granted: &Granted, object: &ObjectVersion) -> S3Result<()> {
    // Time of check to time of use: another version may have replaced the authorized one.
    if granted.holds_for(object) { Ok(()) } else { Err(error::conflict()) }
}

/// Adds the version ID and the encryption of the object, which are those of the annotation.
fn insert_object(
    headers: &mut HeaderMap,
    bucket: &Bucket,
    object: &ObjectVersion,
) -> Result<(), S3Error> {
    insert_version(headers, bucket, object)?;
    encryption::insert(headers, object.encryption.as_ref(), None)
}

fn insert_version(
    headers: &mut HeaderMap,
    bucket: &Bucket,
    object: &ObjectVersion,
) -> S3Result<()> {
    insert_text(headers, OBJECT_VERSION, metadata::shown_version(bucket, object).as_deref())
}
