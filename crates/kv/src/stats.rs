//! Counters of a key space.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::layers::Layers;

/// The work of a key space since it was opened, and its sizes now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KvStats {
    /// Groups of updates that were committed: one record of the log each.
    pub groups: u64,
    /// Updates in these.
    pub updates: u64,
    /// Groups that were synced before they were acknowledged.
    pub syncs: u64,
    /// Time that these syncs took together.
    pub sync_time: Duration,
    /// Syncs in the background, of what is synced later than acknowledged.
    pub background_syncs: u64,
    /// Tables that were brought into the tree.
    pub drains: u64,
    /// Tables that became runs.
    pub spills: u64,
    /// Merges of runs into the tree.
    pub merges: u64,
    /// Copies of the tree that gave its free space back.
    pub compactions: u64,
    /// Bytes of records in the file of the log that is appended to.
    pub log_bytes: u64,
    /// Tables in memory, those included that are in the tree and kept as a cache.
    pub tables: u64,
    /// Their bytes.
    pub table_bytes: u64,
    /// Runs: sorted files between the tables and the tree.
    pub runs: u64,
    /// Their bytes.
    pub run_bytes: u64,
    /// Bytes of the file of the tree.
    pub tree_bytes: u64,
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
    /// As it was after the last change of it.
    pub(super) tree_bytes: AtomicU64,
}

impl Counters {
    /// Notes a group of so many updates. Only the one that writes does.
    pub(super) fn committed(&self, updates: usize) {
        add(&self.groups, 1);
        add(&self.updates, updates as u64);
    }

    /// Notes that the log has so many bytes now, and was synced if that took any time.
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

/// Adds to a counter that one thread at a time changes: without the cost of an atomic addition.
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}
