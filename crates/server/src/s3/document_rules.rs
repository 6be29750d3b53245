//! The documents that requests carry: what each must come with, and the elements that it has.

/// The rules for the document of one operation.
#[derive(Debug)]
pub(super) struct Rules {
    operation: &'static str,
    pub(super) digest: Digest,
    /// The names of its elements, at whatever depth. s3s passes over all others, and the request would
    /// succeed without what they ask for.
    pub(super) elements: &'static [&'static str],
}

/// The digest of a document in the headers of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Digest {
    /// One must be there.
    Required,
    /// It is verified if it is there.
    Optional,
    /// Only `Content-MD5` is of the document: checksums are those of the object.
    OnlyMd5,
}

impl Rules {
    /// The rules for the document of that operation, if it has one.
    pub(super) fn of(operation: &str) -> Option<&'static Rules> {
        RULES.iter().find(|rules| rules.operation == operation)
    }
}

const fn rules(operation: &'static str, elements: &'static [&'static str]) -> Rules {
    Rules { operation, digest: Digest::Optional, elements }
}

const RULES: &[Rules] = &[
    Rules {
        operation: "DeleteObjects",
        digest: Digest::Required,
        elements: &[
            "Delete",
            "Object",
            "Key",
            "VersionId",
            "ETag",
            "LastModifiedTime",
            "Size",
            "Quiet",
        ],
    },
    Rules {
        operation: "CompleteMultipartUpload",
        digest: Digest::OnlyMd5,
        elements: &[
            "CompleteMultipartUpload",
            "Part",
            "PartNumber",
            "ETag",
            "ChecksumCRC32",
            "ChecksumCRC32C",
            "ChecksumCRC64NVME",
            "ChecksumSHA1",
            "ChecksumSHA256",
        ],
    },
    rules(
        "CreateBucket",
        &[
            "CreateBucketConfiguration",
            "LocationConstraint",
            "Location",
            "Type",
            "Name",
            "Bucket",
            "DataRedundancy",
            "Tags",
            "Tag",
            "Key",
            "Value",
        ],
    ),
    rules("PutBucketVersioning", &["VersioningConfiguration", "Status", "MfaDelete"]),
    rules("PutBucketTagging", TAGGING),
    rules("PutObjectTagging", TAGGING),
    rules(
        "PutObjectLockConfiguration",
        &[
            "ObjectLockConfiguration",
            "ObjectLockEnabled",
            "Rule",
            "DefaultRetention",
            "Mode",
            "Days",
            "Years",
        ],
    ),
    rules("PutObjectRetention", &["Retention", "Mode", "RetainUntilDate"]),
    rules("PutObjectLegalHold", &["LegalHold", "Status"]),
    rules(
        "PutBucketLogging",
        &[
            "BucketLoggingStatus",
            "LoggingEnabled",
            "TargetBucket",
            "TargetPrefix",
            "TargetGrants",
            "Grant",
            "Grantee",
            "Permission",
            "ID",
            "DisplayName",
            "EmailAddress",
            "URI",
            "Type",
            "TargetObjectKeyFormat",
            "SimplePrefix",
            "PartitionedPrefix",
            "PartitionDateSource",
        ],
    ),
    rules("PutBucketRequestPayment", &["RequestPaymentConfiguration", "Payer"]),
    rules("PutBucketAccelerateConfiguration", &["AccelerateConfiguration", "Status"]),
    rules(
        "PutBucketAnalyticsConfiguration",
        &[
            "AnalyticsConfiguration",
            "Id",
            "Filter",
            "And",
            "Prefix",
            "Tag",
            "Key",
            "Value",
            "StorageClassAnalysis",
            "DataExport",
            "OutputSchemaVersion",
            "Destination",
            "S3BucketDestination",
            "Format",
            "BucketAccountId",
            "Bucket",
        ],
    ),
    rules(
        "PutBucketIntelligentTieringConfiguration",
        &[
            "IntelligentTieringConfiguration",
            "Id",
            "Filter",
            "And",
            "Prefix",
            "Tag",
            "Key",
            "Value",
            "Status",
            "Tiering",
            "Days",
            "AccessTier",
        ],
    ),
    rules(
        "PutBucketInventoryConfiguration",
        &[
            "InventoryConfiguration",
            "Id",
            "IsEnabled",
            "Filter",
            "Prefix",
            "Destination",
            "S3BucketDestination",
            "AccountId",
            "Bucket",
            "Format",
            "Encryption",
            "SSE-KMS",
            "KeyId",
            "SSE-S3",
            "IncludedObjectVersions",
            "OptionalFields",
            "Field",
            "Schedule",
            "Frequency",
        ],
    ),
    rules(
        "PutBucketMetricsConfiguration",
        &[
            "MetricsConfiguration",
            "Id",
            "Filter",
            "And",
            "Prefix",
            "Tag",
            "Key",
            "Value",
            "AccessPointArn",
        ],
    ),
];

const TAGGING: &[&str] = &["Tagging", "TagSet", "Tag", "Key", "Value"];
