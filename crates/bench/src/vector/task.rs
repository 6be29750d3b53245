//! The work of an engine's process.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Work, and its phases to measure.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Exercise {
    /// Identifiers of the phases.
    pub phases: Vec<String>,
    /// The work.
    pub work: Work,
}

/// The work of an engine.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Work {
    /// Write and read files of vectors.
    Slots {
        /// Number of vectors after which a file is made anew: raw inserts would write tens of
        /// gigabytes otherwise.
        file_vectors: u32,
        /// Number of vectors in the file that is reopened for each cold read.
        cold_vectors: u32,
    },
    /// Search.
    Search {
        /// File with vectors, queries and answers.
        questions: PathBuf,
    },
}
