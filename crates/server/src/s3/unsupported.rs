//! Refusal of headers for features that this server does not have. Ignoring them would promise
//! locks or grants that do not exist.

use http::HeaderMap;
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};

/// Checks a request that begins an upload, or copies.
pub(super) fn check_write(headers: &HeaderMap) -> S3Result<()> {
    if headers.contains_key("x-amz-write-offset-bytes") {
        return Err(not_implemented("Only PutObject appends to objects."));
    }
    check_put(headers)
}

/// Checks a request that writes an object.
pub(super) fn check_put(headers: &HeaderMap) -> S3Result<()> {
    for (name, value) in headers {
        let Some(name) = name.as_str().strip_prefix("x-amz-") else { continue };
        if name == "acl" {
            check_object_acl(value.as_bytes())?;
        } else if name.starts_with("grant-") {
            return Err(acl_not_supported());
        }
    }
    Ok(())
}

/// Checks the headers of CreateBucket.
pub(super) fn check_create_bucket(headers: &HeaderMap) -> S3Result<()> {
    for (name, value) in headers {
        match (name.as_str(), value.as_bytes()) {
            ("x-amz-acl", b"private") | ("x-amz-object-ownership", b"BucketOwnerEnforced") => {}
            ("x-amz-acl", _) => {
                return Err(s3_error!(
                    InvalidBucketAclWithObjectOwnership,
                    "Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting"
                ));
            }
            ("x-amz-object-ownership", b"BucketOwnerPreferred" | b"ObjectWriter") => {
                return Err(not_implemented(
                    "Access control lists are not implemented by LiteIO yet: the object ownership \
                     is always BucketOwnerEnforced.",
                ));
            }
            ("x-amz-object-ownership", _) => {
                return Err(s3_error!(InvalidArgument, "Invalid x-amz-object-ownership header"));
            }
            (name, _) if name.starts_with("x-amz-grant-") => return Err(acl_not_supported()),
            _ => {}
        }
    }
    Ok(())
}

/// Accepts the canned ACLs that change nothing, and refuses all others, as S3 does for buckets with
/// ownership "bucket owner enforced".
fn check_object_acl(value: &[u8]) -> S3Result<()> {
    match value {
        b"private" | b"bucket-owner-full-control" => Ok(()),
        b"public-read"
        | b"public-read-write"
        | b"authenticated-read"
        | b"aws-exec-read"
        | b"bucket-owner-read"
        | b"log-delivery-write" => Err(acl_not_supported()),
        _ => Err(s3_error!(InvalidArgument, "The canned ACL is not valid")),
    }
}

fn acl_not_supported() -> S3Error {
    s3_error!(AccessControlListNotSupported, "The bucket does not allow ACLs")
}

fn not_implemented(message: &'static str) -> S3Error {
    S3Error::with_message(S3ErrorCode::NotImplemented, message)
}
