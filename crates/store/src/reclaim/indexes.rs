//! Removing the files and records of deleted indexes.
//!
//! The transaction that deletes an index queues it. Its files go first, then its records in bounded
//! steps, then the entry of the queue; a crash at any point leaves an entry that is worked off again.

use std::ops::Bound;

use super::ReclaimReport;
use crate::error::StoreError;
use crate::kv::{Read, Transaction, Write};
use crate::limits::RECLAIM_BATCH;
use crate::meta::space;
use crate::name::IndexId;
use crate::pending::Committed;
use crate::store::Store;

impl Store {
    /// Works off the queue of deleted indexes.
    pub(super) fn reclaim_indexes(&self, report: &mut ReclaimReport) -> Result<(), StoreError> {
        let mut queued = Vec::new();
        self.walk(&self.snapshot()?, space::ALL_INDEX_DELETIONS, &mut |key, _| {
            let id = space::split_index_deletion(key);
            queued.push(id.ok_or_else(|| StoreError::corrupt("the queue of deleted indexes"))?);
            Ok(())
        })?;
        if !queued.is_empty() {
            // Before this sync a power cut may bring back the record of an index, which needs its files.
            report.syncs += u64::from(self.sync_rest()?);
        }
        for id in queued {
            self.remove_index_files(id)?;
            loop {
                let step =
                    self.update_freeing(move |write, _| take_apart(write, id).map(Committed::new));
                let records = step.wait()?;
                if records == 0 {
                    break;
                }
                report.vector_records += records;
            }
            report.indexes += 1;
        }
        Ok(())
    }
}

/// Removes some records of an index; when there are none, its entry in the queue.
fn take_apart(write: &mut Transaction<'_>, id: IndexId) -> Result<u64, StoreError> {
    let mut places = Vec::new();
    for prefix in [space::vectors_of(id), space::vector_slots_of(id)] {
        let mut cursor = write.cursor(Bound::Included(&prefix), Bound::Unbounded)?;
        while places.len() < RECLAIM_BATCH
            && let Some((place, _)) = cursor.next()?
            && place.starts_with(&prefix)
        {
            places.push(place.to_vec());
        }
    }
    places.iter().try_for_each(|place| write.delete(place))?;
    if places.is_empty() {
        write.delete(&space::index_deletion(id))?;
    }
    Ok(places.len() as u64)
}
