//! The table of S3 operations: how a request is matched to each, its IAM action, and its handler,
//! if it is implemented.

use s3s::S3;
use s3s::dto::*;

use super::access::granted;
use super::plain::{PlainRequest, PlainResponse};
use super::refusal::Refusal;
use super::route::{Answerer, Level, Route, Scope};
use super::{
    Req, Resp, S3Api, acl, bucket, bucket_abac, bucket_configurations, bucket_cors,
    bucket_defaults, bucket_encryption, bucket_lifecycle, bucket_logging, bucket_notification,
    bucket_ownership, bucket_policy, bucket_public_access, bucket_replication, bucket_settings,
    bucket_versioning, bucket_website, directory_bucket, multipart, object_annotation,
    object_attributes, object_copy, object_delete, object_list, object_lock, object_rename,
    object_restore, object_tagging, part, replication_status,
};
use liteio_access::Action;
use liteio_access::state::App;

/// Turns the table into [`S3Api::ROUTES`] and `impl S3`. A line is
///
/// ```text
/// Operation [s3:Action] METHOD level {"subresource"…} {"other parameter"…} answer;
/// ```
///
/// The level is `service`, `bucket`, `key`, or `keys` for a request to a bucket whose document
/// names the objects that the action applies to. The answer is one of
///
/// - `: function(Input) -> Output = module::handler`: s3s parses the request, and calls the handler
///   with the permission that [`granted`] takes from the extensions;
/// - `=> module`: handled without s3s;
/// - `=> module::handler`: s3s has no types for the operation; the handler gets the
///   [`PlainRequest`];
/// - `as Other`: `auth` rewrites the request into another operation before it gets here;
/// - nothing: 501 with the operation's name.
macro_rules! operations {
    ($($name:ident [s3:$action:ident] $method:ident $level:ident
        $({$($required:literal)*} $({$($known:literal)*})?)?
        $(: $function:ident($input:ty) -> $output:ty = $module:ident::$handler:ident)?
        $(=> $own:ident $(:: $plain:ident)?)? $(as $other:ident)?;)*) => {
        impl S3Api {
            /// Every operation in AWS's model of S3 (botocore 1.44), and those of MinIO that
            /// `replication_status` and `listen` have.
            pub(super) const ROUTES: &'static [Route] = &[$(Route {
            operation: stringify!($name),
            action: Action::$action,
            method: stringify!($method),
            level: operations!(@level $level),
            scope: operations!(@scope $level),
            required: &[$($($required),*)?],
            known: &[$($($($known),*)?)?],
            answerer: operations!(@answerer $($function)? $(=> $own $(:: $plain)?)? $(as $other)?),
            },)*];

            /// Answers a request with a plain handler.
            pub(super) async fn answer_plain(
                app: &App,
                route: &Route,
                request: PlainRequest,
            ) -> PlainResponse {
                $($($(if route.operation == stringify!($name) {
                    return $own::$plain(app, request).await;
                })?)?)*
                Err(route.not_implemented())
            }
        }

        #[async_trait::async_trait]
        impl S3 for S3Api {
            $($(async fn $function(&self, request: Req<$input>) -> Resp<$output> {
                let refusal = request.extensions.get::<Refusal>().cloned().unwrap_or_default();
                let mut request = request;
                let answer: Resp<$output> = match granted(&mut request.extensions) {
                    Ok(granted) => $module::$handler(&self.app, granted, request).await,
                    Err(error) => Err(error),
                };
                answer.map_err(|error| refusal.keep(error))
            })?)*
        }
    };
    (@level service) => { Level::Service };
    (@level bucket) => { Level::Bucket };
    (@level keys) => { Level::Bucket };
    (@level key) => { Level::Key };
    (@scope keys) => { Scope::EachKey };
    (@scope $level:ident) => { Scope::Path };
    (@answerer $function:ident) => { Answerer::Typed };
    (@answerer => $own:ident) => { Answerer::Own };
    (@answerer => $own:ident :: $plain:ident) => { Answerer::Plain };
    (@answerer as $other:ident) => { Answerer::Other(stringify!($other)) };
    (@answerer) => { Answerer::Nobody };
}

operations! {
    AbortMultipartUpload [s3:AbortMultipartUpload] DELETE key {"uploadId"}:
        abort_multipart_upload(AbortMultipartUploadInput)
            -> AbortMultipartUploadOutput = multipart::abort_multipart_upload;
    CancelBucketReplicationReset [s3:PutReplicationConfiguration] PUT bucket
        {"replication-reset-cancel"} {"arn"}
        => replication_status::cancel_bucket_replication_reset;
    CompleteMultipartUpload [s3:PutObject] POST key {"uploadId"}:
        complete_multipart_upload(CompleteMultipartUploadInput)
            -> CompleteMultipartUploadOutput = multipart::complete_multipart_upload;
    CopyObject [s3:PutObject] PUT key:
        copy_object(CopyObjectInput) -> CopyObjectOutput = object_copy::copy_object;
    CreateBucket [s3:CreateBucket] PUT bucket:
        create_bucket(CreateBucketInput) -> CreateBucketOutput = bucket::create_bucket;
    CreateBucketMetadataConfiguration [s3:CreateBucketMetadataTableConfiguration] POST bucket
        {"metadataConfiguration"};
    CreateBucketMetadataTableConfiguration [s3:CreateBucketMetadataTableConfiguration] POST bucket
        {"metadataTable"};
    CreateMultipartUpload [s3:PutObject] POST key {"uploads"}:
        create_multipart_upload(CreateMultipartUploadInput)
            -> CreateMultipartUploadOutput = multipart::create_multipart_upload;
    CreateSession [s3:CreateSession] GET bucket {"session"} => directory_bucket::create_session;
    DeleteBucket [s3:DeleteBucket] DELETE bucket:
        delete_bucket(DeleteBucketInput) -> DeleteBucketOutput = bucket::delete_bucket;
    DeleteBucketAnalyticsConfiguration [s3:PutAnalyticsConfiguration] DELETE bucket
        {"analytics"} {"id"}:
        delete_bucket_analytics_configuration(DeleteBucketAnalyticsConfigurationInput)
            -> DeleteBucketAnalyticsConfigurationOutput = bucket_configurations::delete_bucket_analytics_configuration;
    DeleteBucketCors [s3:PutBucketCORS] DELETE bucket {"cors"}:
        delete_bucket_cors(DeleteBucketCorsInput)
            -> DeleteBucketCorsOutput = bucket_cors::delete_bucket_cors;
    DeleteBucketEncryption [s3:PutEncryptionConfiguration] DELETE bucket {"encryption"}:
        delete_bucket_encryption(DeleteBucketEncryptionInput)
            -> DeleteBucketEncryptionOutput = bucket_encryption::delete_bucket_encryption;
    DeleteBucketIntelligentTieringConfiguration [s3:PutIntelligentTieringConfiguration] DELETE bucket
        {"intelligent-tiering"} {"id"}:
        delete_bucket_intelligent_tiering_configuration(DeleteBucketIntelligentTieringConfigurationInput)
            -> DeleteBucketIntelligentTieringConfigurationOutput = bucket_configurations::delete_bucket_intelligent_tiering_configuration;
    DeleteBucketInventoryConfiguration [s3:PutInventoryConfiguration] DELETE bucket
        {"inventory"} {"id"}:
        delete_bucket_inventory_configuration(DeleteBucketInventoryConfigurationInput)
            -> DeleteBucketInventoryConfigurationOutput = bucket_configurations::delete_bucket_inventory_configuration;
    DeleteBucketLifecycle [s3:PutLifecycleConfiguration] DELETE bucket {"lifecycle"}:
        delete_bucket_lifecycle(DeleteBucketLifecycleInput)
            -> DeleteBucketLifecycleOutput = bucket_lifecycle::delete_bucket_lifecycle;
    DeleteBucketMetadataConfiguration [s3:DeleteBucketMetadataTableConfiguration] DELETE bucket
        {"metadataConfiguration"} => bucket_defaults::delete_bucket_metadata_configuration;
    DeleteBucketMetadataTableConfiguration [s3:DeleteBucketMetadataTableConfiguration] DELETE bucket
        {"metadataTable"}:
        delete_bucket_metadata_table_configuration(DeleteBucketMetadataTableConfigurationInput)
            -> DeleteBucketMetadataTableConfigurationOutput = bucket_defaults::delete_bucket_metadata_table_configuration;
    DeleteBucketMetricsConfiguration [s3:PutMetricsConfiguration] DELETE bucket {"metrics"} {"id"}:
        delete_bucket_metrics_configuration(DeleteBucketMetricsConfigurationInput)
            -> DeleteBucketMetricsConfigurationOutput = bucket_configurations::delete_bucket_metrics_configuration;
    DeleteBucketOwnershipControls [s3:PutBucketOwnershipControls] DELETE bucket
        {"ownershipControls"}:
        delete_bucket_ownership_controls(DeleteBucketOwnershipControlsInput)
            -> DeleteBucketOwnershipControlsOutput = bucket_ownership::delete_bucket_ownership_controls;
    DeleteBucketPolicy [s3:DeleteBucketPolicy] DELETE bucket {"policy"}:
        delete_bucket_policy(DeleteBucketPolicyInput)
            -> DeleteBucketPolicyOutput = bucket_policy::delete_bucket_policy;
    DeleteBucketReplication [s3:PutReplicationConfiguration] DELETE bucket
        {"replication"} => bucket_replication::delete_bucket_replication;
    DeleteBucketTagging [s3:PutBucketTagging] DELETE bucket {"tagging"}:
        delete_bucket_tagging(DeleteBucketTaggingInput) -> DeleteBucketTaggingOutput = bucket_settings::delete_bucket_tagging;
    DeleteBucketWebsite [s3:DeleteBucketWebsite] DELETE bucket {"website"}:
        delete_bucket_website(DeleteBucketWebsiteInput)
            -> DeleteBucketWebsiteOutput = bucket_website::delete_bucket_website;
    DeleteObject [s3:DeleteObject] DELETE key {} {"versionId"}:
        delete_object(DeleteObjectInput) -> DeleteObjectOutput = object_delete::delete_object;
    DeleteObjectAnnotation [s3:DeleteObjectAnnotation] DELETE key
        {"annotation"} {"annotationName" "versionId"}
        => object_annotation::delete_object_annotation;
    DeleteObjectTagging [s3:DeleteObjectTagging] DELETE key {"tagging"} {"versionId"}:
        delete_object_tagging(DeleteObjectTaggingInput) -> DeleteObjectTaggingOutput = object_tagging::delete_object_tagging;
    DeleteObjects [s3:DeleteObject] POST keys {"delete"}:
        delete_objects(DeleteObjectsInput) -> DeleteObjectsOutput = object_delete::delete_objects;
    DeletePublicAccessBlock [s3:PutBucketPublicAccessBlock] DELETE bucket {"publicAccessBlock"}:
        delete_public_access_block(DeletePublicAccessBlockInput)
            -> DeletePublicAccessBlockOutput = bucket_public_access::delete_public_access_block;
    GetBucketAbac [s3:GetBucketAbac] GET bucket {"abac"} => bucket_abac::get_bucket_abac;
    GetBucketAccelerateConfiguration [s3:GetAccelerateConfiguration] GET bucket {"accelerate"}:
        get_bucket_accelerate_configuration(GetBucketAccelerateConfigurationInput)
            -> GetBucketAccelerateConfigurationOutput = bucket_settings::get_bucket_accelerate_configuration;
    GetBucketAcl [s3:GetBucketAcl] GET bucket {"acl"}:
        get_bucket_acl(GetBucketAclInput)
            -> GetBucketAclOutput = acl::get_bucket_acl;
    GetBucketAnalyticsConfiguration [s3:GetAnalyticsConfiguration] GET bucket {"analytics" "id"}:
        get_bucket_analytics_configuration(GetBucketAnalyticsConfigurationInput)
            -> GetBucketAnalyticsConfigurationOutput = bucket_configurations::get_bucket_analytics_configuration;
    GetBucketCors [s3:GetBucketCORS] GET bucket {"cors"}:
        get_bucket_cors(GetBucketCorsInput)
            -> GetBucketCorsOutput = bucket_cors::get_bucket_cors;
    GetBucketEncryption [s3:GetEncryptionConfiguration] GET bucket {"encryption"}:
        get_bucket_encryption(GetBucketEncryptionInput)
            -> GetBucketEncryptionOutput = bucket_encryption::get_bucket_encryption;
    GetBucketIntelligentTieringConfiguration [s3:GetIntelligentTieringConfiguration] GET bucket
        {"intelligent-tiering" "id"}:
        get_bucket_intelligent_tiering_configuration(GetBucketIntelligentTieringConfigurationInput)
            -> GetBucketIntelligentTieringConfigurationOutput = bucket_configurations::get_bucket_intelligent_tiering_configuration;
    GetBucketInventoryConfiguration [s3:GetInventoryConfiguration] GET bucket {"inventory" "id"}:
        get_bucket_inventory_configuration(GetBucketInventoryConfigurationInput)
            -> GetBucketInventoryConfigurationOutput = bucket_configurations::get_bucket_inventory_configuration;
    GetBucketLifecycleConfiguration [s3:GetLifecycleConfiguration] GET bucket {"lifecycle"}:
        get_bucket_lifecycle_configuration(GetBucketLifecycleConfigurationInput)
            -> GetBucketLifecycleConfigurationOutput = bucket_lifecycle::get_bucket_lifecycle_configuration;
    GetBucketLocation [s3:GetBucketLocation] GET bucket {"location"}:
        get_bucket_location(GetBucketLocationInput)
            -> GetBucketLocationOutput = bucket::get_bucket_location;
    GetBucketLogging [s3:GetBucketLogging] GET bucket {"logging"}:
        get_bucket_logging(GetBucketLoggingInput)
            -> GetBucketLoggingOutput = bucket_logging::get_bucket_logging;
    GetBucketMetadataConfiguration [s3:GetBucketMetadataTableConfiguration] GET bucket
        {"metadataConfiguration"} => bucket_defaults::get_bucket_metadata_configuration;
    GetBucketMetadataTableConfiguration [s3:GetBucketMetadataTableConfiguration] GET bucket
        {"metadataTable"}:
        get_bucket_metadata_table_configuration(GetBucketMetadataTableConfigurationInput)
            -> GetBucketMetadataTableConfigurationOutput = bucket_defaults::get_bucket_metadata_table_configuration;
    GetBucketMetricsConfiguration [s3:GetMetricsConfiguration] GET bucket {"metrics" "id"}:
        get_bucket_metrics_configuration(GetBucketMetricsConfigurationInput)
            -> GetBucketMetricsConfigurationOutput = bucket_configurations::get_bucket_metrics_configuration;
    GetBucketNotificationConfiguration [s3:GetBucketNotification] GET bucket {"notification"}:
        get_bucket_notification_configuration(GetBucketNotificationConfigurationInput)
            -> GetBucketNotificationConfigurationOutput = bucket_notification::get_bucket_notification_configuration;
    GetBucketOwnershipControls [s3:GetBucketOwnershipControls] GET bucket {"ownershipControls"}:
        get_bucket_ownership_controls(GetBucketOwnershipControlsInput)
            -> GetBucketOwnershipControlsOutput = bucket_ownership::get_bucket_ownership_controls;
    GetBucketPolicy [s3:GetBucketPolicy] GET bucket {"policy"} => bucket_policy::get_bucket_policy;
    GetBucketPolicyStatus [s3:GetBucketPolicyStatus] GET bucket {"policyStatus"}:
        get_bucket_policy_status(GetBucketPolicyStatusInput)
            -> GetBucketPolicyStatusOutput = bucket_policy::get_bucket_policy_status;
    GetBucketReplication [s3:GetReplicationConfiguration] GET bucket
        {"replication"} => bucket_replication::get_bucket_replication;
    GetBucketReplicationMetrics [s3:GetReplicationConfiguration] GET bucket
        {"replication-metrics"} => replication_status::get_bucket_replication_metrics;
    GetBucketReplicationResetStatus [s3:GetReplicationConfiguration] GET bucket
        {"replication-reset-status"} {"arn"}
        => replication_status::get_bucket_replication_reset_status;
    GetBucketRequestPayment [s3:GetBucketRequestPayment] GET bucket {"requestPayment"}:
        get_bucket_request_payment(GetBucketRequestPaymentInput)
            -> GetBucketRequestPaymentOutput = bucket_settings::get_bucket_request_payment;
    GetBucketTagging [s3:GetBucketTagging] GET bucket {"tagging"}:
        get_bucket_tagging(GetBucketTaggingInput) -> GetBucketTaggingOutput = bucket_settings::get_bucket_tagging;
    GetBucketVersioning [s3:GetBucketVersioning] GET bucket {"versioning"}:
        get_bucket_versioning(GetBucketVersioningInput) -> GetBucketVersioningOutput = bucket_versioning::get_bucket_versioning;
    GetBucketWebsite [s3:GetBucketWebsite] GET bucket {"website"}:
        get_bucket_website(GetBucketWebsiteInput)
            -> GetBucketWebsiteOutput = bucket_website::get_bucket_website;
    GetObject [s3:GetObject] GET key {} {"partNumber" "versionId"} => object_get;
    GetObjectAcl [s3:GetObjectAcl] GET key {"acl"} {"versionId"}:
        get_object_acl(GetObjectAclInput)
            -> GetObjectAclOutput = acl::get_object_acl;
    GetObjectAnnotation [s3:GetObjectAnnotation] GET key
        {"annotation" "annotationName"} {"versionId"}
        => object_annotation::get_object_annotation;
    GetObjectAttributes [s3:GetObjectAttributes] GET key
        {"attributes"} {"versionId" "max-parts" "part-number-marker"}:
        get_object_attributes(GetObjectAttributesInput)
            -> GetObjectAttributesOutput = object_attributes::get_object_attributes;
    GetObjectLegalHold [s3:GetObjectLegalHold] GET key {"legal-hold"} {"versionId"}:
        get_object_legal_hold(GetObjectLegalHoldInput) -> GetObjectLegalHoldOutput = object_lock::get_object_legal_hold;
    GetObjectLockConfiguration [s3:GetBucketObjectLockConfiguration] GET bucket {"object-lock"}:
        get_object_lock_configuration(GetObjectLockConfigurationInput) -> GetObjectLockConfigurationOutput = object_lock::get_object_lock_configuration;
    GetObjectRetention [s3:GetObjectRetention] GET key {"retention"} {"versionId"}:
        get_object_retention(GetObjectRetentionInput) -> GetObjectRetentionOutput = object_lock::get_object_retention;
    GetObjectTagging [s3:GetObjectTagging] GET key {"tagging"} {"versionId"}:
        get_object_tagging(GetObjectTaggingInput) -> GetObjectTaggingOutput = object_tagging::get_object_tagging;
    GetObjectTorrent [s3:GetObjectTorrent] GET key {"torrent"};
    GetPublicAccessBlock [s3:GetBucketPublicAccessBlock] GET bucket {"publicAccessBlock"}:
        get_public_access_block(GetPublicAccessBlockInput)
            -> GetPublicAccessBlockOutput = bucket_public_access::get_public_access_block;
    HeadBucket [s3:ListBucket] HEAD bucket:
        head_bucket(HeadBucketInput) -> HeadBucketOutput = bucket::head_bucket;
    HeadObject [s3:GetObject] HEAD key {} {"partNumber" "versionId"} => object_get;
    ListBucketAnalyticsConfigurations [s3:GetAnalyticsConfiguration] GET bucket
        {"analytics"} {"continuation-token"}:
        list_bucket_analytics_configurations(ListBucketAnalyticsConfigurationsInput)
            -> ListBucketAnalyticsConfigurationsOutput = bucket_configurations::list_bucket_analytics_configurations;
    ListBucketIntelligentTieringConfigurations [s3:GetIntelligentTieringConfiguration] GET bucket
        {"intelligent-tiering"} {"continuation-token"}:
        list_bucket_intelligent_tiering_configurations(ListBucketIntelligentTieringConfigurationsInput)
            -> ListBucketIntelligentTieringConfigurationsOutput = bucket_configurations::list_bucket_intelligent_tiering_configurations;
    ListBucketInventoryConfigurations [s3:GetInventoryConfiguration] GET bucket
        {"inventory"} {"continuation-token"}:
        list_bucket_inventory_configurations(ListBucketInventoryConfigurationsInput)
            -> ListBucketInventoryConfigurationsOutput = bucket_configurations::list_bucket_inventory_configurations;
    ListBucketMetricsConfigurations [s3:GetMetricsConfiguration] GET bucket
        {"metrics"} {"continuation-token"}:
        list_bucket_metrics_configurations(ListBucketMetricsConfigurationsInput)
            -> ListBucketMetricsConfigurationsOutput = bucket_configurations::list_bucket_metrics_configurations;
    ListBuckets [s3:ListAllMyBuckets] GET service
        {} {"bucket-region" "continuation-token" "max-buckets" "prefix"}:
        list_buckets(ListBucketsInput) -> ListBucketsOutput = bucket::list_buckets;
    ListDirectoryBuckets [s3:ListAllMyDirectoryBuckets] GET service
        {} {"continuation-token" "max-directory-buckets"}:
        list_directory_buckets(ListDirectoryBucketsInput)
            -> ListDirectoryBucketsOutput = directory_bucket::list_directory_buckets;
    ListMultipartUploads [s3:ListBucketMultipartUploads] GET bucket
        {"uploads"} {"delimiter" "encoding-type" "key-marker" "max-uploads" "prefix" "upload-id-marker"}:
        list_multipart_uploads(ListMultipartUploadsInput)
            -> ListMultipartUploadsOutput = multipart::list_multipart_uploads;
    ListObjectAnnotations [s3:ListObjectAnnotations] GET key
        {"annotation"} {"annotation-prefix" "continuation-token" "max-annotation-results" "versionId"}
        => object_annotation::list_object_annotations;
    ListObjectVersions [s3:ListBucketVersions] GET bucket
        {"versions"} {"delimiter" "encoding-type" "key-marker" "max-keys" "prefix" "version-id-marker"}:
        list_object_versions(ListObjectVersionsInput)
            -> ListObjectVersionsOutput = object_list::list_object_versions;
    ListObjects [s3:ListBucket] GET bucket
        {} {"delimiter" "encoding-type" "marker" "max-keys" "prefix"}:
        list_objects(ListObjectsInput) -> ListObjectsOutput = object_list::list_objects;
    ListObjectsV2 [s3:ListBucket] GET bucket
        {"list-type"} {"continuation-token" "delimiter" "encoding-type" "fetch-owner" "max-keys" "prefix" "start-after"}:
        list_objects_v2(ListObjectsV2Input) -> ListObjectsV2Output = object_list::list_objects_v2;
    ListParts [s3:ListMultipartUploadParts] GET key
        {"uploadId"} {"max-parts" "part-number-marker" "encoding-type"}:
        list_parts(ListPartsInput) -> ListPartsOutput = part::list_parts;
    PostObject [s3:PutObject] POST bucket as PutObject;
    ListenBucketNotification [s3:ListenBucketNotification] GET bucket
        {"events"} {"ping" "prefix" "suffix"} => listen;
    ListenNotification [s3:ListenNotification] GET service
        {"events"} {"ping" "prefix" "suffix"} => listen;
    PutBucketAbac [s3:PutBucketAbac] PUT bucket {"abac"} => bucket_abac::put_bucket_abac;
    PutBucketAccelerateConfiguration [s3:PutAccelerateConfiguration] PUT bucket {"accelerate"}:
        put_bucket_accelerate_configuration(PutBucketAccelerateConfigurationInput)
            -> PutBucketAccelerateConfigurationOutput = bucket_settings::put_bucket_accelerate_configuration;
    PutBucketAcl [s3:PutBucketAcl] PUT bucket {"acl"}:
        put_bucket_acl(PutBucketAclInput) -> PutBucketAclOutput = acl::put_bucket_acl;
    PutBucketAnalyticsConfiguration [s3:PutAnalyticsConfiguration] PUT bucket {"analytics"} {"id"}:
        put_bucket_analytics_configuration(PutBucketAnalyticsConfigurationInput)
            -> PutBucketAnalyticsConfigurationOutput = bucket_configurations::put_bucket_analytics_configuration;
    PutBucketCors [s3:PutBucketCORS] PUT bucket {"cors"}:
        put_bucket_cors(PutBucketCorsInput) -> PutBucketCorsOutput = bucket_cors::put_bucket_cors;
    PutBucketEncryption [s3:PutEncryptionConfiguration] PUT bucket {"encryption"}:
        put_bucket_encryption(PutBucketEncryptionInput)
            -> PutBucketEncryptionOutput = bucket_encryption::put_bucket_encryption;
    PutBucketIntelligentTieringConfiguration [s3:PutIntelligentTieringConfiguration] PUT bucket
        {"intelligent-tiering"} {"id"}:
        put_bucket_intelligent_tiering_configuration(PutBucketIntelligentTieringConfigurationInput)
            -> PutBucketIntelligentTieringConfigurationOutput = bucket_configurations::put_bucket_intelligent_tiering_configuration;
    PutBucketInventoryConfiguration [s3:PutInventoryConfiguration] PUT bucket {"inventory"} {"id"}:
        put_bucket_inventory_configuration(PutBucketInventoryConfigurationInput)
            -> PutBucketInventoryConfigurationOutput = bucket_configurations::put_bucket_inventory_configuration;
    PutBucketLifecycleConfiguration [s3:PutLifecycleConfiguration] PUT bucket {"lifecycle"}:
        put_bucket_lifecycle_configuration(PutBucketLifecycleConfigurationInput)
            -> PutBucketLifecycleConfigurationOutput = bucket_lifecycle::put_bucket_lifecycle_configuration;
    PutBucketLogging [s3:PutBucketLogging] PUT bucket {"logging"}:
        put_bucket_logging(PutBucketLoggingInput)
            -> PutBucketLoggingOutput = bucket_logging::put_bucket_logging;
    PutBucketMetricsConfiguration [s3:PutMetricsConfiguration] PUT bucket {"metrics"} {"id"}:
        put_bucket_metrics_configuration(PutBucketMetricsConfigurationInput)
            -> PutBucketMetricsConfigurationOutput = bucket_configurations::put_bucket_metrics_configuration;
    PutBucketNotificationConfiguration [s3:PutBucketNotification] PUT bucket {"notification"}:
        put_bucket_notification_configuration(PutBucketNotificationConfigurationInput)
            -> PutBucketNotificationConfigurationOutput = bucket_notification::put_bucket_notification_configuration;
    PutBucketOwnershipControls [s3:PutBucketOwnershipControls] PUT bucket {"ownershipControls"}:
        put_bucket_ownership_controls(PutBucketOwnershipControlsInput)
            -> PutBucketOwnershipControlsOutput = bucket_ownership::put_bucket_ownership_controls;
    PutBucketPolicy [s3:PutBucketPolicy] PUT bucket {"policy"} => bucket_policy::put_bucket_policy;
    PutBucketReplication [s3:PutReplicationConfiguration] PUT bucket
        {"replication"} => bucket_replication::put_bucket_replication;
    PutBucketRequestPayment [s3:PutBucketRequestPayment] PUT bucket {"requestPayment"}:
        put_bucket_request_payment(PutBucketRequestPaymentInput)
            -> PutBucketRequestPaymentOutput = bucket_settings::put_bucket_request_payment;
    PutBucketTagging [s3:PutBucketTagging] PUT bucket {"tagging"}:
        put_bucket_tagging(PutBucketTaggingInput) -> PutBucketTaggingOutput = bucket_settings::put_bucket_tagging;
    PutBucketVersioning [s3:PutBucketVersioning] PUT bucket {"versioning"}:
        put_bucket_versioning(PutBucketVersioningInput) -> PutBucketVersioningOutput = bucket_versioning::put_bucket_versioning;
    PutBucketWebsite [s3:PutBucketWebsite] PUT bucket {"website"}:
        put_bucket_website(PutBucketWebsiteInput)
            -> PutBucketWebsiteOutput = bucket_website::put_bucket_website;
    PutObject [s3:PutObject] PUT key => object_put;
    PutObjectAcl [s3:PutObjectAcl] PUT key {"acl"} {"versionId"}:
        put_object_acl(PutObjectAclInput) -> PutObjectAclOutput = acl::put_object_acl;
    PutObjectAnnotation [s3:PutObjectAnnotation] PUT key
        {"annotation"} {"annotationName" "versionId"}
        => object_annotation::put_object_annotation;
    PutObjectLegalHold [s3:PutObjectLegalHold] PUT key {"legal-hold"} {"versionId"}:
        put_object_legal_hold(PutObjectLegalHoldInput) -> PutObjectLegalHoldOutput = object_lock::put_object_legal_hold;
    PutObjectLockConfiguration [s3:PutBucketObjectLockConfiguration] PUT bucket {"object-lock"}:
        put_object_lock_configuration(PutObjectLockConfigurationInput) -> PutObjectLockConfigurationOutput = object_lock::put_object_lock_configuration;
    PutObjectRetention [s3:PutObjectRetention] PUT key {"retention"} {"versionId"}:
        put_object_retention(PutObjectRetentionInput) -> PutObjectRetentionOutput = object_lock::put_object_retention;
    PutObjectTagging [s3:PutObjectTagging] PUT key {"tagging"} {"versionId"}:
        put_object_tagging(PutObjectTaggingInput) -> PutObjectTaggingOutput = object_tagging::put_object_tagging;
    PutPublicAccessBlock [s3:PutBucketPublicAccessBlock] PUT bucket {"publicAccessBlock"}:
        put_public_access_block(PutPublicAccessBlockInput)
            -> PutPublicAccessBlockOutput = bucket_public_access::put_public_access_block;
    RenameObject [s3:RenameObject] PUT key {"renameObject"} => object_rename::rename_object;
    ResetBucketReplication [s3:PutReplicationConfiguration] PUT bucket
        {"replication-reset"} {"arn" "older-than" "reset-id"}
        => replication_status::reset_bucket_replication;
    RestoreObject [s3:RestoreObject] POST key {"restore"} {"versionId"}
        => object_restore::restore_object;
    SelectObjectContent [s3:GetObject] POST key {"select"} {"select-type"};
    UpdateBucketMetadataAnnotationTableConfiguration [s3:UpdateBucketMetadataAnnotationTableConfiguration] PUT bucket
        {"metadataAnnotationTable"};
    UpdateBucketMetadataInventoryTableConfiguration [s3:UpdateBucketMetadataInventoryTableConfiguration] PUT bucket
        {"metadataInventoryTable"};
    UpdateBucketMetadataJournalTableConfiguration [s3:UpdateBucketMetadataJournalTableConfiguration] PUT bucket
        {"metadataJournalTable"};
    UpdateObjectEncryption [s3:UpdateObjectEncryption] PUT key {"encryption"} {"versionId"};
    UploadPart [s3:PutObject] PUT key {"partNumber" "uploadId"}:
        upload_part(UploadPartInput) -> UploadPartOutput = part::upload_part;
    UploadPartCopy [s3:PutObject] PUT key {"partNumber" "uploadId"}:
        upload_part_copy(UploadPartCopyInput) -> UploadPartCopyOutput = part::upload_part_copy;
    WriteGetObjectResponse [s3:WriteGetObjectResponse] POST bucket;
}
