//! Reference counts of content, and the queue of content to delete.
//!
//! Every extent of a record is one reference to its blob, every object with parts one to their list.
//! Nearly all content has one reference, so a missing count means one.

use liteio_kv::{Read, Write};

use super::content::{Content, ContentId};
use super::{record, space};
use crate::error::StoreError;

/// Raises the reference counts for one more record with `content`.
pub(crate) fn retain(content: &Content, to: &mut impl Write) -> Result<(), StoreError> {
    for id in ids(content) {
        let count = count(to, &id)?;
        let more = count.checked_add(1);
        let more = more.ok_or_else(|| StoreError::corrupt("a count of references overflows"))?;
        to.put(&space::reference(&id), &record::encode(1, &more))?;
    }
    Ok(())
}

/// Lowers the reference counts for a removed record with `content`, and queues content without references
/// for deletion. `true` if anything was queued.
pub(crate) fn release(content: &Content, to: &mut impl Write) -> Result<bool, StoreError> {
    let mut is_queued = false;
    for id in ids(content) {
        match count(to, &id)? {
            0 | 1 => {
                to.put(&space::deletion(&id), &[])?;
                to.delete(&space::reference(&id))?;
                is_queued = true;
            }
            2 => to.delete(&space::reference(&id))?,
            count => to.put(&space::reference(&id), &record::encode(1, &(count - 1)))?,
        }
    }
    Ok(is_queued)
}

/// Lowers the reference counts for a given-up record with `content`, as far as other records have the
/// content, too. Returns the content that none has any more, which is not queued for deletion.
pub(crate) fn give_up(
    content: &Content,
    to: &mut impl Write,
) -> Result<Vec<ContentId>, StoreError> {
    let mut left = Vec::new();
    for id in ids(content) {
        match count(to, &id)? {
            0 | 1 => left.push(id),
            2 => to.delete(&space::reference(&id))?,
            count => to.put(&space::reference(&id), &record::encode(1, &(count - 1)))?,
        }
    }
    Ok(left)
}

/// `true` when one record alone has the content.
pub(crate) fn is_single(id: &ContentId, from: &impl Read) -> Result<bool, StoreError> {
    Ok(count(from, id)? <= 1)
}

fn count(from: &impl Read, id: &ContentId) -> Result<u64, StoreError> {
    match from.get(&space::reference(id))? {
        Some(bytes) => record::decode(&bytes, "a count of references"),
        None => Ok(1),
    }
}

/// The content that a record refers to, once for each reference.
pub(crate) fn ids(content: &Content) -> impl Iterator<Item = ContentId> {
    let (extents, list) = match content {
        Content::Inline(_) => (&[][..], None),
        Content::Extents(extents) => (&extents[..], None),
        Content::Parts { list, .. } => (&[][..], Some(ContentId::Parts(*list))),
    };
    extents.iter().map(|extent| ContentId::Blob(extent.blob)).chain(list)
}
