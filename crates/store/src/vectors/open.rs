//! Indexes whose files are open.

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use liteio_vector::{Durability, Metric, Shape, Slot, SlotSet, VectorError, VectorIndex};
use parking_lot::Mutex;

use super::cache::Cache;
use super::columns::Column;
use super::index::Index;
use super::referenced::Referenced;
use super::text::TextIndex;
use super::unused::Unused;
use crate::error::StoreError;
use crate::kv::{Read, Snapshot};
use crate::limits::{COLUMN_BYTES_MAX, OPEN_INDEXES_MAX, TEXT_BYTES_MAX};
use crate::meta::space;
use crate::meta::vector::DistanceMetric;
use crate::name::IndexId;
use crate::store::Store;

const DIRECTORY: &str = "vectors";

/// The open indexes of a store.
#[derive(Debug)]
pub(crate) struct Vectors {
    entries: Mutex<HashMap<IndexId, Arc<Entry>>>,
    /// More than these are not kept open, if others are idle.
    open_max: usize,
    /// Counts uses and openings.
    clock: AtomicU64,
    /// From here on none is opened.
    is_closed: AtomicBool,
    pub(super) columns: Cache<Column>,
    pub(super) texts: Cache<TextIndex>,
}

/// An index that is open, or is being opened or closed by whoever holds the lock.
#[derive(Debug, Default)]
struct Entry {
    open: Mutex<Option<Arc<OpenIndex>>>,
    /// When it was last asked for, by the clock.
    used: AtomicU64,
}

/// An index whose files are open. Those who work with it hold it, so that it is not closed.
#[derive(Debug)]
pub(crate) struct OpenIndex {
    pub(super) vectors: VectorIndex,
    pub(super) referenced: Referenced,
    pub(super) unused: Unused,
}

impl Vectors {
    /// For a store with files, or for one whose vectors are in its open indexes and nowhere else.
    pub(crate) fn new(has_files: bool) -> Self {
        Self {
            entries: Mutex::default(),
            open_max: if has_files { OPEN_INDEXES_MAX } else { usize::MAX },
            clock: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
            columns: Cache::new(COLUMN_BYTES_MAX),
            texts: Cache::new(TEXT_BYTES_MAX),
        }
    }

    fn entry(&self, id: IndexId) -> Arc<Entry> {
        let (entry, idle) = {
            let mut entries = self.entries.lock();
            let entry = Arc::clone(entries.entry(id).or_default());
            entry.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
            let is_full = entries.len() > self.open_max;
            let others = entries.iter().filter(|(other, entry)| **other != id && entry.is_idle());
            let oldest = || others.min_by_key(|(_, entry)| entry.used.load(Ordering::Relaxed));
            let idle = is_full.then(oldest).flatten();
            (entry, idle.map(|(id, entry)| (*id, Arc::clone(entry))))
        };
        if let Some((id, idle)) = idle {
            idle.close();
            let mut entries = self.entries.lock();
            // Unless somebody has come for it meanwhile, and has opened it again or is about to.
            let is_alone = Arc::strong_count(&idle) == 2 && idle.is_closed();
            if is_alone && entries.get(&id).is_some_and(|it| Arc::ptr_eq(it, &idle)) {
                entries.remove(&id);
            }
        }
        entry
    }

    /// Closes an index that is about to be deleted; those who still work with it see its files until
    /// they are done.
    fn forget(&self, id: IndexId) {
        self.columns.remove_index(id);
        self.texts.remove_index(id);
        let entry = self.entries.lock().remove(&id);
        if let Some(entry) = entry {
            // Whoever is opening it finds no record from here on, or has opened it already.
            *entry.open.lock() = None;
        }
    }

    /// Closes all, and saves what makes the next opening quick.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        let entries = std::mem::take(&mut *self.entries.lock());
        for entry in entries.into_values() {
            if let Some(open) = entry.open.lock().take() {
                open.save();
            }
        }
    }
}

impl Entry {
    /// Whether nobody works with the index, opens it or closes it.
    fn is_idle(&self) -> bool {
        self.open.try_lock().is_some_and(|open| is_unused(open.as_ref()))
    }

    fn is_closed(&self) -> bool {
        self.open.try_lock().is_some_and(|open| open.is_none())
    }

    /// Closes the index unless somebody works with it.
    fn close(&self) {
        let Some(mut open) = self.open.try_lock() else { return };
        if is_unused(open.as_ref())
            && let Some(open) = open.take()
        {
            // With the entry locked: whoever comes for it opens the files after they were closed.
            open.save();
        }
    }
}

/// Only with its entry locked, without which nobody begins to work with it.
fn is_unused(open: Option<&Arc<OpenIndex>>) -> bool {
    open.is_none_or(|open| Arc::strong_count(open) == 1)
}

impl OpenIndex {
    fn open(
        store: &Store,
        index: &Index,
        snapshot: &Snapshot,
        opening: u64,
    ) -> Result<Self, StoreError> {
        let metric = match index.metric {
            DistanceMetric::Cosine => Metric::Cosine,
            DistanceMetric::Euclidean => Metric::Euclidean,
        };
        let shape = Shape::new(index.dimension as usize, metric)?;
        let used = used_slots(snapshot, index.id)?;
        let Some(disk) = &store.inner.disk else {
            let vectors = VectorIndex::in_memory(shape)?;
            return Ok(Self::with(vectors, used, opening));
        };
        let path = path(index.id);
        let vectors = match VectorIndex::open(Arc::clone(disk), &path, shape) {
            // It is made when it is first needed.
            Err(VectorError::NotThere { .. }) if used.is_empty() => {
                // Not before its record is durable: a power cut would leave it to another index.
                store.sync_rest()?;
                disk.create_dir(DIRECTORY)?;
                disk.sync_dir("")?;
                VectorIndex::create(Arc::clone(disk), &path, shape)?
            }
            opened => opened?,
        };
        let slots = vectors.slots();
        let end = used.iter().last().map_or(0, |slot| slot.number() + 1);
        if end > slots.slot_count() {
            // The file was damaged. What it lost is told by the CRCs; what is new goes behind it.
            slots.ensure_slots(end)?;
            slots.commit(Durability::Fsync)?;
        }
        // After the snapshot, so that what it no longer names is covered.
        let unsynced = store.unsynced()?;
        let unnamed =
            || (0..slots.slot_count()).map(Slot::new).filter(|slot| !used.contains(*slot));
        let unused = match unsynced {
            None => {
                slots.retain(&used)?;
                Unused::default()
            }
            Some(position) => Unused::waiting(position, unnamed().collect()),
        };
        Ok(Self { unused, ..Self::with(vectors, used, opening) })
    }

    fn with(vectors: VectorIndex, used: SlotSet, opening: u64) -> Self {
        let referenced = Referenced::new(used, opening);
        Self { vectors, referenced, unused: Unused::default() }
    }

    fn save(&self) {
        // Without them the next opening makes them again.
        let _ = self.vectors.save_codes();
    }
}

/// The slots that records name.
pub(super) fn used_slots(from: &impl Read, id: IndexId) -> Result<SlotSet, StoreError> {
    let prefix = space::vector_slots_of(id);
    let mut cursor = from.cursor(Bound::Included(&prefix), Bound::Unbounded)?;
    let mut used = SlotSet::new();
    while let Some((key, _)) = cursor.next()?
        && key.starts_with(&prefix)
    {
        let (_, slot) = space::split_vector_slot(key)
            .ok_or_else(|| StoreError::corrupt("the key of a slot"))?;
        used.insert(Slot::new(slot));
    }
    Ok(used)
}

fn path(id: IndexId) -> String {
    format!("{DIRECTORY}/{:08x}", id.0)
}

impl Store {
    /// The files of an index, opened if they are not.
    ///
    /// # Errors
    /// [`StoreError::NoSuchIndex`] when it was deleted, or why its files cannot be opened.
    pub(crate) fn open_index(&self, index: &Index) -> Result<Arc<OpenIndex>, StoreError> {
        let entry = self.inner.vectors.entry(index.id);
        let mut open = entry.open.lock();
        if let Some(open) = &*open {
            return Ok(Arc::clone(open));
        }
        if self.inner.vectors.is_closed.load(Ordering::Acquire) {
            // Somebody may still work with the files that were closed.
            return Err(StoreError::Closed);
        }
        // With the entry locked: whoever deletes the files has committed before, and locks it after.
        let snapshot = self.snapshot()?;
        index.require(&snapshot)?;
        let opening = self.inner.vectors.clock.fetch_add(1, Ordering::Relaxed);
        let opened = Arc::new(OpenIndex::open(self, index, &snapshot, opening)?);
        *open = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// Removes the files of an index whose record is gone.
    pub(crate) fn remove_index_files(&self, id: IndexId) -> Result<(), StoreError> {
        self.inner.vectors.forget(id);
        match &self.inner.disk {
            Some(disk) if disk.list("")?.iter().any(|entry| entry.name == DIRECTORY) => {
                Ok(VectorIndex::remove(&**disk, &path(id))?)
            }
            _ => Ok(()),
        }
    }
}
