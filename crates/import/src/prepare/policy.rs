//! MinIO's canned bucket policies, as `mc anonymous set` creates them.

use serde_json::{Value, json};

use crate::prepare::settings::PublicAccess;

/// The bucket policy for this access; `None` without anonymous access.
///
/// Source: `SetPolicy` in
/// [minio-go](https://github.com/minio/minio-go/blob/v6.0.14/pkg/policy/bucket-policy.go).
pub(super) fn canned(access: PublicAccess, bucket: &str) -> Option<String> {
    let (reads, writes) = match access {
        PublicAccess::None => return None,
        PublicAccess::Download => (true, false),
        PublicAccess::Upload => (false, true),
        PublicAccess::Public => (true, true),
    };
    let choose = |actions: &[(bool, &'static str)]| -> Vec<&'static str> {
        actions.iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, action)| *action).collect()
    };
    let of_bucket = choose(&[
        (true, "s3:GetBucketLocation"),
        (reads, "s3:ListBucket"),
        (writes, "s3:ListBucketMultipartUploads"),
    ]);
    let of_objects = choose(&[
        (writes, "s3:AbortMultipartUpload"),
        (writes, "s3:DeleteObject"),
        (reads, "s3:GetObject"),
        (writes, "s3:ListMultipartUploadParts"),
        (writes, "s3:PutObject"),
    ]);
    let statement = |actions: Vec<&str>, resource: String| -> Value {
        json!({
            "Effect": "Allow",
            "Principal": { "AWS": ["*"] },
            "Action": actions,
            "Resource": [resource],
        })
    };
    let arn = format!("arn:aws:s3:::{bucket}");
    let statements = [statement(of_bucket, arn.clone()), statement(of_objects, format!("{arn}/*"))];
    Some(json!({ "Version": "2012-10-17", "Statement": statements }).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use liteio_policy::{Kind, Policy};

    #[test]
    fn canned_policies_are_valid_and_public() {
        assert_eq!(canned(PublicAccess::None, "photos"), None);
        for access in [PublicAccess::Download, PublicAccess::Upload, PublicAccess::Public] {
            let text = canned(access, "photos").expect("a policy");
            let policy = Policy::parse(text.as_bytes(), Kind::Bucket("photos")).expect("valid");
            assert!(policy.is_public(), "{text}");
            assert_eq!(text.contains("s3:GetObject"), access != PublicAccess::Upload);
            assert_eq!(text.contains("s3:PutObject"), access != PublicAccess::Download);
        }
    }
}
