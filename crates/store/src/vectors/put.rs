//! Putting vectors.

use std::sync::Arc;

use liteio_vector::{Durability, Slot, Written};

use super::check;
use crate::error::StoreError;
use crate::indexes::Index;
use crate::meta::vector::VectorRecord;
use crate::meta::vector_metadata::Metadata;
use crate::pending::Committed;
use crate::store::Store;

/// Vectors to put, with their keys and metadata.
#[derive(Clone, Debug, Default)]
pub struct NewVectors {
    /// The key of each.
    pub keys: Vec<String>,
    /// The metadata of each.
    pub metadata: Vec<Metadata>,
    /// The elements of all, one vector after the other.
    pub elements: Vec<f32>,
    /// End of each vector in `elements`: one past its last element.
    pub ends: Vec<usize>,
}

impl NewVectors {
    /// Adds a vector without metadata.
    pub fn push(&mut self, key: impl Into<String>, elements: &[f32]) {
        self.push_with(key, elements, Metadata::default());
    }

    /// Adds a vector.
    pub fn push_with(&mut self, key: impl Into<String>, elements: &[f32], metadata: Metadata) {
        self.keys.push(key.into());
        self.metadata.push(metadata);
        self.elements.extend_from_slice(elements);
        self.ends.push(self.elements.len());
    }

    fn is_consistent(&self) -> bool {
        self.keys.len() == self.metadata.len()
            && self.keys.len() == self.ends.len()
            && self.ends.is_sorted()
            && self.ends.last().copied().unwrap_or(0) == self.elements.len()
    }
}

impl Store {
    /// Puts vectors, all of them or none; a vector replaces an older one of its key. When this returns
    /// they are durable, and queries find them.
    ///
    /// # Errors
    /// [`StoreError::InvalidField`] names the first field that is not valid;
    /// [`StoreError::NoSuchIndex`], [`StoreError::NoSpace`], [`StoreError::Poisoned`],
    /// [`StoreError::IndexDamaged`].
    ///
    /// # Panics
    /// If the numbers of keys, metadata and ends differ: a mistake of the caller.
    pub fn put_vectors(&self, index: &Index, vectors: NewVectors) -> Result<(), StoreError> {
        assert!(vectors.is_consistent(), "every vector has a key, metadata and an end");
        check::new_vectors(&vectors, index)?;
        self.inner.check_space(vectors.elements.len() as u64 * 4)?;
        let open = self.open_index(index)?;
        self.free_unused(&open)?;
        let NewVectors { keys, metadata, elements, .. } = vectors;
        let written =
            open.vectors.slots().append_many(&elements).map_err(|error| index.failure(error))?;
        drop(elements);
        let added: Vec<Slot> = written.iter().map(|written| written.slot).collect();
        // Synced at `os`, too: a record must not become durable before the elements it references.
        let synced = open.vectors.slots().commit(Durability::Fsync);
        let synced = synced.map_err(|error| index.failure(error));
        self.inner.vectors.texts.forget(index.id, &added);
        let committing = open.referenced.committing();
        let records = Arc::new(records(metadata, &written));
        let result = synced.and_then(|()| self.commit_records(index, keys, &records));
        let removed = match result {
            Ok(removed) => removed,
            Err(error) => {
                if is_certainly_lost(&error) {
                    // No record references them, and no search was told of them.
                    open.vectors.slots().free(&added)?;
                }
                return Err(error);
            }
        };
        let learned = records.iter().map(|record| (Slot::new(record.slot), &record.metadata));
        self.inner.vectors.columns.learn(index.id, learned);
        self.publish_vectors(&open, index.id, &added, &removed)?;
        drop(committing);
        // Codes, in the background. Searches compare the vectors that have none exactly.
        open.vectors.prepare_soon();
        Ok(())
    }

    /// Commits the records of new vectors; returns the slots that were replaced.
    fn commit_records(
        &self,
        index: &Index,
        keys: Vec<String>,
        records: &Arc<Vec<VectorRecord>>,
    ) -> Result<Vec<Slot>, StoreError> {
        let (index, records) = (index.clone(), Arc::clone(records));
        let committed = self.update(move |write, _| {
            index.require(write)?;
            let mut removed = Vec::new();
            for (key, record) in keys.iter().zip(&*records) {
                let old = VectorRecord::remove(write, index.id, key)?;
                removed.extend(old.map(Slot::new));
                record.write(write, index.id, key)?;
            }
            Ok(Committed::new(removed))
        });
        committed.wait()
    }
}

fn records(metadata: Vec<Metadata>, written: &[Written]) -> Vec<VectorRecord> {
    let record = |(metadata, &Written { slot, crc })| VectorRecord {
        slot: Slot::number(slot),
        crc,
        metadata,
    };
    metadata.into_iter().zip(written).map(record).collect()
}

/// `true` if a failed update has certainly left no record behind. After any other error its outcome is
/// open, so its slots stay allocated; the next opening frees those that no record references.
fn is_certainly_lost(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::NoSpace | StoreError::NoSuchIndex { .. } | StoreError::Internal { .. }
    )
}
