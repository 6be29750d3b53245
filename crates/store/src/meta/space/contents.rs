//! Keys of content: reference counts and deletions.

use super::{DELETION, REFERENCE};
use crate::meta::content::ContentId;
use crate::name::{BucketId, UploadId};

/// The prefix of all keys of content to delete.
pub(crate) const ALL_DELETIONS: &[u8] = &[DELETION];

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
