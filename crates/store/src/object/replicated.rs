//! Versions on their way to another store, and deletions that come from one.

use std::sync::Arc;

use super::publish::Slot;
use super::{DeleteOutcome, DeleteTarget, ObjectVersion};
use crate::error::StoreError;
use crate::meta::{ChangeTimes, ReplicationRow, space};
use crate::name::{ObjectKey, VersionId};
use crate::pending::{Committed, Pending};
use crate::process::Bucket;
use crate::replication;
use crate::store::Store;

/// A version that a row names, as it is now.
#[derive(Clone, Debug)]
pub struct ReplicatedVersion {
    /// Its bucket.
    pub bucket: Arc<Bucket>,
    /// The version id.
    pub version_id: VersionId,
    /// The stamp, which is the version id unless that is `null`.
    pub stamp: [u8; 16],
    /// Modification time, in milliseconds since 1970.
    pub modified_ms: u64,
    /// The object; `None` for a delete marker.
    pub object: Option<ObjectVersion>,
    /// `true` if the target has the version, though its tags or lock may be out of date.
    pub is_sent: bool,
    /// The version id of the copy, if the target chose one.
    pub target_version: Option<String>,
    /// The changes of its metadata since it was made.
    pub changes: ChangeTimes,
}

impl Store {
    /// The version that a row for `target` names; `None` if it, or its bucket, does not exist any
    /// more.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if metadata cannot be read.
    pub fn version_to_replicate(
        &self,
        row: &ReplicationRow,
        target: &str,
    ) -> Result<Option<ReplicatedVersion>, StoreError> {
        let Some(bucket) = self.bucket_of_row(row.bucket, &row.bucket_name)? else {
            return Ok(None);
        };
        let key = ObjectKey::new(row.key.clone())?;
        let Some((place, record)) =
            replication::find(&self.snapshot()?, row.bucket, &key, &row.stamp)?
        else {
            return Ok(None);
        };
        let state = record.extensions.replication()?.unwrap_or_default();
        let copy = state.copy(target);
        let is_latest = space::split_current(&place).is_some();
        Ok(Some(ReplicatedVersion {
            version_id: record.version_id(),
            stamp: record.stamp,
            modified_ms: record.modified_ms,
            is_sent: copy.is_some_and(|copy| copy.is_sent),
            target_version: copy.and_then(|copy| copy.version.clone()),
            changes: state.changes,
            object: match record.is_delete_marker {
                true => None,
                false => Some(ObjectVersion::new(key, record, is_latest, &bucket.owner)?),
            },
            bucket,
        }))
    }

    /// Deletes a version that another store has deleted: no row is queued for it.
    ///
    /// Fails with the errors of [`Store::delete_object`].
    pub fn delete_replica(
        &self,
        bucket: &Arc<Bucket>,
        target: DeleteTarget,
    ) -> Pending<DeleteOutcome> {
        let bucket = Arc::clone(bucket);
        self.update_freeing(move |write, shared| {
            let slot = Slot::open(write, shared, &bucket, &target.key)?;
            let (outcome, wakes) = slot.of_replica().delete(write, &target)?;
            Ok(Committed::with_guard(outcome, wakes))
        })
    }
}
