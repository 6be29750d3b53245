//! [`Verification`]: the last verification of a backup, which its writer tells.

use serde::{Deserialize, Serialize};

use super::Repository;
use crate::Error;
use crate::names::VERIFIED;
use crate::seal::SealError;
use crate::target::{PutMode, TargetError};

/// The last verification of a backup to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// Its time, in milliseconds since 1970.
    pub time_ms: u64,
    /// Number of damaged and missing objects that it has found.
    pub damaged: u64,
}

impl Repository {
    /// The last verification; `None` if there was none, or if its object is damaged.
    ///
    /// # Errors
    /// The errors of the target.
    pub fn verification(&self) -> Result<Option<Verification>, Error> {
        let object = match self.target.get(VERIFIED) {
            Err(TargetError::NotFound { .. }) => return Ok(None),
            object => object?,
        };
        match self.sealer.open(VERIFIED, &object) {
            Ok(contents) => Ok(serde_json::from_slice(&contents).ok()),
            Err(SealError::Damaged { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Notes a verification in the backup, in the place of the one before.
    ///
    /// # Errors
    /// The errors of the target.
    pub fn note_verification(&self, verification: Verification) -> Result<(), Error> {
        let json = serde_json::to_vec(&verification).expect("plain data");
        let sealed = self.sealer.seal(VERIFIED, &json, false);
        let sealed = sealed.map_err(|error| Error::Sealing(error.to_string()))?;
        Ok(self.target.put(VERIFIED, sealed, PutMode::Replace)?)
    }
}
