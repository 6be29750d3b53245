//! Keys of buckets, of their documents and of their usage.

use super::{BUCKET, DOCUMENT, USAGE, of_bucket, split_bucket};
use crate::name::BucketId;

/// The prefix of all keys of buckets.
pub(crate) const ALL_BUCKETS: &[u8] = &[BUCKET];

/// The prefix of all keys of documents.
pub(crate) const ALL_DOCUMENTS: &[u8] = &[DOCUMENT];
/// The prefix of all keys of usage rows.
pub(crate) const ALL_USAGE: &[u8] = &[USAGE];

pub(crate) fn bucket(name: &str) -> Vec<u8> {
    [&[BUCKET], name.as_bytes()].concat()
}

/// The name in a key made by [`bucket`].
pub(crate) fn bucket_name(key: &[u8]) -> Option<&str> {
    std::str::from_utf8(key.strip_prefix(&[BUCKET])?).ok()
}

/// A document of a bucket.
pub(crate) fn document(id: BucketId, kind: u8) -> Vec<u8> {
    let mut bytes = of_bucket(DOCUMENT, id, 1);
    bytes.push(kind);
    bytes
}

/// The bucket in a key made by [`document`].
pub(crate) fn split_document(bytes: &[u8]) -> Option<(BucketId, u8)> {
    match split_bucket(DOCUMENT, bytes)? {
        (bucket, &[kind]) => Some((bucket, kind)),
        _ => None,
    }
}

/// The prefix of the keys of all documents of a bucket.
pub(crate) fn documents(id: BucketId) -> Vec<u8> {
    of_bucket(DOCUMENT, id, 0)
}

/// The usage row of a bucket.
pub(crate) fn usage(id: BucketId) -> Vec<u8> {
    of_bucket(USAGE, id, 0)
}

/// The bucket in a key made by [`usage`].
pub(crate) fn split_usage(bytes: &[u8]) -> Option<BucketId> {
    split_bucket(USAGE, bytes).filter(|(_, rest)| rest.is_empty()).map(|(id, _)| id)
}
