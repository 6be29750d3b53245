//! Rejects headers of features that this server lacks. Ignoring them would promise an effect that
//! does not happen.

use http::{Extensions, HeaderMap, HeaderName, HeaderValue};
use s3s::{S3Error, S3ErrorCode, S3Result};

use super::metadata::UserMetadata;

/// The header with which MinIO reads members of a zip archive.
const EXTRACT: HeaderName = HeaderName::from_static("x-minio-extract");

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

/// Checks the headers of any request. Ignoring one would give the archive for its member.
pub(super) fn check(headers: &HeaderMap) -> S3Result<()> {
    let is_true = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"true");
    match headers.get(EXTRACT).is_some_and(is_true) {
        true => Err(not_implemented(format!(
            "Reading members of archives ({EXTRACT}: true) is not implemented by LiteIO. Read the \
             whole archive."
        ))),
        false => Ok(()),
    }
}

fn not_implemented(message: String) -> S3Error {
    S3Error::with_message(S3ErrorCode::NotImplemented, message)
}
