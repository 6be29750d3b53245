//! The one list of S3 operations: the action that each of them is, and the function that answers it, if
//! there is one yet.
//!
//! One of them never gets here under its own name: `auth` turns the form of a PostObject into the
//! PutObject that it stands for.

use s3s::dto::*;
use s3s::{S3, S3Error, S3ErrorCode};

use super::access::granted;
use super::refusal::Refusal;
use super::{
    Req, Resp, S3Api, bucket, multipart, object_attributes, object_copy, object_delete, object_get,
    object_list, object_put, part,
};
use crate::access::Action;

/// Turns the table into `impl S3`: an operation with a handler calls it with what [`granted`] has for it,
/// one that arrives as another has nothing to do here, one with a way of its own gets here only with the
/// subresource of another, one without any of these answers 501.
macro_rules! operations {
    ($($name:ident [s3:$action:ident]: $method:ident($input:ty) -> $output:ty
        $(= $module:ident::$handler:ident)? $(as $arrives_as:ident)? $(=> $route:ident)?;)*) => {
        #[async_trait::async_trait]
        impl S3 for S3Api {
            $(async fn $method(&self, request: Req<$input>) -> Resp<$output> {
                let refusal = request.extensions.get::<Refusal>().cloned().unwrap_or_default();
                let answer: Resp<$output> =
                    operations!(@body self, request, $name $(, $module::$handler)? $(, as $arrives_as)? $(, => $route)?);
                answer.map_err(|error| refusal.keep(error))
            })*
        }

        impl S3Api {
            /// The action of an operation, by the operation's name.
            pub(super) fn action(operation: &str) -> Option<Action> {
                match operation {
                    $(stringify!($name) => Some(Action::$action),)*
                    _ => None,
                }
            }
        }
    };
    (@body $self:ident, $request:ident, $name:ident, $module:ident::$handler:ident) => {{
        let mut request = $request;
        match granted(&mut request.extensions) {
            Ok(granted) => $module::$handler(&$self.app, granted, request).await,
            Err(error) => Err(error),
        }
    }};
    (@body $self:ident, $request:ident, $name:ident, as $arrives_as:ident) => {{
        drop($request);
        Err(not_implemented(concat!(
            stringify!($name), " arrives as ", stringify!($arrives_as), "; this is no form upload."
        )))
    }};
    (@body $self:ident, $request:ident, $name:ident, => $route:ident) => {{
        Err($route::not_a_read(&$request.method, &$request.uri))
    }};
    (@body $self:ident, $request:ident, $name:ident) => {{
        drop($request);
        Err(not_implemented(concat!(stringify!($name), " is not implemented by LiteIO yet.")))
    }};
}

fn not_implemented(message: &'static str) -> S3Error {
    S3Error::with_message(S3ErrorCode::NotImplemented, message)
}

operations! {
    AbortMultipartUpload [s3:AbortMultipartUpload]:
        abort_multipart_upload(AbortMultipartUploadInput)
            -> AbortMultipartUploadOutput = multipart::abort_multipart_upload;
    CompleteMultipartUpload [s3:PutObject]:
        complete_multipart_upload(CompleteMultipartUploadInput)
            -> CompleteMultipartUploadOutput = multipart::complete_multipart_upload;
    CopyObject [s3:PutObject]:
        copy_object(CopyObjectInput) -> CopyObjectOutput = object_copy::copy_object;
    CreateBucket [s3:CreateBucket]:
        create_bucket(CreateBucketInput) -> CreateBucketOutput = bucket::create_bucket;
    CreateBucketMetadataTableConfiguration [s3:CreateBucketMetadataTableConfiguration]:
        create_bucket_metadata_table_configuration(CreateBucketMetadataTableConfigurationInput)
            -> CreateBucketMetadataTableConfigurationOutput;
    CreateMultipartUpload [s3:PutObject]:
        create_multipart_upload(CreateMultipartUploadInput)
            -> CreateMultipartUploadOutput = multipart::create_multipart_upload;
    CreateSession [s3:CreateSession]: create_session(CreateSessionInput) -> CreateSessionOutput;
    DeleteBucket [s3:DeleteBucket]:
        delete_bucket(DeleteBucketInput) -> DeleteBucketOutput = bucket::delete_bucket;
    DeleteBucketAnalyticsConfiguration [s3:PutAnalyticsConfiguration]:
        delete_bucket_analytics_configuration(DeleteBucketAnalyticsConfigurationInput)
            -> DeleteBucketAnalyticsConfigurationOutput;
    DeleteBucketCors [s3:PutBucketCORS]:
        delete_bucket_cors(DeleteBucketCorsInput) -> DeleteBucketCorsOutput;
    DeleteBucketEncryption [s3:PutEncryptionConfiguration]:
        delete_bucket_encryption(DeleteBucketEncryptionInput) -> DeleteBucketEncryptionOutput;
    DeleteBucketIntelligentTieringConfiguration [s3:PutIntelligentTieringConfiguration]:
        delete_bucket_intelligent_tiering_configuration(DeleteBucketIntelligentTieringConfigurationInput)
            -> DeleteBucketIntelligentTieringConfigurationOutput;
    DeleteBucketInventoryConfiguration [s3:PutInventoryConfiguration]:
        delete_bucket_inventory_configuration(DeleteBucketInventoryConfigurationInput)
            -> DeleteBucketInventoryConfigurationOutput;
    DeleteBucketLifecycle [s3:PutLifecycleConfiguration]:
        delete_bucket_lifecycle(DeleteBucketLifecycleInput) -> DeleteBucketLifecycleOutput;
    DeleteBucketMetadataTableConfiguration [s3:DeleteBucketMetadataTableConfiguration]:
        delete_bucket_metadata_table_configuration(DeleteBucketMetadataTableConfigurationInput)
            -> DeleteBucketMetadataTableConfigurationOutput;
    DeleteBucketMetricsConfiguration [s3:PutMetricsConfiguration]:
        delete_bucket_metrics_configuration(DeleteBucketMetricsConfigurationInput)
            -> DeleteBucketMetricsConfigurationOutput;
    DeleteBucketOwnershipControls [s3:PutBucketOwnershipControls]:
        delete_bucket_ownership_controls(DeleteBucketOwnershipControlsInput)
            -> DeleteBucketOwnershipControlsOutput;
    DeleteBucketPolicy [s3:DeleteBucketPolicy]:
        delete_bucket_policy(DeleteBucketPolicyInput) -> DeleteBucketPolicyOutput;
    DeleteBucketReplication [s3:PutReplicationConfiguration]:
        delete_bucket_replication(DeleteBucketReplicationInput) -> DeleteBucketReplicationOutput;
    DeleteBucketTagging [s3:PutBucketTagging]:
        delete_bucket_tagging(DeleteBucketTaggingInput) -> DeleteBucketTaggingOutput;
    DeleteBucketWebsite [s3:DeleteBucketWebsite]:
        delete_bucket_website(DeleteBucketWebsiteInput) -> DeleteBucketWebsiteOutput;
    DeleteObject [s3:DeleteObject]:
        delete_object(DeleteObjectInput) -> DeleteObjectOutput = object_delete::delete_object;
    DeleteObjectTagging [s3:DeleteObjectTagging]:
        delete_object_tagging(DeleteObjectTaggingInput) -> DeleteObjectTaggingOutput;
    DeleteObjects [s3:DeleteObject]:
        delete_objects(DeleteObjectsInput) -> DeleteObjectsOutput = object_delete::delete_objects;
    DeletePublicAccessBlock [s3:PutBucketPublicAccessBlock]:
        delete_public_access_block(DeletePublicAccessBlockInput) -> DeletePublicAccessBlockOutput;
    GetBucketAccelerateConfiguration [s3:GetAccelerateConfiguration]:
        get_bucket_accelerate_configuration(GetBucketAccelerateConfigurationInput)
            -> GetBucketAccelerateConfigurationOutput;
    GetBucketAcl [s3:GetBucketAcl]: get_bucket_acl(GetBucketAclInput) -> GetBucketAclOutput;
    GetBucketAnalyticsConfiguration [s3:GetAnalyticsConfiguration]:
        get_bucket_analytics_configuration(GetBucketAnalyticsConfigurationInput)
            -> GetBucketAnalyticsConfigurationOutput;
    GetBucketCors [s3:GetBucketCORS]: get_bucket_cors(GetBucketCorsInput) -> GetBucketCorsOutput;
    GetBucketEncryption [s3:GetEncryptionConfiguration]:
        get_bucket_encryption(GetBucketEncryptionInput) -> GetBucketEncryptionOutput;
    GetBucketIntelligentTieringConfiguration [s3:GetIntelligentTieringConfiguration]:
        get_bucket_intelligent_tiering_configuration(GetBucketIntelligentTieringConfigurationInput)
            -> GetBucketIntelligentTieringConfigurationOutput;
    GetBucketInventoryConfiguration [s3:GetInventoryConfiguration]:
        get_bucket_inventory_configuration(GetBucketInventoryConfigurationInput)
            -> GetBucketInventoryConfigurationOutput;
    GetBucketLifecycleConfiguration [s3:GetLifecycleConfiguration]:
        get_bucket_lifecycle_configuration(GetBucketLifecycleConfigurationInput)
            -> GetBucketLifecycleConfigurationOutput;
    GetBucketLocation [s3:GetBucketLocation]:
        get_bucket_location(GetBucketLocationInput)
            -> GetBucketLocationOutput = bucket::get_bucket_location;
    GetBucketLogging [s3:GetBucketLogging]:
        get_bucket_logging(GetBucketLoggingInput) -> GetBucketLoggingOutput;
    GetBucketMetadataTableConfiguration [s3:GetBucketMetadataTableConfiguration]:
        get_bucket_metadata_table_configuration(GetBucketMetadataTableConfigurationInput)
            -> GetBucketMetadataTableConfigurationOutput;
    GetBucketMetricsConfiguration [s3:GetMetricsConfiguration]:
        get_bucket_metrics_configuration(GetBucketMetricsConfigurationInput)
            -> GetBucketMetricsConfigurationOutput;
    GetBucketNotificationConfiguration [s3:GetBucketNotification]:
        get_bucket_notification_configuration(GetBucketNotificationConfigurationInput)
            -> GetBucketNotificationConfigurationOutput;
    GetBucketOwnershipControls [s3:GetBucketOwnershipControls]:
        get_bucket_ownership_controls(GetBucketOwnershipControlsInput)
            -> GetBucketOwnershipControlsOutput;
    GetBucketPolicy [s3:GetBucketPolicy]:
        get_bucket_policy(GetBucketPolicyInput) -> GetBucketPolicyOutput;
    GetBucketPolicyStatus [s3:GetBucketPolicyStatus]:
        get_bucket_policy_status(GetBucketPolicyStatusInput) -> GetBucketPolicyStatusOutput;
    GetBucketReplication [s3:GetReplicationConfiguration]:
        get_bucket_replication(GetBucketReplicationInput) -> GetBucketReplicationOutput;
    GetBucketRequestPayment [s3:GetBucketRequestPayment]:
        get_bucket_request_payment(GetBucketRequestPaymentInput) -> GetBucketRequestPaymentOutput;
    GetBucketTagging [s3:GetBucketTagging]:
        get_bucket_tagging(GetBucketTaggingInput) -> GetBucketTaggingOutput;
    GetBucketVersioning [s3:GetBucketVersioning]:
        get_bucket_versioning(GetBucketVersioningInput) -> GetBucketVersioningOutput;
    GetBucketWebsite [s3:GetBucketWebsite]:
        get_bucket_website(GetBucketWebsiteInput) -> GetBucketWebsiteOutput;
    GetObject [s3:GetObject]:
        get_object(GetObjectInput) -> GetObjectOutput => object_get;
    GetObjectAcl [s3:GetObjectAcl]: get_object_acl(GetObjectAclInput) -> GetObjectAclOutput;
    GetObjectAttributes [s3:GetObjectAttributes]:
        get_object_attributes(GetObjectAttributesInput)
            -> GetObjectAttributesOutput = object_attributes::get_object_attributes;
    GetObjectLegalHold [s3:GetObjectLegalHold]:
        get_object_legal_hold(GetObjectLegalHoldInput) -> GetObjectLegalHoldOutput;
    GetObjectLockConfiguration [s3:GetBucketObjectLockConfiguration]:
        get_object_lock_configuration(GetObjectLockConfigurationInput)
            -> GetObjectLockConfigurationOutput;
    GetObjectRetention [s3:GetObjectRetention]:
        get_object_retention(GetObjectRetentionInput) -> GetObjectRetentionOutput;
    GetObjectTagging [s3:GetObjectTagging]:
        get_object_tagging(GetObjectTaggingInput) -> GetObjectTaggingOutput;
    GetObjectTorrent [s3:GetObjectTorrent]:
        get_object_torrent(GetObjectTorrentInput) -> GetObjectTorrentOutput;
    GetPublicAccessBlock [s3:GetBucketPublicAccessBlock]:
        get_public_access_block(GetPublicAccessBlockInput) -> GetPublicAccessBlockOutput;
    HeadBucket [s3:ListBucket]:
        head_bucket(HeadBucketInput) -> HeadBucketOutput = bucket::head_bucket;
    HeadObject [s3:GetObject]:
        head_object(HeadObjectInput) -> HeadObjectOutput => object_get;
    ListBucketAnalyticsConfigurations [s3:GetAnalyticsConfiguration]:
        list_bucket_analytics_configurations(ListBucketAnalyticsConfigurationsInput)
            -> ListBucketAnalyticsConfigurationsOutput;
    ListBucketIntelligentTieringConfigurations [s3:GetIntelligentTieringConfiguration]:
        list_bucket_intelligent_tiering_configurations(ListBucketIntelligentTieringConfigurationsInput)
            -> ListBucketIntelligentTieringConfigurationsOutput;
    ListBucketInventoryConfigurations [s3:GetInventoryConfiguration]:
        list_bucket_inventory_configurations(ListBucketInventoryConfigurationsInput)
            -> ListBucketInventoryConfigurationsOutput;
    ListBucketMetricsConfigurations [s3:GetMetricsConfiguration]:
        list_bucket_metrics_configurations(ListBucketMetricsConfigurationsInput)
            -> ListBucketMetricsConfigurationsOutput;
    ListBuckets [s3:ListAllMyBuckets]:
        list_buckets(ListBucketsInput) -> ListBucketsOutput = bucket::list_buckets;
    ListDirectoryBuckets [s3:ListAllMyDirectoryBuckets]:
        list_directory_buckets(ListDirectoryBucketsInput) -> ListDirectoryBucketsOutput;
    ListMultipartUploads [s3:ListBucketMultipartUploads]:
        list_multipart_uploads(ListMultipartUploadsInput)
            -> ListMultipartUploadsOutput = multipart::list_multipart_uploads;
    ListObjectVersions [s3:ListBucketVersions]:
        list_object_versions(ListObjectVersionsInput)
            -> ListObjectVersionsOutput = object_list::list_object_versions;
    ListObjects [s3:ListBucket]:
        list_objects(ListObjectsInput) -> ListObjectsOutput = object_list::list_objects;
    ListObjectsV2 [s3:ListBucket]:
        list_objects_v2(ListObjectsV2Input) -> ListObjectsV2Output = object_list::list_objects_v2;
    ListParts [s3:ListMultipartUploadParts]:
        list_parts(ListPartsInput) -> ListPartsOutput = part::list_parts;
    PostObject [s3:PutObject]: post_object(PostObjectInput) -> PostObjectOutput as PutObject;
    PutBucketAccelerateConfiguration [s3:PutAccelerateConfiguration]:
        put_bucket_accelerate_configuration(PutBucketAccelerateConfigurationInput)
            -> PutBucketAccelerateConfigurationOutput;
    PutBucketAcl [s3:PutBucketAcl]: put_bucket_acl(PutBucketAclInput) -> PutBucketAclOutput;
    PutBucketAnalyticsConfiguration [s3:PutAnalyticsConfiguration]:
        put_bucket_analytics_configuration(PutBucketAnalyticsConfigurationInput)
            -> PutBucketAnalyticsConfigurationOutput;
    PutBucketCors [s3:PutBucketCORS]: put_bucket_cors(PutBucketCorsInput) -> PutBucketCorsOutput;
    PutBucketEncryption [s3:PutEncryptionConfiguration]:
        put_bucket_encryption(PutBucketEncryptionInput) -> PutBucketEncryptionOutput;
    PutBucketIntelligentTieringConfiguration [s3:PutIntelligentTieringConfiguration]:
        put_bucket_intelligent_tiering_configuration(PutBucketIntelligentTieringConfigurationInput)
            -> PutBucketIntelligentTieringConfigurationOutput;
    PutBucketInventoryConfiguration [s3:PutInventoryConfiguration]:
        put_bucket_inventory_configuration(PutBucketInventoryConfigurationInput)
            -> PutBucketInventoryConfigurationOutput;
    PutBucketLifecycleConfiguration [s3:PutLifecycleConfiguration]:
        put_bucket_lifecycle_configuration(PutBucketLifecycleConfigurationInput)
            -> PutBucketLifecycleConfigurationOutput;
    PutBucketLogging [s3:PutBucketLogging]:
        put_bucket_logging(PutBucketLoggingInput) -> PutBucketLoggingOutput;
    PutBucketMetricsConfiguration [s3:PutMetricsConfiguration]:
        put_bucket_metrics_configuration(PutBucketMetricsConfigurationInput)
            -> PutBucketMetricsConfigurationOutput;
    PutBucketNotificationConfiguration [s3:PutBucketNotification]:
        put_bucket_notification_configuration(PutBucketNotificationConfigurationInput)
            -> PutBucketNotificationConfigurationOutput;
    PutBucketOwnershipControls [s3:PutBucketOwnershipControls]:
        put_bucket_ownership_controls(PutBucketOwnershipControlsInput)
            -> PutBucketOwnershipControlsOutput;
    PutBucketPolicy [s3:PutBucketPolicy]:
        put_bucket_policy(PutBucketPolicyInput) -> PutBucketPolicyOutput;
    PutBucketReplication [s3:PutReplicationConfiguration]:
        put_bucket_replication(PutBucketReplicationInput) -> PutBucketReplicationOutput;
    PutBucketRequestPayment [s3:PutBucketRequestPayment]:
        put_bucket_request_payment(PutBucketRequestPaymentInput) -> PutBucketRequestPaymentOutput;
    PutBucketTagging [s3:PutBucketTagging]:
        put_bucket_tagging(PutBucketTaggingInput) -> PutBucketTaggingOutput;
    PutBucketVersioning [s3:PutBucketVersioning]:
        put_bucket_versioning(PutBucketVersioningInput) -> PutBucketVersioningOutput;
    PutBucketWebsite [s3:PutBucketWebsite]:
        put_bucket_website(PutBucketWebsiteInput) -> PutBucketWebsiteOutput;
    PutObject [s3:PutObject]:
        put_object(PutObjectInput) -> PutObjectOutput = object_put::put_object;
    PutObjectAcl [s3:PutObjectAcl]: put_object_acl(PutObjectAclInput) -> PutObjectAclOutput;
    PutObjectLegalHold [s3:PutObjectLegalHold]:
        put_object_legal_hold(PutObjectLegalHoldInput) -> PutObjectLegalHoldOutput;
    PutObjectLockConfiguration [s3:PutBucketObjectLockConfiguration]:
        put_object_lock_configuration(PutObjectLockConfigurationInput)
            -> PutObjectLockConfigurationOutput;
    PutObjectRetention [s3:PutObjectRetention]:
        put_object_retention(PutObjectRetentionInput) -> PutObjectRetentionOutput;
    PutObjectTagging [s3:PutObjectTagging]:
        put_object_tagging(PutObjectTaggingInput) -> PutObjectTaggingOutput;
    PutPublicAccessBlock [s3:PutBucketPublicAccessBlock]:
        put_public_access_block(PutPublicAccessBlockInput) -> PutPublicAccessBlockOutput;
    RestoreObject [s3:RestoreObject]: restore_object(RestoreObjectInput) -> RestoreObjectOutput;
    SelectObjectContent [s3:GetObject]:
        select_object_content(SelectObjectContentInput) -> SelectObjectContentOutput;
    UploadPart [s3:PutObject]: upload_part(UploadPartInput) -> UploadPartOutput = part::upload_part;
    UploadPartCopy [s3:PutObject]:
        upload_part_copy(UploadPartCopyInput) -> UploadPartCopyOutput = part::upload_part_copy;
    WriteGetObjectResponse [s3:WriteGetObjectResponse]:
        write_get_object_response(WriteGetObjectResponseInput) -> WriteGetObjectResponseOutput;
}
