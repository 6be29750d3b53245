//! The actions of S3, S3 Vectors and S3 Tables, by resource level.
//!
//! Source: "Actions, resources, and condition keys for Amazon S3", "… for Amazon S3 Vectors" and "… for Amazon S3 Tables" in
//! AWS's Service Authorization Reference, plus the few actions that exist in LiteIO only.

use super::pattern::{Case, Pattern, pieces};

/// The resource level of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// The bucket, vector bucket or table bucket itself.
    Bucket,
    /// The objects, indexes or tables in it.
    Below,
    /// Both: tags of S3 Vectors and S3 Tables exist on either level.
    Either,
    /// Neither.
    Elsewhere,
}

/// The levels of the S3 actions that match a pattern.
pub(super) fn of_s3(pattern: &Pattern) -> impl Iterator<Item = Level> {
    levels(
        pattern,
        "s3",
        [
            (&S3_BUCKET, Level::Bucket),
            (&S3_OBJECT, Level::Below),
            (&S3_ELSEWHERE, Level::Elsewhere),
        ],
    )
}

/// `true` for the text of an action of S3, with or without wildcards, of AWS or of MinIO.
pub fn is_s3_action(text: &str) -> bool {
    let pattern = Pattern::new(pieces(text), Case::Ignored);
    of_s3(&pattern).next().is_some()
        || S3_OF_MINIO.iter().any(|name| pattern.matches(&format!("s3:{name}")))
}

/// The levels of the S3 Vectors actions that match a pattern.
pub(super) fn of_vectors(pattern: &Pattern) -> impl Iterator<Item = Level> {
    levels(
        pattern,
        "s3vectors",
        [
            (&VECTORS_BUCKET, Level::Bucket),
            (&VECTORS_INDEX, Level::Below),
            (&VECTORS_EITHER, Level::Either),
        ],
    )
}

/// The levels of the S3 Tables actions that match a pattern.
pub(super) fn of_tables(pattern: &Pattern) -> impl Iterator<Item = Level> {
    levels(
        pattern,
        "s3tables",
        [
            (&TABLES_BUCKET, Level::Bucket),
            (&TABLES_TABLE, Level::Below),
            (&TABLES_EITHER, Level::Either),
            (&TABLES_ELSEWHERE, Level::Elsewhere),
        ],
    )
}

fn levels<'p, const N: usize>(
    pattern: &'p Pattern,
    service: &'static str,
    lists: [(&'static [&'static str], Level); N],
) -> impl Iterator<Item = Level> + 'p + use<'p, N> {
    lists.into_iter().flat_map(move |(names, level)| {
        let fit = names.iter().filter(move |name| pattern.matches(&format!("{service}:{name}")));
        fit.map(move |_| level)
    })
}

/// Actions that policies of MinIO may name beside those of AWS (`policy/action.go` of minio/pkg).
const S3_OF_MINIO: [&str; 6] = [
    "ForceDeleteBucket",
    "HeadBucket",
    "ListenBucketNotification",
    "ListenNotification",
    "PutObjectFanOut",
    "ResetBucketReplicationState",
];

/// Actions on a bucket.
const S3_BUCKET: [&str; 64] = [
    "AllowVendedLogDeliveryForResource",
    "CreateBucket",
    "CreateBucketMetadataTableConfiguration",
    "CreateSession",
    "DeleteBucket",
    "DeleteBucketMetadataTableConfiguration",
    "DeleteBucketPolicy",
    "DeleteBucketWebsite",
    "GetAccelerateConfiguration",
    "GetAnalyticsConfiguration",
    "GetBucketAbac",
    "GetBucketAcl",
    "GetBucketCORS",
    "GetBucketLocation",
    "GetBucketLogging",
    "GetBucketMetadataTableConfiguration",
    "GetBucketNotification",
    "GetBucketObjectLockConfiguration",
    "GetBucketOwnershipControls",
    "GetBucketPolicy",
    "GetBucketPolicyStatus",
    "GetBucketPublicAccessBlock",
    "GetBucketRequestPayment",
    "GetBucketTagging",
    "GetBucketVersioning",
    "GetBucketWebsite",
    "GetEncryptionConfiguration",
    "GetIntelligentTieringConfiguration",
    "GetInventoryConfiguration",
    "GetLifecycleConfiguration",
    "GetMetricsConfiguration",
    "GetReplicationConfiguration",
    "ListBucket",
    "ListBucketMultipartUploads",
    "ListBucketVersions",
    "ListTagsForResource",
    "ListenBucketNotification",
    "PauseReplication",
    "PutAccelerateConfiguration",
    "PutAnalyticsConfiguration",
    "PutBucketAbac",
    "PutBucketAcl",
    "PutBucketCORS",
    "PutBucketLogging",
    "PutBucketNotification",
    "PutBucketObjectLockConfiguration",
    "PutBucketOwnershipControls",
    "PutBucketPolicy",
    "PutBucketPublicAccessBlock",
    "PutBucketRequestPayment",
    "PutBucketTagging",
    "PutBucketVersioning",
    "PutBucketWebsite",
    "PutEncryptionConfiguration",
    "PutIntelligentTieringConfiguration",
    "PutInventoryConfiguration",
    "PutLifecycleConfiguration",
    "PutMetricsConfiguration",
    "PutReplicationConfiguration",
    "TagResource",
    "UntagResource",
    "UpdateBucketMetadataAnnotationTableConfiguration",
    "UpdateBucketMetadataInventoryTableConfiguration",
    "UpdateBucketMetadataJournalTableConfiguration",
];

/// Actions on objects.
const S3_OBJECT: [&str; 45] = [
    "AbortMultipartUpload",
    "BypassGovernanceRetention",
    "DeleteObject",
    "DeleteObjectAnnotation",
    "DeleteObjectTagging",
    "DeleteObjectVersion",
    "DeleteObjectVersionAnnotation",
    "DeleteObjectVersionTagging",
    "GetObject",
    "GetObjectAcl",
    "GetObjectAnnotation",
    "GetObjectAttributes",
    "GetObjectLegalHold",
    "GetObjectRetention",
    "GetObjectTagging",
    "GetObjectTorrent",
    "GetObjectVersion",
    "GetObjectVersionAcl",
    "GetObjectVersionAnnotation",
    "GetObjectVersionAnnotationForReplication",
    "GetObjectVersionAttributes",
    "GetObjectVersionForReplication",
    "GetObjectVersionTagging",
    "GetObjectVersionTorrent",
    "InitiateReplication",
    "ListMultipartUploadParts",
    "ListObjectAnnotations",
    "ListObjectVersionAnnotations",
    "ObjectOwnerOverrideToBucketOwner",
    "PutObject",
    "PutObjectAcl",
    "PutObjectAnnotation",
    "PutObjectLegalHold",
    "PutObjectRetention",
    "PutObjectTagging",
    "PutObjectVersionAcl",
    "PutObjectVersionAnnotation",
    "PutObjectVersionTagging",
    "RenameObject",
    "ReplicateDelete",
    "ReplicateObject",
    "ReplicateObjectAnnotation",
    "ReplicateTags",
    "RestoreObject",
    "UpdateObjectEncryption",
];

/// Actions on accounts, access points and jobs.
const S3_ELSEWHERE: [&str; 77] = [
    "AssociateAccessGrantsIdentityCenter",
    "CreateAccessGrant",
    "CreateAccessGrantsInstance",
    "CreateAccessGrantsLocation",
    "CreateAccessPoint",
    "CreateAccessPointForObjectLambda",
    "CreateJob",
    "CreateMultiRegionAccessPoint",
    "CreateStorageLensGroup",
    "DeleteAccessGrant",
    "DeleteAccessGrantsInstance",
    "DeleteAccessGrantsInstanceResourcePolicy",
    "DeleteAccessGrantsLocation",
    "DeleteAccessPoint",
    "DeleteAccessPointForObjectLambda",
    "DeleteAccessPointPolicy",
    "DeleteAccessPointPolicyForObjectLambda",
    "DeleteJobTagging",
    "DeleteMultiRegionAccessPoint",
    "DeleteStorageLensConfiguration",
    "DeleteStorageLensConfigurationTagging",
    "DeleteStorageLensGroup",
    "DescribeJob",
    "DescribeMultiRegionAccessPointOperation",
    "DissociateAccessGrantsIdentityCenter",
    "GetAccessGrant",
    "GetAccessGrantsInstance",
    "GetAccessGrantsInstanceForPrefix",
    "GetAccessGrantsInstanceResourcePolicy",
    "GetAccessGrantsLocation",
    "GetAccessPoint",
    "GetAccessPointConfigurationForObjectLambda",
    "GetAccessPointForObjectLambda",
    "GetAccessPointPolicy",
    "GetAccessPointPolicyForObjectLambda",
    "GetAccessPointPolicyStatus",
    "GetAccessPointPolicyStatusForObjectLambda",
    "GetAccountPublicAccessBlock",
    "GetDataAccess",
    "GetJobTagging",
    "GetMultiRegionAccessPoint",
    "GetMultiRegionAccessPointPolicy",
    "GetMultiRegionAccessPointPolicyStatus",
    "GetMultiRegionAccessPointRoutes",
    "GetStorageLensConfiguration",
    "GetStorageLensConfigurationTagging",
    "GetStorageLensDashboard",
    "GetStorageLensGroup",
    "ListAccessGrants",
    "ListAccessGrantsInstances",
    "ListAccessGrantsLocations",
    "ListAccessPoints",
    "ListAccessPointsForObjectLambda",
    "ListAllMyBuckets",
    "ListAllMyDirectoryBuckets",
    "ListCallerAccessGrants",
    "ListJobs",
    "ListMultiRegionAccessPoints",
    "ListStorageLensConfigurations",
    "ListStorageLensGroups",
    "ListenNotification",
    "PutAccessGrantsInstanceResourcePolicy",
    "PutAccessPointConfigurationForObjectLambda",
    "PutAccessPointPolicy",
    "PutAccessPointPolicyForObjectLambda",
    "PutAccessPointPublicAccessBlock",
    "PutAccountPublicAccessBlock",
    "PutJobTagging",
    "PutMultiRegionAccessPointPolicy",
    "PutStorageLensConfiguration",
    "PutStorageLensConfigurationTagging",
    "SubmitMultiRegionAccessPointRoutes",
    "UpdateAccessGrantsLocation",
    "UpdateJobPriority",
    "UpdateJobStatus",
    "UpdateStorageLensGroup",
    "WriteGetObjectResponse",
];

/// Actions on a vector bucket.
const VECTORS_BUCKET: [&str; 8] = [
    "CreateVectorBucket",
    "DeleteVectorBucket",
    "DeleteVectorBucketPolicy",
    "GetVectorBucket",
    "GetVectorBucketPolicy",
    "ListIndexes",
    "PutVectorBucketDefaultIndexMode",
    "PutVectorBucketPolicy",
];

/// Actions on indexes.
const VECTORS_INDEX: [&str; 10] = [
    "CreateIndex",
    "DeleteIndex",
    "DeleteVectors",
    "GetIndex",
    "GetVectors",
    "ListVectors",
    "PutVectors",
    "QueryVectors",
    "UpdateIndexMode",
    "UpdateMetadataConfiguration",
];

/// Actions on a vector bucket or an index.
const VECTORS_EITHER: [&str; 3] = ["ListTagsForResource", "TagResource", "UntagResource"];

/// Actions on a table bucket, its namespaces included.
const TABLES_BUCKET: [&str; 25] = [
    "CreateNamespace",
    "CreateTableBucket",
    "DeleteNamespace",
    "DeleteTableBucket",
    "DeleteTableBucketEncryption",
    "DeleteTableBucketMetricsConfiguration",
    "DeleteTableBucketPolicy",
    "DeleteTableBucketReplication",
    "GetNamespace",
    "GetTableBucket",
    "GetTableBucketEncryption",
    "GetTableBucketMaintenanceConfiguration",
    "GetTableBucketMetricsConfiguration",
    "GetTableBucketPolicy",
    "GetTableBucketReplication",
    "GetTableBucketStorageClass",
    "ListNamespaces",
    "ListTables",
    "PutTableBucketEncryption",
    "PutTableBucketMaintenanceConfiguration",
    "PutTableBucketMetricsConfiguration",
    "PutTableBucketPolicy",
    "PutTableBucketReplication",
    "PutTableBucketStorageClass",
    "UpdateNamespaceProperties",
];

/// Actions on tables.
const TABLES_TABLE: [&str; 24] = [
    "DeleteTable",
    "DeleteTablePolicy",
    "DeleteTableReplication",
    "GetTable",
    "GetTableData",
    "GetTableEncryption",
    "GetTableMaintenanceConfiguration",
    "GetTableMaintenanceJobStatus",
    "GetTableMetadataLocation",
    "GetTablePolicy",
    "GetTableRecordExpirationConfiguration",
    "GetTableRecordExpirationJobStatus",
    "GetTableReplication",
    "GetTableReplicationStatus",
    "GetTableStorageClass",
    "PutTableData",
    "PutTableEncryption",
    "PutTableMaintenanceConfiguration",
    "PutTablePolicy",
    "PutTableRecordExpirationConfiguration",
    "PutTableReplication",
    "PutTableStorageClass",
    "RenameTable",
    "UpdateTableMetadataLocation",
];

/// Actions on a table bucket or a table. The new table of CreateTable has no id yet: AWS names the bucket.
const TABLES_EITHER: [&str; 4] =
    ["CreateTable", "ListTagsForResource", "TagResource", "UntagResource"];

/// Actions on neither.
const TABLES_ELSEWHERE: [&str; 1] = ["ListTableBuckets"];
