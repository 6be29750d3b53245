//! [`KvConfig`]: the settings of a key space.

use std::sync::Arc;
use std::time::Duration;

use liteio_disk::Durability;

use crate::{Attachments, EngineKind};

/// The tables that become runs, files of their own, before they reach the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spilling {
    /// Those for which the tree would write many times their bytes.
    #[default]
    WhereItPays,
    /// None.
    Never,
    /// All that are drained because memory or log are full.
    Always {
        /// The number of runs that begins a merge.
        merged: usize,
    },
}

/// The trees that are copied without their free space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compacting {
    /// Large ones of which more than half is free.
    #[default]
    WhereItPays,
    /// All, whenever there is nothing else to do.
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
    ///   power cut takes at most the updates since; it takes whole updates, newest first, and never
    ///   damages what is older, because the tree behind the log is synced in order at either level.
    pub durability: Durability,
    /// Memory for pages of the tree, in bytes.
    ///
    /// The allocator makes a quarter more of it. A page that is not there is read from the page cache
    /// of the kernel in 3 µs.
    pub cache_bytes: usize,
    /// Memory for pairs, in bytes: those that are on their way into the tree, and as many that were drained lately as
    /// there is room for, which are read from here. Writers are slowed down from two thirds on. Snapshots that are held longer than a drain
    /// takes keep what they see in addition.
    pub memory_bytes: usize,
    /// Free bytes of the device that ordinary updates leave untouched: below it they are refused
    /// with [`KvError::NoSpace`](super::KvError::NoSpace), while updates that give space back
    /// ([`Kv::update_freeing_then`](super::Kv::update_freeing_then)) still run.
    pub reserve_bytes: u64,
    /// Bytes of log after which the updates in it are drained into the tree, unless those before them still are.
    /// More makes the tree cheaper to write; less makes the replay after a crash shorter.
    pub log_bytes: u64,
    /// Everything is drained after this long without an update.
    pub idle: Duration,
    /// At [`Durability::Os`]: the longest wait of an update for its sync to begin.
    pub sync_interval: Duration,
    /// Data outside of the key space that updates depend on.
    pub attachments: Option<Arc<dyn Attachments>>,
    /// Opens damaged runs and a damaged log, too: passes over their damaged blocks and records
    /// ([`Recovery`](super::Recovery) tells of them) and keeps the whole ones. What they build on may be missing: only when somebody has said so.
    pub salvage: bool,
    /// Runs every closure twice and rolls the first run back, so that a closure that must not run again
    /// fails a test.
    #[cfg(any(test, feature = "test-util"))]
    pub runs_twice: bool,
    /// Drains so many groups after a table was frozen, by the thread that commits, and never by time: the same
    /// calls make the same operations of the disk.
    #[cfg(any(test, feature = "test-util"))]
    pub drain_after_groups: Option<u64>,
    /// The tables that become runs before they reach the tree. Others than the default are for tests.
    pub spilling: Spilling,
    /// The trees that are copied without their free space. Others than the default are for tests.
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
            drain_after_groups: None,
            spilling: Spilling::default(),
            compacting: Compacting::default(),
        }
    }
}

impl KvConfig {
    /// Groups after which a test wants a frozen table to be drained by the thread that commits.
    pub(super) fn drain_after_groups(&self) -> Option<u64> {
        #[cfg(any(test, feature = "test-util"))]
        return self.drain_after_groups;
        #[cfg(not(any(test, feature = "test-util")))]
        None
    }

    /// Changes that a transaction of the tree has at most while a table drains or runs are merged. It copies every page that it changes, and
    /// the space of the old ones can be used again after it only: a large one would double the file.
    pub(super) fn drain_changes(&self) -> usize {
        // Tests of crashes have small tables.
        if self.drains_inline() { 8 } else { 1 << 16 }
    }

    pub(super) fn drains_inline(&self) -> bool {
        self.drain_after_groups().is_some()
    }
}
