//! Actions: what policies allow and deny. Several operations may be one action.

/// Turns the list into an enum of the actions and their names in policies.
macro_rules! actions {
    ($($service:literal { $($action:ident)* })*) => {
        /// An action, by its name in policies.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Action {
            $($(#[doc = concat!("`", $service, ":", stringify!($action), "`.")] $action,)*)*
        }

        impl Action {
            /// The name in policies, such as `s3:GetObject`.
            pub(crate) fn name(self) -> &'static str {
                match self {
                    $($(Action::$action => concat!($service, ":", stringify!($action)),)*)*
                }
            }
        }
    };
}

actions! {
    "s3" {
        AbortMultipartUpload
        CreateBucket
        CreateBucketMetadataTableConfiguration
        CreateSession
        DeleteBucket
        DeleteBucketMetadataTableConfiguration
        DeleteBucketPolicy
        DeleteBucketWebsite
        DeleteObject
        DeleteObjectAnnotation
        DeleteObjectTagging
        GetAccelerateConfiguration
        GetAnalyticsConfiguration
        GetBucketAbac
        GetBucketAcl
        GetBucketCORS
        GetBucketLocation
        GetBucketLogging
        GetBucketMetadataTableConfiguration
        GetBucketNotification
        GetBucketObjectLockConfiguration
        GetBucketOwnershipControls
        GetBucketPolicy
        GetBucketPolicyStatus
        GetBucketPublicAccessBlock
        GetBucketRequestPayment
        GetBucketTagging
        GetBucketVersioning
        GetBucketWebsite
        GetEncryptionConfiguration
        GetIntelligentTieringConfiguration
        GetInventoryConfiguration
        GetLifecycleConfiguration
        GetMetricsConfiguration
        GetObject
        GetObjectAcl
        GetObjectAnnotation
        GetObjectAttributes
        GetObjectLegalHold
        GetObjectRetention
        GetObjectTagging
        GetObjectTorrent
        GetReplicationConfiguration
        ListAllMyBuckets
        ListAllMyDirectoryBuckets
        ListBucket
        ListBucketMultipartUploads
        ListBucketVersions
        ListMultipartUploadParts
        ListObjectAnnotations
        PutAccelerateConfiguration
        PutAnalyticsConfiguration
        PutBucketAbac
        PutBucketAcl
        PutBucketCORS
        PutBucketLogging
        PutBucketNotification
        PutBucketObjectLockConfiguration
        PutBucketOwnershipControls
        PutBucketPolicy
        PutBucketPublicAccessBlock
        PutBucketRequestPayment
        PutBucketTagging
        PutBucketVersioning
        PutBucketWebsite
        PutEncryptionConfiguration
        PutIntelligentTieringConfiguration
        PutInventoryConfiguration
        PutLifecycleConfiguration
        PutMetricsConfiguration
        PutObject
        PutObjectAcl
        PutObjectAnnotation
        PutObjectLegalHold
        PutObjectRetention
        PutObjectTagging
        PutReplicationConfiguration
        RenameObject
        RestoreObject
        UpdateBucketMetadataAnnotationTableConfiguration
        UpdateBucketMetadataInventoryTableConfiguration
        UpdateBucketMetadataJournalTableConfiguration
        UpdateObjectEncryption
        WriteGetObjectResponse
    }
    "s3vectors" {
        CreateIndex
        CreateVectorBucket
        DeleteIndex
        DeleteVectorBucket
        DeleteVectorBucketPolicy
        DeleteVectors
        GetIndex
        GetVectorBucket
        GetVectorBucketPolicy
        GetVectors
        ListIndexes
        ListTagsForResource
        ListVectorBuckets
        ListVectors
        PutVectorBucketDefaultIndexMode
        PutVectorBucketPolicy
        PutVectors
        QueryVectors
        TagResource
        UntagResource
        UpdateIndexMode
        UpdateMetadataConfiguration
    }
}

impl Action {
    /// The action is on no bucket, or on one that does not exist yet.
    pub(crate) fn is_of_account(self) -> bool {
        matches!(
            self,
            Action::CreateBucket
                | Action::ListAllMyBuckets
                | Action::ListAllMyDirectoryBuckets
                | Action::WriteGetObjectResponse
                | Action::CreateVectorBucket
                | Action::ListVectorBuckets
        )
    }
}
