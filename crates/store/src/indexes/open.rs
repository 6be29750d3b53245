//! The table of open indexes.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use liteio_vector::{SlotSet, VectorIndex};
use parking_lot::Mutex;

use super::cache::Cache;
use super::columns::Columns;
use super::referenced::Referenced;
use super::text::TextIndex;
use super::unused::Unused;
use crate::limits::{COLUMN_BYTES_MAX, OPEN_INDEXES_MAX, TEXT_BYTES_MAX};
use crate::name::IndexId;

/// The open indexes of a store, with the data derived from them.
#[derive(Debug)]
pub(crate) struct Vectors {
    entries: Mutex<HashMap<IndexId, Arc<Entry>>>,
    /// Number of open indexes above which the least recently used idle one is closed.
    open_max: usize,
    /// Logical clock of uses and openings.
    pub(crate) clock: AtomicU64,
    /// Set when the store closes; no index is opened after that.
    pub(crate) is_closed: AtomicBool,
    pub(crate) columns: Columns,
    pub(crate) texts: Cache<TextIndex>,
}

/// An index that is open, or that the holder of the lock opens or closes.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    pub(crate) open: Mutex<Option<Arc<OpenIndex>>>,
    /// Clock value of the last use.
    used: AtomicU64,
}

/// An index whose files are open. A request that holds it keeps them open.
#[derive(Debug)]
pub(crate) struct OpenIndex {
    pub(crate) vectors: VectorIndex,
    pub(crate) referenced: Referenced,
    pub(crate) unused: Unused,
}

impl Vectors {
    /// `has_files` is `false` for a store in memory: its vectors exist only in the open indexes, so
    /// none is closed to make room.
    pub(crate) fn new(has_files: bool) -> Self {
        Self {
            entries: Mutex::default(),
            open_max: if has_files { OPEN_INDEXES_MAX } else { usize::MAX },
            clock: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
            columns: Columns::new(COLUMN_BYTES_MAX),
            texts: Cache::new(TEXT_BYTES_MAX),
        }
    }

    /// The entry of an index. If too many are open, the call closes an idle one.
    pub(crate) fn entry(&self, id: IndexId) -> Arc<Entry> {
        let (entry, idle) = {
            let mut entries = self.entries.lock();
            let entry = Arc::clone(entries.entry(id).or_default());
            entry.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
            // Chosen under the lock, but closed without it: to save the codes takes long.
            let is_full = entries.len() > self.open_max;
            let others = entries.iter().filter(|(other, entry)| **other != id && entry.is_idle());
            let oldest = || others.min_by_key(|(_, entry)| entry.used.load(Ordering::Relaxed));
            let idle = is_full.then(oldest).flatten();
            (entry, idle.map(|(id, entry)| (*id, Arc::clone(entry))))
        };
        if let Some((id, idle)) = idle {
            idle.close();
            let mut entries = self.entries.lock();
            // Not if another thread has taken the entry meanwhile, and has opened it again or is
            // about to. The two references are the table's and this function's. A third one cannot
            // appear now, because the table is locked.
            let is_alone = Arc::strong_count(&idle) == 2 && idle.is_closed();
            if is_alone && entries.get(&id).is_some_and(|it| Arc::ptr_eq(it, &idle)) {
                entries.remove(&id);
            }
        }
        entry
    }

    /// The index, if its files are open and nobody opens or closes them just now.
    pub(crate) fn if_open(&self, id: IndexId) -> Option<Arc<OpenIndex>> {
        let entry = self.entries.lock().get(&id).cloned()?;
        entry.open.try_lock()?.clone()
    }

    /// Calls `work` if the files of an index are open. They are neither closed nor removed
    /// meanwhile, because the entry stays locked.
    pub(crate) fn while_open(&self, id: IndexId, work: impl FnOnce()) {
        let entry = self.entries.lock().get(&id).cloned();
        let Some(entry) = entry else { return };
        let open = entry.open.lock();
        if open.is_some() {
            work();
        }
    }

    /// All open indexes, except the ones that are just being opened or closed.
    pub(crate) fn all_open(&self) -> Vec<Arc<OpenIndex>> {
        let entries: Vec<_> = self.entries.lock().values().cloned().collect();
        entries.iter().filter_map(|entry| entry.open.try_lock()?.clone()).collect()
    }

    /// Closes an index that is about to be deleted. A request that holds it keeps its files open
    /// until it ends.
    pub(crate) fn forget(&self, id: IndexId) {
        self.columns.remove_index(id);
        self.texts.remove_index(id);
        let entry = self.entries.lock().remove(&id);
        if let Some(entry) = entry {
            // An opening that begins now finds no record. One that has begun holds the lock and
            // ends before this.
            *entry.open.lock() = None;
        }
    }

    /// Closes all indexes and saves their codes, so that the next opening need not compute them.
    pub(crate) fn close(&self) {
        // Before the entries are taken: a request after that would open an index that is never
        // closed.
        self.is_closed.store(true, Ordering::Release);
        self.columns.stop();
        let entries = std::mem::take(&mut *self.entries.lock());
        for entry in entries.into_values() {
            if let Some(open) = entry.open.lock().take() {
                open.save();
            }
        }
    }
}

impl Entry {
    /// `true` while no request uses, opens or closes the index.
    fn is_idle(&self) -> bool {
        self.open.try_lock().is_some_and(|open| is_unused(open.as_ref()))
    }

    fn is_closed(&self) -> bool {
        self.open.try_lock().is_some_and(|open| open.is_none())
    }

    /// Closes the index unless a request uses it.
    fn close(&self) {
        let Some(mut open) = self.open.try_lock() else { return };
        if is_unused(open.as_ref())
            && let Some(open) = open.take()
        {
            // Under the lock of the entry: the files must not be opened again before they are
            // closed.
            open.save();
        }
    }
}

/// `true` if no request holds the index. To be called with the entry locked, because requests take
/// the index under that lock.
fn is_unused(open: Option<&Arc<OpenIndex>>) -> bool {
    open.is_none_or(|open| Arc::strong_count(open) == 1)
}

impl OpenIndex {
    pub(crate) fn with(vectors: VectorIndex, used: SlotSet, opening: u64) -> Self {
        let referenced = Referenced::new(used, opening);
        Self { vectors, referenced, unused: Unused::default() }
    }

    fn save(&self) {
        // A failure is harmless: the next opening computes the codes again.
        let _ = self.vectors.save_codes();
    }
}
