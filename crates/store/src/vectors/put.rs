//! Writing of vectors.

use std::sync::Arc;

use liteio_vector::{Durability, Slot, Written};

use liteio_kv::{Read as _, Write as _};

use super::check;
use crate::error::StoreError;
use crate::indexes::Index;
use crate::meta::claim::Claim;
use crate::meta::space;
use crate::meta::vector::VectorRecord;
use crate::meta::vector_log::{Change, LoggedVector};
use crate::meta::vector_metadata::Metadata;
use crate::pending::Committed;
use crate::store::Store;

/// Vectors to put, with their keys and metadata.
#[derive(Clone, Debug, Default)]
pub struct NewVectors {
    /// Key of each vector.
    pub keys: Vec<String>,
    /// Metadata of each vector.
    pub metadata: Vec<Metadata>,
    /// Elements of all vectors, one vector after another.
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
    /// Puts vectors, all of them or none; a vector replaces an older one of its key. When this
    /// returns they are durable, and queries find them.
    ///
    /// # Errors
    /// [`StoreError::InvalidField`] names the first invalid field;
    /// [`StoreError::NoSuchIndex`], [`StoreError::NoSpace`], [`StoreError::Poisoned`],
    /// [`StoreError::IndexDamaged`].
    ///
    /// # Panics
    /// If the numbers of keys, metadata and ends differ: a mistake of the caller.
    pub fn put_vectors(&self, index: &Index, vectors: NewVectors) -> Result<(), StoreError> {
        assert!(vectors.is_consistent(), "every vector has a key, metadata and an end");
        self.shared().cluster.standing()?;
        check::new_vectors(&vectors, index)?;
        if let Some(mirrors) = &self.inner.mirrors {
            return self.append_to_log(mirrors, index, changes(vectors));
        }
        let NewVectors { keys, metadata, elements, .. } = vectors;
        self.place_vectors(index, metadata, elements, |records| {
            self.commit_records(index, keys, records)
        })
    }

    /// Puts elements into free slots, has their records committed by `commit`, which returns the slots that
    /// no record references any more, and publishes both.
    pub(super) fn place_vectors(
        &self,
        index: &Index,
        metadata: Vec<Metadata>,
        elements: Vec<f32>,
        commit: impl FnOnce(&Arc<Vec<VectorRecord>>) -> Result<Vec<Slot>, StoreError>,
    ) -> Result<(), StoreError> {
        let open = self.open_index(index)?;
        // First, so that this put can use them.
        self.free_unused(&open)?;
        let slots = open.vectors.slots();
        let bytes_of = |vectors: usize| vectors as u64 * u64::from(index.dimension) * 4;
        self.inner.check_growth(bytes_of(metadata.len()), || {
            bytes_of(metadata.len().saturating_sub(slots.free_count()))
        })?;
        let written = slots.append_many(&elements).map_err(|error| index.failure(error))?;
        drop(elements);
        let added: Vec<Slot> = written.iter().map(|written| written.slot).collect();
        // Synced at `os`, too: a record must not become durable before the elements it references.
        let synced = open.vectors.slots().commit(Durability::Fsync);
        let synced = synced.map_err(|error| index.failure(error));
        // Before records reference the slots: their former texts must not be found for the new
        // vectors.
        self.inner.vectors.texts.forget(index.id, &added);
        // Held until the publication, so that `hold` finds no commit halfway.
        let committing = open.referenced.committing();
        let records = Arc::new(records(metadata, &written));
        let result = synced.and_then(|()| commit(&records));
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
        // Before the publication: a query that sees the slots also finds them in its columns.
        let learned = records.iter().map(|record| (Slot::new(record.slot), &record.metadata));
        self.inner.vectors.columns.learn(index.id, learned);
        self.publish_vectors(&open, index.id, &added, &removed)?;
        drop(committing);
        // Codes follow in the background. Searches compare vectors without codes exactly.
        open.vectors.prepare_soon();
        Ok(())
    }

    /// Commits the records of new vectors. Returns the slots that they replaced.
    fn commit_records(
        &self,
        index: &Index,
        keys: Vec<String>,
        records: &Arc<Vec<VectorRecord>>,
    ) -> Result<Vec<Slot>, StoreError> {
        let (index, records) = (index.clone(), Arc::clone(records));
        let committed = self.update(move |write, _| {
            write.claim(Claim::Index(index.id))?;
            index.require(write)?;
            write.fetch(keys.iter().map(|key| space::vector(index.id, key)))?;
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

/// The changes by which vectors are put into a log.
fn changes(vectors: NewVectors) -> Vec<Change> {
    let NewVectors { keys, metadata, elements, ends } = vectors;
    let mut begin = 0;
    let change = |((key, metadata), end): ((String, Metadata), usize)| {
        let elements = elements[begin..end].to_vec();
        begin = end;
        Change { key, vector: Some(LoggedVector { metadata, elements }) }
    };
    keys.into_iter().zip(metadata).zip(ends).map(change).collect()
}

fn records(metadata: Vec<Metadata>, written: &[Written]) -> Vec<VectorRecord> {
    let record = |(metadata, &Written { slot, crc })| VectorRecord {
        slot: Slot::number(slot),
        crc,
        metadata,
    };
    metadata.into_iter().zip(written).map(record).collect()
}

/// `true` if a failed update has certainly left no record. After any other error the outcome is
/// open, so the slots stay allocated. The next opening frees the ones that no record references.
fn is_certainly_lost(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::NoSpace | StoreError::NoSuchIndex { .. } | StoreError::Internal { .. }
    )
}
