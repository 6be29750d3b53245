//! Object ownership controls of a bucket. `ownership` reads what they mean.

use http::StatusCode;
use liteio_store::DocumentKind;
use s3s::S3Response;
use s3s::dto::{
    DeleteBucketOwnershipControlsInput, DeleteBucketOwnershipControlsOutput,
    GetBucketOwnershipControlsInput, GetBucketOwnershipControlsOutput, ObjectOwnership,
    OwnershipControls, OwnershipControlsRule, PutBucketOwnershipControlsInput,
    PutBucketOwnershipControlsOutput,
};

use super::bucket_settings::drop_kept;
use super::{Req, Resp, acl, error, ownership};
use liteio_access::Granted;
use liteio_access::state::App;
use liteio_policy::acl::{Ownership, encode};

pub(super) async fn put_bucket_ownership_controls(
    app: &App,
    granted: Granted,
    request: Req<PutBucketOwnershipControlsInput>,
) -> Resp<PutBucketOwnershipControlsOutput> {
    let rules = request.input.ownership_controls.rules;
    let [rule] = &rules[..] else { return Err(error::malformed_xml()) };
    let ownership = Ownership::of_name(rule.object_ownership.as_str());
    let ownership = ownership.ok_or_else(error::malformed_xml)?;
    let bucket = granted.bucket();
    if !ownership.acls_count() && !acl::of_bucket(bucket)?.is_only_for(&bucket.owner.id) {
        return Err(ownership::has_acl());
    }
    let kind = DocumentKind::OwnershipControls;
    match ownership.document() {
        Some(document) => {
            let kept = app.store.put_document(bucket, kind, document).await;
            kept.map_err(error::from_store)?;
        }
        None => drop_kept(app, &granted, kind).await?,
    }
    Ok(S3Response::new(PutBucketOwnershipControlsOutput::default()))
}

pub(super) async fn get_bucket_ownership_controls(
    _app: &App,
    granted: Granted,
    _request: Req<GetBucketOwnershipControlsInput>,
) -> Resp<GetBucketOwnershipControlsOutput> {
    let name = ownership::of_bucket(granted.bucket())?.name().ok_or_else(|| {
        error::custom(
            "OwnershipControlsNotFoundError",
            StatusCode::NOT_FOUND,
            "The bucket ownership controls were not found",
        )
    })?;
    let object_ownership = ObjectOwnership::from_static(name);
    let controls = OwnershipControls { rules: vec![OwnershipControlsRule { object_ownership }] };
    Ok(S3Response::new(GetBucketOwnershipControlsOutput { ownership_controls: Some(controls) }))
}

pub(super) async fn delete_bucket_ownership_controls(
    app: &App,
    granted: Granted,
    _request: Req<DeleteBucketOwnershipControlsInput>,
) -> Resp<DeleteBucketOwnershipControlsOutput> {
    let (kind, document) = (DocumentKind::OwnershipControls, encode(&Ownership::Deleted));
    let kept = app.store.put_document(granted.bucket(), kind, document).await;
    kept.map_err(error::from_store)?;
    Ok(S3Response::new(DeleteBucketOwnershipControlsOutput::default()))
}
