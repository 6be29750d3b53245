//! [`Alone`]: the only process that has the store open.

use std::sync::Arc;

use liteio_blob::{BlobId, BlobStore};
use liteio_kv::Transaction;
use liteio_kv::database::PrimaryId;

use super::cluster::{Cluster, Job, Kept, Opened, Reading, Sleeper, Term};
use super::{Gate, Holds, Pins, Signals, Staging, TierState, Work};
use crate::error::StoreError;
use crate::meta::content::{Content, ContentId};
use crate::meta::reference;

/// The decisions of a process that is alone, made from its own memory.
/// [`DirectoryLock`](liteio_disk::DirectoryLock) makes it so.
#[derive(Debug)]
pub(super) struct Alone {
    pub(super) blobs: Arc<dyn BlobStore>,
    pub(super) pins: Arc<Pins>,
    pub(super) staging: Arc<Staging>,
    pub(super) holds: Arc<Holds>,
    pub(super) gate: Arc<Gate>,
    pub(super) work: Arc<Work>,
    pub(super) signals: Arc<Signals>,
    pub(super) tiers: Arc<TierState>,
}

impl Cluster for Alone {
    fn standing(&self) -> Result<(), StoreError> {
        self.gate.check()
    }

    fn lease(&self, job: &Job) -> Result<Option<Term>, StoreError> {
        Ok(self.gate.check().is_ok().then(|| Term { job: job.clone(), number: 0 }))
    }

    fn admit(&self, _: Option<&Term>, _: &mut Transaction<'_>) -> Result<(), StoreError> {
        // Nobody can take over a job.
        self.gate.check()
    }

    fn reading(&self) -> Reading<'_> {
        Reading { _section: self.pins.section(), _open: None }
    }

    fn keep(&self, content: &Content, opened: Opened) -> Kept {
        let pin = || Pins::pin(&self.pins, &self.work, reference::ids(content).collect());
        Kept { _pin: (opened == Opened::Begun).then(pin), open: None }
    }

    fn may_delete(
        &self,
        queued: &mut Vec<ContentId>,
        _at: Option<PrimaryId>,
    ) -> Result<(), StoreError> {
        // A reader that starts now does not find the content; older readers have pinned theirs
        // after this wait.
        self.pins.wait_for_sections();
        queued.retain(|id| {
            // A part list is taken apart into blobs, which the backup holds.
            let is_held = matches!(id, ContentId::Blob(_)) && self.holds.holds(id);
            !is_held && !self.pins.contains(id)
        });
        Ok(())
    }

    fn may_delete_in_tier(
        &self,
        body: &[u8; 16],
        _at: Option<PrimaryId>,
    ) -> Result<bool, StoreError> {
        // Afterwards all readers with a snapshot from before its removal have registered.
        self.pins.wait_for_sections();
        Ok(!self.tiers.is_read(body))
    }

    fn in_flight(&self, blob: &BlobId) -> Result<bool, StoreError> {
        // Blobs in segments of this run are never orphans: the one that stages a blob deletes it.
        Ok(self.staging.contains(blob) || self.blobs.is_own(blob))
    }

    fn wake(&self, sleeper: Sleeper<'_>) {
        match sleeper {
            Sleeper::Reclaimer => self.work.wake(),
            Sleeper::Queue(name) => self.signals.raise(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};
    use std::thread;
    use std::time::Duration;

    use liteio_kv::{Kv, KvConfig};

    use super::*;
    use crate::config::StoreConfig;
    use crate::meta::content::Extent;
    use crate::name::{BucketId, UploadId};
    use crate::process::Shared;
    use liteio_blob::MemoryBlobStore;

    fn alone() -> Arc<Shared> {
        let blobs = Arc::new(MemoryBlobStore::new());
        Arc::new(Shared::new(StoreConfig::memory(), blobs))
    }

    fn deletable(shared: &Shared, queued: &[ContentId]) -> Vec<ContentId> {
        let mut queued = queued.to_vec();
        shared.cluster.may_delete(&mut queued, None).expect("asked");
        queued
    }

    #[test]
    fn content_is_deleted_once_no_reader_needs_it() {
        let shared = alone();
        let [open, begun] = [[1; 16], [2; 16]].map(ContentId::Blob);
        let list = UploadId([3; 16]);
        let queued = [open, begun, ContentId::Parts(list), ContentId::Uploads(BucketId(4))];
        let extent = |blob| Extent { blob, offset: 0, bytes: 1, blob_bytes: 1 };
        let reading = shared.cluster.reading();
        let whole = Content::Extents(vec![extent([1; 16])]);
        let _open = shared.cluster.keep(&whole, Opened::Whole);
        let kept = shared.cluster.keep(&Content::Extents(vec![extent([2; 16])]), Opened::Begun);
        let parts = Content::Parts { list, count: 1, is_original: true };
        let kept_parts = shared.cluster.keep(&parts, Opened::Begun);
        // It waits for a section that has not ended.
        thread::scope(|threads| {
            let asking = threads.spawn(|| deletable(&shared, &queued));
            assert!(!asking.is_finished());
            drop(reading);
            assert_eq!(asking.join().expect("asked"), [open, queued[3]]);
        });
        // The reclaimer waits for the end of a reader.
        shared.work.set_waiting(true);
        drop(kept);
        assert!(shared.work.wait(None));
        assert_eq!(deletable(&shared, &queued), [open, begun, queued[3]]);
        drop(kept_parts);
        assert_eq!(deletable(&shared, &queued), queued);
    }

    #[test]
    fn a_body_in_a_tier_is_deleted_once_no_reader_needs_it() {
        let shared = alone();
        let reader = crate::process::TierReader::new(&shared, [1; 16], "cold").expect("a reader");
        let may_delete = |id| shared.cluster.may_delete_in_tier(&[id; 16], None).expect("asked");
        assert!(!may_delete(1) && may_delete(2));
        drop(reader);
        assert!(may_delete(1));
    }

    #[test]
    fn a_blob_is_in_flight_until_its_record_is_committed_or_it_is_abandoned() {
        let shared = alone();
        let blob = Staging::begin(&shared).expect("begun");
        let id = blob.id();
        let in_flight = || shared.cluster.in_flight(&id).expect("asked");
        assert!(in_flight());
        assert!(!shared.cluster.in_flight(&BlobId([9; 16])).expect("asked"));
        drop(blob);
        assert!(!in_flight());
    }

    #[test]
    fn a_queue_that_is_filled_wakes_its_sleeper_only() {
        let shared = alone();
        let context = Context::from_waker(Waker::noop());
        let is_woken = |name: &str| shared.outbox.poll_past(name, 0, &context).is_ready();
        assert!(!is_woken("a") && !is_woken("b"));
        shared.cluster.wake(Sleeper::Queue("a"));
        assert!(is_woken("a") && !is_woken("b"));
        shared.cluster.wake(Sleeper::Reclaimer);
        assert!(shared.work.wait(Some(Duration::MAX)));
        assert!(!is_woken("b"));
    }

    #[test]
    fn jobs_and_updates_are_admitted_unless_they_are_suspended() {
        let shared = alone();
        let kv = Kv::memory(KvConfig::default()).expect("memory");
        let check = |expected: bool| {
            assert_eq!(shared.cluster.standing().is_ok(), expected);
            let term = shared.cluster.lease(&Job::Scrub).expect("asked");
            assert_eq!(term.is_some(), expected);
            for term in [None, Some(Term { job: Job::Scrub, number: 0 })] {
                let shared = Arc::clone(&shared);
                let admitted = kv.update(move |write| shared.cluster.admit(term.as_ref(), write));
                assert_eq!(admitted.wait().is_ok(), expected);
            }
        };
        check(true);
        shared.gate.close("a standby");
        check(false);
        shared.gate.open();
        check(true);
    }
}
