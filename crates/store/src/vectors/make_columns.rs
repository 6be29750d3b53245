//! Makes the columns that filters want, from all records of an index, while the index is used.

use std::ops::Bound;
use std::sync::Arc;
use std::thread;

use liteio_kv::{Cursor, Read};
use liteio_vector::Slot;

use crate::error::StoreError;
use crate::indexes::Index;
use crate::indexes::columns::{ColumnEntry, Queue, Values};
use crate::meta::space;
use crate::meta::vector::VectorRecord;
use crate::store::{Inner, Store};

/// Vectors that a column learns under one lock. It bounds the wait of queries and puts.
const LEARN_AT_ONCE: usize = 256;

/// Number of such groups from one snapshot. An old snapshot would keep replaced pages alive.
const LEARNED_OF_A_SNAPSHOT: usize = 64;

impl Store {
    /// Starts the thread that makes columns, first the ones that filters used before the start.
    /// Without the thread, a query makes the columns that it wants.
    pub(crate) fn start_columns(&self) {
        // An index that cannot be read is an error for its users, not for the start.
        let unopened = self.with_remembered().unwrap_or_default();
        let mut queue = self.inner.vectors.columns.queue().lock();
        queue.may_spawn = true;
        queue.unopened = unopened;
        if !queue.unopened.is_empty() {
            // If the thread cannot start, they are made when they are wanted.
            self.spawn_maker(&mut queue);
        }
    }

    /// Requests the columns of an index, unless they are requested already.
    pub(super) fn want_columns(&self, index: &Index, entries: &[ColumnEntry]) {
        let columns = &self.inner.vectors.columns;
        {
            let mut queue = columns.queue().lock();
            if columns.is_stopped() {
                return;
            }
            columns.want(index, entries, &mut queue);
            if queue.wanted.is_empty() {
                return;
            }
            if queue.may_spawn {
                // A thread that panicked has left `is_making` set, so it must also be alive.
                if queue.is_making && queue.thread.as_ref().is_some_and(|it| !it.is_finished()) {
                    return;
                }
                if self.spawn_maker(&mut queue) {
                    return;
                }
            }
        }
        // No thread: this query makes the columns itself.
        while self.make_next() {}
    }

    /// Starts the thread that works off the queue; `false` if the system has none left.
    fn spawn_maker(&self, queue: &mut Queue) -> bool {
        let weak = Arc::downgrade(&self.inner);
        let builder = thread::Builder::new().name("liteio-columns".to_owned());
        let spawned = builder.spawn(move || {
            // A weak reference between two steps, so that the store closes when its last handle is
            // dropped.
            while let Some(inner) = weak.upgrade() {
                if !Self::of(inner).make_next() {
                    return;
                }
            }
        });
        let Ok(thread) = spawned else { return false };
        queue.is_making = true;
        queue.thread = Some(thread);
        true
    }

    /// Makes the columns of the next index in the queue. If none is wanted, opens an index that had
    /// columns, and the opening wants them again. `false` if the queue is empty.
    fn make_next(&self) -> bool {
        let mut queue = self.inner.vectors.columns.queue().lock();
        // Columns that a query waits for come first.
        if let Some(index) = queue.wanted.pop() {
            drop(queue);
            // Columns that failed are absent again, and the queries that wait for them read the
            // records themselves.
            if matches!(self.make_columns(&index), Ok(true)) {
                self.remember_columns(&index);
            }
            return true;
        }
        let Some(index) = queue.unopened.pop() else {
            // Under the lock of the queue: a query that queues an index after this starts a new
            // thread.
            queue.is_making = false;
            return false;
        };
        drop(queue);
        let _ = self.open_index(&index);
        true
    }

    /// Makes the wanted columns of an index; `false` if nobody needs them any more.
    fn make_columns(&self, index: &Index) -> Result<bool, StoreError> {
        let making = self.inner.vectors.columns.claim(index.id);
        let (keys, prefix) = (making.keys(), space::vectors_of(index.id));
        let mut vectors = Vec::with_capacity(LEARN_AT_ONCE);
        let mut after: Option<Vec<u8>> = None;
        loop {
            // Continues behind the last key. The puts since the former snapshot have told the
            // columns of their vectors themselves.
            let snapshot = self.snapshot()?;
            index.require(&snapshot)?;
            let start = match &after {
                Some(after) => Bound::Excluded(&after[..]),
                None => Bound::Included(&prefix[..]),
            };
            let mut cursor = snapshot.cursor(start, Bound::Unbounded)?;
            let mut last = None;
            for _ in 0..LEARNED_OF_A_SNAPSHOT {
                vectors.clear();
                last = read_values(&mut cursor, &prefix, &keys, &mut vectors)?;
                // With the only handle left in this thread, the store is closing.
                if making.is_over() || self.is_last_handle() {
                    return Ok(false);
                }
                making.learn(&vectors);
                if last.is_none() {
                    making.finish();
                    return Ok(true);
                }
            }
            after = last;
        }
    }

    fn is_last_handle(&self) -> bool {
        Arc::<Inner>::strong_count(&self.inner) == 1
    }
}

/// Appends the values of the next vectors. Returns the last key, or `None` at the end.
fn read_values(
    cursor: &mut Cursor<'_>,
    prefix: &[u8],
    keys: &[&str],
    vectors: &mut Vec<Values>,
) -> Result<Option<Vec<u8>>, StoreError> {
    while let Some((place, record)) = cursor.next()?
        && place.starts_with(prefix)
    {
        let (slot, values) = VectorRecord::values_of(record, keys)?;
        vectors.push((Slot::new(slot), values));
        if vectors.len() == LEARN_AT_ONCE {
            return Ok(Some(place.to_vec()));
        }
    }
    Ok(None)
}
