//! Every space of keys, in one place. Numbers are big-endian, so that their order is that of keys.
//!
//! | Tag | Key | Value |
//! |---|---|---|
//! | `00` | | [`StoreRecord`](super::bucket::StoreRecord): format, next bucket id |
//! | `01` | bucket name | [`BucketRecord`](super::bucket::BucketRecord) |
//! | `02` | bucket id (4), kind (1) | a document of a bucket: policy, CORS, … |
//! | `10` | bucket id (4), object key | the current object: [`ObjectRecord`](super::object::ObjectRecord) |
//! | `11` | bucket id (4), encoded object key, version (16) | every other version and every delete marker |
//! | `20` | upload id (16) | [`UploadRecord`](super::upload::UploadRecord) |
//! | `21` | upload id (16), part number (2) | [`PartRecord`](super::upload::PartRecord) |
//! | `22` | bucket id (4), encoded object key, upload id (16) | nothing: uploads in progress, by key |
//! | `30` | kind (1), id (16) | number of references to a blob or a list of parts; absent means one |
//! | `31` | kind (1), id (16) | nothing: content to delete |
//!
//! The encoding of object keys that something follows is in [`super::key`].

use super::content::ContentId;
use super::key::{append_ended, append_escaped, split_ended};
use crate::name::{BucketId, UploadId};

const STORE: u8 = 0x00;
const BUCKET: u8 = 0x01;
const DOCUMENT: u8 = 0x02;
const CURRENT: u8 = 0x10;
const HISTORY: u8 = 0x11;
const UPLOAD: u8 = 0x20;
const PART: u8 = 0x21;
const UPLOAD_BY_KEY: u8 = 0x22;
const REFERENCE: u8 = 0x30;
const DELETION: u8 = 0x31;

/// The key of the store's own record.
pub(crate) const STORE_KEY: &[u8] = &[STORE];

/// What all keys of current objects begin with.
pub(crate) const ALL_CURRENT: &[u8] = &[CURRENT];
/// What all keys of older versions begin with.
pub(crate) const ALL_HISTORY: &[u8] = &[HISTORY];
/// What all keys of parts begin with.
pub(crate) const ALL_PARTS: &[u8] = &[PART];
/// What all keys of content to delete begin with.
pub(crate) const ALL_DELETIONS: &[u8] = &[DELETION];

pub(crate) fn bucket(name: &str) -> Vec<u8> {
    [&[BUCKET], name.as_bytes()].concat()
}

/// The name in a key made by [`bucket`].
pub(crate) fn bucket_name(key: &[u8]) -> Option<&str> {
    std::str::from_utf8(key.strip_prefix(&[BUCKET])?).ok()
}

/// What the keys of all documents of a bucket begin with.
pub(crate) fn documents(id: BucketId) -> Vec<u8> {
    of_bucket(DOCUMENT, id, 0)
}

/// What the keys of all current objects of a bucket begin with; an object key follows as it is.
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

/// What the keys of the older versions of objects whose key begins with `prefix` begin with.
pub(crate) fn history_prefix(id: BucketId, prefix: &[u8]) -> Vec<u8> {
    let mut bytes = of_bucket(HISTORY, id, prefix.len());
    append_escaped(prefix, &mut bytes);
    bytes
}

/// What the keys of the older versions of one object begin with.
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

pub(crate) fn upload(id: &UploadId) -> Vec<u8> {
    [&[UPLOAD][..], &id.0].concat()
}

/// What the keys of all parts of an upload begin with.
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

/// What the keys of the uploads for object keys that begin with `prefix` begin with.
pub(crate) fn uploads_prefix(id: BucketId, prefix: &[u8]) -> Vec<u8> {
    let mut bytes = of_bucket(UPLOAD_BY_KEY, id, prefix.len());
    append_escaped(prefix, &mut bytes);
    bytes
}

/// What the keys of the uploads for one object key begin with.
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

/// Bucket, object key and upload in a key made by [`upload_by_key`].
pub(crate) fn split_upload_by_key(bytes: &[u8]) -> Option<(BucketId, Vec<u8>, UploadId)> {
    let (bucket, key, id) = split_ended_id(UPLOAD_BY_KEY, bytes)?;
    Some((bucket, key, UploadId(id)))
}

pub(crate) fn reference(content: &ContentId) -> Vec<u8> {
    of_content(REFERENCE, content)
}

pub(crate) fn deletion(content: &ContentId) -> Vec<u8> {
    of_content(DELETION, content)
}

/// The content in a key made by [`deletion`].
pub(crate) fn split_deletion(bytes: &[u8]) -> Option<ContentId> {
    let (kind, id) = bytes.strip_prefix(&[DELETION])?.split_first()?;
    let id: [u8; 16] = id.try_into().ok()?;
    match *kind {
        BLOB_KIND => Some(ContentId::Blob(id)),
        PARTS_KIND => Some(ContentId::Parts(UploadId(id))),
        UPLOADS_KIND => {
            let (bucket, rest) = id.split_first_chunk::<4>()?;
            let is_canonical = rest.iter().all(|byte| *byte == 0);
            is_canonical.then(|| ContentId::Uploads(BucketId(u32::from_be_bytes(*bucket))))
        }
        _ => None,
    }
}

const BLOB_KIND: u8 = 0;
const PARTS_KIND: u8 = 1;
/// The bucket's number, then zeros.
const UPLOADS_KIND: u8 = 2;

fn of_content(tag: u8, content: &ContentId) -> Vec<u8> {
    let (kind, id) = match content {
        ContentId::Blob(id) => (BLOB_KIND, *id),
        ContentId::Parts(list) => (PARTS_KIND, list.0),
        ContentId::Uploads(bucket) => {
            let mut id = [0; 16];
            id[..4].copy_from_slice(&bucket.0.to_be_bytes());
            (UPLOADS_KIND, id)
        }
    };
    [&[tag, kind][..], &id].concat()
}

fn of_bucket(tag: u8, id: BucketId, more: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(5 + more);
    bytes.push(tag);
    bytes.extend_from_slice(&id.0.to_be_bytes());
    bytes
}

fn split_bucket(tag: u8, bytes: &[u8]) -> Option<(BucketId, &[u8])> {
    let (id, rest) = bytes.strip_prefix(&[tag])?.split_first_chunk()?;
    Some((BucketId(u32::from_be_bytes(*id)), rest))
}

fn split_ended_id(tag: u8, bytes: &[u8]) -> Option<(BucketId, Vec<u8>, [u8; 16])> {
    let (bucket, rest) = split_bucket(tag, bytes)?;
    let (key, id) = split_ended(rest)?;
    Some((bucket, key, id.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_taken_apart_again_and_foreign_bytes_refused() {
        let bucket = BucketId(7);
        let id = [9; 16];
        let history = history(bucket, "a\0b", &id);
        assert_eq!(split_history(&history), Some((bucket, b"a\0b".to_vec(), id)));
        let by_key = upload_by_key(bucket, "k", &UploadId(id));
        assert_eq!(split_upload_by_key(&by_key), Some((bucket, b"k".to_vec(), UploadId(id))));
        assert_eq!(split_part(&part(&UploadId(id), 258)), Some((UploadId(id), 258)));
        let uploads = ContentId::Uploads(BucketId(0x0102_0304));
        for content in [ContentId::Blob(id), ContentId::Parts(UploadId(id)), uploads] {
            assert_eq!(split_deletion(&deletion(&content)), Some(content));
        }
        let mut longer_number = deletion(&uploads);
        longer_number[6] = 1;
        assert_eq!(split_deletion(&longer_number), None);
        let current = current(bucket, "k");
        assert_eq!(split_current(&current), Some((bucket, &b"k"[..])));
        for key in [&history, &by_key, &current] {
            for length in 0..5 {
                assert_eq!(split_history(&key[..length]), None);
                assert_eq!(split_upload_by_key(&key[..length]), None);
                assert_eq!(split_current(&key[..length]), None);
            }
            assert_eq!(split_part(key), None);
            assert_eq!(split_deletion(key), None);
        }
    }
}
