//! The work of the process of an engine.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Some work, and the phases of it that are measured.
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
        /// A file is made anew after so many vectors: else raw inserts write tens of gigabytes.
        file_vectors: u32,
        /// Vectors in the file that is opened anew for each cold read.
        cold_vectors: u32,
    },
    /// Search.
    Search {
        /// The vectors, queries and answers.
        questions: PathBuf,
    },
}
