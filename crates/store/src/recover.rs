//! The sweep: finds orphans, which are blobs that no record references.
//!
//! A crash between the seal of a blob and the commit of its record leaves an orphan. So does a
//! power cut that undoes the deletion of a file whose queue entry is gone already. The sweep
//! therefore runs after an unclean shutdown only. It reads every record once per [`SWEEP_BATCH`]
//! blobs (about a second for a million records), in the background and in bounded memory.
//!
//! Its order makes it correct beside concurrent writers:
//! 1. List the blobs on the disk.
//! 2. Skip blobs in flight (staged, or handed over to a transaction that has not ended).
//! 3. Take a snapshot, and skip blobs that a record or the deletion queue references in it.
//!
//! A remaining blob was sealed before step 1 and not in flight in step 2. So its record was
//! committed before the snapshot and is gone since, or it will never be committed.

use std::collections::HashSet;
use std::ops::Bound;
use std::sync::atomic::Ordering;

use liteio_blob::{BlobError, BlobId};
use liteio_kv::{Read, Snapshot, Transaction, Write as _};

use crate::error::StoreError;
use crate::limits::{RECLAIM_BATCH, SWEEP_BATCH};
use crate::meta::content::{Content, ContentId};
use crate::meta::object::ObjectRecord;
use crate::meta::upload::PartRecord;
use crate::meta::vector_log::LogHead;
use crate::meta::{key, space};
use crate::pending::Committed;
use crate::process::Job;
use crate::reclaim::WithoutSpace;
use crate::store::Store;

/// A visitor of keys and their values.
pub(crate) type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> Result<(), StoreError> + 'a;

/// The outcome of [`Store::sweep`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Number of blobs checked.
    pub blobs: u64,
    /// Number of orphans, which were moved to `blobs/lost/`.
    pub orphans: u64,
}

impl Store {
    /// Moves orphaned blobs to `blobs/lost/`. [`Store::reclaim`] deletes them there once a store
    /// has seen them on [`LOST_DAYS`](crate::limits::LOST_DAYS) days, or when the disk is full. An
    /// open store sweeps by itself after an unclean shutdown. In memory orphans are deleted.
    ///
    /// Does nothing if a part of the log was dropped at opening, or if the outcome of some commit
    /// is unknown: the next start may bring the record back.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::FormatTooNew`] if a record cannot be read: the
    /// blobs that it references are unknown, so nothing may be deleted. [`StoreError::Io`] or
    /// [`StoreError::Poisoned`] if the disk fails. [`StoreError::Suspended`] if updates are
    /// suspended or another server does this.
    pub fn sweep(&self) -> Result<SweepReport, StoreError> {
        self.sweep_or(WithoutSpace::Delete)
    }

    /// [`Store::sweep`]; `without_space` decides about orphans that cannot be moved for lack of
    /// space.
    pub(crate) fn sweep_or(&self, without_space: WithoutSpace) -> Result<SweepReport, StoreError> {
        self.must_do(Job::Sweep)?.sweep_all(without_space)
    }

    fn sweep_all(&self, without_space: WithoutSpace) -> Result<SweepReport, StoreError> {
        let _alone = self.inner.sweep_lock.lock();
        if !self.inner.may_sweep || self.shared().staging.is_doubtful() {
            return Ok(SweepReport::default());
        }
        self.shared().counters.sweeps.fetch_add(1, Ordering::Relaxed);
        let mut report = SweepReport::default();
        report.blobs = self.scan_orphans(&mut |orphan| {
            self.check_term()?;
            self.set_aside(&orphan, without_space)?;
            self.shared().counters.orphans_swept.fetch_add(1, Ordering::Relaxed);
            report.orphans += 1;
            Ok(())
        })?;
        // The moves are durable before the sweep counts as done.
        if report.orphans > 0 {
            self.sync_lost()?;
        }
        // Set last: an interrupted sweep is repeated at the next start.
        self.inner.is_swept.store(true, Ordering::Release);
        Ok(report)
    }

    /// Sweeps, unless that was done or has failed for good: every attempt would read all records up
    /// to the damaged one. `false` while another server sweeps.
    ///
    /// # Errors
    /// Errors that a later attempt may not meet.
    pub(crate) fn sweep_once(&self) -> Result<bool, StoreError> {
        let is_over = || self.inner.sweep_failure.lock().is_some();
        let is_swept = self.inner.is_swept.load(Ordering::Acquire);
        if is_swept || is_over() || !self.inner.may_sweep {
            return Ok(true);
        }
        let Some(store) = self.for_job(Job::Sweep)? else { return Ok(false) };
        match store.sweep_all(WithoutSpace::Delete) {
            Err(
                error @ (StoreError::Corrupt { .. }
                | StoreError::FormatTooNew { .. }
                | StoreError::Poisoned { .. }),
            ) => {
                *self.inner.sweep_failure.lock() = Some(error);
                Ok(true)
            }
            result => result.map(|_| true),
        }
    }

    /// Queues the orphans of other servers whose runs are over for deletion. A server that ends in order leaves
    /// none; a look at the blobs of those that did not reads every record, as a sweep does, once for all of
    /// them.
    ///
    /// The queue keeps them for the readers, which they have none of, and for the grace: what a database has lost
    /// was the record of an orphan, and may be so again.
    ///
    /// # Errors
    /// Errors that a later attempt may not meet.
    pub(crate) fn sweep_runs(&self) -> Result<(), StoreError> {
        let ended = self.shared().cluster.ended_runs();
        if ended.is_empty() {
            return Ok(());
        }
        let Some(store) = self.for_job(Job::Sweep)? else { return Ok(()) };
        let blobs = &store.shared().blobs;
        let scan = |found: &mut dyn FnMut(BlobId)| {
            ended.iter().try_for_each(|run| blobs.scan_run(*run, found))
        };
        let mut orphans = Vec::new();
        store.scan_orphans_of(&scan, &mut |orphan| {
            orphans.push(ContentId::Blob(orphan.0));
            if orphans.len() >= RECLAIM_BATCH {
                store.queue_orphans(&mut orphans, &ended)?;
            }
            Ok(())
        })?;
        store.queue_orphans(&mut orphans, &ended)?;
        ended.iter().try_for_each(|run| blobs.clean_run(*run))?;
        let forgotten = store.update_freeing(move |write, _| {
            check_ended(write, &ended)?;
            for run in &ended {
                write.delete(&space::server(*run))?;
            }
            Ok(Committed::new(()))
        });
        forgotten.wait()?;
        store.shared().work.wake();
        Ok(())
    }

    /// Puts orphans of these runs, if there are any, into the deletion queue, as of now.
    ///
    /// # Errors
    /// Those of [`check_ended`]; the errors of an update.
    fn queue_orphans(&self, orphans: &mut Vec<ContentId>, ended: &[u32]) -> Result<(), StoreError> {
        let number = orphans.len() as u64;
        let (ids, ended) = (std::mem::take(orphans), ended.to_vec());
        let now_ms = self.shared().config.clock.now_ms();
        let queued = self.update_freeing(move |write, _| {
            check_ended(write, &ended)?;
            for id in &ids {
                write.put(&space::deletion(id), &now_ms.to_be_bytes())?;
            }
            Ok(Committed::new(()))
        });
        queued.wait()?;
        self.shared().counters.orphans_swept.fetch_add(number, Ordering::Relaxed);
        Ok(())
    }

    /// Calls `found` with every orphan. Returns the number of all blobs.
    pub(crate) fn scan_orphans(
        &self,
        found: &mut dyn FnMut(BlobId) -> Result<(), StoreError>,
    ) -> Result<u64, StoreError> {
        // A blob that waits for its record is one as well.
        self.shared().blobs.write_all()?;
        self.scan_orphans_of(&|found| self.shared().blobs.scan(found), found)
    }

    /// Calls `found` with every orphan among the blobs that `scan` finds. Returns the number of these.
    fn scan_orphans_of(
        &self,
        scan: &dyn Fn(&mut dyn FnMut(BlobId)) -> Result<(), BlobError>,
        found: &mut dyn FnMut(BlobId) -> Result<(), StoreError>,
    ) -> Result<u64, StoreError> {
        let mut blobs = 0;
        let mut batch = HashSet::new();
        let mut failure = None;
        // Batches bound the memory. Each one reads all records.
        let mut examine = |batch: &mut HashSet<BlobId>| {
            self.retain_orphans(batch)?;
            batch.drain().try_for_each(&mut *found)
        };
        scan(&mut |id| {
            // The scan cannot end early, so the rest is skipped.
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

    /// Removes from `blobs` the ones in flight, and the ones that records or the deletion queue
    /// reference.
    fn retain_orphans(&self, blobs: &mut HashSet<BlobId>) -> Result<(), StoreError> {
        // Before the snapshot: a blob leaves flight only after its transaction has ended, so a blob
        // seen out of flight here has its record, if any, in the snapshot below.
        // While the outcome of a commit is unknown nothing is swept.
        let mut failure = None;
        blobs.retain(|id| match self.shared().cluster.in_flight(id) {
            Ok(in_flight) => !in_flight,
            Err(error) => {
                failure = Some(error);
                false
            }
        });
        if let Some(error) = failure {
            return Err(error);
        }
        if blobs.is_empty() {
            return Ok(());
        }
        let snapshot = self.snapshot()?;
        let mut named = |content: &Content| {
            if let Content::Extents(extents) = content {
                extents.iter().for_each(|extent| _ = blobs.remove(&BlobId(extent.blob)));
            }
        };
        // Current and archived versions, parts of uploads and of objects, snapshots of vectors, and content
        // queued for deletion.
        for objects in [space::ALL_CURRENT, space::ALL_HISTORY] {
            // Manifests only: damage of inline bytes says nothing about blobs.
            self.walk(&snapshot, objects, &mut |place, value| {
                named(&ObjectRecord::decode_manifest(place, value)?);
                Ok(())
            })?;
        }
        self.walk(&snapshot, space::ALL_PARTS, &mut |place, value| {
            named(&PartRecord::decode_manifest(place, value)?);
            Ok(())
        })?;
        self.walk(&snapshot, space::ALL_VECTOR_LOGS, &mut |place, value| {
            if let Some(it) = LogHead::decode(place, value)?.snapshot {
                named(&Content::Extents(it.extents));
            }
            Ok(())
        })?;
        self.walk(&snapshot, space::ALL_DELETIONS, &mut |key, _| {
            if let Some(ContentId::Blob(id)) = space::split_deletion(key) {
                blobs.remove(&BlobId(id));
            }
            Ok(())
        })
    }

    /// Calls `visit` with every key and value of a key space. Stops when the store is closed.
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

/// Checks that runs are over still: a failover may have lost the end of one, which goes on then, and whose bodies get their records.
///
/// # Errors
/// [`StoreError::Suspended`] if one is not.
fn check_ended(write: &Transaction<'_>, runs: &[u32]) -> Result<(), StoreError> {
    let running: Vec<_> = runs.iter().map(|run| space::running(*run)).collect();
    write.fetch(&running)?;
    for run in &running {
        if write.get(run)?.is_some() {
            let reason = "A server that had ended goes on behind a failover. Its bodies stay.";
            return Err(StoreError::Suspended { reason: reason.to_owned() });
        }
    }
    Ok(())
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
