//! Maps store errors to S3 errors. No other place decides codes and statuses.

use std::borrow::Cow;

use http::header::{ALLOW, CONTENT_RANGE, CONTENT_TYPE, LAST_MODIFIED};
use http::{HeaderMap, HeaderValue, StatusCode};
use liteio_store::limits::{OBJECT_BYTES_MAX, OBJECT_KEY_BYTES_MAX};
use liteio_store::{DeleteMarker, RESERVE_BYTES, StoreError};
use s3s::{S3Error, S3ErrorCode, s3_error};

use super::checksum;
use super::dates::http_date;
use super::details::Details;
pub(super) use super::details::quoted;
use liteio_wire::origin::log_failure;
use liteio_wire::reply::ApiError;

/// The message of the error for what a lock of a version forbids, whose code is `AccessDenied`.
pub const OBJECT_LOCKED: &str = "Access Denied because object protected by object lock.";

/// AWS's code, status and message for a store error.
///
/// The match has no `_` arm: a new variant does not compile until it is mapped here.
pub(super) fn from_store(error: impl Into<StoreError>) -> S3Error {
    let error = error.into();
    match error {
        StoreError::InvalidBucketName { name } => {
            s3_error!(Details::of("BucketName", name), InvalidBucketName, "{INVALID_BUCKET_NAME}")
        }
        StoreError::InvalidKey => {
            s3_error!(InvalidArgument, "An object key must have at least one byte.")
        }
        StoreError::KeyTooLong { bytes } => s3_error!(
            Details::of("Size", bytes).and("MaxSizeAllowed", OBJECT_KEY_BYTES_MAX),
            KeyTooLongError,
            "Your key is too long"
        ),
        StoreError::InvalidVersionId { version } => s3_error!(
            Details::argument("versionId", &version),
            InvalidArgument,
            "Invalid version id specified"
        ),
        StoreError::NoSuchBucket { bucket } => s3_error!(
            Details::of("BucketName", bucket),
            NoSuchBucket,
            "The specified bucket does not exist"
        ),
        StoreError::BucketAlreadyExists { bucket } => s3_error!(
            Details::of("BucketName", bucket),
            BucketAlreadyExists,
            "The requested bucket name is not available. The bucket namespace is shared by all \
             users of the system. Please select a different name and try again."
        ),
        StoreError::BucketAlreadyOwnedByYou { bucket } => s3_error!(
            Details::of("BucketName", bucket),
            BucketAlreadyOwnedByYou,
            "Your previous request to create the named bucket succeeded and you already own it."
        ),
        StoreError::BucketNotEmpty { bucket } => s3_error!(
            Details::of("BucketName", bucket),
            BucketNotEmpty,
            "The bucket you tried to delete is not empty. Delete its objects first."
        ),
        StoreError::NoSuchKey { key, marker } => {
            let mut error = no_such_key(key.as_str());
            if let Some(marker) = marker {
                error.set_headers(marker_headers(&marker));
            }
            error
        }
        StoreError::NoSuchVersion { key, version } => s3_error!(
            Details::of("Key", key).and("VersionId", version),
            NoSuchVersion,
            "The specified version does not exist."
        ),
        StoreError::IsDeleteMarker { marker } => is_delete_marker(&marker),
        StoreError::ObjectLocked => S3Error::with_message(S3ErrorCode::AccessDenied, OBJECT_LOCKED),
        StoreError::InvalidBucketState { message } => {
            S3Error::with_message(S3ErrorCode::InvalidBucketState, message)
        }
        StoreError::InvalidWriteOffset { object_bytes } => custom(
            "InvalidWriteOffset",
            StatusCode::BAD_REQUEST,
            &format!(
                "The write offset value that you specified does not match the current object size, which is \
                 {object_bytes}."
            ),
        ),
        StoreError::TooManyParts => custom(
            "TooManyParts",
            StatusCode::BAD_REQUEST,
            "You have attempted to add more parts than the maximum of 10000 that are allowed for this \
             object. You can use the CopyObject operation to copy this object to another and then add more \
             data to the newly copied object.",
        ),
        StoreError::EncryptedAppend => s3_error!(
            NotImplemented,
            "Appending to an encrypted object is not implemented by LiteIO yet."
        ),
        StoreError::EncryptionMismatch => custom(
            "EncryptionTypeMismatch",
            StatusCode::BAD_REQUEST,
            "The existing object was created with a different encryption type: it is not encrypted, and the \
             request, or the default of the bucket, wants encryption.",
        ),
        StoreError::TokenMismatch => custom(
            "IdempotencyParameterMismatch",
            StatusCode::BAD_REQUEST,
            "Parameters on this idempotent request are inconsistent with parameters used in previous \
             request(s): the client token was used with another source.",
        ),
        StoreError::NoSuchUpload { upload } => s3_error!(
            Details::of("UploadId", upload),
            NoSuchUpload,
            "The specified upload does not exist. The upload ID may be invalid, or the upload may \
             have been aborted or completed."
        ),
        StoreError::InvalidUploadMarker { upload } => s3_error!(
            Details::argument("upload-id-marker", &upload),
            InvalidArgument,
            "Invalid uploadId marker"
        ),
        StoreError::InvalidPart { part } => s3_error!(
            Details::of("PartNumber", part),
            InvalidPart,
            "One or more of the specified parts could not be found.  The part may not have been \
             uploaded, or the specified entity tag may not match the part's entity tag."
        ),
        StoreError::InvalidPartNumber { parts } => {
            let message = "The requested partnumber is not satisfiable";
            let error = custom("InvalidPartNumber", StatusCode::RANGE_NOT_SATISFIABLE, message);
            Details::add(error, "ActualPartCount", parts)
        }
        StoreError::InvalidPartOrder => s3_error!(
            InvalidPartOrder,
            "The list of parts was not in ascending order. Parts must be ordered by part number."
        ),
        StoreError::PartTooSmall { part, bytes, minimum } => s3_error!(
            Details::of("ProposedSize", bytes)
                .and("MinSizeAllowed", minimum)
                .and("PartNumber", part),
            EntityTooSmall,
            "Your proposed upload is smaller than the minimum allowed size"
        ),
        StoreError::PartTooLarge { bytes, maximum } => too_large(bytes, maximum),
        StoreError::ObjectTooLarge { bytes } => too_large(bytes, OBJECT_BYTES_MAX),
        StoreError::QuotaExceeded { bucket, quota_bytes, bytes } => {
            // MinIO's code; AWS has no quotas of buckets.
            let message = format!(
                "Bucket quota exceeded: the bucket may have {quota_bytes} bytes, and would have {bytes}."
            );
            let error = custom("XMinioAdminBucketQuotaExceeded", StatusCode::BAD_REQUEST, &message);
            Details::add(error, "BucketName", bucket)
        }
        StoreError::Archived { class } => s3_error!(
            Details::of("StorageClass", class),
            InvalidObjectState,
            "The operation is not valid for the object's storage class"
        ),
        StoreError::NotArchived { class } => not_archived(class.as_deref()),
        StoreError::RestoreInProgress => {
            s3_error!(RestoreAlreadyInProgress, "Object restore is already in progress")
        }
        StoreError::NoSuchRetrieval { class } => s3_error!(
            Details::argument("Tier", "Expedited").and("StorageClass", class),
            InvalidArgument,
            "Retrieval option is not supported by this storage class"
        ),
        StoreError::NoSuchAnnotation => custom(
            "NoSuchAnnotation",
            StatusCode::NOT_FOUND,
            "The specified annotation does not exist on this object.",
        ),
        StoreError::TooManyAnnotations => custom(
            "AnnotationLimitExceeded",
            StatusCode::BAD_REQUEST,
            "The request would exceed the maximum number of annotations allowed per object.",
        ),
        StoreError::NotModified => s3_error!(NotModified, "Not Modified"),
        StoreError::PreconditionFailed { condition } => precondition_failed(condition),
        StoreError::ConditionalRequestConflict => s3_error!(
            ConditionalRequestConflict,
            "The conditional request cannot succeed due to a conflicting operation against this \
             resource."
        ),
        StoreError::PartDigest { part, algorithm } => checksum::part_mismatch(algorithm, part),
        StoreError::KeyChanged { condition, key } => key_changed(condition, key.as_str()),
        StoreError::InvalidRange { object_bytes } => invalid_range(object_bytes),
        StoreError::ChecksumMismatch { algorithm } => checksum::mismatch(algorithm),
        StoreError::InvalidRequest { message } => {
            S3Error::with_message(S3ErrorCode::InvalidRequest, message)
        }
        StoreError::NoSpace => custom(
            "StorageFull",
            StatusCode::INSUFFICIENT_STORAGE,
            &format!(
                "The storage device is full: {} MiB are kept free for deletions. Nothing was stored; reading and \
                 deleting still work.",
                RESERVE_BYTES >> 20
            ),
        ),
        // A failed device, or a data directory that was removed under the server: the reason tells which.
        StoreError::Poisoned { reason } => s3_error!(
            ServiceUnavailable,
            "Writing has stopped until the server is restarted; reading still works. The reason: {reason}"
        ),
        StoreError::TierUnavailable { tier, reason } => {
            log_failure("a body in a tier cannot be read", &format_args!("{tier}: {reason}"));
            s3_error!(
                ServiceUnavailable,
                "The body of the object is in the tier {tier}, which cannot be read now. Try again \
                 later."
            )
        }
        StoreError::ChangedMeanwhile => s3_error!(
            OperationAborted,
            "A conflicting operation is in progress on another server. Try again."
        ),
        StoreError::Closed => s3_error!(ServiceUnavailable, "The server is stopping."),
        StoreError::Busy => s3_error!(SlowDown, "Please reduce your request rate."),
        StoreError::Unsettled { reason } => {
            log_failure("it is not known whether a write has happened", &reason);
            s3_error!(
                ServiceUnavailable,
                "The database does not answer. It is not known whether this was written."
            )
        }
        StoreError::Suspended { reason } => {
            S3Error::with_message(S3ErrorCode::ServiceUnavailable, reason)
        }
        StoreError::CustomerKeyRequired => s3_error!(
            InvalidRequest,
            "The object was stored using a form of Server Side Encryption. The correct parameters \
             must be provided to retrieve the object."
        ),
        StoreError::CustomerKeyNotApplicable => s3_error!(
            InvalidRequest,
            "The encryption parameters are not applicable to this object."
        ),
        StoreError::WrongCustomerKey => s3_error!(
            AccessDenied,
            "Access Denied: the object is encrypted with another key than the one that was sent."
        ),
        StoreError::NoMasterKey => s3_error!(
            NotImplemented,
            "The server has no master key to encrypt with: start it with --master-key-file FILE \
             (`liteio key new FILE` makes one), with MINIO_KMS_SECRET_KEY=NAME:KEY, or in memory \
             with --aws-defaults for a key that ends with it."
        ),
        StoreError::NoSuchNamedKey { key } => no_such_named_key(key.as_deref()),
        StoreError::KeyMissing { .. } => {
            log_failure("an object cannot be decrypted", &error);
            custom("KMS.NotFoundException", StatusCode::BAD_REQUEST, &key_missing(&error))
        }
        // No S3 operation uses vectors.
        StoreError::NoSuchVectorBucket { .. }
        | StoreError::VectorBucketExists { .. }
        | StoreError::VectorBucketNotEmpty { .. }
        | StoreError::NoSuchIndex { .. }
        | StoreError::IndexExists { .. }
        | StoreError::TextSearchExists { .. }
        | StoreError::NoSuchVectorPolicy { .. }
        | StoreError::IndexDamaged { .. }
        | StoreError::InvalidField { .. }
        | StoreError::Catalog(_) => internal(&error),
        StoreError::Corrupt { .. }
        | StoreError::FormatTooNew { .. }
        | StoreError::NotADataDirectory { .. }
        | StoreError::HalfRestored { .. }
        | StoreError::DriveOfMinio { .. }
        | StoreError::InUse { .. }
        | StoreError::Io(_)
        | StoreError::BodyNotWritten(_)
        | StoreError::Internal { .. } => internal(&error),
    }
}

/// 403 for a restore of an object that can be read without. Only INTELLIGENT_TIERING has access tiers; no object
/// leaves its first one here.
fn not_archived(class: Option<&str>) -> S3Error {
    let error = s3_error!(
        Details::of("StorageClass", class.unwrap_or("STANDARD")),
        InvalidObjectState,
        "Restore is not allowed for the object's current storage class"
    );
    match class {
        Some("INTELLIGENT_TIERING") => Details::add(error, "AccessTier", "FREQUENT"),
        _ => error,
    }
}

/// 405 for a request on a version that is a delete marker: it can only be deleted.
fn is_delete_marker(marker: &DeleteMarker) -> S3Error {
    let mut error = s3_error!(
        Details::of("ResourceType", "DeleteMarker"),
        MethodNotAllowed,
        "{METHOD_NOT_ALLOWED}"
    );
    let mut headers = marker_headers(marker);
    headers.insert(ALLOW, HeaderValue::from_static("DELETE"));
    if let Ok(date) = http_date(marker.modified_ms) {
        headers.insert(LAST_MODIFIED, date);
    }
    error.set_headers(headers);
    error
}

/// The headers that distinguish a deleted object from one that never existed.
fn marker_headers(marker: &DeleteMarker) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    headers.insert("x-amz-delete-marker", HeaderValue::from_static("true"));
    if let Ok(version) = HeaderValue::try_from(marker.version_id.to_string()) {
        headers.insert("x-amz-version-id", version);
    }
    headers
}

fn key_missing(error: &StoreError) -> String {
    format!(
        "The object cannot be decrypted: {error}. The operator has to configure that key again."
    )
}

/// AWS's error for an unknown KMS key.
pub(super) fn no_such_named_key(key: Option<&str>) -> S3Error {
    let message = match key {
        Some(key) => format!(
            "Key '{key}' does not exist: name a key of the file that the server was given with \
             --kms-key-file, the NAME of MINIO_KMS_SECRET_KEY=NAME:KEY, or with --profile s3mock a name in validKmsKeys."
        ),
        None => "The server has no KMS key: start it with --kms-key-file FILE, or in memory with --aws-defaults for one \
                 that ends with it."
            .to_owned(),
    };
    custom("KMS.NotFoundException", StatusCode::BAD_REQUEST, &message)
}

/// The error for an encryption in two layers.
pub(super) fn no_dsse() -> S3Error {
    s3_error!(
        NotImplemented,
        "Dual-layer server-side encryption (aws:kms:dsse) is not implemented by LiteIO yet."
    )
}

/// The error for a request without the document that it needs.
pub(super) fn missing_body() -> S3Error {
    custom("MissingRequestBodyError", StatusCode::BAD_REQUEST, "Request Body is empty")
}

/// An internal error. The client gets a generic message; the cause is logged.
pub(super) fn internal(error: &(dyn std::error::Error + 'static)) -> S3Error {
    log_failure("request failed", &error);
    s3_error!(InternalError, "We encountered an internal error. Please try again.")
}

/// The first sentence is AWS's message; the rules after it are ours.
const INVALID_BUCKET_NAME: &str = "The specified bucket is not valid. A name has 3 to 63 \
     lower-case letters, digits, hyphens and dots, begins and ends with a letter or digit, and is no \
     IP address.";

pub(super) fn access_denied() -> S3Error {
    s3_error!(AccessDenied, "Access Denied")
}

pub(super) fn precondition_failed(condition: &str) -> S3Error {
    s3_error!(
        Details::of("Condition", condition),
        PreconditionFailed,
        "At least one of the pre-conditions you specified did not hold"
    )
}

pub(super) fn no_such_key(key: &str) -> S3Error {
    s3_error!(Details::of("Key", key), NoSuchKey, "The specified key does not exist.")
}

pub(super) fn too_large(bytes: u64, maximum: u64) -> S3Error {
    s3_error!(
        Details::of("ProposedSize", bytes).and("MaxSizeAllowed", maximum),
        EntityTooLarge,
        "Your proposed upload exceeds the maximum allowed size"
    )
}

/// The error for a document of more than `maximum` bytes.
pub(super) fn message_too_long(maximum: usize) -> S3Error {
    s3_error!(
        Details::of("MaxMessageLengthBytes", maximum),
        MaxMessageLengthExceeded,
        "Your request was too big."
    )
}

/// The error for a header of a feature that this server lacks. Ignoring it would promise an effect that does not
/// happen.
pub(super) fn header_not_implemented(name: &str, advice: &str) -> S3Error {
    s3_error!(
        Details::of("Header", name),
        NotImplemented,
        "A header you provided implies functionality that is not implemented: {name}. {advice}"
    )
}

/// 409 for a conditional Complete whose key was written or deleted since the upload was created.
fn key_changed(condition: &str, key: &str) -> S3Error {
    s3_error!(
        Details::of("Condition", condition).and("Key", key),
        ConditionalRequestConflict,
        "The conditional request cannot succeed due to a conflicting operation against this resource."
    )
}

/// AWS's message for a document it cannot parse.
pub(super) const MALFORMED_XML: &str =
    "The XML you provided was not well-formed or did not validate against our published schema";

pub(super) fn malformed_xml() -> S3Error {
    S3Error::with_message(S3ErrorCode::MalformedXML, MALFORMED_XML)
}

pub(super) fn invalid_argument(message: impl Into<Cow<'static, str>>) -> S3Error {
    S3Error::with_message(S3ErrorCode::InvalidArgument, message)
}

/// AWS's message of `MethodNotAllowed`.
pub(super) const METHOD_NOT_ALLOWED: &str =
    "The specified method is not allowed against this resource.";

/// The error for a method that the resource does not have.
pub(super) fn method_not_allowed() -> S3Error {
    s3_error!(MethodNotAllowed, "{METHOD_NOT_ALLOWED}")
}

pub(super) fn invalid_request(message: impl Into<Cow<'static, str>>) -> S3Error {
    S3Error::with_message(S3ErrorCode::InvalidRequest, message)
}

/// The error for a request that lost a race against another one; it can be retried.
pub(super) fn conflict() -> S3Error {
    s3_error!(
        OperationAborted,
        "A conflicting conditional operation is currently in progress against this resource. Please \
         try again."
    )
}

/// An error of another layer, with its elements and headers.
pub(super) fn of_api(found: ApiError) -> S3Error {
    let mut error = custom(found.code(), found.status(), found.message());
    error.set_source(Box::new(found));
    error
}

/// An error with a code that s3s may not know.
pub(super) fn custom(code: &str, status: StatusCode, message: &str) -> S3Error {
    let code = S3ErrorCode::from_bytes(code.as_bytes()).unwrap_or(S3ErrorCode::InternalError);
    let mut error = S3Error::with_message(code, message.to_owned());
    error.set_status_code(status);
    error
}

fn invalid_range(object_bytes: u64) -> S3Error {
    let mut error = s3_error!(
        Details::of("ActualObjectSize", object_bytes),
        InvalidRange,
        "The requested range is not satisfiable"
    );
    let mut headers = HeaderMap::new();
    // s3s replaces all its headers with these, so the content type must be among them.
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    if let Ok(range) = HeaderValue::try_from(format!("bytes */{object_bytes}")) {
        headers.insert(CONTENT_RANGE, range);
    }
    error.set_headers(headers);
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_says_so_and_what_still_works() {
        let error = from_store(StoreError::NoSpace);
        assert_eq!(error.code().as_str(), "StorageFull");
        assert_eq!(error.status_code(), Some(StatusCode::INSUFFICIENT_STORAGE));
        for part in ["64 MiB are kept free", "reading and deleting"] {
            assert!(error.message().is_some_and(|message| message.contains(part)), "{error:?}");
        }
    }

    #[test]
    fn a_database_that_cannot_tell_or_is_too_busy_is_asked_again_later() {
        let unsettled = StoreError::Unsettled { reason: "reset".to_owned() };
        for (error, code) in [(StoreError::Busy, "SlowDown"), (unsettled, "ServiceUnavailable")] {
            let error = from_store(error);
            assert_eq!(error.code().as_str(), code);
            assert_eq!(error.status_code(), Some(StatusCode::SERVICE_UNAVAILABLE));
        }
    }
}
