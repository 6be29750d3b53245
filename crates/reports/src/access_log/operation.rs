//! Operations by their names in access logs, such as `REST.GET.OBJECT`.

use http::Method;
use liteio_access::LoggedKind;

/// The operation of a request: `S3_OPERATION` is its name in the API, if it is known.
pub(super) fn name(
    kind: LoggedKind,
    method: &Method,
    operation: Option<&str>,
    key: &str,
) -> String {
    let operation = operation.unwrap_or_default();
    match kind {
        LoggedKind::CopySource if operation == "UploadPartCopy" => "REST.COPY.PART_GET".to_owned(),
        LoggedKind::CopySource => "REST.COPY.OBJECT_GET".to_owned(),
        LoggedKind::BatchDelete => "BATCH.DELETE.OBJECT".to_owned(),
        LoggedKind::Website => format!("WEBSITE.{method}.OBJECT"),
        LoggedKind::Preflight => "REST.OPTIONS.PREFLIGHT".to_owned(),
        LoggedKind::Api => {
            let copies = matches!(operation, "CopyObject" | "UploadPartCopy");
            let method = if copies { "COPY" } else { method.as_str() };
            let of_target = if key.is_empty() { "BUCKET" } else { "OBJECT" };
            format!("REST.{method}.{}", resource(operation).unwrap_or(of_target))
        }
    }
}

/// The resource in the name; `None` for the object or the bucket itself.
fn resource(operation: &str) -> Option<&'static str> {
    Some(match operation {
        "UploadPart" | "UploadPartCopy" => "PART",
        "CreateMultipartUpload" | "ListMultipartUploads" => "UPLOADS",
        "CompleteMultipartUpload" | "AbortMultipartUpload" | "ListParts" => "UPLOAD",
        "DeleteObjects" => "MULTI_OBJECT_DELETE",
        "ListObjectVersions" => "BUCKETVERSIONS",
        "GetBucketAcl" | "PutBucketAcl" | "GetObjectAcl" | "PutObjectAcl" => "ACL",
        "GetObjectTagging" | "PutObjectTagging" | "DeleteObjectTagging" => "OBJECT_TAGGING",
        "GetObjectAttributes" => "OBJECT_ATTRIBUTES",
        "GetObjectRetention" | "PutObjectRetention" => "OBJECT_LOCK_RETENTION",
        "GetObjectLegalHold" | "PutObjectLegalHold" => "OBJECT_LOCK_LEGALHOLD",
        "GetObjectLockConfiguration" | "PutObjectLockConfiguration" => "OBJECT_LOCK_CONFIGURATION",
        "GetBucketTagging" | "PutBucketTagging" | "DeleteBucketTagging" => "TAGGING",
        "GetBucketVersioning" | "PutBucketVersioning" => "VERSIONING",
        "GetBucketPolicy" | "PutBucketPolicy" | "DeleteBucketPolicy" => "BUCKETPOLICY",
        "GetBucketPolicyStatus" => "BUCKETPOLICY_STATUS",
        "GetBucketLogging" | "PutBucketLogging" => "LOGGING_STATUS",
        "GetBucketLocation" => "LOCATION",
        "GetBucketLifecycleConfiguration"
        | "PutBucketLifecycleConfiguration"
        | "DeleteBucketLifecycle" => "LIFECYCLE",
        "GetBucketCors" | "PutBucketCors" | "DeleteBucketCors" => "CORS",
        "GetBucketWebsite" | "PutBucketWebsite" | "DeleteBucketWebsite" => "WEBSITE",
        "GetBucketNotificationConfiguration" | "PutBucketNotificationConfiguration" => {
            "NOTIFICATION"
        }
        "GetBucketEncryption" | "PutBucketEncryption" | "DeleteBucketEncryption" => "ENCRYPTION",
        "GetBucketRequestPayment" | "PutBucketRequestPayment" => "REQUEST_PAYMENT",
        "GetBucketReplication" | "PutBucketReplication" | "DeleteBucketReplication" => {
            "REPLICATION"
        }
        "GetBucketAccelerateConfiguration" | "PutBucketAccelerateConfiguration" => "ACCELERATE",
        "GetPublicAccessBlock" | "PutPublicAccessBlock" | "DeletePublicAccessBlock" => {
            "PUBLIC_ACCESS_BLOCK"
        }
        "GetBucketOwnershipControls"
        | "PutBucketOwnershipControls"
        | "DeleteBucketOwnershipControls" => "OWNERSHIP_CONTROLS",
        operation if operation.contains("BucketInventoryConfiguration") => "INVENTORY",
        operation if operation.contains("BucketAnalyticsConfiguration") => "ANALYTICS",
        operation if operation.contains("BucketMetricsConfiguration") => "METRICS",
        operation if operation.contains("BucketIntelligentTieringConfiguration") => {
            "INTELLIGENT_TIERING"
        }
        _ => return None,
    })
}
