//! [`Discarded`]: tables without layers, until their memory is freed.
//!
//! Freeing a large table takes the system 5 to 20 ms. The thread that drops the last reference
//! would wait for it: mostly a writer that made room, or a reader whose snapshot ends. So the last
//! reference is kept here, and the drain thread drops it.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::memtable::Memtable;

/// Tables without layers.
#[derive(Debug, Default)]
pub(super) struct Discarded {
    tables: Mutex<Vec<Arc<Memtable>>>,
}

impl Discarded {
    /// Adds a table that no new snapshot sees.
    pub(super) fn add(&self, table: Arc<Memtable>) {
        self.tables.lock().push(table);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tables.lock().is_empty()
    }

    /// `true` if there is a table without readers.
    pub(super) fn has_unread(&self) -> bool {
        self.tables.lock().iter().any(is_unread)
    }

    /// Frees the tables without readers.
    pub(super) fn free_unread(&self) {
        let unread: Vec<_> = self.tables.lock().extract_if(.., |table| is_unread(table)).collect();
        // Dropped after the unlock: freeing takes milliseconds.
        drop(unread);
    }
}

/// `true` if this is the last reference. No thread can clone it then, because the layers do not
/// have the table.
fn is_unread(table: &Arc<Memtable>) -> bool {
    Arc::strong_count(table) == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_freed_when_nobody_reads_it() {
        let discarded = Discarded::default();
        let tables = [Arc::new(Memtable::new()), Arc::new(Memtable::new())];
        let [read, unread] = tables.each_ref().map(Arc::downgrade);
        let [reader, other] = tables;
        discarded.add(Arc::clone(&reader));
        assert!(!discarded.has_unread());
        discarded.add(other);
        assert!(discarded.has_unread());
        discarded.free_unread();
        assert_eq!((read.strong_count(), unread.strong_count()), (2, 0));
        drop(reader);
        assert!(discarded.has_unread());
        discarded.free_unread();
        assert_eq!(read.strong_count(), 0);
        assert!(discarded.is_empty());
    }
}
