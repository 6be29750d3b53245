//! Counters of a key space.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::layers::Layers;

/// Activity of a key space since it was opened, and its current sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KvStats {
    /// Groups of updates that were committed: one record of the log each.
    pub groups: u64,
    /// Updates in these groups.
    pub updates: u64,
    /// Groups that were synced before they were acknowledged.
    pub syncs: u64,
    /// Time that these syncs took together.
    pub sync_time: Duration,
    /// Background syncs, of updates that were acknowledged before they were synced.
    pub background_syncs: u64,
    /// Tables drained into the tree.
    pub drains: u64,
    /// Tables that became runs.
    pub spills: u64,
    /// Merges of runs into the tree.
    pub merges: u64,
    /// Copies of the tree that gave its free space back.
    pub compactions: u64,
    /// Bytes of records in the current log file.
    pub log_bytes: u64,
    /// Tables in memory, including drained ones kept as a cache.
    pub tables: u64,
    /// Bytes of these tables.
    pub table_bytes: u64,
    /// Runs: sorted files between the tables and the tree.
    pub runs: u64,
    /// Bytes of these runs.
    pub run_bytes: u64,
    /// Bytes of the tree's file.
    pub tree_bytes: u64,
    /// Commits that found changed what they had read, and were repeated. This and the following over a
    /// database only.
    pub conflicts: u64,
    /// Commits whose answer was lost, and of which it was found out whether they happened.
    pub settled: u64,
    /// Commits of which it could not be found out whether they happened.
    pub unsettled: u64,
    /// Commits that were acknowledged, and that the database has lost.
    pub commits_lost: u64,
    /// Fetches of rows and ranges, each a round trip to the database.
    pub fetches: u64,
}

/// The counters themselves.
#[derive(Debug, Default)]
pub(super) struct Counters {
    groups: AtomicU64,
    updates: AtomicU64,
    syncs: AtomicU64,
    sync_nanos: AtomicU64,
    log_bytes: AtomicU64,
    pub(super) background_syncs: AtomicU64,
    pub(super) drains: AtomicU64,
    pub(super) spills: AtomicU64,
    pub(super) merges: AtomicU64,
    pub(super) compactions: AtomicU64,
    /// Size of the tree after its last change.
    pub(super) tree_bytes: AtomicU64,
}

impl Counters {
    /// Counts a group of `updates` updates. Only the committer calls it.
    pub(super) fn committed(&self, updates: usize) {
        add(&self.groups, 1);
        add(&self.updates, updates as u64);
    }

    /// Notes the current size of the log, and the duration of the sync if there was one.
    pub(super) fn appended(&self, log_bytes: u64, sync: Option<Duration>) {
        self.log_bytes.store(log_bytes, Ordering::Relaxed);
        if let Some(time) = sync {
            add(&self.syncs, 1);
            add(&self.sync_nanos, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        }
    }

    pub(super) fn snapshot(&self, layers: Option<&Layers>) -> KvStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut stats = KvStats {
            groups: read(&self.groups),
            updates: read(&self.updates),
            syncs: read(&self.syncs),
            sync_time: Duration::from_nanos(read(&self.sync_nanos)),
            background_syncs: read(&self.background_syncs),
            drains: read(&self.drains),
            spills: read(&self.spills),
            merges: read(&self.merges),
            compactions: read(&self.compactions),
            log_bytes: read(&self.log_bytes),
            tree_bytes: read(&self.tree_bytes),
            ..KvStats::default()
        };
        if let Some(layers) = layers {
            stats.tables = layers.tables() as u64;
            stats.table_bytes = layers.bytes() as u64;
            stats.runs = layers.runs().len() as u64;
            stats.run_bytes = layers.run_bytes();
        }
        stats
    }
}

/// Adds to a counter that only one thread at a time changes: a load and a store instead of an
/// atomic read-modify-write.
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}
