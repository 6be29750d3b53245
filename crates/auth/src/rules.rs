//! [`Rules`]: the acceptance rules of the authentication layer.

/// The acceptance rules for signatures.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The region of the server.
    pub region: String,
    /// Accept signatures for any region: each signature covers the region that it names.
    pub takes_any_region: bool,
    /// Accept Signature Version 2 in the Authorization header, which does not cover the body and
    /// most of the query.
    pub takes_version_2: bool,
    /// Accept an unsigned `x-amz-acl` beside a presigned URL, if its ACL gives rights to nobody but the
    /// writer and the owner of the bucket.
    pub takes_unsigned_acl: bool,
    /// Accept unsigned chunks of any size, as MinIO does. S3 demands 8 KiB of all but the last.
    pub takes_small_chunks: bool,
    /// Treat every request as this access key's; do not check signatures. `None` if signatures are
    /// checked.
    pub everyone_is: Option<String>,
}

impl Rules {
    /// Rules that check signatures, for this region only.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn strict(region: &str) -> Rules {
        Rules {
            region: region.to_owned(),
            takes_any_region: false,
            takes_version_2: false,
            takes_unsigned_acl: false,
            takes_small_chunks: false,
            everyone_is: None,
        }
    }
}
