//! CopyObject, and the parts that it shares with UploadPartCopy.

use std::sync::Arc;

use http::header::CONTENT_LENGTH;
use http::{HeaderMap, HeaderName};
use liteio_store::{
    AnnotationDirective, AnnotationQuery, ArchiveAccess, Bucket, CopyOptions, CopyOutcome,
    EncryptionScheme, ObjectId, ObjectKey, ReadConditions, Store, StoreError, VersionId,
};
use s3s::dto::{
    CopyObjectInput, CopyObjectOutput, CopySource, MetadataDirective, TaggingDirective,
};
use s3s::{S3Error, S3Result, s3_error};

use super::acl::NewObjectAcl;
use super::answer::xml_response;
use super::context::Sent;
use super::convert::{object_key, version_id};
use super::details::Details;
use super::encryption::{self, Asked};
use super::headers::{header, insert_text};
use super::request_headers::COPY_SOURCE;
use super::xml::XmlWriter;
use super::{
    Req, Resp, access, bucket_lifecycle, checksum, condition, error, event_cause, metadata,
    object_lock, unsupported,
};
use liteio_access::state::App;
use liteio_access::{Action, Granted};

pub(super) async fn copy_object(
    app: &App,
    granted: Granted,
    request: Req<CopyObjectInput>,
) -> Resp<CopyObjectOutput> {
    let Req { input, method, uri, headers, extensions, .. } = request;
    let sent = Sent { method: &method, uri: &uri, headers: &headers, extensions: &extensions };
    refuse_body(&headers)?;
    unsupported::check_write(&headers, &extensions)?;
    let NewObjectAcl { owner, acl } = NewObjectAcl::of_request(app, &granted, &headers)?;
    let replaces_metadata = match input.metadata_directive.as_ref().map(MetadataDirective::as_str) {
        None | Some(MetadataDirective::COPY) => false,
        Some(MetadataDirective::REPLACE) => true,
        Some(other) => {
            let details = Details::argument("x-amz-metadata-directive", other);
            return Err(s3_error!(details, InvalidArgument, "Unknown metadata directive."));
        }
    };
    let tags = match input.tagging_directive.as_ref().map(TaggingDirective::as_str) {
        None | Some(TaggingDirective::COPY) => None,
        Some(TaggingDirective::REPLACE) => Some(metadata::tags(&headers)?),
        Some(other) => {
            let details = Details::argument("x-amz-tagging-directive", other);
            return Err(s3_error!(details, InvalidArgument, "Unknown tagging directive."));
        }
    };
    let directive = match header(&headers, "x-amz-object-annotation-directive") {
        None | Some("COPY") => AnnotationDirective::Copy,
        Some("EXCLUDE") => AnnotationDirective::Exclude,
        Some(other) => {
            let details = Details::argument("x-amz-object-annotation-directive", other);
            return Err(s3_error!(details, InvalidArgument, "Unknown annotation directive."));
        }
    };
    let key = object_key(input.key)?;
    let asked = Asked::of_write(app, granted.bucket(), &headers, &extensions)?;
    let source_key = encryption::copy_source_key(app, &headers, &extensions)?;
    let mut source_conditions = condition::of_copy_source(&extensions);
    let copied = Copied { tags: tags.is_none(), annotations: directive, to: &key };
    let asked_for = input.copy_source.clone();
    let (source, annotations) =
        source_with(app, &granted, sent, asked_for, &mut source_conditions, Some(copied)).await?;
    let is_self =
        source.bucket.id == granted.bucket().id && source.key == key && source.version.is_none();
    // As on AWS, a default encryption of the bucket may change the encryption of the object.
    let may_encrypt = granted.bucket().settings.default_encryption.is_some();
    let changes_nothing = is_self && !replaces_metadata && !may_encrypt && !changes_more(&headers);
    if changes_nothing && !changes_encryption(app, granted.bucket(), &key, &asked).await {
        return Err(s3_error!(
            InvalidRequest,
            "This copy request is illegal because it is trying to copy an object to itself without \
             changing the object's metadata, storage class, website redirect location or \
             encryption attributes."
        ));
    }
    let new_metadata = match replaces_metadata {
        true => Some(metadata::from_request(&headers, &extensions)?),
        false => None,
    };
    let algorithm = header(&headers, "x-amz-checksum-algorithm");
    let mut options = CopyOptions {
        metadata: new_metadata,
        redirect_location: metadata::redirect(&headers)?,
        tags,
        storage_class: metadata::storage_class(&headers)?,
        source_conditions,
        conditions: condition::of_write(&extensions),
        owner,
        lock: object_lock::of_request(app, &headers)?,
        acl,
        checksum_algorithm: algorithm.map(checksum::parse_algorithm).transpose()?,
        encryption: asked.encryption.clone(),
        source_key,
        annotations,
        source_archive: ArchiveAccess::Restored,
        cause: event_cause::of_request(app, &granted, &headers, &extensions),
    };
    // A blocking thread: the copy may read the source, to compute another checksum or to encrypt
    // with another key.
    let target_bucket = Arc::clone(granted.bucket());
    let mut attempts = ATTEMPTS;
    let copied = loop {
        let (source, target) = (source.clone(), Arc::clone(&target_bucket));
        let (target_key, options_now) = (key.clone(), options.clone());
        let copy =
            move |store: &Store| store.copy_object(source, &target, target_key, options_now).wait();
        let copied = app.blocking(copy).await;
        attempts -= 1;
        let is_changed = matches!(copied, Err(StoreError::ConditionalRequestConflict));
        if !is_changed || options.annotations != AnnotationDirective::SawNone || attempts == 0 {
            break copied.map_err(from_copy)?;
        }
        // The source may have got annotations, or is another version: who may copy them is decided again.
        let copied = Copied { tags: options.tags.is_none(), annotations: directive, to: &key };
        let (asked_for, conditions) = (input.copy_source.clone(), &mut options.source_conditions);
        let again = source_with(app, &granted, sent, asked_for, conditions, Some(copied)).await?;
        options.annotations = again.1;
    };
    response(app, &target_bucket, &copied, &asked)
}

/// Refuses a copy that brings bytes, as AWS does: a client that sends some expects them to be stored.
pub(super) fn refuse_body(headers: &HeaderMap) -> S3Result<()> {
    match header(headers, CONTENT_LENGTH) {
        None | Some("0") => Ok(()),
        Some(_) => Err(error::invalid_request(
            "The request included a body. Requests of this type must not include a non-empty body.",
        )),
    }
}

/// Attempts of a copy whose source gets its first annotation meanwhile.
const ATTEMPTS: usize = 4;

/// True if the copy changes more than the metadata. A copy of an object to itself must change
/// something.
fn changes_more(headers: &HeaderMap) -> bool {
    [
        "x-amz-storage-class",
        "x-amz-website-redirect-location",
        "x-amz-checksum-algorithm",
        "x-amz-server-side-encryption",
        "x-amz-server-side-encryption-customer-algorithm",
    ]
    .into_iter()
    .any(|name| headers.contains_key(name))
}

/// True if a copy of the object to itself has another encryption, although the request has no
/// header for one: as on AWS, the encryption of the source is not copied. A decrypted copy counts
/// only if the source has another key than the server's.
async fn changes_encryption(app: &App, bucket: &Bucket, key: &ObjectKey, asked: &Asked) -> bool {
    let found = app.look(|store| store.find_object(bucket, key, None)).await;
    found.is_ok_and(|found| match found.encryption {
        None => asked.encryption.is_some(),
        Some(EncryptionScheme::Master) => false,
        Some(EncryptionScheme::Named { .. } | EncryptionScheme::Customer) => true,
    })
}

/// The parts of a source that a copy has besides the bytes, and its key.
pub(super) struct Copied<'a> {
    tags: bool,
    annotations: AnnotationDirective,
    to: &'a ObjectKey,
}

/// [`source_with`] of a copy of bytes.
pub(super) async fn source(
    app: &App,
    target: &Granted,
    sent: Sent<'_>,
    source: CopySource,
    conditions: &mut ReadConditions,
) -> S3Result<ObjectId> {
    Ok(source_with(app, target, sent, source, conditions, None).await?.0)
}

/// Authorizes and resolves the source of a copy.
///
/// Time of check to time of use: if the decision depended on the object (its owner, ACL or tags),
/// `conditions` get its ETag, so that an object that replaced it in the meantime is not copied.
/// The sender must also be allowed to read and write the source's tags and annotations, if they are `copied` and it
/// has any. A copy finds out by [`AnnotationDirective::SawNone`] if it has got some since.
async fn source_with(
    app: &App,
    target: &Granted,
    sent: Sent<'_>,
    source: CopySource,
    conditions: &mut ReadConditions,
    copied: Option<Copied<'_>>,
) -> S3Result<(ObjectId, AnnotationDirective)> {
    let CopySource::Bucket { bucket, key, version_id: version } = source else {
        return Err(s3_error!(
            NotImplemented,
            "Access points as the source of a copy are not implemented by LiteIO yet."
        ));
    };
    if key.is_empty() {
        // As for a source without a slash, which s3s refuses.
        return Err(s3_error!(
            Details::argument(COPY_SOURCE, COPY_SOURCE),
            InvalidArgument,
            "Invalid copy source object key"
        ));
    }
    let version = version.as_deref();
    let granted = access::copy_source(app, target, sent, &bucket, &key, version).await?;
    if granted.saw_nothing() {
        return Err(error::no_such_key(&key));
    }
    conditions.authorized = granted.seen_etag();
    let (bucket, key) = (Arc::clone(granted.bucket()), object_key(key.into())?);
    let version_id = version_id(version.map(str::to_owned))?;
    let mut directive = AnnotationDirective::Exclude;
    if let Some(Copied { tags: copies_tags, annotations, to: target_key }) = copied {
        let found = app.look(|store| store.find_object(&bucket, &key, version_id.as_ref())).await;
        // A missing source is reported by the copy itself.
        let has_annotations = found.as_ref().is_ok_and(|found| found.has_annotations)
            && has_live_annotations(app, &bucket, &key, version_id).await;
        directive = match annotations {
            AnnotationDirective::Copy if has_annotations => AnnotationDirective::Copy,
            AnnotationDirective::Copy => AnnotationDirective::SawNone,
            other => other,
        };
        if directive == AnnotationDirective::Copy {
            let (to, from) = ((target, target_key.as_str()), (key.as_str(), version));
            access::copied_annotations(app, to, sent, &granted, from).await?;
        }
        let tags = found.map(|found| found.metadata.tags).unwrap_or_default();
        // On MinIO reading and writing an object includes its tags.
        if copies_tags && !tags.is_empty() && !app.acts_as_minio {
            let read = match version {
                None => Action::GetObjectTagging,
                Some(_) => Action::GetObjectVersionTagging,
            };
            access::of_object(app, &granted, sent, &[read], key.as_str(), version).await?;
            // The source's tags become the request's tags for this decision.
            let write = [Action::PutObject, Action::PutObjectTagging];
            let key = target_key.as_str();
            access::of_copied_tags(app, target, sent, &write, key, &tags).await?;
        }
    }
    Ok((ObjectId { bucket, key, version: version_id }, directive))
}

/// `true` if a version has annotations, and not only tombstones of some.
async fn has_live_annotations(
    app: &App,
    bucket: &Arc<Bucket>,
    key: &ObjectKey,
    version: Option<VersionId>,
) -> bool {
    let (bucket, key) = (Arc::clone(bucket), key.clone());
    let query = AnnotationQuery { max: 1, ..AnnotationQuery::default() };
    let read = move |store: &Store| store.list_annotations(&bucket, &key, version.as_ref(), &query);
    // One that cannot be listed cannot be copied either, and the copy says why.
    app.blocking(read).await.map_or(true, |page| !page.annotations.is_empty())
}

/// Maps an error of a copy. The source is not the resource of the request, so 304 and 405 do not
/// apply.
pub(super) fn from_copy(error: StoreError) -> S3Error {
    match error {
        StoreError::NotModified => error::precondition_failed("x-amz-copy-source-If-None-Match"),
        StoreError::IsDeleteMarker { .. } => s3_error!(
            InvalidRequest,
            "The source of a copy request may not specifically refer to a delete marker by version id."
        ),
        StoreError::Archived { class } => s3_error!(
            Details::of("StorageClass", class),
            InvalidObjectState,
            "Operation is not valid for the source object's storage class"
        ),
        error => error::from_store(error),
    }
}

fn response(
    app: &App,
    bucket: &Bucket,
    copied: &CopyOutcome,
    asked: &Asked,
) -> Resp<CopyObjectOutput> {
    let object = &copied.object;
    let mut xml = XmlWriter::new("CopyObjectResult", 0);
    xml.date("LastModified", object.modified_ms);
    xml.etag(object.etag);
    if let Some(checksum) = &object.checksum {
        checksum::write(&mut xml, checksum);
    }
    let mut response = xml_response(xml.finish());
    insert_source_version(&mut response.headers, copied.source_version)?;
    // Unlike a put, a copy names the version `null` in a bucket with suspended versioning.
    metadata::insert_version(&mut response.headers, bucket, object)?;
    bucket_lifecycle::insert_expiration(app, &mut response.headers, bucket, object)?;
    asked.insert(&mut response.headers, object.encryption.as_ref())?;
    Ok(response)
}

/// Adds the version ID of the source, in buckets that have ever been versioned.
pub(super) fn insert_source_version(headers: &mut HeaderMap, version: VersionId) -> S3Result<()> {
    let version = (!version.is_null()).then(|| version.to_string());
    let name = HeaderName::from_static("x-amz-copy-source-version-id");
    insert_text(headers, name, version.as_deref())
}
