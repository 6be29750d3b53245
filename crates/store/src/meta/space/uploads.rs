//! Keys of multipart uploads and their parts.

use super::{PART, UPLOAD, UPLOAD_BY_KEY, of_bucket, split_bucket, split_ended_id};
use crate::meta::key::{append_ended, append_escaped, unescaped};
use crate::name::{BucketId, UploadId};

/// The prefix of all keys of uploads in progress.
pub(crate) const ALL_UPLOADS: &[u8] = &[UPLOAD];
/// The prefix of all keys of parts.
pub(crate) const ALL_PARTS: &[u8] = &[PART];

pub(crate) fn upload(id: &UploadId) -> Vec<u8> {
    [&[UPLOAD][..], &id.0].concat()
}

/// `true` for a key made by [`upload`].
pub(crate) fn is_upload(bytes: &[u8]) -> bool {
    bytes.first() == Some(&UPLOAD)
}

/// The inverse of [`upload`].
pub(crate) fn split_upload(bytes: &[u8]) -> Option<UploadId> {
    match bytes.split_first() {
        Some((&UPLOAD, id)) => id.try_into().ok().map(UploadId),
        _ => None,
    }
}

/// The prefix of the keys of all parts of an upload.
pub(crate) fn parts(id: &UploadId) -> Vec<u8> {
    [&[PART][..], &id.0].concat()
}

pub(crate) fn part(id: &UploadId, number: u16) -> Vec<u8> {
    [&[PART][..], &id.0, &number.to_be_bytes()].concat()
}

/// Upload and number in a key made by [`part`].
pub(crate) fn split_part(bytes: &[u8]) -> Option<(UploadId, u16)> {
    let (id, number) = bytes.strip_prefix(&[PART])?.split_first_chunk()?;
    Some((UploadId(*id), u16::from_be_bytes(number.try_into().ok()?)))
}

/// The prefix of the keys of the uploads for object keys that begin with `prefix`.
pub(crate) fn uploads_prefix(id: BucketId, prefix: &[u8]) -> Vec<u8> {
    let mut bytes = of_bucket(UPLOAD_BY_KEY, id, prefix.len());
    append_escaped(prefix, &mut bytes);
    bytes
}

/// The prefix of the keys of the uploads for one object key.
pub(crate) fn uploads_of(id: BucketId, key: &str) -> Vec<u8> {
    let mut bytes = of_bucket(UPLOAD_BY_KEY, id, key.len() + 18);
    append_ended(key.as_bytes(), &mut bytes);
    bytes
}

pub(crate) fn upload_by_key(id: BucketId, key: &str, upload: &UploadId) -> Vec<u8> {
    let mut bytes = uploads_of(id, key);
    bytes.extend_from_slice(&upload.0);
    bytes
}

/// The beginning of object keys, in a key made by [`uploads_prefix`].
pub(crate) fn key_of_uploads(bytes: &[u8]) -> Option<Vec<u8>> {
    unescaped(split_bucket(UPLOAD_BY_KEY, bytes)?.1)
}

/// Bucket, object key and upload in a key made by [`upload_by_key`].
pub(crate) fn split_upload_by_key(bytes: &[u8]) -> Option<(BucketId, Vec<u8>, UploadId)> {
    let (bucket, key, id) = split_ended_id(UPLOAD_BY_KEY, bytes)?;
    Some((bucket, key, UploadId(id)))
}
