//! Opening and removal of the files of an index.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use liteio_kv::{Read, Snapshot};
use liteio_vector::{Metric, Shape, Slot, SlotSet, VectorError, VectorIndex};

use super::compare;
use super::remembered::remembered_path;
use crate::error::StoreError;
use crate::indexes::{Index, OpenIndex, Unused};
use crate::meta::space;
use crate::meta::vector::DistanceMetric;
use crate::name::IndexId;
use crate::store::Store;

pub(crate) const DIRECTORY: &str = "vectors";

impl Store {
    /// The files of an index, opened if necessary.
    ///
    /// # Errors
    /// [`StoreError::NoSuchIndex`] if it was deleted; [`StoreError::IndexDamaged`],
    /// [`StoreError::NoSpace`] or [`StoreError::Poisoned`] if its files cannot be opened or
    /// created.
    pub(crate) fn open_index(&self, index: &Index) -> Result<Arc<OpenIndex>, StoreError> {
        let entry = self.inner.vectors.entry(index.id);
        let mut open = entry.open.lock();
        if let Some(open) = &*open {
            return Ok(Arc::clone(open));
        }
        if self.inner.vectors.is_closed.load(Ordering::Acquire) {
            // A request may still hold the closed files; two openings must not write the same ones.
            return Err(StoreError::Closed);
        }
        // Read with the entry locked. DeleteIndex commits first and locks the entry before it
        // removes the files, so either the record is missing here or the files stay until the entry
        // is unlocked.
        let snapshot = self.snapshot()?;
        index.require(&snapshot)?;
        // The columns of a former opening may lack vectors that it committed but never published.
        // These are found from now on.
        self.inner.vectors.columns.remove_index(index.id);
        let opening = self.inner.vectors.clock.fetch_add(1, Ordering::Relaxed);
        let opened = Arc::new(open_files(self, index, &snapshot, opening)?);
        *open = Some(Arc::clone(&opened));
        drop(open);
        self.want_remembered(index);
        Ok(opened)
    }

    /// Removes the files of an index whose record is gone.
    pub(crate) fn remove_index_files(&self, id: IndexId) -> Result<(), StoreError> {
        self.inner.vectors.forget(id);
        match &self.inner.disk {
            Some(disk) if disk.list("")?.iter().any(|entry| entry.name == DIRECTORY) => {
                disk.remove_if_there(&remembered_path(id))?;
                Ok(VectorIndex::remove(&**disk, &path(id))?)
            }
            _ => Ok(()),
        }
    }
}

/// Opens the files of an index as `snapshot` shows it, or makes them.
fn open_files(
    store: &Store,
    index: &Index,
    snapshot: &Snapshot,
    opening: u64,
) -> Result<OpenIndex, StoreError> {
    let shape = shape_of(index)?;
    let used = used_slots(snapshot, index.id)?;
    let Some(disk) = &store.inner.disk else {
        let vectors = VectorIndex::in_memory(shape)?;
        return Ok(OpenIndex::with(vectors, used, opening));
    };
    let failure = |error| index.failure(error);
    let path = path(index.id);
    let vectors = match VectorIndex::open(Arc::clone(disk), &path, shape) {
        // Slot files are created at the first use of an index.
        Err(VectorError::NotThere { .. }) if used.is_empty() => {
            // Only after the index's record is durable. A power cut could undo the record
            // otherwise, and another index of the same number would find this file.
            store.sync_rest()?;
            disk.create_dir(DIRECTORY)?;
            disk.sync_dir("")?;
            VectorIndex::create(Arc::clone(disk), &path, shape).map_err(failure)?
        }
        opened => opened.map_err(failure)?,
    };
    let slots = vectors.slots();
    compare::with_records(slots, index, snapshot, &used)?;
    // Asked after the snapshot, so that the position covers every update in the snapshot.
    let until = store.unused_until()?;
    // Slots that a crash has left without a record: between the sync of the elements and the commit
    // of the records, or after a delete.
    let unnamed = || (0..slots.slot_count()).map(Slot::new).filter(|slot| !used.contains(*slot));
    let unused = match until {
        until if until.is_now() => {
            // Every update is durable, so no crash can bring back a record that references another
            // slot; and no backup has to read one.
            slots.retain(&used)?;
            Unused::default()
        }
        until => Unused::waiting(until, unnamed().collect()),
    };
    // Vectors that a `kill -9` has left without codes get them in the background.
    vectors.prepare_soon();
    Ok(OpenIndex { unused, ..OpenIndex::with(vectors, used, opening) })
}

/// The shape of the vectors of an index.
pub(crate) fn shape_of(index: &Index) -> Result<Shape, StoreError> {
    shape(index.dimension, index.metric)
}

/// The shape of vectors of `dimension` elements that are compared by `metric`.
pub(crate) fn shape(dimension: u32, metric: DistanceMetric) -> Result<Shape, StoreError> {
    let metric = match metric {
        DistanceMetric::Cosine => Metric::Cosine,
        DistanceMetric::Euclidean => Metric::Euclidean,
    };
    Ok(Shape::new(dimension as usize, metric)?)
}

/// The slots that records reference.
pub(crate) fn used_slots(from: &impl Read, id: IndexId) -> Result<SlotSet, StoreError> {
    let prefix = space::vector_slots_of(id);
    let mut cursor = space::within(from, &prefix)?;
    let mut used = SlotSet::new();
    while let Some((key, _)) = cursor.next()? {
        let (_, slot) = space::split_vector_slot(key)
            .ok_or_else(|| StoreError::corrupt("the key of a slot"))?;
        used.insert(Slot::new(slot));
    }
    Ok(used)
}

pub(crate) fn path(id: IndexId) -> String {
    format!("{DIRECTORY}/{:08x}", id.0)
}
