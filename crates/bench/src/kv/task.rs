//! The work of an engine's process.

use serde::{Deserialize, Serialize};

use super::engine::Synced;

/// Work, and the durability of its puts.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Exercise {
    /// Durability.
    pub sync: Synced,
    /// Work.
    pub work: Work,
}

/// The work of an engine. The `preload` entries exist before, put without a wait for the disk.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are the numbers that the variants speak of")]
pub enum Work {
    /// One thread: entries from 0 on are put one by one, then read at random, then scanned. Phases
    /// `put`, `get`, `scan`.
    Single { puts: u64, gets: u64, scans: u64, scan_entries: u64 },
    /// Like the puts of `Single`, but without waiting for one before the next, up to `window` of
    /// them. Phase `ahead`.
    Ahead { puts: u64, window: u64 },
    /// Several threads put one by one, `puts` together. Phase `writers`.
    Writers { preload: u64, writers: u64, puts: u64 },
    /// One thread puts in transactions of `size` entries. Phase `batch`.
    Batches { preload: u64, size: u64, puts: u64 },
    /// One thread puts one by one until the process is killed, after at least `puts`. After each
    /// put it writes the number of puts that have returned into the file `acknowledged` of its
    /// working directory, as 8 bytes, the lowest first.
    UntilKilled { preload: u64, acknowledged: String, puts: u64 },
    /// Like the puts of `Single`, each of them timed. Phase `timed`, with the value `time`.
    Timed { puts: u64 },
    /// Opens what a killed process left, and looks which of `entries` are there. Phase `reopen`:
    /// one operation, with the values `lost` and `wrong`.
    Reopen { entries: u64 },
    /// Puts entries with large values, deletes them all, waits until at most a tenth of the space
    /// is left, but not longer than `idle_seconds`, and opens it again. Phases `space_put`,
    /// `space_deleted`, `space_idle` with the value `idle`, and `space_restart`: one operation
    /// each, with the value `disk`.
    Space { puts: u64, value_bytes: u64, idle_seconds: u64 },
    /// Puts entries with large values and deletes them all. Then it puts one and gets it every
    /// millisecond, until at most a tenth of the space is left, but not longer than `idle_seconds`.
    /// Phases `trickle_put` and `trickle_get` with the value `idle`.
    Trickle { puts: u64, value_bytes: u64, idle_seconds: u64 },
    /// The least work of the machine, without an engine. Phase `floor`.
    Floor(Floor),
}

/// A loop without an engine around it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(tag = "floor", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are the numbers that the variants speak of")]
pub enum Floor {
    /// One thread writes records one by one into a file whose space is reserved.
    Record { puts: u64 },
    /// Several threads write records, `puts` together, each of which is synced before the next of
    /// its thread: once for all that wait.
    Group { writers: u64, puts: u64 },
    /// Entries are inserted into a map in memory, or read from it at random.
    Map { order: Order, entries: u64, reads: bool },
    /// Pages of a file in the page cache are read at random.
    Page { file_bytes: u64, reads: u64 },
    /// Batches of a tree's entries change, in no order, with each the pages that they are in. The
    /// value `passed_factor` has the bytes that are written for a byte of an entry.
    Tree { entries: u64, batch: u64, batches: u64 },
}

/// Order of a map's keys.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// No order: a hash map.
    Hash,
    /// Key order: a B-tree.
    Key,
}
