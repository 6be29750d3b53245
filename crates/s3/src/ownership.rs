//! Object ownership: the owner of objects written by other accounts, and whether ACLs are
//! enabled.
//!
//! A bucket without the document is `BucketOwnerEnforced`, like every new bucket on AWS. Deleted
//! controls are stored as a document of their own: such a bucket has no controls, and its ACLs are
//! enabled.

use http::HeaderMap;
use liteio_store::{Bucket, Owner};
use s3s::{S3Error, S3Result, s3_error};

use super::details::Details;
use super::error;
use liteio_access::object_ownership;
use liteio_policy::acl::Ownership;

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
        None => Err(s3_error!(
            Details::named(HEADER),
            InvalidArgument,
            "Invalid x-amz-object-ownership header: {}",
            error::quoted(&String::from_utf8_lossy(asked.as_bytes()))
        )),
    }
}

/// AWS's error for enforcing ownership on a bucket whose ACL grants something to others.
pub(super) fn has_acl() -> S3Error {
    s3_error!(
        InvalidBucketAclWithObjectOwnership,
        "Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting"
    )
}
