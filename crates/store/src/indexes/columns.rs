//! The columns of open indexes. A column is made in the background, when a filter first uses its
//! metadata key or when an index is opened whose filters used it before. From then on every put and
//! delete keeps it up to date.
//!
//! ```text
//!         filter          maker           maker, at the end
//! absent ───────► wanted ───────► making ───────────────────► ready
//!                                   │ more memory than all columns may have
//!                                   └──────────────────────────────────────► too large
//! ```
//! A put tells the columns of its slots between the commit of its records and the publication of
//! the slots. A column listens before the maker takes its first snapshot. So each vector is in a
//! snapshot of the maker, or told by its put, or both, and a ready column knows every slot of every
//! [`Moment`](super::referenced::Moment) that is taken from then on.
//!
//! Locks: a query holds the read locks of several columns, taken in the order of their keys. The
//! maker, puts and deletes lock one column at a time.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use liteio_vector::{Slot, SlotSet};
use parking_lot::{Condvar, Mutex, RwLockReadGuard};

use super::cache::{Cache, Derived, Entry};
use super::column::Column;
use super::filter::Filter;
use super::index::Index;
use super::scope::Scope;
use super::selection::{Part, Selection};
use crate::error::StoreError;
use crate::meta::vector_metadata::{Metadata, MetadataValue};
use crate::name::IndexId;

/// Limit of slots left by the ready columns, up to which the other conditions are evaluated on the
/// records.
const RECORDS_MAX: usize = 1_024;

/// Time after which a waiting query asks for its column again: the thread that made it may have
/// ended by a panic.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Slots that are posted under one lock. It bounds the wait of queries and puts.
const POST_AT_ONCE: u32 = 4_096;

/// The columns of all open indexes.
#[derive(Debug)]
pub(crate) struct Columns {
    cache: Cache<KeyColumn>,
    queue: Mutex<Queue>,
    /// Notified when a column becomes ready or is given up.
    changed: (Mutex<()>, Condvar),
    is_stopped: AtomicBool,
}

/// Indexes that wait for columns, and the thread that makes them.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) wanted: Vec<Index>,
    /// Indexes that had columns before the start and are to be opened.
    pub(crate) unopened: Vec<Index>,
    /// `true` if a thread makes the columns; `false` if the query does that wants them.
    pub(crate) may_spawn: bool,
    /// Set while the thread that makes columns will look at `wanted` again before it ends.
    pub(crate) is_making: bool,
    pub(crate) thread: Option<JoinHandle<()>>,
}

/// The column of a metadata key.
#[derive(Debug, Default)]
pub(crate) struct KeyColumn {
    column: Column,
    progress: Progress,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Progress {
    #[default]
    Absent,
    Wanted,
    Making,
    Ready,
    /// The column exceeded the limit when it had the values of this many vectors.
    TooLarge(usize),
}

pub(crate) type ColumnEntry = Arc<Entry<KeyColumn>>;

/// The slots that a filter accepts.
pub(crate) enum Selected {
    Slots(SlotSet),
    /// Vectors were replaced during the evaluation.
    Replaced,
    /// The columns of these keys are not ready.
    Pending(Vec<ColumnEntry>),
    /// The values of a key do not fit into memory.
    TooLarge,
}

impl Derived for KeyColumn {
    fn bytes(&self) -> usize {
        self.column.memory()
    }

    fn forget(&mut self, slots: &[Slot]) {
        slots.iter().for_each(|slot| self.column.forget(*slot));
    }
}

impl KeyColumn {
    fn listens(&self) -> bool {
        matches!(self.progress, Progress::Making | Progress::Ready)
    }

    fn give_up(&mut self, progress: Progress) {
        *self = Self { column: Column::default(), progress };
    }
}

impl Columns {
    /// `bytes_max` limits the memory of all columns together.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            cache: Cache::new(bytes_max),
            queue: Mutex::default(),
            changed: Default::default(),
            is_stopped: AtomicBool::new(false),
        }
    }

    /// Tells the columns of an index of new vectors. To be called after the commit of their records
    /// and before the publication of their slots.
    pub(crate) fn learn<'m>(
        &self,
        id: IndexId,
        vectors: impl Iterator<Item = (Slot, &'m Metadata)> + Clone,
    ) {
        for entry in self.cache.of_index(id) {
            let mut column = entry.derived.write();
            // Absent and wanted columns find these vectors in a snapshot when they are made.
            if !column.listens() {
                continue;
            }
            let mut has_room = true;
            for (slot, metadata) in vectors.clone() {
                has_room &= column.column.set(slot, metadata.get(&entry.key));
            }
            let known = column.column.known();
            if !has_room {
                column.give_up(Progress::TooLarge(known));
            }
            let bytes = column.bytes();
            // Released first, so that no query waits for the column during an eviction.
            drop(column);
            self.cache.grown(&entry, bytes);
        }
    }

    /// Tells the columns of an index of slots that are no longer published, before they are freed.
    pub(crate) fn forget(&self, id: IndexId, slots: &[Slot]) {
        self.cache.forget(id, slots);
    }

    /// Drops the columns of an index.
    pub(crate) fn remove_index(&self, id: IndexId) {
        self.cache.remove_index(id);
    }

    /// The column of a metadata key; absent if the entry is new.
    pub(crate) fn entry(&self, id: IndexId, key: &str) -> ColumnEntry {
        self.cache.get(id, key)
    }

    /// The metadata keys of the columns of an index that are ready, the last used ones first.
    pub(crate) fn ready_keys(&self, id: IndexId) -> Vec<String> {
        let mut ready = self.cache.of_index(id);
        ready.retain(|entry| entry.derived.read().progress == Progress::Ready);
        ready.sort_by_cached_key(|entry| Reverse(entry.last_used()));
        ready.iter().map(|entry| entry.key.clone()).collect()
    }

    /// Queues an index with absent columns. The caller sees to it that a thread makes them.
    pub(crate) fn want(&self, index: &Index, entries: &[ColumnEntry], queue: &mut Queue) {
        let mut is_new = false;
        for entry in entries {
            let mut column = entry.derived.write();
            if column.progress == Progress::Absent {
                column.progress = Progress::Wanted;
                is_new = true;
            }
        }
        if is_new && queue.wanted.iter().all(|other| other.id != index.id) {
            queue.wanted.push(index.clone());
        }
    }

    pub(crate) fn queue(&self) -> &Mutex<Queue> {
        &self.queue
    }

    /// Takes the wanted columns of an index. They listen to puts from here on.
    pub(crate) fn claim(&self, id: IndexId) -> Making<'_> {
        let claim = |entry: &ColumnEntry| {
            let mut column = entry.derived.write();
            let is_wanted = column.progress == Progress::Wanted;
            if is_wanted {
                column.progress = Progress::Making;
            }
            is_wanted
        };
        let entries = self.cache.of_index(id).into_iter().filter(claim).collect();
        Making { columns: self, entries }
    }

    /// Waits until columns are ready or given up, but only for [`ASK_AGAIN`]. `false` if some are
    /// still being made.
    pub(crate) fn wait(&self, entries: &[ColumnEntry]) -> bool {
        let is_pending = |entry: &ColumnEntry| {
            let is_to_come =
                matches!(entry.derived.read().progress, Progress::Wanted | Progress::Making);
            is_to_come && !entry.is_gone() && !self.is_stopped()
        };
        let (lock, changed) = &self.changed;
        let mut guard = lock.lock();
        let waited =
            changed.wait_while_for(&mut guard, |()| entries.iter().any(is_pending), ASK_AGAIN);
        !waited.timed_out()
    }

    /// Ends the making of columns, for good.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
        self.notify();
        let thread = {
            let mut queue = self.queue.lock();
            queue.wanted.clear();
            queue.unopened.clear();
            queue.thread.take()
        };
        // The last handle of the store may be dropped on that thread, which cannot join itself.
        if let Some(thread) = thread.filter(|it| it.thread().id() != std::thread::current().id()) {
            // The panic hook has printed a panic of the thread.
            let _ = thread.join();
        }
    }

    #[cfg(test)]
    pub(crate) fn limit(&self, bytes_max: usize) {
        self.cache.limit(bytes_max);
    }

    #[cfg(test)]
    pub(crate) fn memory(&self) -> usize {
        self.cache.memory()
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }

    fn notify(&self) {
        // Locked once, so that the notification cannot come between a query's look at its columns
        // and its wait.
        drop(self.changed.0.lock());
        self.changed.1.notify_all();
    }
}

/// A vector with its values, in the order of [`Making::keys`].
pub(crate) type Values = (Slot, Vec<Option<MetadataValue>>);

/// Columns that are being made. If the value is dropped before they are ready, they are absent
/// again.
pub(crate) struct Making<'columns> {
    columns: &'columns Columns,
    entries: Vec<ColumnEntry>,
}

impl Making<'_> {
    /// The metadata keys of the columns.
    pub(crate) fn keys(&self) -> Vec<&str> {
        self.entries.iter().map(|entry| entry.key.as_str()).collect()
    }

    /// Adds vectors.
    pub(crate) fn learn(&self, vectors: &[Values]) {
        for (place, entry) in self.entries.iter().enumerate() {
            let mut column = entry.derived.write();
            if !column.listens() {
                continue;
            }
            let mut has_room = true;
            for (slot, values) in vectors {
                has_room &= column.column.set_unknown(*slot, values[place].as_ref());
            }
            if !has_room || column.bytes() > self.columns.cache.bytes_max() {
                let known = column.column.known();
                column.give_up(Progress::TooLarge(known));
            }
            let bytes = column.bytes();
            drop(column);
            self.columns.cache.grown(entry, bytes);
        }
    }

    /// `true` if nobody needs the columns any more: the index or its columns were removed, or the
    /// store closes.
    pub(crate) fn is_over(&self) -> bool {
        let is_needed = |entry: &ColumnEntry| !entry.is_gone() && entry.derived.read().listens();
        self.columns.is_stopped() || !self.entries.iter().any(is_needed)
    }

    /// Posts all slots and makes the columns ready. To be called once all vectors are known.
    pub(crate) fn finish(&self) {
        for entry in &self.entries {
            loop {
                // Locked anew for each step, so that queries and puts come in between.
                let mut column = entry.derived.write();
                if column.progress != Progress::Making {
                    break;
                }
                let is_done = !column.column.post_next(POST_AT_ONCE);
                let is_too_large = column.bytes() > self.columns.cache.bytes_max();
                if is_too_large {
                    let known = column.column.known();
                    column.give_up(Progress::TooLarge(known));
                } else if is_done {
                    column.progress = Progress::Ready;
                }
                let bytes = column.bytes();
                drop(column);
                self.columns.cache.grown(entry, bytes);
                if is_done || is_too_large {
                    break;
                }
            }
        }
    }
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        for entry in &self.entries {
            let mut column = entry.derived.write();
            if column.progress == Progress::Making {
                column.give_up(Progress::Absent);
            }
        }
        self.columns.notify();
    }
}

/// The columns that are ready, by metadata key.
type Ready<'entries> = BTreeMap<&'entries str, RwLockReadGuard<'entries, KeyColumn>>;

impl Scope<'_> {
    /// The slots that a filter accepts.
    pub(crate) fn select(
        &self,
        filter: &Filter,
        columns: &Columns,
    ) -> Result<Selected, StoreError> {
        let keys = filter.keys();
        let entries: Vec<ColumnEntry> =
            keys.into_iter().map(|key| columns.entry(self.index.id, key)).collect();
        let mut ready = Ready::new();
        let (mut pending, mut is_too_large) = (Vec::new(), false);
        // In the order of their keys. A waiting writer blocks new readers, so two queries that
        // locked two columns in opposite orders could wait for each other in a circle.
        for entry in &entries {
            let column = entry.derived.read();
            match column.progress {
                Progress::Ready if !entry.is_gone() => drop(ready.insert(&entry.key, column)),
                Progress::TooLarge(vectors) if vectors <= self.moment.slots.count() => {
                    is_too_large = true;
                }
                // The index has shrunk since. A new, absent column gets another chance.
                Progress::TooLarge(_) => {
                    drop(column);
                    columns.cache.remove(self.index.id, &entry.key);
                    pending.push(columns.entry(self.index.id, &entry.key));
                }
                _ => pending.push(Arc::clone(entry)),
            }
        }
        if pending.is_empty() && !is_too_large {
            let Some(part) = prepare(filter, &ready) else { return Ok(Selected::TooLarge) };
            return Ok(Selected::Slots(part.select(&self.moment.slots).into_set()));
        }
        // The ready columns of a conjunction may leave few slots. Then the other conditions need no
        // columns.
        if let Filter::All(filters) = filter {
            let parts = filters.iter().filter_map(|filter| prepare(filter, &ready));
            if let Selection::Few(few) = all(parts).select(&self.moment.slots)
                && few.len() <= RECORDS_MAX
            {
                let selected = self.select_records(&few, filter)?;
                return Ok(selected.map_or(Selected::Replaced, Selected::Slots));
            }
        }
        Ok(if is_too_large { Selected::TooLarge } else { Selected::Pending(pending) })
    }
}

/// The prepared filter; `None` if a column of it is not ready.
fn prepare<'a>(filter: &'a Filter, ready: &'a Ready<'_>) -> Option<Part<'a>> {
    let parts = |filters: &'a [Filter]| {
        filters.iter().map(|filter| prepare(filter, ready)).collect::<Option<Vec<_>>>()
    };
    Some(match filter {
        Filter::All(filters) => all(parts(filters)?.into_iter()),
        Filter::Any(filters) => Part::Any(parts(filters)?),
        Filter::Key { key, condition } => {
            let column = &ready.get(key.as_str())?.column;
            Part::Test(column, column.test(condition))
        }
    })
}

/// The conjunction of `parts`, the most selective one first.
fn all<'a>(parts: impl Iterator<Item = Part<'a>>) -> Part<'a> {
    let mut parts: Vec<Part<'a>> = parts.collect();
    parts.sort_by_cached_key(Part::estimate);
    Part::All(parts)
}
