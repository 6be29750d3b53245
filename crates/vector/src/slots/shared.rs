//! The shared state of an open slot file.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use liteio_disk::DiskFile;
use parking_lot::{Mutex, RwLock};

use super::committer::{Committer, Stamp};
use super::format::slot_offset;
use super::live::LiveSet;
use super::readers::Readers;
use super::sums::Sums;
use super::writer::{Checks, Runs, Writer};
use crate::config::Shape;
use crate::error::VectorError;
use crate::map::{Backing, Map};
use crate::slot::Slot;

/// The slot file as it was opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    pub(crate) stamp: Stamp,
    /// Codes saved at earlier commits are stale: slots were rewritten since.
    pub(crate) codes_valid_from: u64,
    pub(crate) slots: u32,
}

/// The state that a file shares with its views and the thread that writes ahead.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) file: Box<dyn DiskFile>,
    pub(super) backing: Backing,
    pub(super) damage: FileDamage,
    pub(super) shape: Shape,
    pub(super) file_id: u64,
    pub(super) opened: Opened,
    // Lock order: committer, writer, readers, published, changed. A commit holds `committer` during
    // its syncs, so no other lock may be held while waiting for it.
    pub(super) committer: Mutex<Committer>,
    pub(super) writer: Mutex<Writer>,
    pub(super) readers: Mutex<Readers>,
    pub(super) published: RwLock<Published>,
    pub(super) changed: Mutex<Changed>,
    pub(super) is_filling: AtomicBool,
    pub(super) filler: Mutex<Option<JoinHandle<()>>>,
}

pub(super) const TRUNCATED: &str = "it was truncated while it was open";

/// Damage found while the file is open: from then on it is neither searched nor written.
#[derive(Debug, Default)]
pub(super) struct FileDamage(OnceLock<&'static str>);

impl FileDamage {
    pub(super) fn note(&self, what: &'static str) {
        // Later damage may be a consequence of the first.
        let _ = self.0.set(what);
    }

    pub(super) fn check(&self) -> Result<(), VectorError> {
        self.0.get().map_or(Ok(()), |what| Err(VectorError::Corrupt(what)))
    }
}

/// The slots of visible vectors without a code.
///
/// ```text
/// commit ──► fresh ── take_changed ──► taken ── finish_changed ──► (has a code)
/// ```
#[derive(Debug, Default)]
pub(super) struct Changed {
    /// Slots that no batch has taken.
    pub(super) fresh: Runs,
    /// Slots of the batch whose codes are being made.
    pub(super) taken: Runs,
    /// Number of slots whose codes were made so far.
    pub(super) finished: u64,
}

/// The state that readers see. It is replaced as a whole, except the shared bits of `live` and
/// `sums`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Published {
    pub(crate) count: u32,
    pub(crate) live: LiveSet,
    pub(super) sums: Sums,
    pub(super) map: Option<Arc<Map>>,
}

impl Shared {
    pub(super) fn append(
        &self,
        writer: &mut Writer,
        vector: &[f32],
        checks: Checks,
    ) -> Result<Slot, VectorError> {
        self.damage.check()?;
        writer.append(vector, checks, self.shape, &*self.file, &self.readers)
    }

    /// Removes slots from the live set, and retires them until no view that may have seen them is
    /// left.
    pub(super) fn free(&self, writer: &mut Writer, slots: impl Iterator<Item = u32>) {
        // The epoch's lock is held over both steps. A view opened before has registered in this
        // epoch; one opened afterwards does not see the slots.
        let mut readers = self.readers.lock();
        let live = self.published.read().live.clone();
        let mut retired = Vec::new();
        for slot in slots {
            if live.clear(slot) {
                retired.push(slot);
            } else if writer.is_unpublished(slot) {
                writer.withdrawn.insert(slot);
            }
        }
        writer.has_retired |= !retired.is_empty();
        readers.retire(retired);
    }

    pub(super) fn read(&self, slot: u32, buffer: &mut [f32]) -> Result<(), VectorError> {
        self.read_bytes(slot, bytemuck::cast_slice_mut(buffer))
    }

    /// Checks that no damage was found, and that the file still has at least `bytes`.
    pub(super) fn check_length(&self, bytes: u64) -> Result<(), VectorError> {
        if self.file.len()? < bytes {
            self.damage.note(TRUNCATED);
        }
        self.damage.check()
    }

    /// Fills `bytes` from the start of `slot`.
    pub(super) fn read_bytes(&self, slot: u32, bytes: &mut [u8]) -> Result<(), VectorError> {
        if self.file.read_at(bytes, slot_offset(self.shape, slot))? < bytes.len() {
            return Err(VectorError::Corrupt("the file ends before a vector"));
        }
        Ok(())
    }
}
