//! The public access block of a bucket. New buckets on AWS block everything; here they do so with
//! `--aws-defaults` only, so that code written for other S3 servers works unchanged. A bucket is
//! private anyway until a policy or ACL opens it.

use http::StatusCode;
use liteio_store::{Bucket, DocumentKind};
use s3s::dto::{
    DeletePublicAccessBlockInput, DeletePublicAccessBlockOutput, GetPublicAccessBlockInput,
    GetPublicAccessBlockOutput, PublicAccessBlockConfiguration, PutPublicAccessBlockInput,
    PutPublicAccessBlockOutput,
};
use s3s::{S3Response, S3Result, s3_error};

use super::bucket_settings::drop_kept;
use super::{Req, Resp, error};
use liteio_access::state::App;
use liteio_access::{Granted, public_access_block};
use liteio_policy::acl::{Acl, PublicAccessBlock, encode};

const KIND: DocumentKind = DocumentKind::PublicAccessBlock;

/// Refuses a public ACL if the block prohibits them.
pub(super) fn check_acl(bucket: &Bucket, acl: &Acl) -> S3Result<()> {
    let block = public_access_block(bucket).map_err(error::from_store)?;
    if acl.is_public() && block.unwrap_or_default().block_public_acls {
        return Err(s3_error!(
            AccessDenied,
            "The ACL grants access to the public, which the public access block of the bucket \
             prevents (BlockPublicAcls)."
        ));
    }
    Ok(())
}

pub(super) async fn put_public_access_block(
    app: &App,
    granted: Granted,
    request: Req<PutPublicAccessBlockInput>,
) -> Resp<PutPublicAccessBlockOutput> {
    let sent = request.input.public_access_block_configuration;
    let block = PublicAccessBlock {
        block_public_acls: sent.block_public_acls.unwrap_or(false),
        ignore_public_acls: sent.ignore_public_acls.unwrap_or(false),
        block_public_policy: sent.block_public_policy.unwrap_or(false),
        restrict_public_buckets: sent.restrict_public_buckets.unwrap_or(false),
    };
    let kept = app.store.put_document(granted.bucket(), KIND, encode(&block)).await;
    kept.map_err(error::from_store)?;
    Ok(S3Response::new(PutPublicAccessBlockOutput::default()))
}

pub(super) async fn get_public_access_block(
    _app: &App,
    granted: Granted,
    _request: Req<GetPublicAccessBlockInput>,
) -> Resp<GetPublicAccessBlockOutput> {
    let kept = public_access_block(granted.bucket()).map_err(error::from_store)?;
    let kept = kept.ok_or_else(|| {
        error::custom(
            "NoSuchPublicAccessBlockConfiguration",
            StatusCode::NOT_FOUND,
            "The public access block configuration was not found",
        )
    })?;
    let configuration = PublicAccessBlockConfiguration {
        block_public_acls: Some(kept.block_public_acls),
        ignore_public_acls: Some(kept.ignore_public_acls),
        block_public_policy: Some(kept.block_public_policy),
        restrict_public_buckets: Some(kept.restrict_public_buckets),
    };
    Ok(S3Response::new(GetPublicAccessBlockOutput {
        public_access_block_configuration: Some(configuration),
    }))
}

pub(super) async fn delete_public_access_block(
    app: &App,
    granted: Granted,
    _request: Req<DeletePublicAccessBlockInput>,
) -> Resp<DeletePublicAccessBlockOutput> {
    drop_kept(app, &granted, KIND).await?;
    Ok(S3Response::new(DeletePublicAccessBlockOutput::default()))
}
