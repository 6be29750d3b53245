//! Deletion of vectors.

use liteio_vector::Slot;

use liteio_kv::{Read as _, Write as _};

use super::check;
use crate::error::StoreError;
use crate::indexes::Index;
use crate::limits::PUT_VECTORS_MAX;
use crate::meta::claim::Claim;
use crate::meta::space;
use crate::meta::vector::VectorRecord;
use crate::meta::vector_log::Change;
use crate::pending::Committed;
use crate::store::Store;

impl Store {
    /// Deletes vectors, all of them or none. Keys without a vector are ignored.
    ///
    /// # Errors
    /// [`StoreError::InvalidField`], [`StoreError::NoSuchIndex`], [`StoreError::Poisoned`],
    /// [`StoreError::IndexDamaged`].
    pub fn delete_vectors(&self, index: &Index, keys: Vec<String>) -> Result<(), StoreError> {
        self.shared().cluster.standing()?;
        check::count(keys.len(), PUT_VECTORS_MAX, "/keys")?;
        for (position, key) in keys.iter().enumerate() {
            check::vector_key(key, || format!("/keys/{position}"))?;
        }
        if let Some(mirrors) = &self.inner.mirrors {
            let change = |key| Change { key, vector: None };
            return self.append_to_log(mirrors, index, keys.into_iter().map(change).collect());
        }
        let open = self.open_index(index)?;
        open.vectors.slots().check().map_err(|error| index.failure(error))?;
        self.free_unused(&open)?;
        let (index, index_id) = (index.clone(), index.id);
        let _committing = open.referenced.committing();
        let removed = self.update_freeing(move |write, _| {
            write.claim(Claim::Index(index.id))?;
            index.require(write)?;
            write.fetch(keys.iter().map(|key| space::vector(index.id, key)))?;
            let mut removed = Vec::new();
            for key in &keys {
                let slot = VectorRecord::remove(write, index.id, key)?;
                removed.extend(slot.map(Slot::new));
            }
            Ok(Committed::new(removed))
        });
        self.publish_vectors(&open, index_id, &[], &removed.wait()?)
    }
}
