//! The position of a standby in the backup that it follows.

use liteio_kv::{Read, Write};
use serde::{Deserialize, Serialize};

use super::{record, space};
use crate::error::StoreError;

/// The position of a standby: everything up to it is applied. It is written in the transaction that
/// applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandbyPosition {
    /// Identity of the backup.
    pub backup: [u8; 16],
    /// The generation whose segments are applied.
    pub generation: u64,
    /// The number of the next segment of it.
    pub next_segment: u64,
    /// The number of the last complete record.
    pub through: u64,
    /// All of it was written by this time, in milliseconds since 1970.
    pub time_ms: u64,
}

impl StandbyPosition {
    pub(crate) fn read(from: &impl Read) -> Result<Option<Self>, StoreError> {
        match from.get(space::STANDBY_KEY)? {
            Some(bytes) => record::decode(&bytes, "the position of a standby").map(Some),
            None => Ok(None),
        }
    }

    pub(crate) fn write(&self, to: &mut impl Write) -> Result<(), StoreError> {
        Ok(to.put(space::STANDBY_KEY, &record::encode(1, self))?)
    }
}
