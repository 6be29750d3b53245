//! Recover.

use crate::error::StoreError;
use crate::store::Store;

/// What [`Store::sweep`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Blobs looked at.
    pub blobs: u64,
    /// Blobs that nothing refers to, deleted.
    pub orphans: u64,
}

impl Store {
    /// Deletes blobs that no record refers to.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn sweep(&self) -> Result<SweepReport, StoreError> {
        todo!()
    }
}
