//! The mark of a cluster into which a directory is being moved.

use liteio_kv::{Read, Write};
use serde::{Deserialize, Serialize};

use super::record::{self, Sealed};
use super::space;
use crate::error::StoreError;

/// The directory that is being moved. While the cluster has this row, no server starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MovingRecord {
    /// The time at which its store was created, in milliseconds since 1970.
    pub(crate) created_ms: u64,
}

impl MovingRecord {
    pub(crate) fn read(from: &impl Read) -> Result<Option<Self>, StoreError> {
        const WHAT: &str = "the mark of a move";
        let Some(value) = from.get(space::MOVING_KEY)? else { return Ok(None) };
        record::split_version(&value, 1)?;
        Sealed::open(space::MOVING_KEY, &value, WHAT)?.decode(WHAT).map(Some)
    }

    pub(crate) fn write(&self, to: &mut impl Write) -> Result<(), StoreError> {
        Ok(to.put(space::MOVING_KEY, &record::seal(1, space::MOVING_KEY, self, &[]))?)
    }

    /// Refuses to use a store into which something is being moved.
    pub(crate) fn refuse(from: &impl Read) -> Result<(), StoreError> {
        match from.get(space::MOVING_KEY)? {
            Some(_) => Err(Self::unfinished()),
            None => Ok(()),
        }
    }

    /// The refusal.
    pub(crate) fn unfinished() -> StoreError {
        let message = "a move of a data directory into the cluster is not finished: run `liteio cluster move \
                       --from-directory` again, to its end";
        StoreError::InvalidRequest { message: message.to_owned() }
    }
}
