//! [`KvConfig`]: the settings of a key space.

use std::sync::Arc;
use std::time::Duration;

use super::{Attachments, EngineKind};
use crate::Durability;

/// The settings of a [`Kv`](super::Kv). Start from [`KvConfig::default`].
#[derive(Clone, Debug)]
pub struct KvConfig {
    /// The engine that keeps the pairs beneath the log. A key space is opened with the engine that made it.
    pub engine: EngineKind,
    /// The moment at which an update is acknowledged.
    ///
    /// - [`Durability::Fsync`]: after its log record was synced. It survives a power cut.
    /// - [`Durability::Os`]: after its log record was written. It survives the end of the process,
    ///   `kill -9` included. Attachments and log are synced every [`KvConfig::sync_interval`], so a
    ///   power cut takes at most the updates since; it takes whole updates, newest first, and never
    ///   damages what is older, because the tree behind the log is synced in order at either level.
    pub durability: Durability,
    /// Memory for pages of the tree, in bytes. Half of it at most holds changed pages that no
    /// checkpoint has written yet.
    ///
    /// The allocator makes a quarter more of it. A page that is not there is read from the page cache
    /// of the kernel in 3 µs; writes and listings are as fast with 8 MiB as with 64.
    pub cache_bytes: usize,
    /// Free bytes of the device that ordinary updates leave untouched: below it they are refused
    /// with [`KvError::NoSpace`](super::KvError::NoSpace), while updates that give space back
    /// ([`Kv::update_freeing`](super::Kv::update_freeing)) still run.
    pub reserve_bytes: u64,
    /// Bytes of log after which a checkpoint brings the tree up to date and the log starts again.
    /// More makes updates cheaper on average; less makes the pause of a checkpoint, and the replay
    /// after a crash, shorter.
    pub log_bytes: u64,
    /// Puts and deletes after which a checkpoint is made whatever their bytes: each may have
    /// changed a page of its own.
    pub log_writes: u64,
    /// A checkpoint is made after this long without an update.
    pub checkpoint_idle: Duration,
    /// At [`Durability::Os`]: the longest wait of an update for its sync to begin.
    pub sync_interval: Duration,
    /// Data outside of the key space that updates depend on.
    pub attachments: Option<Arc<dyn Attachments>>,
    /// Opens a damaged log, too: passes over its damaged records ([`Recovery`](super::Recovery) names
    /// them) and replays the whole ones. What they build on may be missing: only when somebody has said so.
    pub salvage: bool,
    /// Runs every closure twice and rolls the first run back, so that a closure that must not run again
    /// fails a test.
    #[cfg(any(test, feature = "test-util"))]
    pub runs_twice: bool,
}

impl Default for KvConfig {
    fn default() -> Self {
        Self {
            engine: EngineKind::default(),
            durability: Durability::Fsync,
            cache_bytes: 32 << 20,
            reserve_bytes: 64 << 20,
            log_bytes: 16 << 20,
            log_writes: 5_000,
            checkpoint_idle: Duration::from_millis(200),
            sync_interval: Duration::from_secs(1),
            attachments: None,
            salvage: false,
            #[cfg(any(test, feature = "test-util"))]
            runs_twice: false,
        }
    }
}
