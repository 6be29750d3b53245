//! Publication of a commit to searches, and release of the slots that it replaced.

use liteio_vector::Slot;

use crate::error::StoreError;
use crate::indexes::OpenIndex;
use crate::name::IndexId;
use crate::store::Store;

impl Store {
    /// Makes an acknowledged commit visible to searches, and frees the slots that it replaced: at
    /// once if every update is durable, otherwise after the sync that makes this one durable. Until
    /// then a crash can bring back a record that references the old slot.
    pub(super) fn publish_vectors(
        &self,
        open: &OpenIndex,
        id: IndexId,
        added: &[Slot],
        removed: &[Slot],
    ) -> Result<(), StoreError> {
        let unused = open.referenced.publish(added, removed);
        if unused.is_empty() {
            return Ok(());
        }
        // A query that still wants them starts again, because they are no longer published.
        self.inner.vectors.columns.forget(id, &unused);
        match self.unsynced()? {
            None => Ok(open.vectors.slots().free(&unused)?),
            Some(position) => {
                open.unused.0.lock().push_back((position, unused));
                Ok(())
            }
        }
    }

    /// Frees the waiting slots whose updates are durable by now.
    pub(super) fn free_unused(&self, open: &OpenIndex) -> Result<(), StoreError> {
        loop {
            // One group at a time, so that the lock is not held while slots are freed.
            let durable = {
                let mut unused = open.unused.0.lock();
                match unused.front() {
                    Some((position, _)) if self.is_synced(*position)? => unused.pop_front(),
                    _ => None,
                }
            };
            let Some((_, slots)) = durable else { return Ok(()) };
            open.vectors.slots().free(&slots)?;
        }
    }
}
