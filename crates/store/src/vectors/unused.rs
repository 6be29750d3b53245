//! Slots that no record names any more.
//!
//! A slot may get another vector only when a crash can no longer bring back a record that names it. At
//! [`Durability::Os`](crate::Durability::Os) that takes a moment: until then the slot waits, and whoever
//! puts or deletes vectors of the index next looks whether its time has come.

use std::collections::VecDeque;

use liteio_vector::Slot;
use parking_lot::Mutex;

use super::open::OpenIndex;
use crate::error::StoreError;
use crate::kv::Position;
use crate::store::Store;

/// Slots with the place in the order of updates that must be durable first.
#[derive(Debug, Default)]
pub(super) struct Unused(Mutex<VecDeque<(Position, Vec<Slot>)>>);

impl Unused {
    /// All of these wait.
    pub(super) fn waiting(position: Position, slots: Vec<Slot>) -> Self {
        Self(Mutex::new(VecDeque::from([(position, slots)])))
    }
}

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
