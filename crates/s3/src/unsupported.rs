//! Rejects headers of features that this server lacks. Ignoring them would promise an effect that
//! does not happen.

use http::{HeaderMap, HeaderName};
use s3s::{S3Error, S3ErrorCode, S3Result};

/// The header with which MinIO reads members of a zip archive.
const EXTRACT: HeaderName = HeaderName::from_static("x-minio-extract");

/// The header with which MinIO stores the members of an archive instead of the archive.
pub(super) const EXTRACTS: HeaderName = HeaderName::from_static("x-amz-meta-snowball-auto-extract");

/// `true` if a header is given with the value `true`, in any case.
pub(super) fn is_true(headers: &HeaderMap, name: &HeaderName) -> bool {
    headers.get(name).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"true"))
}

/// Checks the headers of a request that starts an upload, or copies.
pub(super) fn check_write(headers: &HeaderMap) -> S3Result<()> {
    if headers.contains_key("x-amz-write-offset-bytes") {
        return Err(not_implemented("Only PutObject appends to objects.".to_owned()));
    }
    match is_true(headers, &EXTRACTS) {
        true => Err(not_implemented(format!(
            "Only PutObject extracts an archive: send it in one piece, or leave out {}.",
            EXTRACTS
        ))),
        false => Ok(()),
    }
}

/// Checks the headers of any request. Ignoring one would give the archive for its member.
pub(super) fn check(headers: &HeaderMap) -> S3Result<()> {
    match is_true(headers, &EXTRACT) {
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
