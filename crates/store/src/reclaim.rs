//! The reclaimer: deletes content to which no record refers.
//!
//! A transaction that takes away the last reference to content puts it into the deletion queue. Later,
//! here: wait until everyone who may still see the record has opened or pinned what they need, delete
//! the blobs nobody has pinned, and only then take them off the queue, so that a crash at any point
//! leaves them either queued or gone. A list of parts is taken apart in bounded steps, which queue its
//! blobs in turn.

use std::ops::Bound;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::blob::BlobId;
use crate::error::StoreError;
use crate::kv::{Read, Transaction, Write};
use crate::limits::RECLAIM_BATCH;
use crate::meta::content::ContentId;
use crate::meta::upload::{PartRecord, UploadRecord};
use crate::meta::{key, reference, space};
use crate::multipart::end;
use crate::name::{BucketId, UploadId};
use crate::pending::Committed;
use crate::store::{Inner, Store};

/// After a failure the queue is tried again this much later.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The outcome of [`Store::reclaim`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReclaimReport {
    /// Blobs deleted.
    pub blobs: u64,
    /// Part records removed.
    pub parts: u64,
    /// Uploads in progress ended whose bucket is gone.
    pub uploads: u64,
    /// Entries of the queue that wait for readers.
    pub waiting: u64,
    /// Syncs that had to come first.
    pub syncs: u64,
    /// Indexes of vectors whose files and records were removed.
    pub indexes: u64,
    /// Records of vectors removed with them.
    pub vector_records: u64,
}

impl Store {
    /// Works off the deletion queue. An open store does so by itself.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn reclaim(&self) -> Result<ReclaimReport, StoreError> {
        let _alone = self.inner.reclaim_lock.lock();
        let mut report = ReclaimReport::default();
        // From here on the end of every reader is told, also of one that is found pinned just before.
        self.shared().work.set_waiting(true);
        self.delete_discarded(&mut report)?;
        self.reclaim_indexes(&mut report)?;
        loop {
            let before = report;
            report.waiting = 0;
            self.reclaim_pass(&mut report)?;
            // Lists queue their blobs in front of where the pass has got to.
            let progress = |report: &ReclaimReport| (report.blobs, report.parts, report.uploads);
            if progress(&before) == progress(&report) {
                self.shared().work.set_waiting(report.waiting > 0);
                return Ok(report);
            }
        }
    }

    fn delete_discarded(&self, report: &mut ReclaimReport) -> Result<(), StoreError> {
        let mut discarded = self.shared().staging.take_discarded();
        while let Some(id) = discarded.pop() {
            if let Err(error) = self.delete_blob(&id, report) {
                discarded.push(id);
                discarded.into_iter().for_each(|id| self.shared().staging.discard(id));
                return Err(error);
            }
        }
        Ok(())
    }

    pub(crate) fn delete_blob(
        &self,
        id: &BlobId,
        report: &mut ReclaimReport,
    ) -> Result<(), StoreError> {
        self.shared().blobs.delete(id)?;
        self.inner.removed_from.lock().insert(id.0[0]);
        self.shared().counters.blobs_deleted.fetch_add(1, Ordering::Relaxed);
        report.blobs += 1;
        Ok(())
    }

    /// Goes through the queue once.
    fn reclaim_pass(&self, report: &mut ReclaimReport) -> Result<(), StoreError> {
        let mut position = Bound::Included(space::ALL_DELETIONS.to_vec());
        loop {
            // What is left in the queue is for the next start.
            if self.shared().work.is_stopped() {
                return Err(StoreError::Closed);
            }
            let batch = self.read_queue(&position)?;
            let Some(last) = batch.last() else { return Ok(()) };
            position = Bound::Excluded(space::deletion(last));
            if batch.iter().any(|id| matches!(id, ContentId::Blob(_))) {
                // Until then a crash may bring back a record that needs the blobs, or from the log the
                // blobs themselves.
                report.syncs += u64::from(self.sync_rest()?);
            }
            // The queue entries are committed, so whoever begins now does not find the content.
            self.shared().pins.wait_for_sections();
            let mut blobs = Vec::new();
            for id in batch {
                match id {
                    _ if self.shared().pins.contains(&id) => report.waiting += 1,
                    ContentId::Blob(blob) => {
                        self.delete_blob(&BlobId(blob), report)?;
                        blobs.push(id);
                    }
                    ContentId::Parts(list) => while !self.take_apart(list, report)? {},
                    ContentId::Uploads(bucket) => while !self.end_uploads(bucket, report)? {},
                }
            }
            if !blobs.is_empty() {
                let done = self.update_freeing(move |write, _| {
                    for id in &blobs {
                        write.delete(&space::deletion(id))?;
                    }
                    Ok(Committed::new(()))
                });
                done.wait()?;
            }
        }
    }

    fn read_queue(&self, position: &Bound<Vec<u8>>) -> Result<Vec<ContentId>, StoreError> {
        let end = key::successor(space::ALL_DELETIONS).unwrap_or_default();
        let snapshot = self.snapshot()?;
        let lower = position.as_ref().map(Vec::as_slice);
        let mut cursor = snapshot.cursor(lower, Bound::Excluded(&end))?;
        let mut batch = Vec::new();
        while batch.len() < RECLAIM_BATCH
            && let Some((entry, _)) = cursor.next()?
        {
            let id = space::split_deletion(entry);
            batch.push(id.ok_or_else(|| StoreError::corrupt("an entry of the deletion queue"))?);
        }
        Ok(batch)
    }

    /// Takes a bounded number of parts off a list; `true` when the list is gone.
    fn take_apart(&self, list: UploadId, report: &mut ReclaimReport) -> Result<bool, StoreError> {
        let step =
            self.update_freeing(move |write, _| take_apart(write, &list).map(Committed::new));
        let (parts, is_gone) = step.wait()?;
        report.parts += parts;
        Ok(is_gone)
    }

    /// Ends a bounded number of uploads of a bucket that is gone; `true` when none is left.
    fn end_uploads(
        &self,
        bucket: BucketId,
        report: &mut ReclaimReport,
    ) -> Result<bool, StoreError> {
        let step =
            self.update_freeing(move |write, _| end_uploads(write, bucket).map(Committed::new));
        let (uploads, is_gone) = step.wait()?;
        report.uploads += uploads;
        Ok(is_gone)
    }
}

fn end_uploads(write: &mut Transaction<'_>, bucket: BucketId) -> Result<(u64, bool), StoreError> {
    let prefix = space::uploads_prefix(bucket, b"");
    let mut batch = Vec::new();
    let mut cursor = write.cursor(Bound::Included(&prefix), Bound::Unbounded)?;
    while batch.len() < RECLAIM_BATCH
        && let Some((place, _)) = cursor.next()?
        && place.starts_with(&prefix)
    {
        let id = space::split_upload_by_key(place).map(|(_, _, id)| id);
        batch.push(id.ok_or_else(|| StoreError::corrupt("the key of an upload"))?);
    }
    drop(cursor);
    let is_gone = batch.len() < RECLAIM_BATCH;
    for id in &batch {
        let upload = UploadRecord::read(write, id)?;
        let upload = upload.ok_or_else(|| StoreError::corrupt("an upload without its record"))?;
        end(write, id, &upload)?;
    }
    if is_gone {
        write.delete(&space::deletion(&ContentId::Uploads(bucket)))?;
    }
    Ok((batch.len() as u64, is_gone))
}

fn take_apart(write: &mut Transaction<'_>, list: &UploadId) -> Result<(u64, bool), StoreError> {
    let prefix = space::parts(list);
    let mut batch = Vec::new();
    let mut cursor = write.cursor(Bound::Included(&prefix), Bound::Unbounded)?;
    while batch.len() < RECLAIM_BATCH
        && let Some((place, value)) = cursor.next()?
        && place.starts_with(&prefix)
    {
        batch.push((place.to_vec(), PartRecord::decode_manifest(place, value)?));
    }
    drop(cursor);
    let is_gone = batch.len() < RECLAIM_BATCH;
    for (place, content) in &batch {
        write.delete(place)?;
        reference::release(content, write)?;
    }
    if is_gone {
        write.delete(&space::deletion(&ContentId::Parts(*list)))?;
    }
    Ok((batch.len() as u64, is_gone))
}

/// The signals to the reclaimer: there is work, or it is to stop.
#[derive(Debug, Default)]
pub(crate) struct Work {
    state: Mutex<WorkState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct WorkState {
    is_wanted: bool,
    is_stopped: bool,
    /// Something in the queue is pinned.
    is_waiting: bool,
}

impl Work {
    pub(crate) fn wake(&self) {
        self.state.lock().is_wanted = true;
        self.changed.notify_one();
    }

    /// A pin is gone.
    pub(crate) fn wake_if_waiting(&self) {
        let mut state = self.state.lock();
        if state.is_waiting {
            state.is_wanted = true;
            self.changed.notify_one();
        }
    }

    fn set_waiting(&self, is_waiting: bool) {
        self.state.lock().is_waiting = is_waiting;
    }

    fn stop(&self) {
        self.state.lock().is_stopped = true;
        self.changed.notify_all();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.state.lock().is_stopped
    }

    /// Waits for `duration`, or until it is to stop.
    fn pause(&self, duration: Duration) {
        let mut state = self.state.lock();
        self.changed.wait_while_for(&mut state, |state| !state.is_stopped, duration);
    }

    /// Waits until there is something to do, at most for `timeout` if there is one; `false` when it is
    /// to stop.
    fn wait(&self, timeout: Option<Duration>) -> bool {
        let mut state = self.state.lock();
        if let Some(timeout) = timeout {
            if !state.is_stopped {
                self.changed.wait_for(&mut state, timeout);
            }
        } else {
            self.changed.wait_while(&mut state, |state| !state.is_wanted && !state.is_stopped);
        }
        state.is_wanted = false;
        !state.is_stopped
    }
}

/// The thread that reclaims, and that sweeps after an unclean end.
#[derive(Debug)]
pub(crate) struct Reclaimer {
    thread: JoinHandle<()>,
}

impl Reclaimer {
    pub(crate) fn start(store: &Store) -> Result<Self, StoreError> {
        let weak: Weak<Inner> = Arc::downgrade(&store.inner);
        let shared = Arc::clone(store.shared());
        // What a former run left in the queue.
        shared.work.wake();
        let thread = thread::Builder::new().name("liteio-reclaim".to_owned());
        let thread = thread.spawn(move || {
            let mut timeout = None;
            while shared.work.wait(timeout) {
                // The store may be closing by losing its last handle.
                let Some(inner) = weak.upgrade() else { return };
                let store = Store { inner };
                let result = store.reclaim().and_then(|report| {
                    store.sweep_once()?;
                    Ok(report)
                });
                // Whoever has the disk's failure to report is in the health of the store; what is
                // damaged is for `verify`. Here it is only tried again.
                timeout = result.is_err().then_some(RETRY_AFTER);
                drop(store);
                if result.is_ok_and(|report| report.syncs > 0) {
                    // Not for each overwrite.
                    shared.work.pause(shared.config.sync_interval);
                }
            }
        })?;
        Ok(Self { thread })
    }

    /// Stops the thread and waits for it.
    pub(crate) fn stop(self, work: &Work) {
        work.stop();
        let Self { thread } = self;
        // The thread itself may have held the last handle.
        if thread.thread().id() != thread::current().id() {
            // A panic there has been printed and has nothing left to say.
            let _ = thread.join();
        }
    }
}
