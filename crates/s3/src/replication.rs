//! The headers with which a version is copied to another service.

use http::HeaderMap;
use liteio_store::{Bucket, ChecksumType, ObjectChecksum, ObjectVersion};
use s3s::S3Result;

pub use super::error::OBJECT_LOCKED;
use super::{checksum, metadata};

/// Headers that describe an object in an answer and in a request alike.
const COPIED: [&str; 8] = [
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-type",
    "expires",
    "x-amz-storage-class",
    "x-amz-website-redirect-location",
];

/// Names and values of the headers that give a copy the metadata of an object, without its tags and
/// its lock.
///
/// # Errors
/// One line about metadata that is no header.
pub fn metadata_headers(
    bucket: &Bucket,
    object: &ObjectVersion,
) -> Result<Vec<(String, String)>, String> {
    headers(bucket, object).map_err(|error| error.to_string())
}

fn headers(bucket: &Bucket, object: &ObjectVersion) -> S3Result<Vec<(String, String)>> {
    let mut found = metadata::object_headers(bucket, object)?;
    if object.metadata.headers.content_type.is_none() {
        found.remove(http::header::CONTENT_TYPE);
    }
    if object.is_in_tier {
        // The class stands for a tier of this server.
        found.remove("x-amz-storage-class");
    }
    let mut headers = HeaderMap::new();
    metadata::insert_user(&mut headers, object)?;
    for name in COPIED {
        if let Some(value) = found.remove(name) {
            headers.insert(name, value);
        }
    }
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    Ok(headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect())
}

/// The header with a checksum of a whole object or of a part, and its value.
#[must_use]
pub fn checksum_header(checksum: &ObjectChecksum) -> (String, String) {
    let name = checksum::name(checksum.value.algorithm).to_ascii_lowercase();
    (format!("x-amz-checksum-{name}"), checksum::text(checksum))
}

/// The names of the algorithm and the type of a checksum, as the headers of an upload have them.
#[must_use]
pub fn checksum_names(checksum: &ObjectChecksum) -> (&'static str, &'static str) {
    let kind: ChecksumType = checksum.kind;
    (checksum::name(checksum.value.algorithm), checksum::type_name(kind))
}
