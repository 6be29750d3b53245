//! The task of the process of an engine, and its answer: one JSON object in its
//! only argument, one on its last line of output. Rivals in other languages speak the same.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::engine::Synced;

/// One thing to do in a process of its own.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Task {
    /// The engine's name; a program may have several.
    pub(crate) engine: String,
    /// The directory of its files. It exists.
    pub(crate) directory: PathBuf,
    /// The wait of puts for the disk.
    pub(crate) sync: Synced,
    /// The seed of the data.
    pub(crate) seed: u64,
    /// After so many seconds a phase ends with what it has done.
    pub(crate) seconds_max: f64,
    /// The work.
    pub(crate) work: Work,
}

/// The work of an engine.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Work {
    /// One thread: entries from 0 on are put one by one, then read at random, then scanned. Phases
    /// `put`, `get`, `scan`.
    Single {
        /// Entries to put.
        puts: u64,
        /// Entries to read.
        gets: u64,
        /// Scans.
        scans: u64,
        /// Entries in each scan.
        scan_entries: u64,
    },
    /// Like the puts of `Single`, but without waiting for one before the next. Phase `ahead`.
    Ahead {
        /// Entries to put.
        puts: u64,
        /// Entries that may be on their way.
        window: u64,
    },
    /// Several threads put one by one. Phase `writers`.
    Writers {
        /// Entries that are there before.
        preload: u64,
        /// Threads.
        writers: u64,
        /// Entries to put, by all threads together.
        puts: u64,
    },
    /// One thread puts in transactions. Phase `batch`.
    Batches {
        /// Entries that are there before.
        preload: u64,
        /// Entries in each transaction.
        size: u64,
        /// Entries to put.
        puts: u64,
    },
    /// One thread puts one by one until the process is killed. After each put it writes the number of
    /// puts that have returned into a file, as 8 bytes, the lowest first.
    UntilKilled {
        /// Entries that are there before.
        preload: u64,
        /// That file.
        acknowledged: PathBuf,
    },
    /// Opens what a killed process left, and looks which entries are there. Phase `reopen`: one
    /// operation, with the values `lost` and `wrong`.
    Reopen {
        /// Entries that must be there.
        entries: u64,
    },
}
