//! Bodies that no record will ever reference: of refused writes, and of clients that went away.

use std::sync::atomic::Ordering;

use liteio_blob::{BlobError, BlobId};

use crate::store::Inner;

impl Inner {
    /// Deletes them. Returns their number. An orderly end calls it, too: else the next start would look at every
    /// record to find them.
    ///
    /// # Errors
    /// Any error of the disk. The rest is kept for the next call, and then the store does not end as clean.
    pub(crate) fn delete_discarded(&self) -> Result<u64, BlobError> {
        let mut deleted = 0;
        let mut discarded = self.shared.staging.take_discarded();
        while let Some(id) = discarded.pop() {
            if let Err(error) = self.delete_blob(&id) {
                discarded.push(id);
                discarded.into_iter().for_each(|id| self.shared.staging.discard(id));
                return Err(error);
            }
            deleted += 1;
        }
        Ok(deleted)
    }

    /// Deletes a blob that nothing references.
    ///
    /// # Errors
    /// Any error of the disk.
    pub(super) fn delete_blob(&self, id: &BlobId) -> Result<(), BlobError> {
        self.shared.blobs.delete(id)?;
        self.removed_from.lock().insert(id.0[0]);
        self.shared.counters.blobs_deleted.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}
