//! Object ownership controls: the owner of objects written by other accounts, and whether ACLs are
//! enabled.
//!
//! A bucket without the document is `BucketOwnerEnforced`, like every new bucket on AWS. Deleted
//! controls are stored as a document of their own: such a bucket has no controls, and its ACLs are
//! enabled.

use http::{HeaderMap, StatusCode};
use liteio_store::{Bucket, DocumentKind, Owner};
use s3s::dto::{
    DeleteBucketOwnershipControlsInput, DeleteBucketOwnershipControlsOutput,
    GetBucketOwnershipControlsInput, GetBucketOwnershipControlsOutput, ObjectOwnership,
    OwnershipControls, OwnershipControlsRule, PutBucketOwnershipControlsInput,
    PutBucketOwnershipControlsOutput,
};
use s3s::{S3Error, S3Response, S3Result, s3_error};

use super::bucket_settings::drop_kept;
use super::{Req, Resp, acl, error};
use liteio_access::state::App;
use liteio_access::{Granted, object_ownership};
use liteio_policy::acl::{Ownership, encode};

const HEADER: &str = "x-amz-object-ownership";

/// The object ownership setting of a bucket.
pub(super) fn of_bucket(bucket: &Bucket) -> S3Result<Ownership> {
    object_ownership(bucket).map_err(error::from_store)
}

/// The owner of all objects if ownership is enforced, also of objects written before that.
pub(super) fn owner_of_all(bucket: &Bucket) -> S3Result<Option<Owner>> {
    Ok((!of_bucket(bucket)?.acls_count()).then(|| bucket.owner.clone()))
}

/// The ownership in the header of CreateBucket.
pub(super) fn of_header(headers: &HeaderMap) -> S3Result<Option<Ownership>> {
    let Some(asked) = headers.get(HEADER) else { return Ok(None) };
    match asked.to_str().ok().and_then(Ownership::of_name) {
        Some(ownership) => Ok(Some(ownership)),
        None => {
            let asked = String::from_utf8_lossy(asked.as_bytes());
            let asked = error::quoted(&asked);
            Err(error::invalid_argument(format!("Invalid x-amz-object-ownership header: {asked}")))
        }
    }
}

/// AWS's error for enforcing ownership on a bucket whose ACL grants something to others.
pub(super) fn has_acl() -> S3Error {
    s3_error!(
        InvalidBucketAclWithObjectOwnership,
        "Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting"
    )
}

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
        return Err(has_acl());
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
    let name = of_bucket(granted.bucket())?.name().ok_or_else(|| {
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
