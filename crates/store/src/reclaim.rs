//! Reclaim.

use crate::error::StoreError;
use crate::store::Store;

/// What [`Store::reclaim`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReclaimReport {
    /// Blobs deleted.
    pub blobs: u64,
    /// Part records removed.
    pub parts: u64,
    /// Entries of the queue that wait for readers.
    pub waiting: u64,
}

impl Store {
    /// Works off the deletion queue.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn reclaim(&self) -> Result<ReclaimReport, StoreError> {
        todo!()
    }
}
