//! Removing the files and records of deleted indexes.
//!
//! The transaction that deletes an index queues it. Its files go first, then its records in bounded
//! steps, then the entry of the queue. A crash at any point leaves the entry, and the next start
//! repeats the work.

use std::collections::HashSet;

use liteio_kv::{Snapshot, Transaction, Write};

use super::ReclaimReport;
use crate::error::StoreError;
use crate::limits::RECLAIM_BATCH;
use crate::meta::claim::Claim;
use crate::meta::content::Content;
use crate::meta::vector::IndexRecord;
use crate::meta::vector_log::LogHead;
use crate::meta::{reference, space};
use crate::name::IndexId;
use crate::pending::Committed;
use crate::store::Store;

impl Store {
    /// Works off the queue of deleted indexes.
    pub(super) fn reclaim_indexes(&self, report: &mut ReclaimReport) -> Result<(), StoreError> {
        let snapshot = self.snapshot()?;
        let mut queued = Vec::new();
        self.walk(&snapshot, space::ALL_INDEX_DELETIONS, &mut |key, _| {
            let id = space::split_index_deletion(key);
            queued.push(id.ok_or_else(|| StoreError::corrupt("the queue of deleted indexes"))?);
            Ok(())
        })?;
        if !queued.is_empty() {
            // An entry has no checksum. An entry that names an existing index is damage, and is
            // left alone.
            let present = self.present_indexes(&snapshot)?;
            queued.retain(|id| !present.contains(id));
        }
        drop(snapshot);
        if !queued.is_empty() {
            // Before this sync a power cut may undo the deletion and bring the index back, which
            // then needs its files.
            report.syncs += u64::from(self.sync_rest()?);
        }
        for id in queued {
            if self.shared().holds.holds_index(id) {
                report.waiting += 1;
                continue;
            }
            self.check_term()?;
            // Files before records: without records the queue entry would be the only trace of the
            // files.
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

    /// The ids of all existing indexes.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if a record cannot be read: its index is unknown then.
    fn present_indexes(&self, snapshot: &Snapshot) -> Result<HashSet<IndexId>, StoreError> {
        let mut present = HashSet::new();
        self.walk(snapshot, space::ALL_INDEXES, &mut |_, record| {
            present.insert(IndexRecord::decode(record)?.id);
            Ok(())
        })?;
        Ok(present)
    }
}

/// Removes some records of an index; once none is left, its entry in the queue. Returns the number
/// of removed records.
fn take_apart(write: &mut Transaction<'_>, id: IndexId) -> Result<u64, StoreError> {
    write.claim(Claim::Index(id))?;
    let mut places = Vec::new();
    for prefix in [space::vectors_of(id), space::vector_slots_of(id), space::vector_changes_of(id)]
    {
        let mut cursor = space::within(write, &prefix)?;
        while places.len() < RECLAIM_BATCH
            && let Some((place, _)) = cursor.next()?
        {
            places.push(place.to_vec());
        }
    }
    places.iter().try_for_each(|place| write.delete(place))?;
    if places.is_empty() {
        if let Some(snapshot) = LogHead::read(write, id)?.snapshot {
            reference::release(&Content::Extents(snapshot.extents), write)?;
        }
        write.delete(&space::vector_log(id))?;
        write.delete(&space::index_deletion(id))?;
    }
    Ok(places.len() as u64)
}

#[cfg(test)]
mod tests {
    use liteio_kv::Read as _;

    use super::*;
    use crate::config::StoreConfig;
    use crate::meta::Owner;
    use crate::vectors::{CreateIndex, DistanceMetric, NewVectors, VectorName, VectorQuery};

    #[test]
    fn an_index_that_is_there_is_not_removed_whatever_the_queue_says() {
        let store = Store::open(StoreConfig::memory()).expect("memory");
        let name = VectorName::bucket("media").expect("a name");
        let bucket = store.create_vector_bucket(name, Owner::default(), None, Vec::new()).wait();
        let bucket = bucket.expect("new");
        let create = |name: &str| {
            let name = VectorName::index(name).expect("a name");
            let options = CreateIndex::new(1, DistanceMetric::Euclidean);
            let index = store.create_index(&bucket, name, options).wait().expect("new");
            let mut vectors = NewVectors::default();
            vectors.push("k", &[1.0]);
            store.put_vectors(&index, vectors).expect("stored");
            index
        };
        let (index, deleted) = (create("films"), create("songs"));
        let id = index.id;
        let damage = store.update(move |write, _| {
            write.put(&space::index_deletion(id), &[])?;
            Ok(Committed::new(()))
        });
        damage.wait().expect("committed");
        store.delete_index(&deleted).wait().expect("deleted");
        store.reclaim().expect("reclaimed");
        let query = VectorQuery::nearest(vec![0.0], 1);
        let answer = store.query_vectors(&index, &query).expect("an answer");
        assert_eq!(answer.hits[0].key, "k");
        let left = store.snapshot().expect("a snapshot");
        let is_left = |key: &[u8]| left.get(key).expect("readable").is_some();
        assert!(!is_left(&space::vector(deleted.id, "k")), "the other one is removed");
        assert!(!is_left(&space::index_deletion(deleted.id)), "with its entry");
    }
}
