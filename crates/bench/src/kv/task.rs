//! The work of the process of an engine.

use serde::{Deserialize, Serialize};

use super::engine::Synced;

/// Some work, and the wait of its puts for the disk.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Exercise {
    /// The wait.
    pub sync: Synced,
    /// The work.
    pub work: Work,
}

/// The work of an engine. Entries of `preload` are there before, put without waiting for the disk.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are the numbers that the variants speak of")]
pub enum Work {
    /// One thread: entries from 0 on are put one by one, then read at random, then scanned. Phases
    /// `put`, `get`, `scan`.
    Single { puts: u64, gets: u64, scans: u64, scan_entries: u64 },
    /// Like the puts of `Single`, but without waiting for one before the next, up to `window` of them.
    /// Phase `ahead`.
    Ahead { puts: u64, window: u64 },
    /// Several threads put one by one, `puts` together. Phase `writers`.
    Writers { preload: u64, writers: u64, puts: u64 },
    /// One thread puts in transactions of `size` entries. Phase `batch`.
    Batches { preload: u64, size: u64, puts: u64 },
    /// One thread puts one by one until the process is killed, after at least `puts`. After each put it
    /// writes the number of puts that have returned into the file `acknowledged` of its working
    /// directory, as 8 bytes, the lowest first.
    UntilKilled { preload: u64, acknowledged: String, puts: u64 },
    /// Opens what a killed process left, and looks which of `entries` are there. Phase `reopen`: one
    /// operation, with the values `lost` and `wrong`.
    Reopen { entries: u64 },
}
