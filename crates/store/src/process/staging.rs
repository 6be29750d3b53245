//! Blobs that are written but not yet referenced by a record.
//!
//! ```text
//!               hand_over                acknowledge
//!  STAGED ───────────────► HANDED_OVER ───────────────► ACKNOWLEDGED
//!   │  ▲                    │     │                          │
//!   │  └──── take_back ─────┘     │ dropped                  │ dropped
//!   │ dropped                     ▼                          ▼
//!   ▼                          doubtful: the next         kept: its record
//!  discarded: the              start sweeps               references it
//!  reclaimer deletes it
//! ```
//! `take_back` is for commits that certainly failed. A failure that leaves the outcome open must
//! not delete the blob, because a restart may replay the record that references it.

use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use liteio_blob::{BlobId, Sealed};
use liteio_kv::Transaction;
use parking_lot::Mutex;

use super::{Shared, Sleeper};
use crate::attachment;

/// Most concurrent writers that leave the bytes of short blobs to the log: 1 sync instead of 3, but
/// the bytes are written twice. With more writers, syncs of files and directories are shared
/// anyway: 8 clients that put 64 KiB would lose a tenth of their throughput, 64 a fifth.
const FEW_BLOBS: usize = 2;

/// The blobs that no committed record references yet.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    /// Blobs from before their file has a name until after the commit, or failure, of their record.
    /// The sweep skips them.
    in_flight: Mutex<HashSet<BlobId>>,
    /// Blobs of abandoned bodies, to be deleted by the reclaimer.
    discarded: Mutex<Vec<BlobId>>,
    /// `true` if a blob was handed over to a record whose commit has an unknown outcome. The blob
    /// may be an orphan, so the store is not closed as clean.
    is_doubtful: AtomicBool,
}

impl Staging {
    /// Starts a blob, in flight from now on.
    ///
    /// # Errors
    /// The error of the random source.
    pub(crate) fn begin(shared: &Arc<Shared>) -> io::Result<StagedBlob> {
        let mut random = [0; 16];
        shared.config.random.fill(&mut random)?;
        let id = shared.blobs.next_id(random);
        // In flight before the file gets a name: the sweep lists files first and checks this set
        // second.
        shared.staging.in_flight.lock().insert(id);
        let state = AtomicU8::new(STAGED);
        let sealed = OnceLock::new();
        Ok(StagedBlob(Arc::new(Staged { id, sealed, state, shared: Arc::clone(shared) })))
    }

    pub(super) fn contains(&self, id: &BlobId) -> bool {
        self.in_flight.lock().contains(id)
    }

    pub(crate) fn take_discarded(&self) -> Vec<BlobId> {
        std::mem::take(&mut *self.discarded.lock())
    }

    /// `true` if every blob is known to be referenced by a record, or deleted.
    pub(crate) fn is_settled(&self) -> bool {
        self.in_flight.lock().is_empty() && self.discarded.lock().is_empty() && !self.is_doubtful()
    }

    /// `true` if a blob may belong to a record that is not visible, but that a restart may bring
    /// back.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.is_doubtful.load(Ordering::Acquire)
    }

    pub(crate) fn discard(&self, id: BlobId) {
        self.discarded.lock().push(id);
    }
}

/// A blob between its first byte and the commit of its record. Dropped before it was handed over to
/// a record, it is discarded.
///
/// One handle goes into the transaction, whose result carries it past the commit. Another one stays
/// with the pending answer, to take the blob back if the commit certainly failed. Dropping the last
/// handle ends its flight.
#[derive(Clone, Debug)]
pub(crate) struct StagedBlob(Arc<Staged>);

#[derive(Debug)]
struct Staged {
    id: BlobId,
    sealed: OnceLock<Sealed>,
    /// One of the three constants below.
    state: AtomicU8,
    shared: Arc<Shared>,
}

impl Staged {
    fn id(&self) -> BlobId {
        // A blob in a segment has got another id.
        self.sealed.get().map_or(self.id, |sealed| sealed.blob.id)
    }
}

/// No record references the blob.
const STAGED: u8 = 0;
/// A record references the blob, but may not have committed.
const HANDED_OVER: u8 = 1;
/// The record has committed.
const ACKNOWLEDGED: u8 = 2;

impl StagedBlob {
    /// The id with which the blob is begun, or, once it is sealed, the one it has got.
    pub(crate) fn id(&self) -> BlobId {
        self.0.id()
    }

    /// `true` while so few bodies are being written that logging a short one pays off, see
    /// [`FEW_BLOBS`].
    pub(crate) fn is_one_of_few(&self) -> bool {
        self.0.shared.staging.in_flight.lock().len() <= FEW_BLOBS
    }

    /// Sets the result of sealing. Only the first call has an effect.
    pub(crate) fn sealed(&self, sealed: Sealed) {
        let _ = self.0.sealed.set(sealed);
    }

    /// Called by a transaction that has written a record referencing the blob. Notes the blob in
    /// the log if it is not durable, and leaves its fate to the commit. If the commit fails with an
    /// unknown outcome, the blob must stay, because a restart may replay the record; without the
    /// record it is an orphan for the sweep.
    pub(crate) fn hand_over(&self, write: &mut Transaction<'_>) {
        if let Some(Sealed { blob, contents_to_note: Some(contents) }) = self.0.sealed.get() {
            write.note(&attachment::note(&blob.id, blob.bytes), contents);
        }
        self.0.state.store(HANDED_OVER, Ordering::Release);
    }

    /// Called after the commit.
    pub(crate) fn acknowledge(&self) {
        self.0.state.store(ACKNOWLEDGED, Ordering::Release);
    }

    /// Called after a commit that certainly failed.
    pub(crate) fn take_back(&self) {
        self.0.state.store(STAGED, Ordering::Release);
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        let Shared { staging, cluster, .. } = &*self.shared;
        match *self.state.get_mut() {
            STAGED => {
                staging.discard(self.id());
                cluster.wake(Sleeper::Reclaimer);
            }
            // The answer was never awaited, or the failure leaves the outcome open.
            HANDED_OVER => staging.is_doubtful.store(true, Ordering::Release),
            _ => {}
        }
        // Last: until here the sweep must not take the blob for an orphan.
        staging.in_flight.lock().remove(&self.id);
    }
}
