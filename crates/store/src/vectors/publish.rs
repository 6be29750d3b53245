//! Telling readers of a commit, and giving back the slots that it replaced.

use liteio_vector::Slot;

use crate::error::StoreError;
use crate::indexes::OpenIndex;
use crate::store::Store;

impl Store {
    /// Tells readers what an acknowledged commit has changed, and gives back the slots that nobody
    /// needs any more.
    pub(super) fn publish_vectors(
        &self,
        open: &OpenIndex,
        added: &[Slot],
        removed: &[Slot],
    ) -> Result<(), StoreError> {
        let unused = open.referenced.publish(added, removed);
        if unused.is_empty() {
            return Ok(());
        }
        match self.unsynced()? {
            None => Ok(open.vectors.slots().free(&unused)?),
            Some(position) => {
                open.unused.0.lock().push_back((position, unused));
                Ok(())
            }
        }
    }

    /// Gives back the slots whose time has come.
    pub(super) fn free_unused(&self, open: &OpenIndex) -> Result<(), StoreError> {
        loop {
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
