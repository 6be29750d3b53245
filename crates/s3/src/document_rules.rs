//! Rules for request documents: the required digest, the most bytes and the known elements.

use liteio_store::limits::ANNOTATION_BYTES_MAX;

use super::limits::{CORS_DOCUMENT_BYTES_MAX, WEBSITE_DOCUMENT_BYTES_MAX, XML_BODY_BYTES_MAX};

/// The rules for the document of one operation.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) operation: &'static str,
    pub(super) digest: Digest,
    /// Length in bytes of the longest document.
    pub(super) bytes_max: usize,
    pub(super) elements: Elements,
}

/// The child names of each element, separated by spaces; the root is the child of the element
/// without a name. s3s ignores unknown elements, so the request would succeed without doing what
/// they ask for.
pub(super) type Elements = &'static [(&'static str, &'static str)];

/// The digest that the headers must carry for a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Digest {
    /// A digest is required.
    Required,
    /// Verified if present.
    Optional,
    /// Only `Content-MD5` covers the document: the checksum headers describe the object.
    OnlyMd5,
}

impl Rules {
    /// True if the document is XML.
    pub(super) fn is_xml(&self) -> bool {
        !self.elements.is_empty()
    }

    /// True if the document may have `child` in `parent`.
    #[cfg(test)]
    pub(super) fn knows(&self, parent: &str, child: &str) -> bool {
        let children = self.elements.iter().find(|(element, _)| *element == parent);
        children.is_some_and(|(_, children)| children.split(' ').any(|known| known == child))
    }

    /// The rules for the document of an operation, if it has one.
    pub(super) fn of(operation: &str) -> Option<&'static Rules> {
        RULES.iter().find(|rules| rules.operation == operation)
    }
}

const fn rules(operation: &'static str, elements: Elements) -> Rules {
    Rules { operation, digest: Digest::Optional, bytes_max: XML_BODY_BYTES_MAX, elements }
}

/// The rules for a document that is not XML; its handler parses it.
const fn opaque(operation: &'static str) -> Rules {
    rules(operation, &[])
}

const RULES: &[Rules] = &[
    opaque("PutBucketPolicy"),
    Rules { bytes_max: ANNOTATION_BYTES_MAX, ..opaque("PutObjectAnnotation") },
    rules("PutBucketAcl", ACCESS_CONTROL_POLICY),
    rules("PutObjectAcl", ACCESS_CONTROL_POLICY),
    rules(
        "PutBucketOwnershipControls",
        &[("", "OwnershipControls"), ("OwnershipControls", "Rule"), ("Rule", "ObjectOwnership")],
    ),
    rules(
        "PutPublicAccessBlock",
        &[
            ("", "PublicAccessBlockConfiguration"),
            (
                "PublicAccessBlockConfiguration",
                "BlockPublicAcls IgnorePublicAcls BlockPublicPolicy RestrictPublicBuckets",
            ),
        ],
    ),
    Rules {
        bytes_max: CORS_DOCUMENT_BYTES_MAX,
        ..rules(
            "PutBucketCors",
            &[
                ("", "CORSConfiguration"),
                ("CORSConfiguration", "CORSRule"),
                (
                    "CORSRule",
                    "ID AllowedHeader AllowedMethod AllowedOrigin ExposeHeader MaxAgeSeconds",
                ),
            ],
        )
    },
    Rules {
        bytes_max: WEBSITE_DOCUMENT_BYTES_MAX,
        ..rules(
            "PutBucketWebsite",
            &[
                ("", "WebsiteConfiguration"),
                (
                    "WebsiteConfiguration",
                    "IndexDocument ErrorDocument RedirectAllRequestsTo RoutingRules",
                ),
                ("IndexDocument", "Suffix"),
                ("ErrorDocument", "Key"),
                ("RedirectAllRequestsTo", "HostName Protocol"),
                ("RoutingRules", "RoutingRule"),
                ("RoutingRule", "Condition Redirect"),
                ("Condition", "HttpErrorCodeReturnedEquals KeyPrefixEquals"),
                (
                    "Redirect",
                    "HostName HttpRedirectCode Protocol ReplaceKeyPrefixWith ReplaceKeyWith",
                ),
            ],
        )
    },
    rules(
        "PutBucketNotificationConfiguration",
        &[
            ("", "NotificationConfiguration"),
            (
                "NotificationConfiguration",
                "TopicConfiguration QueueConfiguration CloudFunctionConfiguration \
                 EventBridgeConfiguration",
            ),
            ("TopicConfiguration", "Id Topic Event Filter"),
            ("QueueConfiguration", "Id Queue Event Filter"),
            ("CloudFunctionConfiguration", "Id CloudFunction Event Filter"),
            ("Filter", "S3Key"),
            ("S3Key", "FilterRule"),
            ("FilterRule", "Name Value"),
        ],
    ),
    Rules {
        operation: "DeleteObjects",
        digest: Digest::Required,
        bytes_max: XML_BODY_BYTES_MAX,
        elements: &[
            ("", "Delete"),
            ("Delete", "Object Quiet"),
            ("Object", "Key VersionId ETag LastModifiedTime Size"),
        ],
    },
    Rules {
        operation: "CompleteMultipartUpload",
        digest: Digest::OnlyMd5,
        bytes_max: XML_BODY_BYTES_MAX,
        elements: &[
            ("", "CompleteMultipartUpload"),
            ("CompleteMultipartUpload", "Part"),
            (
                "Part",
                "PartNumber ETag ChecksumCRC32 ChecksumCRC32C ChecksumCRC64NVME ChecksumSHA1 \
                 ChecksumSHA256 ChecksumMD5 ChecksumSHA512 ChecksumXXHASH64 ChecksumXXHASH3 \
                 ChecksumXXHASH128",
            ),
        ],
    },
    rules(
        "CreateBucket",
        &[
            ("", "CreateBucketConfiguration"),
            ("CreateBucketConfiguration", "LocationConstraint Location Bucket Tags"),
            ("Location", "Type Name"),
            ("Bucket", "DataRedundancy Type"),
            ("Tags", "Tag"),
            TAG,
        ],
    ),
    rules("PutBucketAbac", &[("", "AbacStatus"), ("AbacStatus", "Status")]),
    rules(
        "PutBucketVersioning",
        // The last two are MinIO's: `bucket_versioning` says why they are refused.
        &[
            ("", "VersioningConfiguration"),
            ("VersioningConfiguration", "Status MfaDelete ExcludedPrefixes ExcludeFolders"),
            ("ExcludedPrefixes", "Prefix"),
        ],
    ),
    rules(
        "PutBucketEncryption",
        &[
            ("", "ServerSideEncryptionConfiguration"),
            ("ServerSideEncryptionConfiguration", "Rule"),
            ("Rule", "ApplyServerSideEncryptionByDefault BucketKeyEnabled BlockedEncryptionTypes"),
            ("BlockedEncryptionTypes", "EncryptionType"),
            ("ApplyServerSideEncryptionByDefault", "SSEAlgorithm KMSMasterKeyID"),
        ],
    ),
    rules("PutBucketTagging", TAGGING),
    rules("PutObjectTagging", TAGGING),
    // Of S3 Control.
    rules(
        "TagResource",
        &[("", "TagResourceRequest"), ("TagResourceRequest", "Tags"), ("Tags", "Tag"), TAG],
    ),
    rules(
        "PutObjectLockConfiguration",
        &[
            ("", "ObjectLockConfiguration"),
            ("ObjectLockConfiguration", "ObjectLockEnabled Rule"),
            ("Rule", "DefaultRetention"),
            ("DefaultRetention", "Mode Days Years DefaultEventHold"),
            ("DefaultEventHold", "Days Years"),
        ],
    ),
    rules(
        "PutObjectRetention",
        &[
            ("", "Retention"),
            ("Retention", "Mode RetainUntilDate EventHold EventHoldDuration"),
            ("EventHoldDuration", "Days Years"),
        ],
    ),
    rules("PutObjectLegalHold", &[("", "LegalHold"), ("LegalHold", "Status")]),
    // A SELECT is refused by name, so its elements are known here.
    rules(
        "RestoreObject",
        &[
            ("", "RestoreRequest"),
            (
                "RestoreRequest",
                "Days GlacierJobParameters Type Tier Description SelectParameters OutputLocation",
            ),
            ("GlacierJobParameters", "Tier"),
            (
                "SelectParameters",
                "InputSerialization ExpressionType Expression OutputSerialization",
            ),
            ("InputSerialization", "CSV CompressionType JSON Parquet"),
            ("OutputSerialization", "CSV JSON"),
            (
                "CSV",
                "FileHeaderInfo Comments QuoteEscapeCharacter RecordDelimiter FieldDelimiter \
                 QuoteCharacter AllowQuotedRecordDelimiter QuoteFields",
            ),
            ("JSON", "Type RecordDelimiter"),
            ("OutputLocation", "S3"),
            (
                "S3",
                "BucketName Prefix Encryption CannedACL AccessControlList Tagging UserMetadata \
                 StorageClass",
            ),
            ("Encryption", "EncryptionType KMSKeyId KMSContext"),
            ("AccessControlList", "Grant"),
            ("Grant", "Grantee Permission"),
            ("Grantee", "ID DisplayName EmailAddress URI Type"),
            ("Tagging", "TagSet"),
            ("TagSet", "Tag"),
            TAG,
            ("UserMetadata", "MetadataEntry"),
            ("MetadataEntry", "Name Value"),
        ],
    ),
    rules(
        "PutBucketLifecycleConfiguration",
        &[
            ("", "LifecycleConfiguration"),
            ("LifecycleConfiguration", "Rule"),
            (
                "Rule",
                "ID Status Prefix Filter Expiration Transition NoncurrentVersionTransition \
                 NoncurrentVersionExpiration AbortIncompleteMultipartUpload",
            ),
            ("Filter", "Prefix Tag ObjectSizeGreaterThan ObjectSizeLessThan And"),
            ("And", "Prefix Tag ObjectSizeGreaterThan ObjectSizeLessThan"),
            TAG,
            ("Expiration", "Date Days ExpiredObjectDeleteMarker"),
            ("Transition", "Date Days StorageClass"),
            ("NoncurrentVersionTransition", "NoncurrentDays NewerNoncurrentVersions StorageClass"),
            ("NoncurrentVersionExpiration", "NoncurrentDays NewerNoncurrentVersions"),
            ("AbortIncompleteMultipartUpload", "DaysAfterInitiation"),
        ],
    ),
    rules(
        "PutBucketLogging",
        &[
            ("", "BucketLoggingStatus"),
            ("BucketLoggingStatus", "LoggingEnabled"),
            ("LoggingEnabled", "TargetBucket TargetPrefix TargetGrants TargetObjectKeyFormat"),
            ("TargetGrants", "Grant"),
            ("Grant", "Grantee Permission"),
            ("Grantee", "ID DisplayName EmailAddress URI Type"),
            ("TargetObjectKeyFormat", "SimplePrefix PartitionedPrefix"),
            ("PartitionedPrefix", "PartitionDateSource"),
        ],
    ),
    rules(
        "PutBucketReplication",
        &[
            ("", "ReplicationConfiguration"),
            ("ReplicationConfiguration", "Role Rule"),
            // `DeleteReplication` is MinIO's.
            (
                "Rule",
                "ID Priority Prefix Filter Status SourceSelectionCriteria ExistingObjectReplication \
                 Destination DeleteMarkerReplication DeleteReplication",
            ),
            ("Filter", "Prefix Tag And"),
            ("And", "Prefix Tag"),
            TAG,
            ("SourceSelectionCriteria", "ReplicaModifications SseKmsEncryptedObjects"),
            ("ReplicaModifications", "Status"),
            ("SseKmsEncryptedObjects", "Status"),
            ("ExistingObjectReplication", "Status"),
            ("DeleteMarkerReplication", "Status"),
            ("DeleteReplication", "Status"),
            (
                "Destination",
                "Bucket Account StorageClass AccessControlTranslation EncryptionConfiguration Metrics \
                 ReplicationTime",
            ),
            ("AccessControlTranslation", "Owner"),
            ("EncryptionConfiguration", "ReplicaKmsKeyID"),
            ("Metrics", "Status EventThreshold"),
            ("EventThreshold", "Minutes"),
            ("ReplicationTime", "Status Time"),
            ("Time", "Minutes"),
        ],
    ),
    rules(
        "PutBucketRequestPayment",
        &[("", "RequestPaymentConfiguration"), ("RequestPaymentConfiguration", "Payer")],
    ),
    rules(
        "PutBucketAccelerateConfiguration",
        &[("", "AccelerateConfiguration"), ("AccelerateConfiguration", "Status")],
    ),
    rules(
        "PutBucketAnalyticsConfiguration",
        &[
            ("", "AnalyticsConfiguration"),
            ("AnalyticsConfiguration", "Id Filter StorageClassAnalysis"),
            ("Filter", "Prefix Tag And"),
            ("And", "Prefix Tag"),
            TAG,
            ("StorageClassAnalysis", "DataExport"),
            ("DataExport", "OutputSchemaVersion Destination"),
            ("Destination", "S3BucketDestination"),
            ("S3BucketDestination", "Format BucketAccountId Bucket Prefix"),
        ],
    ),
    rules(
        "PutBucketIntelligentTieringConfiguration",
        &[
            ("", "IntelligentTieringConfiguration"),
            ("IntelligentTieringConfiguration", "Id Filter Status Tiering"),
            ("Filter", "Prefix Tag And"),
            ("And", "Prefix Tag"),
            TAG,
            ("Tiering", "Days AccessTier"),
        ],
    ),
    rules(
        "PutBucketInventoryConfiguration",
        &[
            ("", "InventoryConfiguration"),
            (
                "InventoryConfiguration",
                "Id IsEnabled Filter Destination IncludedObjectVersions OptionalFields Schedule",
            ),
            ("Filter", "Prefix"),
            ("Destination", "S3BucketDestination"),
            ("S3BucketDestination", "AccountId Bucket Format Prefix Encryption"),
            ("Encryption", "SSE-KMS SSE-S3"),
            ("SSE-KMS", "KeyId"),
            ("OptionalFields", "Field"),
            ("Schedule", "Frequency"),
        ],
    ),
    rules(
        "PutBucketMetricsConfiguration",
        &[
            ("", "MetricsConfiguration"),
            ("MetricsConfiguration", "Id Filter"),
            ("Filter", "Prefix Tag AccessPointArn And"),
            ("And", "Prefix Tag AccessPointArn"),
            TAG,
        ],
    ),
];

const ACCESS_CONTROL_POLICY: Elements = &[
    ("", "AccessControlPolicy"),
    ("AccessControlPolicy", "AccessControlList Owner"),
    ("AccessControlList", "Grant"),
    ("Grant", "Grantee Permission"),
    ("Grantee", "ID DisplayName EmailAddress URI"),
    ("Owner", "ID DisplayName"),
];
const TAG: (&str, &str) = ("Tag", "Key Value");
const TAGGING: Elements = &[("", "Tagging"), ("Tagging", "TagSet"), ("TagSet", "Tag"), TAG];
