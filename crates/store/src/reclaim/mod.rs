//! The reclaimer: deletes content that no record references any more.
//!
//! A transaction that drops the last reference to content puts the content into the deletion queue.
//! The reclaimer works the queue off:
//!
//! ```text
//!  queued ──► synced ──► no reader left ──► unlinked ──► entry removed
//!    ▲      (before it, a    (older snapshots   │
//!    │       crash may bring  have pinned their │ crash: the entry is still there, and
//!    │       the record back) content), nor a   │ the next start continues
//!    │                        running backup    │
//!    └──────────────────────────────────────────┘
//! ```
//! A part list is taken apart in bounded steps, which queue its blobs in turn.

mod annotations;
mod discarded;
mod grace;
mod indexes;
mod lost;

pub(crate) use self::lost::WithoutSpace;

use std::ops::Bound;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use liteio_blob::BlobId;
use liteio_kv::{Read, Transaction, Write};

use crate::error::StoreError;
use crate::limits::RECLAIM_BATCH;
use crate::meta::claim::Claim;
use crate::meta::content::ContentId;
use crate::meta::upload::{PartRecord, UploadRecord};
use crate::meta::{key, reference, space};
use crate::multipart::end;
use crate::name::{BucketId, UploadId};
use crate::pending::Committed;
use crate::process::{Job, Worker};
use crate::store::{Inner, Store};

/// Delay before the queue is tried again after a failure.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Interval at which free space and the day are checked while there are lost blobs, and after which
/// the space of deleted blobs is given back.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Looks at the queue in the time for which its content is kept.
const GRACE_LOOKS: u32 = 100;
/// Longest pause between two of them: a server that does not ask for a job soon loses it.
const GRACE_PAUSE_MAX: Duration = Duration::from_secs(60);

/// An entry of the queue, and the time since which it is known to be in it, in milliseconds since 1970.
type Queued = (ContentId, Option<u64>);

/// The result of [`Store::reclaim`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReclaimReport {
    /// Number of deleted blobs.
    pub blobs: u64,
    /// Number of removed part records.
    pub parts: u64,
    /// Number of aborted uploads of deleted buckets.
    pub uploads: u64,
    /// Number of queue entries that wait for readers.
    pub waiting: u64,
    /// Number of syncs that had to come first.
    pub syncs: u64,
    /// Number of annotations removed with their versions.
    pub annotations: u64,
    /// Number of deleted indexes whose files and records were removed.
    pub indexes: u64,
    /// Number of vector records removed with them.
    pub vector_records: u64,
}

impl Store {
    /// Works off the deletion queue, and deletes lost blobs whose days are over. An open store does
    /// both by itself.
    ///
    /// # Errors
    /// [`StoreError::Io`], [`StoreError::NoSpace`] or [`StoreError::Poisoned`] if the disk fails,
    /// [`StoreError::Corrupt`] for an unreadable entry or record, [`StoreError::Suspended`] if
    /// updates are suspended or another server does this, [`StoreError::Closed`].
    pub fn reclaim(&self) -> Result<ReclaimReport, StoreError> {
        let store = self.must_do(Job::Reclaim)?;
        // An error about a lost blob must not stop the queue; it is returned afterwards.
        let tended = store.tend_lost();
        let report = store.reclaim_queue()?;
        tended.map(|()| report)
    }

    /// The length of the deletion queue, counted up to `max`.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if metadata cannot be read,
    /// [`StoreError::Closed`].
    pub fn deletions_waiting(&self, max: usize) -> Result<usize, StoreError> {
        let end = key::successor(space::ALL_DELETIONS).unwrap_or_default();
        let snapshot = self.snapshot()?;
        let lower = Bound::Included(space::ALL_DELETIONS);
        let mut cursor = snapshot.cursor(lower, Bound::Excluded(&end))?;
        let mut waiting = 0;
        while waiting < max && cursor.next()?.is_some() {
            waiting += 1;
        }
        Ok(waiting)
    }

    /// Number of contents in the deletion queue, counted up to `max`, that a backup or a copy needs still.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if metadata cannot be read,
    /// [`StoreError::Closed`].
    pub fn deletions_held(&self, max: usize) -> Result<usize, StoreError> {
        let holds = &self.shared().holds;
        if !holds.is_held() {
            return Ok(0);
        }
        let end = key::successor(space::ALL_DELETIONS).unwrap_or_default();
        let snapshot = self.snapshot()?;
        let lower = Bound::Included(space::ALL_DELETIONS);
        let mut cursor = snapshot.cursor(lower, Bound::Excluded(&end))?;
        let (mut seen, mut held) = (0, 0);
        while seen < max
            && let Some((key, _)) = cursor.next()?
        {
            seen += 1;
            held += usize::from(space::split_deletion(key).is_some_and(|id| holds.holds(&id)));
        }
        Ok(held)
    }

    fn reclaim_queue(&self) -> Result<ReclaimReport, StoreError> {
        let _alone = self.inner.reclaim_lock.lock();
        let mut report = ReclaimReport::default();
        // Set before the pins are checked, so that a pin that ends after the check wakes the
        // reclaimer.
        self.shared().work.set_waiting(true);
        self.delete_discarded(&mut report)?;
        self.reclaim_indexes(&mut report)?;
        self.reclaim_annotations(&mut report)?;
        loop {
            let before = report;
            report.waiting = 0;
            self.reclaim_pass(&mut report)?;
            // Part lists queue their blobs at positions that this pass has left behind: repeat
            // until a pass makes no progress.
            let progress = |report: &ReclaimReport| (report.blobs, report.parts, report.uploads);
            if progress(&before) == progress(&report) {
                self.inner.is_settling.store(self.shared().blobs.settle()?, Ordering::Relaxed);
                self.shared().work.set_waiting(report.waiting > 0);
                return Ok(report);
            }
        }
    }

    /// Starts the thread that reclaims, and sweeps after an unclean shutdown.
    pub(crate) fn start_reclaimer(&self) -> Result<(), StoreError> {
        let weak: Weak<Inner> = Arc::downgrade(&self.inner);
        let shared = Arc::clone(self.shared());
        // The queue may have entries of an earlier run.
        shared.work.wake();
        let thread = thread::Builder::new().name("liteio-reclaim".to_owned());
        let thread = thread.spawn(move || {
            let mut timeout = None;
            while shared.work.wait(timeout) {
                // A weak reference, so that the thread does not keep a dropped store open.
                let Some(inner) = weak.upgrade() else { return };
                let own = Store::of(inner);
                let Ok(Some(store)) = own.for_job(Job::Reclaim) else {
                    // Another server works the queue off, until this one takes over. Bodies that
                    // were abandoned here are this one's. After an error they are tried again.
                    let _ = own.delete_abandoned();
                    timeout = Some(RETRY_AFTER);
                    continue;
                };
                drop(own);
                let tended = store.tend_lost();
                let grace = shared.cluster.deletion_grace();
                let result = store.reclaim_and_sweep();
                // The error is not reported here: `Store::health` reports a failed disk, `verify`
                // finds damage. The work is tried again.
                timeout = match (&result, tended) {
                    (Err(_) | Ok((_, false)), _) | (_, Err(_)) => Some(RETRY_AFTER),
                    (Ok(_), Ok(())) => store.until_later_work(),
                };
                drop(store);
                // At most one sync per interval, not one per overwrite; and one look per interval at
                // what a backup holds, not one per deletion.
                let holds = shared.holds.is_held();
                let is_costly =
                    |report: ReclaimReport| report.syncs > 0 || (holds && report.waiting > 0);
                // Nor a look each second at all that is kept for a day.
                if let Ok((report, _)) = result
                    && report.waiting > 0
                    && !grace.is_zero()
                {
                    shared.work.pause((grace / GRACE_LOOKS).clamp(RETRY_AFTER, GRACE_PAUSE_MAX));
                } else if result.is_ok_and(|(report, _)| is_costly(report)) {
                    shared.work.pause(shared.config.sync_interval);
                }
            }
        })?;
        *self.inner.worker.lock() = Some(Worker::new(thread));
        Ok(())
    }

    /// Works off the queue, and sweeps what is to be swept. `false` while another server sweeps.
    fn reclaim_and_sweep(&self) -> Result<(ReclaimReport, bool), StoreError> {
        let report = self.reclaim_queue()?;
        let is_over = self.sweep_once()?;
        self.sweep_runs()?;
        Ok((report, is_over))
    }

    /// One turn of the reclaimer, on the calling thread. `true` if this server does the job.
    ///
    /// # Errors
    /// The errors of [`Store::reclaim`] and [`Store::sweep`].
    #[cfg(any(test, feature = "test-util"))]
    pub fn tidy(&self) -> Result<bool, StoreError> {
        match self.for_job(Job::Reclaim)? {
            Some(store) => store.reclaim_and_sweep().map(|_| true),
            None => self.delete_abandoned().map(|()| false),
        }
    }

    fn delete_abandoned(&self) -> Result<(), StoreError> {
        let _alone = self.inner.reclaim_lock.lock();
        self.delete_discarded(&mut ReclaimReport::default())
    }

    fn delete_discarded(&self, report: &mut ReclaimReport) -> Result<(), StoreError> {
        report.blobs += self.inner.delete_discarded()?;
        Ok(())
    }

    pub(crate) fn delete_blob(
        &self,
        id: &BlobId,
        report: &mut ReclaimReport,
    ) -> Result<(), StoreError> {
        self.inner.delete_blob(id)?;
        report.blobs += 1;
        Ok(())
    }

    /// Goes through the queue once.
    fn reclaim_pass(&self, report: &mut ReclaimReport) -> Result<(), StoreError> {
        let mut position = Bound::Included(space::ALL_DELETIONS.to_vec());
        loop {
            // The rest of the queue is left to the next start.
            if self.shared().work.is_stopped() {
                return Err(StoreError::Closed);
            }
            let batch = self.read_queue(&position)?;
            let Some((last, _)) = batch.last() else { return Ok(()) };
            position = Bound::Excluded(space::deletion(last));
            let queued = batch.len();
            let mut batch = self.out_of_grace(batch)?;
            if batch.iter().any(|id| matches!(id, ContentId::Blob(_))) {
                // Queued → synced. Without the sync a crash may bring back a record that references
                // the blobs, or replay notes in the log that write the blobs again.
                report.syncs += u64::from(self.sync_rest()?);
            }
            // Nothing of it is an update, and it cannot be undone.
            self.check_term()?;
            // Synced → no reader left. The entries are committed.
            self.shared().cluster.may_delete(&mut batch, self.kv()?.primary())?;
            report.waiting += (queued - batch.len()) as u64;
            let mut blobs = Vec::new();
            for id in batch {
                match id {
                    ContentId::Blob(blob) => {
                        self.delete_blob(&BlobId(blob), report)?;
                        blobs.push(id);
                    }
                    ContentId::Parts(list) => while !self.take_apart(list, report)? {},
                    ContentId::Uploads(bucket) => while !self.end_uploads(bucket, report)? {},
                }
            }
            // Unlinked → entry removed. The other way round a crash in between would leave an
            // orphan.
            if !blobs.is_empty() {
                let done = self.update_freeing(move |write, _| {
                    // Without backups there is none, and no look-up for each blob.
                    let places = Bound::Included(space::ALL_BACKUP_PLACES);
                    let end = key::successor(space::ALL_BACKUP_PLACES).unwrap_or_default();
                    let has_places = write.cursor(places, Bound::Excluded(&end))?.next()?.is_some();
                    for id in &blobs {
                        write.delete(&space::deletion(id))?;
                        if let ContentId::Blob(blob) = id
                            && has_places
                        {
                            write.delete(&space::backup_place(blob))?;
                            write.delete(&space::outstanding(blob))?;
                        }
                    }
                    Ok(Committed::new(()))
                });
                done.wait()?;
            }
        }
    }

    /// Reads entries of the queue, with the times since which they are known to be in it.
    fn read_queue(&self, position: &Bound<Vec<u8>>) -> Result<Vec<Queued>, StoreError> {
        let end = key::successor(space::ALL_DELETIONS).unwrap_or_default();
        let snapshot = self.snapshot()?;
        let lower = position.as_ref().map(Vec::as_slice);
        let mut cursor = snapshot.cursor(lower, Bound::Excluded(&end))?;
        let mut batch = Vec::new();
        while batch.len() < RECLAIM_BATCH
            && let Some((entry, since)) = cursor.next()?
        {
            let id = space::split_deletion(entry);
            let id = id.ok_or_else(|| StoreError::corrupt("an entry of the deletion queue"))?;
            batch.push((id, since.try_into().ok().map(u64::from_be_bytes)));
        }
        Ok(batch)
    }

    /// Removes a bounded number of parts from a list; `true` once the list is gone.
    fn take_apart(&self, list: UploadId, report: &mut ReclaimReport) -> Result<bool, StoreError> {
        let step =
            self.update_freeing(move |write, _| take_apart(write, &list).map(Committed::new));
        let (parts, is_gone) = step.wait()?;
        report.parts += parts;
        Ok(is_gone)
    }

    /// Aborts a bounded number of uploads of a deleted bucket; `true` once none is left.
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
    write.claim(Claim::BucketAlone(bucket))?;
    let prefix = space::uploads_prefix(bucket, b"");
    let mut batch = Vec::new();
    let mut cursor = space::within(write, &prefix)?;
    while batch.len() < RECLAIM_BATCH
        && let Some((place, _)) = cursor.next()?
    {
        let id = space::split_upload_by_key(place).map(|(_, _, id)| id);
        batch.push(id.ok_or_else(|| StoreError::corrupt("the key of an upload"))?);
    }
    // The cursor borrows the transaction, which is written below.
    drop(cursor);
    let is_gone = batch.len() < RECLAIM_BATCH;
    let references = batch.iter().map(|id| space::reference(&ContentId::Parts(*id)));
    write.fetch(batch.iter().map(space::upload).chain(references))?;
    for id in &batch {
        let upload = UploadRecord::read(write, id)?;
        let upload = upload.ok_or_else(|| StoreError::corrupt("an upload without its record"))?;
        end(write, id, &upload)?;
    }
    // The entry goes in the transaction of the last step, so a crash never loses the rest.
    if is_gone {
        write.delete(&space::deletion(&ContentId::Uploads(bucket)))?;
    }
    Ok((batch.len() as u64, is_gone))
}

fn take_apart(write: &mut Transaction<'_>, list: &UploadId) -> Result<(u64, bool), StoreError> {
    write.claim(Claim::UploadAlone(list))?;
    let prefix = space::parts(list);
    let mut batch = Vec::new();
    let mut cursor = space::within(write, &prefix)?;
    while batch.len() < RECLAIM_BATCH
        && let Some((place, value)) = cursor.next()?
    {
        batch.push((place.to_vec(), PartRecord::decode_manifest(place, value)?));
    }
    drop(cursor);
    let is_gone = batch.len() < RECLAIM_BATCH;
    reference::fetch(batch.iter().map(|(_, content)| content), write)?;
    for (place, content) in &batch {
        write.delete(place)?;
        reference::release(content, write)?;
    }
    if is_gone {
        write.delete(&space::deletion(&ContentId::Parts(*list)))?;
    }
    Ok((batch.len() as u64, is_gone))
}
