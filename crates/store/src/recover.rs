//! The sweep: finds orphans, blobs that no record references.
//!
//! A crash between the seal of a blob and the commit of its record leaves one. So does a power cut
//! that undoes the removal of a file whose queue entry is gone already. Therefore the sweep runs after
//! an unclean end, and only then: it reads every record once for each [`SWEEP_BATCH`] of blobs (about
//! a second for a million records), in the background, within bounded memory.
//!
//! It is correct beside concurrent writers because of its order:
//! 1. List the blobs on the disk.
//! 2. Skip those in flight.
//! 3. Take a snapshot, and skip the blobs that a record or the deletion queue in it references.
//!
//! A blob that remains was sealed before the list and not in flight after it. So its record was committed
//! before the snapshot and is gone since, or it will never be committed.

use std::collections::HashSet;
use std::ops::Bound;
use std::sync::atomic::Ordering;

use liteio_kv::{Read, Snapshot};

use crate::blob::BlobId;
use crate::error::StoreError;
use crate::limits::SWEEP_BATCH;
use crate::meta::content::{Content, ContentId};
use crate::meta::object::ObjectRecord;
use crate::meta::upload::PartRecord;
use crate::meta::{key, space};
use crate::reclaim::WithoutSpace;
use crate::store::Store;

/// A visitor of keys and their values.
pub(crate) type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> Result<(), StoreError> + 'a;

/// The outcome of [`Store::sweep`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Blobs checked.
    pub blobs: u64,
    /// Orphans, which were moved to `blobs/lost/`.
    pub orphans: u64,
}

impl Store {
    /// Moves blobs that no record references to `blobs/lost/`, from where [`Store::reclaim`] deletes them
    /// once a store has seen them there on [`LOST_DAYS`](crate::limits::LOST_DAYS), or when the disk is full.
    /// An open store does so by itself after an unclean end of the last run. In memory they are deleted.
    ///
    /// Does nothing if part of the log was dropped when the store was opened, or if it is not known whether a
    /// commit has happened: its record may come back with the next start.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::FormatTooNew`] if a record cannot be read: the blobs that
    /// it references are unknown, so nothing may be deleted. [`StoreError::Io`] or
    /// [`StoreError::Poisoned`] if the disk fails.
    pub fn sweep(&self) -> Result<SweepReport, StoreError> {
        self.sweep_or(WithoutSpace::Delete)
    }

    /// As [`Store::sweep`], with orphans that there is no space to move deleted, or as an error.
    pub(crate) fn sweep_or(&self, without_space: WithoutSpace) -> Result<SweepReport, StoreError> {
        let _alone = self.inner.sweep_lock.lock();
        if !self.inner.may_sweep || self.shared().staging.is_doubtful() {
            return Ok(SweepReport::default());
        }
        self.shared().counters.sweeps.fetch_add(1, Ordering::Relaxed);
        let mut report = SweepReport::default();
        report.blobs = self.scan_orphans(&mut |orphan| {
            self.set_aside(&orphan, without_space)?;
            self.shared().counters.orphans_swept.fetch_add(1, Ordering::Relaxed);
            report.orphans += 1;
            Ok(())
        })?;
        if report.orphans > 0 {
            self.sync_lost()?;
        }
        self.inner.is_swept.store(true, Ordering::Release);
        Ok(report)
    }

    /// Sweeps, unless that was done or has failed for good: each attempt reads every record up to the
    /// damaged one.
    ///
    /// # Errors
    /// Errors that another attempt may not meet.
    pub(crate) fn sweep_once(&self) -> Result<(), StoreError> {
        let is_over = || self.inner.sweep_failure.lock().is_some();
        let is_swept = self.inner.is_swept.load(Ordering::Acquire);
        if is_swept || is_over() || !self.inner.may_sweep {
            return Ok(());
        }
        match self.sweep() {
            Err(
                error @ (StoreError::Corrupt { .. }
                | StoreError::FormatTooNew { .. }
                | StoreError::Poisoned { .. }),
            ) => {
                *self.inner.sweep_failure.lock() = Some(error);
                Ok(())
            }
            result => result.map(drop),
        }
    }

    /// Calls `found` with every orphan. Returns the number of all blobs.
    pub(crate) fn scan_orphans(
        &self,
        found: &mut dyn FnMut(BlobId) -> Result<(), StoreError>,
    ) -> Result<u64, StoreError> {
        let mut blobs = 0;
        let mut batch = HashSet::new();
        let mut failure = None;
        let mut examine = |batch: &mut HashSet<BlobId>| {
            self.retain_orphans(batch)?;
            batch.drain().try_for_each(&mut *found)
        };
        self.shared().blobs.scan(&mut |id| {
            if failure.is_some() {
                return;
            }
            blobs += 1;
            batch.insert(id);
            if batch.len() >= SWEEP_BATCH {
                failure = examine(&mut batch).err();
            }
        })?;
        match failure {
            Some(error) => Err(error),
            None => examine(&mut batch).map(|()| blobs),
        }
    }

    /// Removes from `blobs` those in flight and those that records or the deletion queue reference.
    fn retain_orphans(&self, blobs: &mut HashSet<BlobId>) -> Result<(), StoreError> {
        blobs.retain(|id| !self.shared().staging.contains(id));
        if blobs.is_empty() {
            return Ok(());
        }
        let snapshot = self.snapshot()?;
        let mut named = |content: &Content| {
            if let Content::Extents(extents) = content {
                extents.iter().for_each(|extent| _ = blobs.remove(&BlobId(extent.blob)));
            }
        };
        for objects in [space::ALL_CURRENT, space::ALL_HISTORY] {
            self.walk(&snapshot, objects, &mut |place, value| {
                named(&ObjectRecord::decode_manifest(place, value)?);
                Ok(())
            })?;
        }
        self.walk(&snapshot, space::ALL_PARTS, &mut |place, value| {
            named(&PartRecord::decode_manifest(place, value)?);
            Ok(())
        })?;
        self.walk(&snapshot, space::ALL_DELETIONS, &mut |key, _| {
            if let Some(ContentId::Blob(id)) = space::split_deletion(key) {
                blobs.remove(&BlobId(id));
            }
            Ok(())
        })
    }

    /// Calls `visit` with every key and value of a space.
    pub(crate) fn walk(
        &self,
        snapshot: &Snapshot,
        space: &[u8],
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        let end = key::successor(space).unwrap_or_default();
        let mut cursor = snapshot.cursor(Bound::Included(space), Bound::Excluded(&end))?;
        while let Some((key, value)) = cursor.next()? {
            if self.shared().work.is_stopped() {
                return Err(StoreError::Closed);
            }
            visit(key, value)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use liteio_disk::SimulatedDisk;

    use super::*;
    use crate::name::{BucketName, ObjectKey};
    use crate::pending::Committed;
    use crate::{BodyOptions, Bucket, DeleteTarget, NewBucket, Owner, StoreConfig, StoreHealth};
    use liteio_kv::Write;

    fn put(store: &Store, bucket: &Arc<Bucket>, key: &ObjectKey) {
        let mut body = store.begin_body(BodyOptions::default()).expect("body");
        body.write(&[1; 100]).expect("write");
        let body = body.finish().expect("staged");
        store.put_object(bucket, key.clone(), body, Default::default()).wait().expect("put");
    }

    fn put_and_delete(store: &Store, bucket: &Arc<Bucket>) {
        let key = ObjectKey::new("deleted").expect("a key");
        put(store, bucket, &key);
        store.delete_object(bucket, DeleteTarget::new(key, None)).wait().expect("delete");
    }

    #[test]
    fn a_record_that_cannot_be_read_ends_the_sweep_and_nothing_else() {
        let config =
            StoreConfig { inline_bytes_max: 10, reserve_bytes: 0, ..StoreConfig::memory() };
        let disk = SimulatedDisk::new(1);
        let open = |disk: &SimulatedDisk| {
            Store::open_on(Arc::new(disk.clone()), config.clone()).expect("opens")
        };
        let store = open(&disk);
        let name = BucketName::new("bucket").expect("a name");
        let new = NewBucket::new(name.clone(), Owner::default(), String::new());
        store.create_bucket(new).wait().expect("new");
        let bucket = store.bucket(&name).expect("there");
        put(&store, &bucket, &ObjectKey::new("kept").expect("a key"));
        put_and_delete(&store, &bucket);
        let id = bucket.id;
        let damage = store.update(move |write, _| {
            write.put(&space::current(id, "damaged"), b"\xff")?;
            Ok(Committed::new(()))
        });
        damage.wait().expect("written");
        let store = open(&disk.kill());
        store.start_reclaimer().expect("starts");
        for deleted in 1..=5 {
            while store.stats().blobs_deleted < deleted {
                thread::yield_now();
            }
            put_and_delete(&store, &bucket);
        }
        while store.sweep_failure().is_none() {
            thread::yield_now();
        }
        let worker = store.inner.worker.lock().take().expect("started");
        worker.stop(&store.shared().work);
        assert_eq!(store.stats().sweeps, 1);
        assert_eq!(store.health(), StoreHealth::Ready);
    }
}
