//! The indexes whose files are open.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use liteio_vector::{SlotSet, VectorIndex};
use parking_lot::Mutex;

use super::cache::Cache;
use super::columns::Column;
use super::referenced::Referenced;
use super::text::TextIndex;
use super::unused::Unused;
use crate::limits::{COLUMN_BYTES_MAX, OPEN_INDEXES_MAX, TEXT_BYTES_MAX};
use crate::name::IndexId;

/// The open indexes of a store.
#[derive(Debug)]
pub(crate) struct Vectors {
    entries: Mutex<HashMap<IndexId, Arc<Entry>>>,
    /// More than these are not kept open, if others are idle.
    open_max: usize,
    /// Counts uses and openings.
    pub(crate) clock: AtomicU64,
    /// The store is closing: none is opened any more.
    pub(crate) is_closed: AtomicBool,
    pub(crate) columns: Cache<Column>,
    pub(crate) texts: Cache<TextIndex>,
}

/// An index that is open, or is being opened or closed by the holder of the lock.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    pub(crate) open: Mutex<Option<Arc<OpenIndex>>>,
    /// When it was last asked for, by the clock.
    used: AtomicU64,
}

/// An index whose files are open. It is not closed while somebody holds it.
#[derive(Debug)]
pub(crate) struct OpenIndex {
    pub(crate) vectors: VectorIndex,
    pub(crate) referenced: Referenced,
    pub(crate) unused: Unused,
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

    pub(crate) fn entry(&self, id: IndexId) -> Arc<Entry> {
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
    pub(crate) fn forget(&self, id: IndexId) {
        self.columns.remove_index(id);
        self.texts.remove_index(id);
        let entry = self.entries.lock().remove(&id);
        if let Some(entry) = entry {
            // An opening that begins now finds no record; one that has begun ends before this.
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
    /// `true` while nobody works with the index, opens it or closes it.
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
            // With the entry locked, so that the files are opened only after they were closed.
            open.save();
        }
    }
}

/// Only with its entry locked, without which nobody begins to work with it.
fn is_unused(open: Option<&Arc<OpenIndex>>) -> bool {
    open.is_none_or(|open| Arc::strong_count(open) == 1)
}

impl OpenIndex {
    pub(crate) fn with(vectors: VectorIndex, used: SlotSet, opening: u64) -> Self {
        let referenced = Referenced::new(used, opening);
        Self { vectors, referenced, unused: Unused::default() }
    }

    fn save(&self) {
        // Without them the next opening makes them again.
        let _ = self.vectors.save_codes();
    }
}
