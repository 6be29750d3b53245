//! Rejects headers of features that this server lacks. Ignoring them would promise an effect that
//! does not happen.

use http::HeaderMap;
use s3s::{S3Error, S3ErrorCode, S3Result};

/// Checks the headers of a request that starts an upload, or copies.
pub(super) fn check_write(headers: &HeaderMap) -> S3Result<()> {
    match headers.contains_key("x-amz-write-offset-bytes") {
        true => Err(S3Error::with_message(
            S3ErrorCode::NotImplemented,
            "Only PutObject appends to objects.",
        )),
        false => Ok(()),
    }
}
