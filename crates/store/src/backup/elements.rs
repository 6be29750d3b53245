//! The elements of vectors, read for a backup.

use std::collections::HashMap;
use std::sync::Arc;

use liteio_kv::Snapshot;
use liteio_vector::Slot;

use crate::error::StoreError;
use crate::indexes::{Index, OpenIndex};
use crate::meta::space;
use crate::meta::vector::VectorRecord;
use crate::name::IndexId;
use crate::store::Store;

/// The open indexes of some pages or records.
#[derive(Debug)]
pub(super) struct Elements<'a> {
    store: &'a Store,
    snapshot: &'a Snapshot,
    /// All indexes, once one of them is needed.
    indexes: Option<HashMap<IndexId, Index>>,
    /// `None` for an index that does not exist any more.
    open: HashMap<IndexId, Option<(Index, Arc<OpenIndex>)>>,
}

impl<'a> Elements<'a> {
    /// Reads elements of indexes that exist in `snapshot`.
    pub(super) fn new(store: &'a Store, snapshot: &'a Snapshot) -> Self {
        Self { store, snapshot, indexes: None, open: HashMap::new() }
    }

    /// The row with the elements of the vector at `key`, whose record is `value`: its key, and the
    /// elements. `None` if the index does not exist any more.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] for a record that cannot be read, or whose slot has other elements by
    /// now; [`StoreError::Closed`].
    pub(super) fn of(
        &mut self,
        key: &[u8],
        value: &[u8],
    ) -> Result<Option<(Vec<u8>, Vec<u8>)>, StoreError> {
        let (id, _) = VectorRecord::index_and_key(key)?;
        let (slot, crc) = VectorRecord::slot_and_crc_of(value)?;
        let Some((index, open)) = self.index(id)? else { return Ok(None) };
        let mut elements = vec![0.0; index.dimension as usize];
        let is_read = open.vectors.slots().read_into(Slot::new(slot), &mut elements).is_ok();
        if !is_read || liteio_vector::vector_crc(&elements) != crc {
            return Err(StoreError::corrupt("the elements of a vector"));
        }
        let bytes = elements.iter().flat_map(|element| element.to_le_bytes()).collect();
        Ok(Some((space::elements(id, slot), bytes)))
    }

    fn index(&mut self, id: IndexId) -> Result<Option<&(Index, Arc<OpenIndex>)>, StoreError> {
        if !self.open.contains_key(&id) {
            let indexes = match &mut self.indexes {
                Some(indexes) => indexes,
                none => none.insert(Index::all_in(self.store, self.snapshot)?),
            };
            let open = match indexes.remove(&id) {
                Some(index) => match self.store.open_index(&index) {
                    Ok(open) => Some((index, open)),
                    Err(StoreError::NoSuchIndex { .. }) => None,
                    Err(StoreError::IndexDamaged { reason, .. }) => {
                        return Err(StoreError::corrupt(reason));
                    }
                    Err(error) => return Err(error),
                },
                None => None,
            };
            self.open.insert(id, open);
        }
        Ok(self.open.get(&id).and_then(Option::as_ref))
    }
}
