//! Making the columns that filters want, from all records of an index, while it is used.

use std::ops::Bound;
use std::sync::Arc;
use std::thread;

use liteio_vector::Slot;

use crate::error::StoreError;
use crate::indexes::Index;
use crate::indexes::columns::{ColumnEntry, Values};
use crate::kv::{Cursor, Read};
use crate::meta::space;
use crate::meta::vector::VectorRecord;
use crate::store::{Inner, Store};

/// Vectors that a column learns at once. Queries and puts wait for no more than that.
const LEARN_AT_ONCE: usize = 256;

/// As often from one snapshot: an old one would keep replaced pages alive.
const LEARNED_OF_A_SNAPSHOT: usize = 64;

impl Store {
    /// Lets a thread make columns. Without it they are made by the query that wants them.
    pub(crate) fn start_columns(&self) {
        self.inner.vectors.columns.queue().lock().may_spawn = true;
    }

    /// Has columns of an index made, if nobody has asked for them yet.
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
                if queue.is_making && queue.thread.as_ref().is_some_and(|it| !it.is_finished()) {
                    return;
                }
                let weak = Arc::downgrade(&self.inner);
                let builder = thread::Builder::new().name("liteio-columns".to_owned());
                let spawned = builder.spawn(move || {
                    // The store may be closing by losing its last handle.
                    while let Some(inner) = weak.upgrade() {
                        if !(Self { inner }).make_next() {
                            return;
                        }
                    }
                });
                if let Ok(thread) = spawned {
                    queue.is_making = true;
                    queue.thread = Some(thread);
                    return;
                }
            }
        }
        while self.make_next() {}
    }

    /// Makes the columns of the next index in the queue; `false` if there is none.
    fn make_next(&self) -> bool {
        let index = {
            let mut queue = self.inner.vectors.columns.queue().lock();
            let Some(index) = queue.wanted.pop() else {
                queue.is_making = false;
                return false;
            };
            index
        };
        // What failed is absent again, and the queries that wait for it read the records themselves.
        let _ = self.make_columns(&index);
        true
    }

    fn make_columns(&self, index: &Index) -> Result<(), StoreError> {
        let making = self.inner.vectors.columns.claim(index.id);
        let (keys, prefix) = (making.keys(), space::vectors_of(index.id));
        let mut vectors = Vec::with_capacity(LEARN_AT_ONCE);
        let mut after: Option<Vec<u8>> = None;
        loop {
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
                if making.is_over() || self.is_last_handle() {
                    return Ok(());
                }
                making.learn(&vectors);
                if last.is_none() {
                    making.finish();
                    return Ok(());
                }
            }
            after = last;
        }
    }

    fn is_last_handle(&self) -> bool {
        Arc::<Inner>::strong_count(&self.inner) == 1
    }
}

/// Appends the values of the next vectors. Returns the key of the last of them, or `None` at the end.
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
