//! Keys of vector buckets and indexes, and of the vectors, logs and mirrors of an index.

use super::{
    ELEMENTS, INDEX, INDEX_DELETION, MIRROR, VECTOR, VECTOR_BUCKET, VECTOR_CHANGE, VECTOR_LOG,
    VECTOR_POLICY, VECTOR_SLOT, VECTOR_TAGS, of_bucket, of_number, split_bucket,
};
use crate::name::{BucketId, IndexId};

/// `true` for rows that vectors have in slots, or in a log.
pub(crate) fn is_of_vectors(key: &[u8]) -> bool {
    matches!(
        key.first(),
        Some(&(VECTOR | VECTOR_SLOT | ELEMENTS | VECTOR_LOG | VECTOR_CHANGE | MIRROR))
    )
}

/// The prefix of all keys of elements of slots.
pub(crate) const ALL_ELEMENTS: &[u8] = &[ELEMENTS];
/// The prefix of all keys of vectors.
pub(crate) const ALL_VECTORS: &[u8] = &[VECTOR];
/// The prefix of all keys of used slots.
pub(crate) const ALL_VECTOR_SLOTS: &[u8] = &[VECTOR_SLOT];
/// The prefix of all keys of vector buckets.
pub(crate) const ALL_VECTOR_BUCKETS: &[u8] = &[VECTOR_BUCKET];
/// The prefix of all keys of indexes.
pub(crate) const ALL_INDEXES: &[u8] = &[INDEX];
/// The prefix of all keys of indexes to delete.
pub(crate) const ALL_INDEX_DELETIONS: &[u8] = &[INDEX_DELETION];

/// The prefix of all keys of the heads of logs of vectors.
pub(crate) const ALL_VECTOR_LOGS: &[u8] = &[VECTOR_LOG];
/// The prefix of all keys of changes of vectors.
pub(crate) const ALL_VECTOR_CHANGES: &[u8] = &[VECTOR_CHANGE];
/// The prefix of all keys of mirrors.
pub(crate) const ALL_MIRRORS: &[u8] = &[MIRROR];

pub(crate) fn vector_bucket(name: &str) -> Vec<u8> {
    [&[VECTOR_BUCKET], name.as_bytes()].concat()
}

/// The name in a key made by [`vector_bucket`].
pub(crate) fn vector_bucket_name(key: &[u8]) -> Option<&str> {
    std::str::from_utf8(key.strip_prefix(&[VECTOR_BUCKET])?).ok()
}

pub(crate) fn vector_policy(bucket: BucketId) -> Vec<u8> {
    of_bucket(VECTOR_POLICY, bucket, 0)
}

/// The tags of a vector bucket or an index, whose ids come from one sequence.
pub(crate) fn vector_tags(resource: u32) -> Vec<u8> {
    of_number(VECTOR_TAGS, resource, 0)
}

/// The prefix of the keys of the indexes of a vector bucket; the name of the index follows.
pub(crate) fn indexes_of(bucket: BucketId) -> Vec<u8> {
    of_bucket(INDEX, bucket, 0)
}

pub(crate) fn index(bucket: BucketId, name: &str) -> Vec<u8> {
    let mut bytes = of_bucket(INDEX, bucket, name.len());
    bytes.extend_from_slice(name.as_bytes());
    bytes
}

/// Vector bucket and name in a key made by [`index`].
pub(crate) fn split_index(bytes: &[u8]) -> Option<(BucketId, &str)> {
    let (bucket, name) = split_bucket(INDEX, bytes)?;
    Some((bucket, std::str::from_utf8(name).ok()?))
}

/// The prefix of the keys of the vectors of an index; the key of the vector follows.
pub(crate) fn vectors_of(index: IndexId) -> Vec<u8> {
    of_number(VECTOR, index.0, 0)
}

pub(crate) fn vector(index: IndexId, key: &str) -> Vec<u8> {
    let mut bytes = of_number(VECTOR, index.0, key.len());
    bytes.extend_from_slice(key.as_bytes());
    bytes
}

/// Index and key of a vector in a key made by [`vector`].
pub(crate) fn split_vector(bytes: &[u8]) -> Option<(IndexId, &str)> {
    let (id, key) = bytes.strip_prefix(&[VECTOR])?.split_first_chunk()?;
    Some((IndexId(u32::from_be_bytes(*id)), std::str::from_utf8(key).ok()?))
}

/// The prefix of the keys of the used slots of an index.
pub(crate) fn vector_slots_of(index: IndexId) -> Vec<u8> {
    of_number(VECTOR_SLOT, index.0, 0)
}

pub(crate) fn vector_slot(index: IndexId, slot: u32) -> Vec<u8> {
    let mut bytes = of_number(VECTOR_SLOT, index.0, 4);
    bytes.extend_from_slice(&slot.to_be_bytes());
    bytes
}

/// Index and slot in a key made by [`vector_slot`].
pub(crate) fn split_vector_slot(bytes: &[u8]) -> Option<(IndexId, u32)> {
    let (id, slot) = bytes.strip_prefix(&[VECTOR_SLOT])?.split_first_chunk()?;
    Some((IndexId(u32::from_be_bytes(*id)), u32::from_be_bytes(slot.try_into().ok()?)))
}

/// The elements of a slot, in a backup.
pub(crate) fn elements(index: IndexId, slot: u32) -> Vec<u8> {
    let mut bytes = of_number(ELEMENTS, index.0, 4);
    bytes.extend_from_slice(&slot.to_be_bytes());
    bytes
}

pub(crate) fn index_deletion(index: IndexId) -> Vec<u8> {
    of_number(INDEX_DELETION, index.0, 0)
}

/// The index in a key made by [`index_deletion`].
pub(crate) fn split_index_deletion(bytes: &[u8]) -> Option<IndexId> {
    let id = bytes.strip_prefix(&[INDEX_DELETION])?.try_into().ok()?;
    Some(IndexId(u32::from_be_bytes(id)))
}

/// The head of the log of an index.
pub(crate) fn vector_log(index: IndexId) -> Vec<u8> {
    of_number(VECTOR_LOG, index.0, 0)
}

/// The index in a key made by [`vector_log`].
pub(crate) fn split_vector_log(bytes: &[u8]) -> Option<IndexId> {
    let id = bytes.strip_prefix(&[VECTOR_LOG])?.try_into().ok()?;
    Some(IndexId(u32::from_be_bytes(id)))
}

/// The prefix of the keys of the changes of an index.
pub(crate) fn vector_changes_of(index: IndexId) -> Vec<u8> {
    of_number(VECTOR_CHANGE, index.0, 0)
}

/// The change of an index with this number.
pub(crate) fn vector_change(index: IndexId, number: u64) -> Vec<u8> {
    let mut bytes = of_number(VECTOR_CHANGE, index.0, 8);
    bytes.extend_from_slice(&number.to_be_bytes());
    bytes
}

/// Index and number in a key made by [`vector_change`].
pub(crate) fn split_vector_change(bytes: &[u8]) -> Option<(IndexId, u64)> {
    let (id, number) = bytes.strip_prefix(&[VECTOR_CHANGE])?.split_first_chunk()?;
    Some((IndexId(u32::from_be_bytes(*id)), u64::from_be_bytes(number.try_into().ok()?)))
}

/// The record of the mirror of an index.
pub(crate) fn mirror(index: IndexId) -> Vec<u8> {
    of_number(MIRROR, index.0, 0)
}

/// The index in a key made by [`mirror`].
pub(crate) fn split_mirror(bytes: &[u8]) -> Option<IndexId> {
    let id = bytes.strip_prefix(&[MIRROR])?.try_into().ok()?;
    Some(IndexId(u32::from_be_bytes(id)))
}
