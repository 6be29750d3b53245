//! Keys of versions of objects: the current ones, the history, the index of `null`, and bodies.

use super::{BODY, CURRENT, HISTORY, NULL_VERSION, of_bucket, split_bucket, split_ended_id};
use crate::meta::key::{append_ended, append_escaped, unescaped};
use crate::name::BucketId;

/// The prefix of all keys of current objects.
pub(crate) const ALL_CURRENT: &[u8] = &[CURRENT];
/// The prefix of all keys of older versions.
pub(crate) const ALL_HISTORY: &[u8] = &[HISTORY];
/// The prefix of all keys of the index of `null` versions.
pub(crate) const ALL_NULL_VERSIONS: &[u8] = &[NULL_VERSION];
/// The prefix of all keys of bodies.
pub(crate) const ALL_BODIES: &[u8] = &[BODY];

/// The prefix of the keys of all current objects of a bucket; an object key follows as it is.
pub(crate) fn current_of(id: BucketId) -> Vec<u8> {
    of_bucket(CURRENT, id, 0)
}

pub(crate) fn current(id: BucketId, key: &str) -> Vec<u8> {
    let mut bytes = of_bucket(CURRENT, id, key.len());
    bytes.extend_from_slice(key.as_bytes());
    bytes
}

/// Bucket and object key in a key made by [`current`].
pub(crate) fn split_current(bytes: &[u8]) -> Option<(BucketId, &[u8])> {
    split_bucket(CURRENT, bytes)
}

/// The prefix of the keys of the older versions of objects whose key begins with `prefix`.
pub(crate) fn history_prefix(id: BucketId, prefix: &[u8]) -> Vec<u8> {
    let mut bytes = of_bucket(HISTORY, id, prefix.len());
    append_escaped(prefix, &mut bytes);
    bytes
}

/// The prefix of the keys of the older versions of one object.
pub(crate) fn history_of(id: BucketId, key: &str) -> Vec<u8> {
    let mut bytes = of_bucket(HISTORY, id, key.len() + 18);
    append_ended(key.as_bytes(), &mut bytes);
    bytes
}

pub(crate) fn history(id: BucketId, key: &str, version: &[u8; 16]) -> Vec<u8> {
    let mut bytes = history_of(id, key);
    bytes.extend_from_slice(version);
    bytes
}

/// Bucket, object key and version in a key made by [`history`].
pub(crate) fn split_history(bytes: &[u8]) -> Option<(BucketId, Vec<u8>, [u8; 16])> {
    split_ended_id(HISTORY, bytes)
}

pub(crate) fn null_version(id: BucketId, key: &str) -> Vec<u8> {
    let mut bytes = of_bucket(NULL_VERSION, id, key.len());
    bytes.extend_from_slice(key.as_bytes());
    bytes
}

/// Bucket and object key in a key made by [`null_version`].
pub(crate) fn split_null_version(bytes: &[u8]) -> Option<(BucketId, &[u8])> {
    split_bucket(NULL_VERSION, bytes)
}

/// The body of the version with the stamp `stamp`.
pub(crate) fn body(stamp: &[u8; 16]) -> [u8; 17] {
    let mut bytes = [BODY; 17];
    bytes[1..].copy_from_slice(&in_time_order(stamp));
    bytes
}

/// The stamp in a key made by [`body`].
pub(crate) fn split_body(bytes: &[u8]) -> Option<[u8; 16]> {
    let stamp = bytes.strip_prefix(&[BODY])?.try_into().ok()?;
    Some(in_time_order(&stamp))
}

/// Stamps of versions are inverted times. Inverted again, those of new versions are the last ones,
/// and rows are appended, which is cheapest for a tree. It is its own inverse.
fn in_time_order(stamp: &[u8; 16]) -> [u8; 16] {
    let mut id = *stamp;
    id[..8].iter_mut().for_each(|byte| *byte = !*byte);
    id
}

/// The beginning of object keys, in a key made by [`history_prefix`].
pub(crate) fn key_of_history(bytes: &[u8]) -> Option<Vec<u8>> {
    unescaped(split_bucket(HISTORY, bytes)?.1)
}
