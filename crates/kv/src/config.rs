//! [`KvConfig`]: the settings of a key space.

use std::sync::Arc;
use std::time::Duration;

use liteio_disk::Durability;

use crate::{Attachments, EngineKind};

/// The tables that become runs before they reach the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spilling {
    /// Tables for which the tree would write many times their bytes.
    #[default]
    WhereItPays,
    /// None.
    Never,
    /// All tables that are drained because memory or log is full.
    Always {
        /// The number of runs that begins a merge.
        merged: usize,
    },
}

/// The trees that are copied to give their free space back (compaction).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compacting {
    /// Large trees of which more than half is free.
    #[default]
    WhereItPays,
    /// Every tree, whenever there is no other work.
    Always,
}

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
    ///   power cut loses at most the updates since the last sync. It loses whole updates, newest
    ///   first, and never damages older ones, because the tree behind the log is synced in order at
    ///   either level.
    pub durability: Durability,
    /// Memory for pages of the tree, in bytes.
    ///
    /// The allocator adds a quarter. A page outside of this cache is read from the page cache of
    /// the kernel in 3 µs.
    pub cache_bytes: usize,
    /// Memory for pairs, in bytes: the undrained ones, plus recently drained ones as a read cache
    /// while there is room. Writers are slowed down from two thirds on. A snapshot held longer than
    /// a drain keeps its tables in addition.
    pub memory_bytes: usize,
    /// Free bytes of the device that ordinary updates leave untouched. Below it they are refused
    /// with [`KvError::NoSpace`](super::KvError::NoSpace), while updates that free space
    /// ([`Kv::update_freeing_then`](super::Kv::update_freeing_then)) still run.
    pub reserve_bytes: u64,
    /// Bytes of log after which its updates are drained into the tree, unless the previous table is
    /// still draining. More makes writes to the tree cheaper; less makes the replay after a crash
    /// shorter.
    pub log_bytes: u64,
    /// Time without an update after which everything is drained.
    pub idle: Duration,
    /// At [`Durability::Os`]: the longest time from an update to its sync.
    pub sync_interval: Duration,
    /// Data outside of the key space that updates depend on.
    pub attachments: Option<Arc<dyn Attachments>>,
    /// Opens damaged runs and a damaged log, too: skips damaged blocks and records (reported in
    /// [`Recovery`](super::Recovery)) and keeps the whole ones. Updates that later ones build on
    /// may be missing, so set it only on explicit request.
    pub salvage: bool,
    /// Runs every closure twice and rolls the first run back, to reveal closures that must not run
    /// again.
    #[cfg(any(test, feature = "test-util"))]
    pub runs_twice: bool,
    /// Runs every closure over what was fetched, piece by piece: a read of a key that is not known
    /// fails, and the closure runs again with it. Reveals closures that do not stand that, and counts
    /// fetches: see [`Kv::fetches`](super::Kv::fetches).
    #[cfg(any(test, feature = "test-util"))]
    pub runs_in_pieces: bool,
    /// Drains this many groups after a table was frozen, on the commit thread and never by time:
    /// the same calls then produce the same disk operations.
    #[cfg(any(test, feature = "test-util"))]
    pub drain_after_groups: Option<u64>,
    /// The tables that become runs before they reach the tree. Values other than the default are
    /// for tests.
    pub spilling: Spilling,
    /// The trees that are compacted. Values other than the default are for tests.
    pub compacting: Compacting,
}

impl Default for KvConfig {
    fn default() -> Self {
        Self {
            engine: EngineKind::default(),
            durability: Durability::Fsync,
            cache_bytes: 32 << 20,
            memory_bytes: 192 << 20,
            reserve_bytes: 64 << 20,
            log_bytes: 96 << 20,
            idle: Duration::from_millis(200),
            sync_interval: Duration::from_secs(1),
            attachments: None,
            salvage: false,
            #[cfg(any(test, feature = "test-util"))]
            runs_twice: false,
            #[cfg(any(test, feature = "test-util"))]
            runs_in_pieces: false,
            #[cfg(any(test, feature = "test-util"))]
            drain_after_groups: None,
            spilling: Spilling::default(),
            compacting: Compacting::default(),
        }
    }
}

impl KvConfig {
    /// Number of groups after which a test wants the commit thread to drain a frozen table.
    pub(super) fn drain_after_groups(&self) -> Option<u64> {
        #[cfg(any(test, feature = "test-util"))]
        return self.drain_after_groups;
        #[cfg(not(any(test, feature = "test-util")))]
        None
    }

    /// Maximum number of changes in one transaction of the tree while a table drains or runs are
    /// merged. A transaction copies every page that it changes, and the old pages can be reused
    /// only after it: one large transaction would double the file.
    pub(super) fn drain_changes(&self) -> usize {
        // Crash tests use small tables.
        if self.drains_inline() { 8 } else { 1 << 16 }
    }

    pub(super) fn drains_inline(&self) -> bool {
        self.drain_after_groups().is_some()
    }
}
