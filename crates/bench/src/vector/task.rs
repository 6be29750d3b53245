//! The task of a process: one JSON object in its last argument. Its answer is an
//! [`Outcome`](crate::worker::Outcome).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::search::phase::SearchPhase;
use super::slots::phase::SlotPhase;

/// One thing to do in a process of its own.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Task {
    /// The engine's name; a program may have several.
    pub engine: String,
    /// The directory of its files. It exists, and is empty.
    pub directory: PathBuf,
    /// The seed of the data.
    pub seed: u64,
    /// The time of each phase.
    pub milliseconds: u64,
    /// The work.
    pub work: Work,
}

/// The work of an engine.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Work {
    /// Write and read files of vectors.
    Slots {
        /// A file is made anew after so many vectors: else raw inserts write tens of gigabytes.
        file_vectors: u32,
        /// Vectors in the file that is opened anew for each cold read.
        cold_vectors: u32,
        /// The phases to measure.
        phases: Vec<SlotPhase>,
    },
    /// Search.
    Search {
        /// Stored vectors, queries and answers.
        questions: PathBuf,
        /// The phases to measure.
        phases: Vec<SearchPhase>,
    },
}
