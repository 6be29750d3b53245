//! [`Action`]: the unit that policies allow and deny. Several operations may share one action.

/// The name of an action in its service. Two services may share one, which names only one variant.
macro_rules! name {
    ($action:ident) => {
        stringify!($action)
    };
    ($action:ident $name:literal) => {
        $name
    };
}

/// Generates the enum of actions with their names in policies.
macro_rules! actions {
    ($($service:literal { $($action:ident $(= $name:literal)?)* })*) => {
        /// An action, by its name in policies.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Action {
            $($(#[doc = concat!("`", $service, ":", name!($action $($name)?), "`.")] $action,)*)*
        }

        impl Action {
            /// The name in policies, such as `s3:GetObject`.
            pub fn name(self) -> &'static str {
                match self {
                    $($(Action::$action => concat!($service, ":", name!($action $($name)?)),)*)*
                }
            }
        }
    };
}

actions! {
    "s3" {
        AbortMultipartUpload
        BypassGovernanceRetention
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
        DeleteObjectVersion
        DeleteObjectVersionAnnotation
        DeleteObjectVersionTagging
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
        GetObjectVersion
        GetObjectVersionAcl
        GetObjectVersionAnnotation
        GetObjectVersionAttributes
        GetObjectVersionTagging
        GetObjectVersionTorrent
        GetReplicationConfiguration
        ListAllMyBuckets
        ListAllMyDirectoryBuckets
        ListBucket
        ListBucketMultipartUploads
        ListBucketVersions
        ListenBucketNotification
        ListenNotification
        ListMultipartUploadParts
        ListObjectAnnotations
        ListObjectVersionAnnotations
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
        PutObjectVersionAcl
        PutObjectVersionAnnotation
        PutObjectVersionTagging
        PutReplicationConfiguration
        RenameObject
        ReplicateDelete
        ReplicateObject
        ReplicateObjectAnnotation
        ReplicateTags
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
    "s3tables" {
        CreateNamespace
        CreateTable
        CreateTableBucket
        DeleteNamespace
        DeleteTable
        DeleteTableBucket
        DeleteTableBucketMetricsConfiguration
        DeleteTableBucketPolicy
        DeleteTablePolicy
        GetNamespace
        GetTable
        GetTableBucket
        GetTableBucketEncryption
        GetTableBucketMaintenanceConfiguration
        GetTableBucketMetricsConfiguration
        GetTableBucketPolicy
        GetTableBucketStorageClass
        GetTableData
        GetTableEncryption
        GetTableMaintenanceConfiguration
        GetTableMaintenanceJobStatus
        GetTableMetadataLocation
        GetTablePolicy
        GetTableStorageClass
        ListNamespaces
        ListTableBuckets
        ListTables
        ListTagsForTables = "ListTagsForResource"
        PutTableBucketEncryption
        PutTableBucketMaintenanceConfiguration
        PutTableBucketMetricsConfiguration
        PutTableBucketPolicy
        PutTableBucketStorageClass
        PutTableData
        PutTableMaintenanceConfiguration
        PutTablePolicy
        RenameTable
        TagTables = "TagResource"
        UntagTables = "UntagResource"
        UpdateNamespaceProperties
        UpdateTableMetadataLocation
    }
}

impl Action {
    /// `true` if the action concerns no bucket, or one that does not exist yet.
    pub fn is_of_account(self) -> bool {
        matches!(
            self,
            Action::CreateBucket
                | Action::ListAllMyBuckets
                | Action::ListAllMyDirectoryBuckets
                | Action::ListenNotification
                | Action::WriteGetObjectResponse
                | Action::CreateVectorBucket
                | Action::ListVectorBuckets
                | Action::CreateTableBucket
                | Action::ListTableBuckets
        )
    }

    /// The action for a request that names a version, where policies have a separate one.
    pub fn on_version(self) -> Action {
        match self {
            Action::DeleteObject => Action::DeleteObjectVersion,
            Action::DeleteObjectAnnotation => Action::DeleteObjectVersionAnnotation,
            Action::DeleteObjectTagging => Action::DeleteObjectVersionTagging,
            Action::GetObject => Action::GetObjectVersion,
            Action::GetObjectAcl => Action::GetObjectVersionAcl,
            Action::GetObjectAnnotation => Action::GetObjectVersionAnnotation,
            Action::GetObjectAttributes => Action::GetObjectVersionAttributes,
            Action::GetObjectTagging => Action::GetObjectVersionTagging,
            Action::GetObjectTorrent => Action::GetObjectVersionTorrent,
            Action::ListObjectAnnotations => Action::ListObjectVersionAnnotations,
            Action::PutObjectAcl => Action::PutObjectVersionAcl,
            Action::PutObjectAnnotation => Action::PutObjectVersionAnnotation,
            Action::PutObjectTagging => Action::PutObjectVersionTagging,
            other => other,
        }
    }

    /// The action that allows this one, too, on a MinIO server, whose policies have no separate
    /// actions for versions but one: attributes.
    pub(super) fn without_version(self) -> Option<Action> {
        Some(match self {
            Action::DeleteObjectVersion => Action::DeleteObject,
            Action::DeleteObjectVersionAnnotation => Action::DeleteObjectAnnotation,
            Action::DeleteObjectVersionTagging => Action::DeleteObjectTagging,
            Action::GetObjectVersion => Action::GetObject,
            Action::GetObjectVersionAcl => Action::GetObjectAcl,
            Action::GetObjectVersionAnnotation => Action::GetObjectAnnotation,
            Action::GetObjectVersionTagging => Action::GetObjectTagging,
            Action::GetObjectVersionTorrent => Action::GetObjectTorrent,
            Action::ListBucketVersions => Action::ListBucket,
            Action::ListObjectVersionAnnotations => Action::ListObjectAnnotations,
            Action::PutObjectVersionAcl => Action::PutObjectAcl,
            Action::PutObjectVersionAnnotation => Action::PutObjectAnnotation,
            Action::PutObjectVersionTagging => Action::PutObjectTagging,
            _ => return None,
        })
    }

    /// `true` if the action concerns an existing object, so that its owner, ACL and tags matter.
    pub(super) fn is_of_existing_object(self) -> bool {
        matches!(
            self,
            Action::DeleteObjectAnnotation
                | Action::DeleteObjectTagging
                | Action::DeleteObjectVersionAnnotation
                | Action::DeleteObjectVersionTagging
                | Action::GetObject
                | Action::GetObjectAcl
                | Action::GetObjectAnnotation
                | Action::GetObjectAttributes
                | Action::GetObjectTagging
                | Action::GetObjectTorrent
                | Action::GetObjectVersion
                | Action::GetObjectVersionAcl
                | Action::GetObjectVersionAnnotation
                | Action::GetObjectVersionAttributes
                | Action::GetObjectVersionTagging
                | Action::GetObjectVersionTorrent
                | Action::ListObjectAnnotations
                | Action::ListObjectVersionAnnotations
                | Action::PutObjectAcl
                | Action::PutObjectAnnotation
                | Action::PutObjectTagging
                | Action::PutObjectVersionAcl
                | Action::PutObjectVersionAnnotation
                | Action::PutObjectVersionTagging
                | Action::RestoreObject
        )
    }

    /// `true` for actions on the policy of a resource. No policy can deny them to the root user of
    /// the bucket's account, who could not correct the policy otherwise.
    pub(super) fn is_of_policy(self) -> bool {
        matches!(
            self,
            Action::DeleteBucketPolicy
                | Action::DeleteTableBucketPolicy
                | Action::DeleteTablePolicy
                | Action::DeleteVectorBucketPolicy
                | Action::GetBucketPolicy
                | Action::GetTableBucketPolicy
                | Action::GetTablePolicy
                | Action::GetVectorBucketPolicy
                | Action::PutBucketPolicy
                | Action::PutTableBucketPolicy
                | Action::PutTablePolicy
                | Action::PutVectorBucketPolicy
        )
    }
}
