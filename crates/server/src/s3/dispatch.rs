//! The one list of S3 operations: what answers each of them, or that nothing does yet.
//!
//! One of them never gets here under its own name: `auth` turns the form of a PostObject into the
//! PutObject that it stands for.

use s3s::dto::*;
use s3s::{S3, S3Error, S3ErrorCode};

use super::refusal::Refusal;
use super::{
    Req, Resp, S3Api, bucket, multipart, object_attributes, object_copy, object_delete, object_get,
    object_list, object_put, part,
};

/// Turns the table into `impl S3`: an operation with a handler calls it, one that arrives as another
/// has nothing to do here, one without either answers 501.
macro_rules! operations {
    ($($name:ident: $method:ident($input:ty) -> $output:ty
        $(= $module:ident::$handler:ident)? $(as $arrives_as:ident)?;)*) => {
        #[async_trait::async_trait]
        impl S3 for S3Api {
            $(async fn $method(&self, request: Req<$input>) -> Resp<$output> {
                let refusal = request.extensions.get::<Refusal>().cloned().unwrap_or_default();
                let answer: Resp<$output> =
                    operations!(@body self, request, $name $(, $module::$handler)? $(, as $arrives_as)?);
                answer.map_err(|error| refusal.keep(error))
            })*
        }
    };
    (@body $self:ident, $request:ident, $name:ident, $module:ident::$handler:ident) => {
        $module::$handler(&$self.app, $request).await
    };
    (@body $self:ident, $request:ident, $name:ident, as $arrives_as:ident) => {{
        drop($request);
        Err(not_implemented(concat!(
            stringify!($name), " arrives as ", stringify!($arrives_as), "; this is no form upload."
        )))
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
    AbortMultipartUpload:
        abort_multipart_upload(AbortMultipartUploadInput)
            -> AbortMultipartUploadOutput = multipart::abort_multipart_upload;
    CompleteMultipartUpload:
        complete_multipart_upload(CompleteMultipartUploadInput)
            -> CompleteMultipartUploadOutput = multipart::complete_multipart_upload;
    CopyObject: copy_object(CopyObjectInput) -> CopyObjectOutput = object_copy::copy_object;
    CreateBucket: create_bucket(CreateBucketInput) -> CreateBucketOutput = bucket::create_bucket;
    CreateBucketMetadataTableConfiguration:
        create_bucket_metadata_table_configuration(CreateBucketMetadataTableConfigurationInput)
            -> CreateBucketMetadataTableConfigurationOutput;
    CreateMultipartUpload:
        create_multipart_upload(CreateMultipartUploadInput)
            -> CreateMultipartUploadOutput = multipart::create_multipart_upload;
    CreateSession: create_session(CreateSessionInput) -> CreateSessionOutput;
    DeleteBucket: delete_bucket(DeleteBucketInput) -> DeleteBucketOutput = bucket::delete_bucket;
    DeleteBucketAnalyticsConfiguration:
        delete_bucket_analytics_configuration(DeleteBucketAnalyticsConfigurationInput)
            -> DeleteBucketAnalyticsConfigurationOutput;
    DeleteBucketCors: delete_bucket_cors(DeleteBucketCorsInput) -> DeleteBucketCorsOutput;
    DeleteBucketEncryption:
        delete_bucket_encryption(DeleteBucketEncryptionInput) -> DeleteBucketEncryptionOutput;
    DeleteBucketIntelligentTieringConfiguration:
        delete_bucket_intelligent_tiering_configuration(DeleteBucketIntelligentTieringConfigurationInput)
            -> DeleteBucketIntelligentTieringConfigurationOutput;
    DeleteBucketInventoryConfiguration:
        delete_bucket_inventory_configuration(DeleteBucketInventoryConfigurationInput)
            -> DeleteBucketInventoryConfigurationOutput;
    DeleteBucketLifecycle:
        delete_bucket_lifecycle(DeleteBucketLifecycleInput) -> DeleteBucketLifecycleOutput;
    DeleteBucketMetadataTableConfiguration:
        delete_bucket_metadata_table_configuration(DeleteBucketMetadataTableConfigurationInput)
            -> DeleteBucketMetadataTableConfigurationOutput;
    DeleteBucketMetricsConfiguration:
        delete_bucket_metrics_configuration(DeleteBucketMetricsConfigurationInput)
            -> DeleteBucketMetricsConfigurationOutput;
    DeleteBucketOwnershipControls:
        delete_bucket_ownership_controls(DeleteBucketOwnershipControlsInput)
            -> DeleteBucketOwnershipControlsOutput;
    DeleteBucketPolicy: delete_bucket_policy(DeleteBucketPolicyInput) -> DeleteBucketPolicyOutput;
    DeleteBucketReplication:
        delete_bucket_replication(DeleteBucketReplicationInput) -> DeleteBucketReplicationOutput;
    DeleteBucketTagging:
        delete_bucket_tagging(DeleteBucketTaggingInput) -> DeleteBucketTaggingOutput;
    DeleteBucketWebsite:
        delete_bucket_website(DeleteBucketWebsiteInput) -> DeleteBucketWebsiteOutput;
    DeleteObject:
        delete_object(DeleteObjectInput) -> DeleteObjectOutput = object_delete::delete_object;
    DeleteObjectTagging:
        delete_object_tagging(DeleteObjectTaggingInput) -> DeleteObjectTaggingOutput;
    DeleteObjects:
        delete_objects(DeleteObjectsInput) -> DeleteObjectsOutput = object_delete::delete_objects;
    DeletePublicAccessBlock:
        delete_public_access_block(DeletePublicAccessBlockInput) -> DeletePublicAccessBlockOutput;
    GetBucketAccelerateConfiguration:
        get_bucket_accelerate_configuration(GetBucketAccelerateConfigurationInput)
            -> GetBucketAccelerateConfigurationOutput;
    GetBucketAcl: get_bucket_acl(GetBucketAclInput) -> GetBucketAclOutput;
    GetBucketAnalyticsConfiguration:
        get_bucket_analytics_configuration(GetBucketAnalyticsConfigurationInput)
            -> GetBucketAnalyticsConfigurationOutput;
    GetBucketCors: get_bucket_cors(GetBucketCorsInput) -> GetBucketCorsOutput;
    GetBucketEncryption:
        get_bucket_encryption(GetBucketEncryptionInput) -> GetBucketEncryptionOutput;
    GetBucketIntelligentTieringConfiguration:
        get_bucket_intelligent_tiering_configuration(GetBucketIntelligentTieringConfigurationInput)
            -> GetBucketIntelligentTieringConfigurationOutput;
    GetBucketInventoryConfiguration:
        get_bucket_inventory_configuration(GetBucketInventoryConfigurationInput)
            -> GetBucketInventoryConfigurationOutput;
    GetBucketLifecycleConfiguration:
        get_bucket_lifecycle_configuration(GetBucketLifecycleConfigurationInput)
            -> GetBucketLifecycleConfigurationOutput;
    GetBucketLocation:
        get_bucket_location(GetBucketLocationInput)
            -> GetBucketLocationOutput = bucket::get_bucket_location;
    GetBucketLogging: get_bucket_logging(GetBucketLoggingInput) -> GetBucketLoggingOutput;
    GetBucketMetadataTableConfiguration:
        get_bucket_metadata_table_configuration(GetBucketMetadataTableConfigurationInput)
            -> GetBucketMetadataTableConfigurationOutput;
    GetBucketMetricsConfiguration:
        get_bucket_metrics_configuration(GetBucketMetricsConfigurationInput)
            -> GetBucketMetricsConfigurationOutput;
    GetBucketNotificationConfiguration:
        get_bucket_notification_configuration(GetBucketNotificationConfigurationInput)
            -> GetBucketNotificationConfigurationOutput;
    GetBucketOwnershipControls:
        get_bucket_ownership_controls(GetBucketOwnershipControlsInput)
            -> GetBucketOwnershipControlsOutput;
    GetBucketPolicy: get_bucket_policy(GetBucketPolicyInput) -> GetBucketPolicyOutput;
    GetBucketPolicyStatus:
        get_bucket_policy_status(GetBucketPolicyStatusInput) -> GetBucketPolicyStatusOutput;
    GetBucketReplication:
        get_bucket_replication(GetBucketReplicationInput) -> GetBucketReplicationOutput;
    GetBucketRequestPayment:
        get_bucket_request_payment(GetBucketRequestPaymentInput) -> GetBucketRequestPaymentOutput;
    GetBucketTagging: get_bucket_tagging(GetBucketTaggingInput) -> GetBucketTaggingOutput;
    GetBucketVersioning:
        get_bucket_versioning(GetBucketVersioningInput) -> GetBucketVersioningOutput;
    GetBucketWebsite: get_bucket_website(GetBucketWebsiteInput) -> GetBucketWebsiteOutput;
    GetObject: get_object(GetObjectInput) -> GetObjectOutput = object_get::get_object;
    GetObjectAcl: get_object_acl(GetObjectAclInput) -> GetObjectAclOutput;
    GetObjectAttributes:
        get_object_attributes(GetObjectAttributesInput)
            -> GetObjectAttributesOutput = object_attributes::get_object_attributes;
    GetObjectLegalHold: get_object_legal_hold(GetObjectLegalHoldInput) -> GetObjectLegalHoldOutput;
    GetObjectLockConfiguration:
        get_object_lock_configuration(GetObjectLockConfigurationInput)
            -> GetObjectLockConfigurationOutput;
    GetObjectRetention: get_object_retention(GetObjectRetentionInput) -> GetObjectRetentionOutput;
    GetObjectTagging: get_object_tagging(GetObjectTaggingInput) -> GetObjectTaggingOutput;
    GetObjectTorrent: get_object_torrent(GetObjectTorrentInput) -> GetObjectTorrentOutput;
    GetPublicAccessBlock:
        get_public_access_block(GetPublicAccessBlockInput) -> GetPublicAccessBlockOutput;
    HeadBucket: head_bucket(HeadBucketInput) -> HeadBucketOutput = bucket::head_bucket;
    HeadObject: head_object(HeadObjectInput) -> HeadObjectOutput = object_get::head_object;
    ListBucketAnalyticsConfigurations:
        list_bucket_analytics_configurations(ListBucketAnalyticsConfigurationsInput)
            -> ListBucketAnalyticsConfigurationsOutput;
    ListBucketIntelligentTieringConfigurations:
        list_bucket_intelligent_tiering_configurations(ListBucketIntelligentTieringConfigurationsInput)
            -> ListBucketIntelligentTieringConfigurationsOutput;
    ListBucketInventoryConfigurations:
        list_bucket_inventory_configurations(ListBucketInventoryConfigurationsInput)
            -> ListBucketInventoryConfigurationsOutput;
    ListBucketMetricsConfigurations:
        list_bucket_metrics_configurations(ListBucketMetricsConfigurationsInput)
            -> ListBucketMetricsConfigurationsOutput;
    ListBuckets: list_buckets(ListBucketsInput) -> ListBucketsOutput = bucket::list_buckets;
    ListDirectoryBuckets:
        list_directory_buckets(ListDirectoryBucketsInput) -> ListDirectoryBucketsOutput;
    ListMultipartUploads:
        list_multipart_uploads(ListMultipartUploadsInput)
            -> ListMultipartUploadsOutput = multipart::list_multipart_uploads;
    ListObjectVersions:
        list_object_versions(ListObjectVersionsInput)
            -> ListObjectVersionsOutput = object_list::list_object_versions;
    ListObjects: list_objects(ListObjectsInput) -> ListObjectsOutput = object_list::list_objects;
    ListObjectsV2:
        list_objects_v2(ListObjectsV2Input) -> ListObjectsV2Output = object_list::list_objects_v2;
    ListParts: list_parts(ListPartsInput) -> ListPartsOutput = part::list_parts;
    PostObject: post_object(PostObjectInput) -> PostObjectOutput as PutObject;
    PutBucketAccelerateConfiguration:
        put_bucket_accelerate_configuration(PutBucketAccelerateConfigurationInput)
            -> PutBucketAccelerateConfigurationOutput;
    PutBucketAcl: put_bucket_acl(PutBucketAclInput) -> PutBucketAclOutput;
    PutBucketAnalyticsConfiguration:
        put_bucket_analytics_configuration(PutBucketAnalyticsConfigurationInput)
            -> PutBucketAnalyticsConfigurationOutput;
    PutBucketCors: put_bucket_cors(PutBucketCorsInput) -> PutBucketCorsOutput;
    PutBucketEncryption:
        put_bucket_encryption(PutBucketEncryptionInput) -> PutBucketEncryptionOutput;
    PutBucketIntelligentTieringConfiguration:
        put_bucket_intelligent_tiering_configuration(PutBucketIntelligentTieringConfigurationInput)
            -> PutBucketIntelligentTieringConfigurationOutput;
    PutBucketInventoryConfiguration:
        put_bucket_inventory_configuration(PutBucketInventoryConfigurationInput)
            -> PutBucketInventoryConfigurationOutput;
    PutBucketLifecycleConfiguration:
        put_bucket_lifecycle_configuration(PutBucketLifecycleConfigurationInput)
            -> PutBucketLifecycleConfigurationOutput;
    PutBucketLogging: put_bucket_logging(PutBucketLoggingInput) -> PutBucketLoggingOutput;
    PutBucketMetricsConfiguration:
        put_bucket_metrics_configuration(PutBucketMetricsConfigurationInput)
            -> PutBucketMetricsConfigurationOutput;
    PutBucketNotificationConfiguration:
        put_bucket_notification_configuration(PutBucketNotificationConfigurationInput)
            -> PutBucketNotificationConfigurationOutput;
    PutBucketOwnershipControls:
        put_bucket_ownership_controls(PutBucketOwnershipControlsInput)
            -> PutBucketOwnershipControlsOutput;
    PutBucketPolicy: put_bucket_policy(PutBucketPolicyInput) -> PutBucketPolicyOutput;
    PutBucketReplication:
        put_bucket_replication(PutBucketReplicationInput) -> PutBucketReplicationOutput;
    PutBucketRequestPayment:
        put_bucket_request_payment(PutBucketRequestPaymentInput) -> PutBucketRequestPaymentOutput;
    PutBucketTagging: put_bucket_tagging(PutBucketTaggingInput) -> PutBucketTaggingOutput;
    PutBucketVersioning:
        put_bucket_versioning(PutBucketVersioningInput) -> PutBucketVersioningOutput;
    PutBucketWebsite: put_bucket_website(PutBucketWebsiteInput) -> PutBucketWebsiteOutput;
    PutObject: put_object(PutObjectInput) -> PutObjectOutput = object_put::put_object;
    PutObjectAcl: put_object_acl(PutObjectAclInput) -> PutObjectAclOutput;
    PutObjectLegalHold: put_object_legal_hold(PutObjectLegalHoldInput) -> PutObjectLegalHoldOutput;
    PutObjectLockConfiguration:
        put_object_lock_configuration(PutObjectLockConfigurationInput)
            -> PutObjectLockConfigurationOutput;
    PutObjectRetention: put_object_retention(PutObjectRetentionInput) -> PutObjectRetentionOutput;
    PutObjectTagging: put_object_tagging(PutObjectTaggingInput) -> PutObjectTaggingOutput;
    PutPublicAccessBlock:
        put_public_access_block(PutPublicAccessBlockInput) -> PutPublicAccessBlockOutput;
    RestoreObject: restore_object(RestoreObjectInput) -> RestoreObjectOutput;
    SelectObjectContent:
        select_object_content(SelectObjectContentInput) -> SelectObjectContentOutput;
    UploadPart: upload_part(UploadPartInput) -> UploadPartOutput = part::upload_part;
    UploadPartCopy:
        upload_part_copy(UploadPartCopyInput) -> UploadPartCopyOutput = part::upload_part_copy;
    WriteGetObjectResponse:
        write_get_object_response(WriteGetObjectResponseInput) -> WriteGetObjectResponseOutput;
}
