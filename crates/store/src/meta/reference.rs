//! Reference counts of content, and the queue of content to delete.
//!
//! Every extent of a record is one reference to its blob. Every object with parts is one reference
//! to their list. Nearly all content has one reference, so that count is not stored: a missing
//! count means one. A [row](super::body) with bytes always has one reference, its version.

use liteio_kv::{Read, Write};

use super::content::{Content, ContentId};
use super::remote::RemoteDeletion;
use super::{body, record, space};
use crate::error::StoreError;

/// Raises the reference counts for one more record with `content`, whose bytes are not in a row.
pub(crate) fn retain(content: &Content, to: &mut impl Write) -> Result<(), StoreError> {
    if content.is_remote() {
        let what = "two versions would have one body in a tier".to_owned();
        return Err(StoreError::Internal { what });
    }
    fetch([content], to)?;
    for id in ids(content) {
        // A missing count means 1, so the first copy writes 2.
        let count = count(to, &id)?;
        let more = count.checked_add(1);
        let more = more.ok_or_else(|| StoreError::corrupt("a count of references overflows"))?;
        to.put(&space::reference(&id), &record::encode(1, &more))?;
    }
    Ok(())
}

/// Lowers the reference counts for a removed record with `content`, and queues content without
/// references for deletion. `true` if anything was queued.
pub(crate) fn release(content: &Content, to: &mut impl Write) -> Result<bool, StoreError> {
    body::delete(to, content)?;
    delete_remote(to, content)?;
    fetch([content], to)?;
    let mut is_queued = false;
    for id in ids(content) {
        match count(to, &id)? {
            // The last reference. A count of 0 is never written.
            0 | 1 => {
                to.put(&space::deletion(&id), &[])?;
                to.delete(&space::reference(&id))?;
                is_queued = true;
            }
            // Back to 1, which is not stored.
            2 => to.delete(&space::reference(&id))?,
            count => to.put(&space::reference(&id), &record::encode(1, &(count - 1)))?,
        }
    }
    Ok(is_queued)
}

/// Lowers the reference counts for a given-up record with `content`, as far as other records share
/// the content. Returns the content that no record has any more. It is not queued for deletion, nor
/// are remote objects.
pub(crate) fn give_up(
    content: &Content,
    to: &mut impl Write,
) -> Result<Vec<ContentId>, StoreError> {
    body::delete(to, content)?;
    fetch([content], to)?;
    let mut left = Vec::new();
    for id in ids(content) {
        match count(to, &id)? {
            0 | 1 => left.push(id),
            // Back to 1, which is not stored.
            2 => to.delete(&space::reference(&id))?,
            count => to.put(&space::reference(&id), &record::encode(1, &(count - 1)))?,
        }
    }
    Ok(left)
}

/// Queues the remote objects of a body in a tier, which always has one reference, for deletion.
fn delete_remote(to: &mut impl Write, content: &Content) -> Result<(), StoreError> {
    let Content::Remote(remote) = content else { return Ok(()) };
    let deletion = RemoteDeletion { tier: remote.tier.clone(), pieces: remote.pieces() };
    let place = space::remote_deletion(&remote.id);
    Ok(to.put(&place, &deletion.encode(&place))?)
}

/// Fetches the counts of content together.
pub(crate) fn fetch<'c>(
    contents: impl IntoIterator<Item = &'c Content>,
    from: &impl Read,
) -> Result<(), StoreError> {
    let ids = contents.into_iter().flat_map(ids);
    Ok(from.fetch(ids.map(|id| space::reference(&id)))?)
}

/// `true` if only one record has the content.
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
        Content::Inline(_) | Content::Apart { .. } => (&[][..], None),
        Content::Extents(extents) => (&extents[..], None),
        Content::Parts { list, .. } => (&[][..], Some(ContentId::Parts(*list))),
        Content::Remote(remote) => {
            let list = remote.parts.is_some().then(|| ContentId::Parts(remote.part_list()));
            (&[][..], list)
        }
    };
    extents.iter().map(|extent| ContentId::Blob(extent.blob)).chain(list)
}
