//! DeleteObject and DeleteObjects.

use std::sync::Arc;

use http::HeaderMap;
use liteio_store::{
    Bucket, DeleteOutcome, DeleteTarget, ETagText, EtagCondition, ObjectKey, StoreError, VersionId,
    WriteConditions,
};
use s3s::dto::{
    DeleteObjectInput, DeleteObjectOutput, DeleteObjectsInput, DeleteObjectsOutput,
    ObjectIdentifier, Timestamp,
};
use s3s::{S3Error, S3Response, S3Result, s3_error};

use super::answer::xml_response;
use super::context::Sent;
use super::convert::{object_key, version_id};
use super::dates::unix_seconds;
use super::headers::insert_text;
use super::replica::{self, Deletion};
use super::xml::XmlWriter;
use super::{
    Req, Resp, access, access_log, condition, error, event_cause, force_delete, object_lock,
};
use liteio_access::Granted;
use liteio_access::state::App;

pub(super) async fn delete_object(
    app: &App,
    granted: Granted,
    request: Req<DeleteObjectInput>,
) -> Resp<DeleteObjectOutput> {
    if force_delete::is_asked(&request.headers)? {
        return force_delete_object(app, granted, request).await;
    }
    let Req { input, headers, extensions, .. } = request;
    let deletion = replica::of_deletion(&headers, input.version_id.is_some())?;
    let bypasses_governance =
        object_lock::bypass(app, &granted, input.bypass_governance_retention)?;
    let conditions = WriteConditions {
        if_match_size: input.if_match_size.map(size).transpose()?,
        if_match_modified_s: input.if_match_last_modified_time.map(time).transpose()?,
        ..condition::of_write(&extensions)
    };
    let key = object_key(input.key)?;
    let version = version_id(input.version_id)?;
    let cause = event_cause::of_request(app, &granted, &headers, &extensions);
    let outcome = match deletion {
        Some(Deletion::Marker(replica)) => {
            let added = app.store.replicate_marker(granted.bucket(), key, replica, cause).await;
            added.map(|version| DeleteOutcome {
                existed: true,
                version_id: Some(version),
                delete_marker: true,
            })
        }
        deletion => {
            let target = DeleteTarget { key, version, conditions, bypasses_governance, cause };
            match deletion {
                Some(_) => app.store.delete_replica(granted.bucket(), target).await,
                None => delete_one(app, granted.bucket(), target).await,
            }
        }
    };
    let outcome = outcome.map_err(error::from_store)?;
    let mut response = S3Response::new(DeleteObjectOutput::default());
    insert_outcome(&mut response.headers, &outcome)?;
    Ok(response)
}

/// Deletes an object; one that is missing without a commit.
async fn delete_one(
    app: &App,
    bucket: &Arc<Bucket>,
    target: DeleteTarget,
) -> Result<DeleteOutcome, StoreError> {
    match app.look(|store| store.delete_of_nothing(bucket, &target)).await? {
        Some(nothing) => Ok(nothing),
        None => app.store.delete_object(bucket, target).await,
    }
}

/// MinIO's extension: all versions of the key, and of all keys below it.
async fn force_delete_object(
    app: &App,
    granted: Granted,
    request: Req<DeleteObjectInput>,
) -> Resp<DeleteObjectOutput> {
    force_delete::require(app)?;
    let Req { input, method, uri, headers, extensions, .. } = request;
    let has_conditions = condition::of_write(&extensions) != WriteConditions::default()
        || input.if_match_size.is_some()
        || input.if_match_last_modified_time.is_some();
    if has_conditions || input.version_id.is_some() {
        return Err(error::invalid_request(
            "x-minio-force-delete deletes all versions: it cannot be combined with a version ID or with conditions. \
             Nothing was deleted.",
        ));
    }
    let sent = Sent { method: &method, uri: &uri, headers: &headers, extensions: &extensions };
    let scope = force_delete::Scope::Name(input.key);
    force_delete::delete_all(app, &granted, sent, &scope).await?;
    Ok(S3Response::new(DeleteObjectOutput::default()))
}

fn insert_outcome(headers: &mut HeaderMap, outcome: &DeleteOutcome) -> S3Result<()> {
    if outcome.delete_marker {
        headers.insert("x-amz-delete-marker", http::HeaderValue::from_static("true"));
    }
    let version = outcome.version_id.as_ref().map(VersionId::to_string);
    let name = http::HeaderName::from_static("x-amz-version-id");
    insert_text(headers, name, version.as_deref())
}

/// The size in a condition. A negative one is rejected: ignoring it would make the delete
/// unconditional.
fn size(bytes: i64) -> S3Result<u64> {
    u64::try_from(bytes)
        .map_err(|_| s3_error!(InvalidArgument, "The size of a condition must not be negative."))
}

/// The time in a condition, in seconds since 1970.
fn time(time: Timestamp) -> S3Result<i64> {
    unix_seconds(time)
        .ok_or_else(|| s3_error!(InvalidArgument, "The time of a condition cannot be read."))
}

/// Objects of one request after whose deletion the next listing is prepared. Stepping over a deleted
/// key takes half a microsecond, a hundredth of deleting it.
const MANY_DELETED: usize = 64;

/// An object to delete, as named in the request.
struct Named {
    key: String,
    version: Option<String>,
}

pub(super) async fn delete_objects(
    app: &App,
    granted: Granted,
    request: Req<DeleteObjectsInput>,
) -> Resp<DeleteObjectsOutput> {
    let Req { input, method, uri, headers, extensions, .. } = request;
    let sent = Sent { method: &method, uri: &uri, headers: &headers, extensions: &extensions };
    let DeleteObjectsInput { delete, bypass_governance_retention, .. } = input;
    let cause = event_cause::of_request(app, &granted, &headers, &extensions);
    let bypasses_governance = object_lock::bypass(app, &granted, bypass_governance_retention)?;
    let count = delete.objects.len();
    if count == 0 || count > liteio_store::limits::DELETE_OBJECTS_MAX {
        return Err(error::malformed_xml());
    }
    let quiet = delete.quiet.unwrap_or(false);
    let mut named = Vec::with_capacity(count);
    // An object that cannot be deleted gets its own error; the others are deleted.
    let mut answers: Vec<Option<S3Result<DeleteOutcome>>> = Vec::with_capacity(count);
    let mut targets = Vec::with_capacity(count);
    for object in delete.objects {
        named.push(Named { key: object.key.clone(), version: object.version_id.clone() });
        match target(app, &granted, sent, object).await {
            Ok(target) => {
                let cause = cause.clone();
                let target = DeleteTarget { bypasses_governance, cause, ..target };
                targets.push(target);
                answers.push(None);
            }
            Err(error) => answers.push(Some(Err(error))),
        }
    }
    let first = targets.iter().map(|target| &target.key).min().cloned();
    let first = first.filter(|_| targets.len() >= MANY_DELETED);
    let outcomes =
        app.store.delete_objects(granted.bucket(), targets).await.map_err(error::from_store)?;
    if let Some(first) = first {
        let bucket = Arc::clone(granted.bucket());
        // An error is one of reading, which a listing reports.
        let _ = app.blocking(move |store| store.pass_deleted(&bucket, &first)).await;
    }
    let mut outcomes = outcomes.into_iter();
    let answers = answers.into_iter().filter_map(|answer| {
        answer.or_else(|| outcomes.next().map(|outcome| outcome.map_err(error::from_store)))
    });
    let mut xml = XmlWriter::new("DeleteResult", 64 * count);
    let log = app.access_log_of(granted.bucket());
    for (named, answer) in named.iter().zip(answers) {
        if let Some(log) = log {
            let deleted = (&*named.key, named.version.as_deref());
            access_log::deleted(log, &granted, sent, deleted, answer.as_ref().err());
        }
        match answer {
            Ok(_) if quiet => {}
            Ok(outcome) => write_deleted(&mut xml, named, &outcome),
            Err(error) => write_error(&mut xml, named, &error),
        }
    }
    Ok(xml_response(xml.finish()))
}

/// Authorizes the deletion of one object; each is decided separately.
async fn target(
    app: &App,
    granted: &Granted,
    sent: Sent<'_>,
    object: ObjectIdentifier,
) -> S3Result<DeleteTarget> {
    // An empty element means no version, unlike an empty value in a query.
    let version = object.version_id.filter(|version| !version.is_empty());
    let actions = access::of_deletion(sent, version.as_deref());
    access::of_object(app, granted, sent, &actions, &object.key, version.as_deref()).await?;
    let key: ObjectKey = object_key(object.key)?;
    let etag = object.e_tag.map(|etag| match etag.value() {
        "*" => EtagCondition::Any,
        value => EtagCondition::Matches(vec![ETagText::strong(value)]),
    });
    let conditions = WriteConditions {
        if_match: etag,
        if_match_size: object.size.map(size).transpose()?,
        if_match_modified_s: object.last_modified_time.map(time).transpose()?,
        ..WriteConditions::default()
    };
    // Unlike in DeleteObject, an impossible version ID is one that no version has. (Recorded on AWS
    // in LocalStack's `test_delete_objects_versioned`.)
    let version = version_id(version)
        .map_err(|_| s3_error!(NoSuchVersion, "The specified version does not exist."))?;
    Ok(DeleteTarget { conditions, ..DeleteTarget::new(key, version) })
}

fn write_deleted(xml: &mut XmlWriter, named: &Named, outcome: &DeleteOutcome) {
    xml.open("Deleted");
    xml.text("Key", &named.key);
    xml.optional_text("VersionId", named.version.as_deref());
    if outcome.delete_marker {
        xml.value("DeleteMarker", true);
        if let Some(version) = &outcome.version_id {
            xml.value("DeleteMarkerVersionId", version);
        }
    }
    xml.close("Deleted");
}

fn write_error(xml: &mut XmlWriter, named: &Named, error: &S3Error) {
    xml.open("Error");
    xml.text("Key", &named.key);
    xml.optional_text("VersionId", named.version.as_deref());
    xml.text("Code", error.code().as_str());
    xml.text("Message", error.message().unwrap_or_default());
    xml.close("Error");
}
