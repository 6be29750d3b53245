//! Counters of the store.

use std::sync::atomic::{AtomicU64, Ordering};

use liteio_kv::KvStats;
use parking_lot::Mutex;

use crate::error::StoreError;

/// A snapshot of the store's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Blobs deleted since the store was opened, without those in `blobs/lost/`.
    pub blobs_deleted: u64,
    /// Orphaned blobs moved to `blobs/lost/` since the store was opened.
    pub orphans_swept: u64,
    /// Blobs in `blobs/lost/` at the last look.
    pub lost_blobs: u64,
    /// Sweeps started since the store was opened.
    pub sweeps: u64,
    /// Reads of objects and vectors that found damaged or missing data since the store was opened.
    pub damaged_reads: u64,
    /// Reads of encrypted objects whose key is not configured, since the store was opened.
    pub keyless_reads: u64,
    /// Keys that a [sample](crate::Store::sample_missing_keys) of the objects needs and that are not configured.
    pub missing_keys: u64,
    /// Times that what was remembered of buckets or users was forgotten, since a server has changed something. This and
    /// the next one are of one of several servers.
    pub epoch_reloads: u64,
    /// Beats that the database has not taken.
    pub beats_missed: u64,
    /// Counters of the key space.
    pub kv: KvStats,
}

/// The live counters.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) blobs_deleted: AtomicU64,
    pub(crate) orphans_swept: AtomicU64,
    pub(crate) lost_blobs: AtomicU64,
    pub(crate) sweeps: AtomicU64,
    pub(crate) damaged_reads: AtomicU64,
    pub(crate) keyless_reads: AtomicU64,
    pub(crate) missing_keys: AtomicU64,
    pub(crate) epoch_reloads: AtomicU64,
    pub(crate) beats_missed: AtomicU64,
    /// The newest epoch of users that was seen.
    pub(crate) users_epoch: AtomicU64,
    /// The error of the newest read that lacked the right to open its file.
    pub(crate) denied_read: Mutex<Option<String>>,
}

impl Counters {
    /// Counts a failed read if the reason is damage, or a missing key. A file that may not be read may be whole.
    pub(crate) fn failed_read(&self, error: &StoreError) {
        use StoreError::{Corrupt, IndexDamaged, Io, KeyMissing};
        let counter = match error {
            Io(reason) if error.is_denied() => {
                *self.denied_read.lock() = Some(reason.to_string());
                return;
            }
            Corrupt { .. } | IndexDamaged { .. } | Io(_) => &self.damaged_reads,
            KeyMissing { .. } => &self.keyless_reads,
            _ => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn snapshot(&self, kv: KvStats) -> StoreStats {
        StoreStats {
            blobs_deleted: self.blobs_deleted.load(Ordering::Relaxed),
            orphans_swept: self.orphans_swept.load(Ordering::Relaxed),
            lost_blobs: self.lost_blobs.load(Ordering::Relaxed),
            sweeps: self.sweeps.load(Ordering::Relaxed),
            damaged_reads: self.damaged_reads.load(Ordering::Relaxed),
            keyless_reads: self.keyless_reads.load(Ordering::Relaxed),
            missing_keys: self.missing_keys.load(Ordering::Relaxed),
            epoch_reloads: self.epoch_reloads.load(Ordering::Relaxed),
            beats_missed: self.beats_missed.load(Ordering::Relaxed),
            kv,
        }
    }
}
