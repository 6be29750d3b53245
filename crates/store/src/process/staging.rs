//! Blobs that are written but not yet named by a record.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::Shared;
use crate::attachment;
use crate::blob::{BlobId, Sealed};
use crate::kv::Transaction;

/// At most this many concurrent writers leave the bytes of short blobs to the log: one sync instead of
/// three in a row, bytes written twice. More writers share the syncs of files and directories anyway: 8
/// clients putting 64 KiB would lose a tenth, 64 a fifth.
const FEW_BLOBS: usize = 2;

/// The blobs that no committed record references yet.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    /// From before their file has a name until after their record has committed, or failed to. The
    /// sweep leaves them alone.
    in_flight: Mutex<HashSet<BlobId>>,
    /// Blobs of bodies that were given up, for the reclaimer to delete.
    discarded: Mutex<Vec<BlobId>>,
    /// A blob was handed over to a record whose commit nobody has seen: it may be an orphan.
    is_doubtful: AtomicBool,
}

impl Staging {
    pub(crate) fn begin(shared: &Arc<Shared>) -> StagedBlob {
        let mut random = [0; 16];
        shared.config.random.fill(&mut random);
        let id = shared.blobs.next_id(random);
        shared.staging.in_flight.lock().insert(id);
        let state = AtomicU8::new(STAGED);
        let sealed = OnceLock::new();
        StagedBlob(Arc::new(Staged { id, sealed, state, shared: Arc::clone(shared) }))
    }

    pub(crate) fn contains(&self, id: &BlobId) -> bool {
        self.in_flight.lock().contains(id)
    }

    pub(crate) fn take_discarded(&self) -> Vec<BlobId> {
        std::mem::take(&mut *self.discarded.lock())
    }

    /// `true` when every blob is known to be referenced by a record, or deleted.
    pub(crate) fn is_settled(&self) -> bool {
        self.in_flight.lock().is_empty()
            && self.discarded.lock().is_empty()
            && !self.is_doubtful.load(Ordering::Acquire)
    }

    pub(crate) fn discard(&self, id: BlobId) {
        self.discarded.lock().push(id);
    }
}

/// A blob between its first byte and the commit of its record. Dropped before it was handed over to
/// a record, it is discarded.
///
/// One handle goes into the transaction, whose result carries it past the commit; another stays with
/// the pending answer, to take the blob back when the commit certainly failed. The last to go takes
/// it out of flight.
#[derive(Clone, Debug)]
pub(crate) struct StagedBlob(Arc<Staged>);

#[derive(Debug)]
struct Staged {
    id: BlobId,
    sealed: OnceLock<Sealed>,
    /// One of the three below.
    state: AtomicU8,
    shared: Arc<Shared>,
}

/// No record names it.
const STAGED: u8 = 0;
/// A record names it, which may not have committed.
const HANDED_OVER: u8 = 1;
/// The record has committed.
const ACKNOWLEDGED: u8 = 2;

impl StagedBlob {
    pub(crate) fn id(&self) -> BlobId {
        self.0.id
    }

    /// `true` while so few bodies are on their way that it pays to leave a short one to the log.
    pub(crate) fn is_one_of_few(&self) -> bool {
        self.0.shared.staging.in_flight.lock().len() <= FEW_BLOBS
    }

    /// It is sealed, once.
    pub(crate) fn sealed(&self, sealed: Sealed) {
        let _ = self.0.sealed.set(sealed);
    }

    /// The transaction has written a record that names it. The outcome of its commit is open: if it
    /// fails, the blob must not be deleted now, because a restart may find that it happened, and becomes
    /// an orphan otherwise, which the sweep finds.
    pub(crate) fn hand_over(&self, write: &mut Transaction<'_>) {
        if let Some(Sealed { blob, contents_to_note: Some(contents) }) = self.0.sealed.get() {
            write.note(&attachment::note(&blob.id, blob.bytes), contents);
        }
        self.0.state.store(HANDED_OVER, Ordering::Release);
    }

    /// The commit has happened.
    pub(crate) fn acknowledge(&self) {
        self.0.state.store(ACKNOWLEDGED, Ordering::Release);
    }

    /// The commit failed for certain.
    pub(crate) fn take_back(&self) {
        self.0.state.store(STAGED, Ordering::Release);
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        let Shared { staging, work, .. } = &*self.shared;
        match *self.state.get_mut() {
            STAGED => {
                staging.discard(self.id);
                work.wake();
            }
            // Nobody waited for the answer, or it was a failure that leaves the outcome open.
            HANDED_OVER => staging.is_doubtful.store(true, Ordering::Release),
            _ => {}
        }
        staging.in_flight.lock().remove(&self.id);
    }
}
