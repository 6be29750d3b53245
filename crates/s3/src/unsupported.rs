//! Rejects headers that one operation has and others lack. Ignoring them would promise an effect that
//! does not happen. [`super::request_headers`] has the headers that no operation has.

use http::{Extensions, HeaderMap};
use s3s::{S3Error, S3ErrorCode, S3Result};

use super::metadata::UserMetadata;

/// The header with which MinIO stores the members of an archive instead of the archive.
pub(super) const EXTRACTS: &str = "x-amz-meta-snowball-auto-extract";

/// Its name as user metadata.
pub(super) const EXTRACTS_AS_METADATA: &str = "snowball-auto-extract";

/// Checks the headers of a request that starts an upload, or copies.
pub(super) fn check_write(headers: &HeaderMap, extensions: &Extensions) -> S3Result<()> {
    if headers.contains_key("x-amz-write-offset-bytes") {
        return Err(not_implemented("Only PutObject appends to objects.".to_owned()));
    }
    match UserMetadata::of_request(extensions).is_true(EXTRACTS_AS_METADATA) {
        true => Err(not_implemented(format!(
            "Only PutObject extracts an archive: send it in one piece, or leave out {EXTRACTS}."
        ))),
        false => Ok(()),
    }
}

fn not_implemented(message: String) -> S3Error {
    S3Error::with_message(S3ErrorCode::NotImplemented, message)
}
