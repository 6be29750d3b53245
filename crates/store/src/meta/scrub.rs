//! The record of the scrub. Version 1 has no number of keyless objects.

use serde::{Deserialize, Serialize};

use super::record;
use crate::error::StoreError;

/// The newest version of the record.
const VERSION: u8 = 2;

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
    /// Number of objects and parts that it could not decrypt, because the server lacks their keys.
    pub keyless: u64,
}

/// The fields of version 1.
#[derive(Deserialize)]
struct Version1 {
    begun_ms: Option<u64>,
    ended_ms: Option<u64>,
    records: u64,
    damaged: u64,
    first_damage: Option<String>,
    position: Vec<u8>,
}

impl ScrubState {
    /// Encodes the record.
    pub(crate) fn encode(&self) -> Vec<u8> {
        record::encode(VERSION, self)
    }

    /// Decodes a record of any version.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], [`StoreError::FormatTooNew`].
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        const WHAT: &str = "the scrub's record";
        match record::split_version(bytes, VERSION)? {
            (1, fields) => {
                let Version1 { begun_ms, ended_ms, records, damaged, first_damage, position } =
                    record::take_all(fields, WHAT)?;
                let keyless = 0;
                Ok(Self { begun_ms, ended_ms, records, damaged, first_damage, position, keyless })
            }
            (_, fields) => record::take_all(fields, WHAT),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_version_1_are_read() {
        let state =
            ScrubState { ended_ms: Some(7), records: 3, keyless: 2, ..ScrubState::default() };
        assert_eq!(ScrubState::decode(&state.encode()).expect("decoded"), state);
        let old = record::encode(
            1,
            &(None::<u64>, Some(7_u64), 3_u64, 0_u64, None::<String>, [0_u8; 0].to_vec()),
        );
        let read = ScrubState::decode(&old).expect("decoded");
        assert_eq!(read, ScrubState { keyless: 0, ..state });
    }
}
