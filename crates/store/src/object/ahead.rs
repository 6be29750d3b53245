//! Reads with the rows that were fetched ahead for the request.

use liteio_kv::Snapshot;

use super::get::ReadError;
use crate::error::StoreError;
use crate::store::Store;

impl Store {
    /// Reads with the rows that were fetched ahead for the request, and without them if they have changed
    /// meanwhile. Another read of the request may have seen them, and then sees these.
    pub(crate) fn read_ahead<T>(
        &self,
        read: impl Fn(&Snapshot) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        let snapshot = self.snapshot_ahead()?;
        match read(&snapshot) {
            Err(ReadError::Store(StoreError::Busy)) if self.forget_ahead() => {
                drop(snapshot);
                read(&self.snapshot()?)
            }
            read => read,
        }
    }
}
