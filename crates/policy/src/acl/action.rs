//! Permissions of ACLs as actions of policies.

use super::grant::Permission;

/// The ACL that can allow an action, and the required permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granting {
    /// The ACL of the bucket.
    Bucket(Permission),
    /// The ACL of the object, or of its version.
    Object(Permission),
}

/// The ACL and permission that allow an action such as `s3:GetObject`; `None` if no ACL can.
///
/// Source: [Mapping of ACL permissions and access policy
/// permissions](https://docs.aws.amazon.com/AmazonS3/latest/userguide/acl-overview.html#acl-access-policy-permission-mapping).
/// `WRITE` on a bucket covers all keys, regardless of the owner of an object: S3 has no `WRITE` on
/// objects. It permits deleting objects but not versions, and all steps of a multipart upload.
pub fn permission_for(action: &str) -> Option<Granting> {
    use Permission::{Read, ReadAcp, Write, WriteAcp};
    Some(match action.strip_prefix("s3:")? {
        "ListBucket" | "ListBucketVersions" | "ListBucketMultipartUploads" => {
            Granting::Bucket(Read)
        }
        "PutObject" | "DeleteObject" | "AbortMultipartUpload" | "ListMultipartUploadParts" => {
            Granting::Bucket(Write)
        }
        "GetBucketAcl" => Granting::Bucket(ReadAcp),
        "PutBucketAcl" => Granting::Bucket(WriteAcp),
        "GetObject"
        | "GetObjectVersion"
        | "GetObjectAttributes"
        | "GetObjectVersionAttributes"
        | "GetObjectTorrent" => Granting::Object(Read),
        "GetObjectAcl" | "GetObjectVersionAcl" => Granting::Object(ReadAcp),
        "PutObjectAcl" | "PutObjectVersionAcl" => Granting::Object(WriteAcp),
        _ => return None,
    })
}
