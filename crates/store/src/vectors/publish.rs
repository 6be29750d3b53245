//! Publication of a commit to searches, and release of the slots that it replaced.

use liteio_vector::Slot;

use crate::error::StoreError;
use crate::indexes::{OpenIndex, Until};
use crate::name::IndexId;
use crate::store::Store;

impl Store {
    /// Makes an acknowledged commit visible to searches, and frees the slots that it replaced: at
    /// once if every update is durable and no backup runs, otherwise after the sync that makes this
    /// one durable, and once it is backed up. Until then a crash can bring back a record that
    /// references the old slot, and the backup may have to read it.
    pub(crate) fn publish_vectors(
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
        match self.unused_until()? {
            until if until.is_now() => Ok(open.vectors.slots().free(&unused)?),
            until => {
                open.unused.0.lock().push_back((until, unused));
                Ok(())
            }
        }
    }

    /// The conditions under which a slot is free that no record references from now on.
    pub(super) fn unused_until(&self) -> Result<Until, StoreError> {
        Ok(Until { synced: self.unsynced()?, kept: self.shared().holds.newest() })
    }

    fn is_over(&self, until: Until) -> Result<bool, StoreError> {
        let is_synced = until.synced.map_or(Ok(true), |position| self.is_synced(position))?;
        Ok(is_synced && until.kept.is_none_or(|number| self.shared().holds.is_kept(number)))
    }

    /// Frees the slots that need not wait any longer.
    pub(crate) fn free_unused(&self, open: &OpenIndex) -> Result<(), StoreError> {
        loop {
            // One group at a time, so that the lock is not held while slots are freed.
            let durable = {
                let mut unused = open.unused.0.lock();
                match unused.front() {
                    Some((until, _)) if self.is_over(*until)? => unused.pop_front(),
                    _ => None,
                }
            };
            let Some((_, slots)) = durable else { return Ok(()) };
            open.vectors.slots().free(&slots)?;
        }
    }
}
