//! The record of the scrub.

use serde::{Deserialize, Serialize};

/// Progress of the scrub, and its findings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScrubState {
    /// Begin of the scrub in progress, in milliseconds since 1970.
    pub begun_ms: Option<u64>,
    /// End of the last complete scrub, in milliseconds since 1970.
    pub ended_ms: Option<u64>,
    /// Number of records that the scrub in progress, or else the last one, has read.
    pub records: u64,
    /// Number of damaged places that it has found.
    pub damaged: u64,
    /// Description of the first damage.
    pub first_damage: Option<String>,
    /// Key of the last record that was read.
    pub(crate) position: Vec<u8>,
}
