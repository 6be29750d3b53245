//! The files of vectors, made from the rows of a backup.

use std::ops::Bound;
use std::sync::Arc;

use liteio_disk::Durability;
use liteio_kv::{Read as _, Snapshot};
use liteio_vector::{SlotSet, VectorIndex, vector_crc};

use super::restore::{Restore, RestoreReport};
use crate::error::StoreError;
use crate::meta::vector::{IndexRecord, VectorRecord};
use crate::meta::{key, space};
use crate::name::IndexId;
use crate::vectors::{DIRECTORY, path_of_index, shape};

/// Elements appended per call.
const ELEMENTS_AT_ONCE: usize = 1 << 18;
/// Makes the slot file of each index, with each vector in the slot that its record names, and
/// removes the rows with elements.
pub(super) fn restore(to: &Restore) -> Result<RestoreReport, StoreError> {
    let snapshot = to.kv.snapshot()?;
    let mut report = RestoreReport::default();
    let end = key::successor(space::ALL_INDEXES).unwrap_or_default();
    let lower = Bound::Included(space::ALL_INDEXES);
    let mut indexes = snapshot.cursor(lower, Bound::Excluded(&end))?;
    let mut has_directory = false;
    while let Some((_, value)) = indexes.next()? {
        let index = IndexRecord::decode(value)?;
        if !has_directory {
            to.disk.create_dir(DIRECTORY)?;
            to.disk.sync_dir("")?;
            has_directory = true;
        }
        restore_index(to, &snapshot, &index, &mut report)?;
    }
    drop(indexes);
    drop(snapshot);
    to.remove_rows(space::ALL_ELEMENTS, |row, _| Ok(vec![row.to_vec()]))?;
    Ok(report)
}

fn restore_index(
    to: &Restore,
    snapshot: &Snapshot,
    index: &IndexRecord,
    report: &mut RestoreReport,
) -> Result<(), StoreError> {
    let prefix = space::vector_slots_of(index.id);
    let end = key::successor(&prefix).unwrap_or_default();
    let mut rows = snapshot.cursor(Bound::Included(&prefix), Bound::Excluded(&end))?;
    let mut slots = Slots::new(to, index)?;
    let mut lost = Vec::new();
    while let Some((row, vector)) = rows.next()? {
        let (_, slot) = space::split_vector_slot(row)
            .ok_or_else(|| StoreError::corrupt("the key of a slot"))?;
        let vector = std::str::from_utf8(vector)
            .map_err(|_| StoreError::corrupt("the key of a vector in its slot"))?;
        match elements_of(snapshot, index, slot, vector)? {
            Some(elements) => slots.push(slot, &elements)?,
            None => lost.push(vector.to_owned()),
        }
    }
    drop(rows);
    report.vectors += slots.finish()?;
    report.left_out += lost.len() as u64;
    leave_out(to, index.id, lost)
}

/// The elements of a slot; `None` if the backup has none, or others.
fn elements_of(
    snapshot: &Snapshot,
    index: &IndexRecord,
    slot: u32,
    vector: &str,
) -> Result<Option<Vec<f32>>, StoreError> {
    let Some(record) = VectorRecord::read(snapshot, index.id, vector)? else { return Ok(None) };
    let Some(bytes) = snapshot.get(&space::elements(index.id, slot))? else { return Ok(None) };
    let elements: Vec<f32> =
        bytes.chunks_exact(4).map(|it| f32::from_le_bytes([it[0], it[1], it[2], it[3]])).collect();
    let is_whole = record.slot == slot
        && elements.len() == index.dimension as usize
        && vector_crc(&elements) == record.crc;
    Ok(is_whole.then_some(elements))
}

/// The slot file of an index, filled in the order of its slots.
struct Slots {
    vectors: VectorIndex,
    dimension: usize,
    used: SlotSet,
    count: u64,
    /// The number of the slot of the next appended elements.
    next: u32,
    elements: Vec<f32>,
}

impl Slots {
    fn new(to: &Restore, index: &IndexRecord) -> Result<Self, StoreError> {
        let shape = shape(index.dimension, index.metric)?;
        let vectors = VectorIndex::create(Arc::clone(&to.disk), &path_of_index(index.id), shape)?;
        let dimension = index.dimension as usize;
        let (used, elements) = (SlotSet::new(), Vec::new());
        Ok(Self { vectors, dimension, used, count: 0, next: 0, elements })
    }

    fn push(&mut self, slot: u32, elements: &[f32]) -> Result<(), StoreError> {
        // A free slot needs a vector that passes the checks; it is freed at the end.
        while self.next < slot {
            self.elements.resize(self.elements.len() + self.dimension, 1.0);
            self.appended()?;
        }
        self.elements.extend_from_slice(elements);
        self.used.insert(liteio_vector::Slot::new(slot));
        self.count += 1;
        self.appended()
    }

    fn appended(&mut self) -> Result<(), StoreError> {
        self.next += 1;
        if self.elements.len() >= ELEMENTS_AT_ONCE { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), StoreError> {
        self.vectors.slots().append_many(&self.elements)?;
        self.elements.clear();
        Ok(())
    }

    /// Returns the number of vectors.
    fn finish(mut self) -> Result<u64, StoreError> {
        self.write()?;
        let slots = self.vectors.slots();
        slots.commit(Durability::Fsync)?;
        slots.retain(&self.used)?;
        Ok(self.count)
    }
}

/// Removes the records of vectors without elements.
fn leave_out(to: &Restore, index: IndexId, lost: Vec<String>) -> Result<(), StoreError> {
    if lost.is_empty() {
        return Ok(());
    }
    let removed = to.kv.update(move |write| -> Result<(), StoreError> {
        for vector in &lost {
            VectorRecord::remove(write, index, vector)?;
        }
        Ok(())
    });
    removed.wait()
}
