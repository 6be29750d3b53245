//! Moves of bodies into tiers, and deletions there. The work itself is done above the store, which
//! knows no network: it asks for rows, uploads or deletes what they name, and ends them.
//!
//! A lifecycle rule writes a row for a version. The move notes the id of the upload in it before the
//! first byte is sent, and the last transaction replaces the body of the version, if it is still the
//! same, by the remote one. A version that is removed meanwhile, or later, leaves a row with the
//! remote objects to delete. So after a crash at any step every remote object is named by a row or
//! a record.

mod deletion;
mod moves;
mod stored;

use std::ops::Bound;
use std::sync::Arc;

use liteio_kv::{Read, Transaction, Write as _};

use crate::error::StoreError;
use crate::meta::content::Content;
use crate::meta::key::successor;
use crate::meta::lifecycle::class_rank;
use crate::meta::object::ObjectRecord;
use crate::meta::remote::MoveRow;
use crate::meta::space;
use crate::name::{BucketId, ObjectKey, VersionId};
use crate::object::current::{self, Found};
use crate::process::{Bucket, TierBodies};
use crate::store::Store;

pub use deletion::TierDeletion;
pub use moves::{MoveId, QueuedMove, TierMove, TierMoveState, TierPiece};

/// The rows that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TierQueues {
    /// Versions that are to move into a tier.
    pub moves: u64,
    /// Bodies whose remote objects are to be deleted.
    pub deletions: u64,
}

impl Store {
    /// Sets the tiers, in place of others.
    pub fn set_tiers(&self, tiers: Arc<dyn TierBodies>) {
        self.shared().tiers.set(tiers);
    }

    /// Counts the rows that wait, by reading their keys; at most 100,000 of each queue.
    ///
    /// # Errors
    /// [`StoreError::Io`] if metadata cannot be read.
    pub fn tier_queues(&self) -> Result<TierQueues, StoreError> {
        let snapshot = self.snapshot()?;
        let count = |space: &[u8]| -> Result<u64, StoreError> {
            let end = successor(space).unwrap_or_default();
            let mut cursor = snapshot.cursor(Bound::Included(space), Bound::Excluded(&end))?;
            let mut count = 0;
            while count < COUNTED_MAX && cursor.next()?.is_some() {
                count += 1;
            }
            Ok(count)
        };
        Ok(TierQueues {
            moves: count(space::ALL_TIER_MOVES)?,
            deletions: count(space::ALL_REMOTE_DELETIONS)?,
        })
    }
}

/// Rows that are counted of a queue: a scrape of metrics must stay short.
const COUNTED_MAX: u64 = 100_000;

/// Queues a version for the tier of `class`, unless its body is there, or in the key space, or it is
/// queued already.
pub(crate) fn queue(
    write: &mut Transaction<'_>,
    bucket: BucketId,
    key: &ObjectKey,
    record: &ObjectRecord,
    class: String,
) -> Result<(), StoreError> {
    let place = space::tier_move(bucket, &record.stamp);
    if !may_move(record) || write.get(&place)?.is_some() {
        return Ok(());
    }
    let (key, stamp) = (key.as_str().to_owned(), record.stamp);
    let row = MoveRow { bucket, key, stamp, class, begun: None };
    Ok(write.put(&place, &row.encode(&place))?)
}

/// `true` if a transition to `to`, which stands for no tier, changes the class of a version: to a class
/// of AWS, and never to a faster one.
pub(crate) fn may_label(class: Option<&str>, to: &str) -> bool {
    class_rank(to) > class.map_or(0, class_rank)
}

/// Gives the version at `place` a storage class without a tier. Its body stays here, unless it is in a
/// tier: then the version has the class of that tier, and keeps it.
pub(crate) fn label(
    write: &mut Transaction<'_>,
    place: &[u8],
    mut record: ObjectRecord,
    class: String,
) -> Result<(), StoreError> {
    if record.content.is_remote() || !may_label(record.metadata.storage_class.as_deref(), &class) {
        return Ok(());
    }
    record.metadata.storage_class = Some(class);
    record.write(write, place)
}

/// `true` for a version with a body outside of the key space and not in a tier.
fn may_move(record: &ObjectRecord) -> bool {
    let has_files = matches!(record.content, Content::Extents(_) | Content::Parts { .. });
    has_files && !record.is_delete_marker && record.bytes > 0
}

/// `true` if the body of a version is in a tier.
pub(crate) fn has_moved(
    from: &impl Read,
    bucket: &Bucket,
    key: &ObjectKey,
    version: &VersionId,
) -> Result<bool, StoreError> {
    match current::find(from, bucket, key, Some(version)) {
        Ok(Found { record, .. }) => Ok(record.content.is_remote()),
        Err(StoreError::NoSuchVersion { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
