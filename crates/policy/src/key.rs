//! Condition keys: the global keys, and the keys of S3 and S3 Vectors.
//!
//! Source: "AWS global condition context keys" of AWS's IAM User Guide, and the Service
//! Authorization Reference of both services. The listed keys are accepted in policies. Many of
//! them, about AWS's organizations, networks and jobs, never have a value here.

/// Generates [`ContextKey`] from the lists of keys without and with a name after a slash.
macro_rules! context_keys {
    (plain { $($plain:ident $name:literal)* } tagged { $($tagged:ident $prefix:literal)* }) => {
        /// A condition key, such as `aws:SourceIp`. Names of keys are compared without regard to case.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum ContextKey {
            $(#[doc = concat!("`", $name, "`.")] $plain,)*
            $(#[doc = concat!("`", $prefix, "NAME`, with the name as it was written.")] $tagged(Box<str>),)*
            /// An unknown key as written.
            Other(Box<str>),
        }

        impl ContextKey {
            /// The key with this name.
            pub fn parse(name: &str) -> ContextKey {
                $(if name.eq_ignore_ascii_case($name) {
                    return ContextKey::$plain;
                })*
                $(if let Some((prefix, tag)) = name.split_at_checked($prefix.len())
                    && !tag.is_empty()
                    && prefix.eq_ignore_ascii_case($prefix)
                {
                    return ContextKey::$tagged(tag.into());
                })*
                ContextKey::Other(name.into())
            }
        }

        impl std::fmt::Display for ContextKey {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $(ContextKey::$plain => f.write_str($name),)*
                    $(ContextKey::$tagged(tag) => write!(f, concat!($prefix, "{}"), tag),)*
                    ContextKey::Other(name) => f.write_str(name),
                }
            }
        }
    };
}

context_keys! {
    plain {
        AssumedRoot "aws:AssumedRoot"
        CalledVia "aws:CalledVia"
        CalledViaFirst "aws:CalledViaFirst"
        CalledViaLast "aws:CalledViaLast"
        CalledViaAwsMcp "aws:CalledViaAWSMCP"
        ChatbotSourceArn "aws:ChatbotSourceArn"
        CurrentTime "aws:CurrentTime"
        Ec2InstanceSourcePrivateIpv4 "aws:Ec2InstanceSourcePrivateIPv4"
        Ec2InstanceSourceVpc "aws:Ec2InstanceSourceVpc"
        EpochTime "aws:EpochTime"
        FederatedProvider "aws:FederatedProvider"
        IsMcpServiceAction "aws:IsMcpServiceAction"
        MultiFactorAuthAge "aws:MultiFactorAuthAge"
        MultiFactorAuthPresent "aws:MultiFactorAuthPresent"
        PrincipalAccount "aws:PrincipalAccount"
        PrincipalArn "aws:PrincipalArn"
        PrincipalIsAwsService "aws:PrincipalIsAWSService"
        PrincipalOrgId "aws:PrincipalOrgID"
        PrincipalOrgPaths "aws:PrincipalOrgPaths"
        PrincipalServiceName "aws:PrincipalServiceName"
        PrincipalServiceNamesList "aws:PrincipalServiceNamesList"
        PrincipalType "aws:PrincipalType"
        Referer "aws:Referer"
        RequestedRegion "aws:RequestedRegion"
        ResourceAccount "aws:ResourceAccount"
        ResourceOrgId "aws:ResourceOrgID"
        ResourceOrgPaths "aws:ResourceOrgPaths"
        SecureTransport "aws:SecureTransport"
        SourceAccount "aws:SourceAccount"
        SourceArn "aws:SourceArn"
        SourceIdentity "aws:SourceIdentity"
        SourceIp "aws:SourceIp"
        SourceOrgId "aws:SourceOrgID"
        SourceOrgPaths "aws:SourceOrgPaths"
        SourceOwner "aws:SourceOwner"
        SourceVpc "aws:SourceVpc"
        SourceVpcArn "aws:SourceVpcArn"
        SourceVpce "aws:SourceVpce"
        TagKeys "aws:TagKeys"
        TokenIssueTime "aws:TokenIssueTime"
        UserAgent "aws:UserAgent"
        UserId "aws:userid"
        UserName "aws:username"
        ViaAwsService "aws:ViaAWSService"
        ViaAwsMcpService "aws:ViaAWSMCPService"
        VpcSourceIp "aws:VpcSourceIp"
        VpceAccount "aws:VpceAccount"
        VpceOrgId "aws:VpceOrgID"
        VpceOrgPaths "aws:VpceOrgPaths"

        Ec2RoleDelivery "ec2:RoleDelivery"
        Ec2SourceInstanceArn "ec2:SourceInstanceArn"
        GlueCredentialIssuingService "glue:CredentialIssuingService"
        GlueRoleAssumedBy "glue:RoleAssumedBy"
        IdentityStoreUserId "identitystore:UserId"
        LambdaSourceFunctionArn "lambda:SourceFunctionArn"
        SsmSourceInstanceArn "ssm:SourceInstanceArn"

        S3AccessGrantScope "s3:AccessGrantScope"
        S3AccessGrantsInstanceArn "s3:AccessGrantsInstanceArn"
        S3AccessGrantsLocationScope "s3:AccessGrantsLocationScope"
        S3AccessPointNetworkOrigin "s3:AccessPointNetworkOrigin"
        S3DataAccessPointAccount "s3:DataAccessPointAccount"
        S3DataAccessPointArn "s3:DataAccessPointArn"
        S3ExistingJobOperation "s3:ExistingJobOperation"
        S3ExistingJobPriority "s3:ExistingJobPriority"
        S3InventoryAccessibleOptionalFields "s3:InventoryAccessibleOptionalFields"
        S3JobSuspendedCause "s3:JobSuspendedCause"
        S3ObjectCreationOperation "s3:ObjectCreationOperation"
        S3RequestJobOperation "s3:RequestJobOperation"
        S3RequestJobPriority "s3:RequestJobPriority"
        S3RequestObjectTagKeys "s3:RequestObjectTagKeys"
        S3ResourceAccount "s3:ResourceAccount"
        S3TlsVersion "s3:TlsVersion"
        S3VersionId "s3:VersionId"
        S3AnnotationPrefix "s3:annotation-prefix"
        S3AuthType "s3:authType"
        S3Delimiter "s3:delimiter"
        S3DeliverySourceArn "s3:deliverySourceArn"
        S3DestinationRegion "s3:destinationRegion"
        S3IfMatch "s3:if-match"
        S3IfNoneMatch "s3:if-none-match"
        S3IsReplicationPauseRequest "s3:isReplicationPauseRequest"
        S3LocationConstraint "s3:locationconstraint"
        S3LogType "s3:logType"
        S3MaxAnnotationResults "s3:max-annotation-results"
        S3MaxKeys "s3:max-keys"
        S3ObjectLockEventHold "s3:object-lock-event-hold"
        S3ObjectLockEventHoldDurationDays "s3:object-lock-event-hold-duration-days"
        S3ObjectLockLegalHold "s3:object-lock-legal-hold"
        S3ObjectLockMode "s3:object-lock-mode"
        S3ObjectLockRemainingRetentionDays "s3:object-lock-remaining-retention-days"
        S3ObjectLockRetainUntilDate "s3:object-lock-retain-until-date"
        S3Prefix "s3:prefix"
        S3ResourceArnBeingAuthorized "s3:resourceArnBeingAuthorized"
        S3SignatureAge "s3:signatureAge"
        S3SignatureVersion "s3:signatureversion"
        S3Acl "s3:x-amz-acl"
        S3BucketNamespace "s3:x-amz-bucket-namespace"
        S3ContentSha256 "s3:x-amz-content-sha256"
        S3CopySource "s3:x-amz-copy-source"
        S3GrantFullControl "s3:x-amz-grant-full-control"
        S3GrantRead "s3:x-amz-grant-read"
        S3GrantReadAcp "s3:x-amz-grant-read-acp"
        S3GrantWrite "s3:x-amz-grant-write"
        S3GrantWriteAcp "s3:x-amz-grant-write-acp"
        S3MetadataDirective "s3:x-amz-metadata-directive"
        S3ObjectAnnotationDirective "s3:x-amz-object-annotation-directive"
        S3ObjectIfMatch "s3:x-amz-object-if-match"
        S3ObjectOwnership "s3:x-amz-object-ownership"
        S3ServerSideEncryption "s3:x-amz-server-side-encryption"
        S3KmsKeyId "s3:x-amz-server-side-encryption-aws-kms-key-id"
        S3CustomerAlgorithm "s3:x-amz-server-side-encryption-customer-algorithm"
        S3StorageClass "s3:x-amz-storage-class"
        S3WebsiteRedirectLocation "s3:x-amz-website-redirect-location"

        S3VectorsKmsKeyArn "s3vectors:kmsKeyArn"
        S3VectorsSseType "s3vectors:sseType"

        S3TablesNamespace "s3tables:namespace"
        S3TablesTableName "s3tables:tableName"
    }
    tagged {
        PrincipalTag "aws:PrincipalTag/"
        RequestTag "aws:RequestTag/"
        ResourceTag "aws:ResourceTag/"
        AccessPointTag "s3:AccessPointTag/"
        BucketTag "s3:BucketTag/"
        ExistingObjectTag "s3:ExistingObjectTag/"
        RequestObjectTag "s3:RequestObjectTag/"
        VectorBucketTag "s3vectors:VectorBucketTag/"
        TableBucketTag "s3tables:TableBucketTag/"
    }
}
