//! [`Freeing`]: frees memory while the tree is written.

use crate::KvError;
use crate::engine::{Change, Changes};
use crate::shared::Shared;

/// Changes between two checks: a few milliseconds on a tree much larger than its cache.
const LOOK_CHANGES: u64 = 1024;

/// Changes that free discarded tables from time to time. The drain thread, which does that
/// otherwise, is the one that applies the changes, and writers fill as much memory again meanwhile.
pub(super) struct Freeing<'c> {
    changes: &'c mut dyn Changes,
    shared: &'c Shared,
    count: u64,
}

impl<'c> Freeing<'c> {
    pub(super) fn new(changes: &'c mut dyn Changes, shared: &'c Shared) -> Self {
        Self { changes, shared, count: 0 }
    }
}

impl Changes for Freeing<'_> {
    fn next(&mut self) -> Result<Option<Change<'_>>, KvError> {
        self.count += 1;
        if self.count.is_multiple_of(LOOK_CHANGES) {
            self.shared.discarded.free_unread();
        }
        self.changes.next()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use liteio_disk::SimulatedDisk;

    use super::*;
    use crate::memtable::Memtable;
    use crate::{Kv, KvConfig};

    /// The same change again and again.
    struct Endless;

    impl Changes for Endless {
        fn next(&mut self) -> Result<Option<Change<'_>>, KvError> {
            Ok(Some(Change { key: b"key", value: None }))
        }
    }

    #[test]
    fn a_table_that_nobody_reads_is_freed_before_the_last_of_many_changes() {
        // The thread of this key space, which frees tables when it is called, is not.
        let disk = Arc::new(SimulatedDisk::new(1));
        let kv = Kv::open(disk, "meta.redb", KvConfig::default()).expect("opens");
        let table = Arc::new(Memtable::new());
        let unread = Arc::downgrade(&table);
        kv.shared().discarded.add(table);
        let (mut endless, mut count) = (Endless, 0);
        let mut changes = Freeing::new(&mut endless, kv.shared());
        while unread.strong_count() > 0 {
            count += 1;
            assert!(count <= LOOK_CHANGES);
            assert!(changes.next().expect("readable").is_some());
        }
    }
}
