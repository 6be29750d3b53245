//! The record of the scrub.

use serde::{Deserialize, Serialize};

/// How far the scrub is, and what it has found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScrubState {
    /// Begin of the scrub that is under way, in milliseconds since 1970.
    pub begun_ms: Option<u64>,
    /// End of the last one that came to its end.
    pub ended_ms: Option<u64>,
    /// Records that the one under way has read, or the last one.
    pub records: u64,
    /// Damage that it has found.
    pub damaged: u64,
    /// The first damage that it has found, in words.
    pub first_damage: Option<String>,
    /// The last record that was read.
    pub(crate) position: Vec<u8>,
}
