//! [`Figures`]: counters of deliveries, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters since the start.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) log_objects: AtomicU64,
    pub(crate) log_lines: AtomicU64,
    pub(crate) log_lines_lost: AtomicU64,
    pub(crate) log_failures: AtomicU64,
    pub(crate) inventories: AtomicU64,
    pub(crate) inventory_rows: AtomicU64,
    pub(crate) inventory_failures: AtomicU64,
}

/// The values of [`Counters`], and of what waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Number of delivered log objects.
    pub log_objects: u64,
    /// Number of log lines in them.
    pub log_lines: u64,
    /// Number of log lines that were lost: their target did not take them, or too many waited.
    pub log_lines_lost: u64,
    /// Number of failed deliveries of log objects.
    pub log_failures: u64,
    /// Bytes of log lines that wait.
    pub log_bytes_waiting: u64,
    /// Number of complete inventories.
    pub inventories: u64,
    /// Number of rows in them.
    pub inventory_rows: u64,
    /// Number of failed attempts to write an inventory.
    pub inventory_failures: u64,
}

impl Counters {
    pub(crate) fn figures(&self) -> Figures {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Figures {
            log_objects: read(&self.log_objects),
            log_lines: read(&self.log_lines),
            log_lines_lost: read(&self.log_lines_lost),
            log_failures: read(&self.log_failures),
            log_bytes_waiting: 0,
            inventories: read(&self.inventories),
            inventory_rows: read(&self.inventory_rows),
            inventory_failures: read(&self.inventory_failures),
        }
    }
}

pub(crate) fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}
