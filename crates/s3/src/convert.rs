//! Conversions of request values that many operations share.

use std::sync::Arc;

use http::Extensions;
use liteio_store::{ObjectKey, PartNumber, UploadId, VersionId};
use s3s::{S3Error, S3Result, s3_error};

use super::details::Details;
use super::error;
use super::page_token::key_in_url;
use liteio_wire::origin::Origin;

pub(super) fn object_key(key: String) -> S3Result<ObjectKey> {
    ObjectKey::try_from(key).map_err(error::from_store)
}

pub(super) fn upload_id(id: &str) -> S3Result<UploadId> {
    UploadId::parse(id).map_err(error::from_store)
}

/// Parses the `versionId` of a request.
pub(super) fn version_id(version: Option<String>) -> S3Result<Option<VersionId>> {
    match version.as_deref() {
        None => Ok(None),
        Some("") => Err(s3_error!(
            Details::argument("versionId", ""),
            InvalidArgument,
            "Version id cannot be the empty string"
        )),
        Some(text) => VersionId::parse(text).map(Some).map_err(error::from_store),
    }
}

/// Parses a `partNumber`.
pub(super) fn part_number(number: i32) -> S3Result<PartNumber> {
    PartNumber::try_from(number).map_err(|_| no_part_number(&number.to_string()))
}

/// Parses the `partNumber` of a query.
pub(super) fn part_number_text(text: &str) -> S3Result<PartNumber> {
    let number: Option<i32> = text.parse().ok();
    let number = number.and_then(|number| PartNumber::try_from(number).ok());
    number.ok_or_else(|| no_part_number(text))
}

fn no_part_number(text: &str) -> S3Error {
    s3_error!(
        Details::argument("partNumber", text),
        InvalidArgument,
        "Part number must be an integer between 1 and 10000, inclusive"
    )
}

/// The page size: the requested number, at most `limit`, which is also the default.
pub(super) fn page_size(name: &str, asked: Option<i32>, limit: usize) -> S3Result<usize> {
    let Some(asked) = asked else { return Ok(limit) };
    usize::try_from(asked).map(|asked| asked.min(limit)).map_err(|_| {
        s3_error!(
            Details::argument(name, &asked.to_string()),
            InvalidArgument,
            "Argument {name} must be an integer between 0 and 2147483647"
        )
    })
}

/// The URL of an object, on the host of the request.
pub(super) fn object_url(extensions: &Extensions, bucket: &str, key: &str) -> String {
    let key = key_in_url(key);
    match extensions.get::<Arc<Origin>>() {
        Some(origin) => {
            let (scheme, host) = (origin.peer.scheme(), origin.target.host());
            format!("{scheme}://{host}/{bucket}/{key}")
        }
        None => format!("/{bucket}/{key}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_bounded() {
        for (asked, expected) in [(None, 1000), (Some(0), 0), (Some(7), 7), (Some(5000), 1000)] {
            assert_eq!(page_size("max-keys", asked, 1000).expect("valid"), expected);
        }
        assert!(page_size("max-keys", Some(-1), 1000).is_err());
    }
}
