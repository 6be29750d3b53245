//! What the benchmark asks of the process of an engine, and what that answers: one JSON object in its
//! only argument, one on its last line of output. Rivals in other languages speak the same.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::engine::Synced;

/// One thing to do in a process of its own.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Task {
    /// The engine's name; a program may have several.
    pub engine: String,
    /// Where its files are. It exists.
    pub directory: PathBuf,
    /// Whether puts wait for the disk.
    pub sync: Synced,
    /// The seed of the data.
    pub seed: u64,
    /// After so many seconds a phase ends with what it has done.
    pub seconds_max: f64,
    /// What to do.
    pub work: Work,
}

/// What to do with an engine.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Work {
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
        /// How many may be on their way.
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

/// What a process answers.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Outcome {
    /// The engine's version.
    pub version: String,
    /// What was measured.
    pub phases: Vec<Phase>,
    /// Why it could not go on, if it could not.
    #[serde(default)]
    pub failure: Option<String>,
    /// Whether that is because the engine has no such operation.
    #[serde(default)]
    pub unsupported: bool,
}

/// One thing that was measured.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Phase {
    /// Which.
    pub id: String,
    /// Operations that succeeded.
    pub operations: u64,
    /// How long all of them took together.
    pub nanoseconds: u64,
    /// Operations that failed, or did the wrong thing.
    #[serde(default)]
    pub errors: u64,
    /// The first of them.
    #[serde(default)]
    pub first_error: Option<String>,
    /// Why the engine was not asked to do it, or could not.
    #[serde(default)]
    pub absent: Option<String>,
    /// Everything else, by the identifier of its metric.
    #[serde(default)]
    pub values: BTreeMap<String, f64>,
}

impl Phase {
    /// Whether nothing was done, and nothing is to be said about it.
    pub fn is_empty(&self) -> bool {
        self.operations == 0 && self.errors == 0 && self.absent.is_none()
    }
}
