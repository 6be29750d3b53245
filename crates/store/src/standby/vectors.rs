//! The vectors of a standby: each gets a slot of the standby's own file.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use liteio_disk::Durability;
use liteio_kv::{Read as _, Snapshot};
use liteio_vector::{Shape, Slot, VectorIndex, Written, vector_crc};

use super::net::NetChanges;
use crate::error::StoreError;
use crate::indexes::{Index, OpenIndex};
use crate::meta::space;
use crate::meta::vector::{IndexRecord, VectorRecord};
use crate::name::IndexId;
use crate::store::Store;
use crate::vectors::{DIRECTORY, path_of_index, shape};

/// The changes of the vectors of one index.
#[derive(Debug, Default)]
pub(super) struct VectorChanges {
    /// Each changed vector, with its record, whose slot is that of the standby; `None` if it is
    /// removed.
    pub(super) vectors: Vec<(String, Option<VectorRecord>)>,
    /// `None` for an index that has no file yet, or is removed.
    pub(super) open: Option<Arc<OpenIndex>>,
}

/// The changes of all vectors, with their elements in the files.
#[derive(Debug, Default)]
pub(super) struct Translated {
    pub(super) indexes: BTreeMap<IndexId, VectorChanges>,
    /// Number of vectors whose elements the backup does not have.
    pub(super) left_out: u64,
}

/// A changed vector, with the record of the primary.
type Changed = (String, Option<VectorRecord>);

impl Store {
    /// Takes the vectors out of `changes`, and puts their elements into slots, synced.
    pub(super) fn translate_vectors(
        &self,
        changes: &mut NetChanges,
        snapshot: &Snapshot,
    ) -> Result<Translated, StoreError> {
        let mut translated = Translated::default();
        let mut by_index: BTreeMap<IndexId, Vec<Changed>> = BTreeMap::new();
        let is_vector = |key: &Vec<u8>| key.starts_with(space::ALL_VECTORS);
        let rows: Vec<_> = changes.pairs.extract_if(.., |key, _| is_vector(key)).collect();
        if rows.is_empty() {
            return Ok(translated);
        }
        for (row, value) in rows {
            let (id, key) = VectorRecord::index_and_key(&row)?;
            // A damaged record was damaged at the primary, and is left out.
            let record = value.and_then(|value| VectorRecord::decode(&value).ok());
            by_index.entry(id).or_default().push((key.to_owned(), record));
        }
        let own = Index::all_in(self, snapshot)?;
        let (new, removed) = changed_indexes(changes, snapshot)?;
        for (id, vectors) in by_index {
            let target = match (own.get(&id), new.get(&id)) {
                (Some(index), _) if !removed.contains(&id) => {
                    Target::Open(self.open_index(index)?, shape(index.dimension, index.metric)?)
                }
                (None, Some(record)) => {
                    Target::New(self.new_file(id, record)?, shape(record.dimension, record.metric)?)
                }
                _ => Target::Gone,
            };
            let done = self.put_elements(changes, snapshot, id, vectors, &target)?;
            translated.left_out += done.1;
            let open = match target {
                Target::Open(open, _) => Some(open),
                Target::New(..) | Target::Gone => None,
            };
            translated.indexes.insert(id, VectorChanges { vectors: done.0, open });
        }
        Ok(translated)
    }

    /// The file of an index that the store does not have yet. One that is there is of an earlier
    /// attempt.
    fn new_file(&self, id: IndexId, record: &IndexRecord) -> Result<VectorIndex, StoreError> {
        let Some(disk) = &self.inner.disk else {
            return Err(StoreError::Internal { what: "a standby in memory".to_owned() });
        };
        disk.create_dir(DIRECTORY)?;
        disk.sync_dir("")?;
        self.remove_index_files(id)?;
        let shape = shape(record.dimension, record.metric)?;
        Ok(VectorIndex::create(Arc::clone(disk), &path_of_index(id), shape)?)
    }

    /// Puts elements into the slots of an index. Returns the vectors with their new records, and the
    /// number of those without elements.
    fn put_elements(
        &self,
        changes: &NetChanges,
        snapshot: &Snapshot,
        id: IndexId,
        vectors: Vec<Changed>,
        target: &Target,
    ) -> Result<(Vec<Changed>, u64), StoreError> {
        let (slots, shape) = match target {
            Target::Open(open, shape) => (open.vectors.slots(), shape),
            Target::New(vectors, shape) => (vectors.slots(), shape),
            Target::Gone => {
                return Ok((vectors.into_iter().map(|(key, _)| (key, None)).collect(), 0));
            }
        };
        if let Target::Open(open, _) = target {
            slots.check()?;
            self.free_unused(open)?;
        }
        let mut elements = Vec::new();
        let mut left_out = 0;
        let mut kept = Vec::with_capacity(vectors.len());
        for (key, record) in vectors {
            let record = match record {
                None => None,
                Some(record) => {
                    let row = space::elements(id, record.slot);
                    let found = match changes.elements.get(&row) {
                        Some(bytes) => Some(bytes.clone()),
                        // They came with an earlier segment than their record.
                        None => snapshot.get(&row)?.map(|bytes| bytes.to_vec()),
                    };
                    match found.and_then(|bytes| whole(&bytes, &record, shape)) {
                        Some(mut found) => {
                            elements.append(&mut found);
                            Some(record)
                        }
                        None => {
                            left_out += 1;
                            None
                        }
                    }
                }
            };
            kept.push((key, record));
        }
        if elements.is_empty() {
            return Ok((kept, left_out));
        }
        let written = slots.append_many(&elements)?;
        // Before the records that reference them.
        slots.commit(Durability::Fsync)?;
        let added: Vec<Slot> = written.iter().map(|written| written.slot).collect();
        self.inner.vectors.texts.forget(id, &added);
        let records = kept.iter_mut().filter_map(|(_, record)| record.as_mut());
        for (record, Written { slot, .. }) in records.zip(written) {
            record.slot = slot.number();
        }
        Ok((kept, left_out))
    }

    /// Makes committed vectors visible to searches.
    pub(super) fn publish_translated(
        &self,
        translated: &Translated,
        removed: &HashMap<IndexId, Vec<Slot>>,
    ) -> Result<(), StoreError> {
        for (id, VectorChanges { vectors, open }) in &translated.indexes {
            let Some(open) = open else { continue };
            let records = || vectors.iter().filter_map(|(_, record)| record.as_ref());
            let learned = records().map(|record| (Slot::new(record.slot), &record.metadata));
            self.inner.vectors.columns.learn(*id, learned);
            let added: Vec<Slot> = records().map(|record| Slot::new(record.slot)).collect();
            let removed = removed.get(id).map_or(&[][..], Vec::as_slice);
            self.publish_vectors(open, *id, &added, removed)?;
            open.vectors.prepare_soon();
        }
        Ok(())
    }
}

/// The file that the vectors of an index go to.
enum Target {
    Open(Arc<OpenIndex>, Shape),
    New(VectorIndex, Shape),
    /// The index is removed with these changes, or was before.
    Gone,
}

/// The elements of a vector, if they are those of its record.
fn whole(bytes: &[u8], record: &VectorRecord, shape: &Shape) -> Option<Vec<f32>> {
    let elements: Vec<f32> =
        bytes.chunks_exact(4).map(|it| f32::from_le_bytes([it[0], it[1], it[2], it[3]])).collect();
    let is_whole = elements.len() == shape.dimension() && vector_crc(&elements) == record.crc;
    is_whole.then_some(elements)
}

/// The indexes that `changes` have records of, and those that they remove.
pub(super) fn changed_indexes(
    changes: &NetChanges,
    snapshot: &Snapshot,
) -> Result<(HashMap<IndexId, IndexRecord>, HashSet<IndexId>), StoreError> {
    let (mut new, mut removed) = (HashMap::new(), HashSet::new());
    for (key, value) in &changes.pairs {
        if !key.starts_with(space::ALL_INDEXES) {
            continue;
        }
        // The name may have got another index.
        if let Some(old) = snapshot.get(key)? {
            removed.insert(IndexRecord::decode(&old)?.id);
        }
        if let Some(value) = value {
            let record = IndexRecord::decode(value)?;
            new.insert(record.id, record);
        }
    }
    removed.retain(|id| !new.contains_key(id));
    Ok((new, removed))
}
