//! The table of mirrors: copies of indexes that one of several servers searches.
//!
//! The vectors of an index are in its log, in the key space. A server that is asked for an index has a
//! mirror of it, in files of its own or in memory. The operations on mirrors are in
//! [`vectors::mirror`](crate::vectors).

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};

use super::Index;
use crate::meta::vector_log::{LogHead, LogPosition, MirrorRecord};
use crate::name::IndexId;

/// The mirrors of a server.
#[derive(Debug)]
pub(crate) struct Mirrors {
    table: Mutex<HashMap<IndexId, Arc<Mirror>>>,
    /// Indexes that may be due for a snapshot.
    due: Mutex<HashMap<IndexId, Index>>,
    /// Logical clock of uses, and of looks at logs.
    clock: AtomicU64,
    /// Bytes of all mirrors above which the least recently used ones are dropped.
    bytes_max: u64,
    /// Changes behind a snapshot from which the next one is due.
    pub(crate) snapshot_changes: u64,
    pub(crate) counters: MirrorCounters,
}

/// Counts since the start.
#[derive(Debug, Default)]
pub(crate) struct MirrorCounters {
    /// Changes that mirrors took from logs.
    pub(crate) changes: AtomicU64,
    /// Mirrors that were made anew, from a snapshot if there was one.
    pub(crate) loads: AtomicU64,
    /// Mirrors that were dropped to make room.
    pub(crate) dropped: AtomicU64,
    /// Snapshots that this server wrote.
    pub(crate) snapshots: AtomicU64,
}

/// The mirror of an index.
#[derive(Debug, Default)]
pub(crate) struct Mirror {
    /// Held by the one who brings the mirror up to date, or drops it.
    pub(crate) applying: Mutex<()>,
    /// Held for reading by searches, for writing by the one who makes the content anew or drops it.
    pub(crate) content: RwLock<()>,
    state: Mutex<MirrorState>,
    used: AtomicU64,
}

/// The state of a mirror.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MirrorState {
    /// The position up to which it has all changes; `None` if it has no content that may be read.
    pub(crate) position: Option<LogPosition>,
    /// Time of creation and dimension of the index that it is of.
    pub(crate) of: Option<(u64, u32)>,
    /// Estimated size, in bytes.
    pub(crate) bytes: u64,
    /// Number of the newest change that this server has seen in the head of the log.
    pub(crate) seen: u64,
    /// Clock value before the last look at the log that it was brought up to.
    compared: u64,
}

impl Mirrors {
    pub(crate) fn new(bytes_max: u64, snapshot_changes: u64) -> Self {
        Self {
            table: Mutex::default(),
            due: Mutex::default(),
            clock: AtomicU64::new(0),
            bytes_max,
            snapshot_changes,
            counters: MirrorCounters::default(),
        }
    }

    /// The mirror of an index, used from now on.
    pub(crate) fn mirror(&self, id: IndexId) -> Arc<Mirror> {
        let mirror = Arc::clone(self.table.lock().entry(id).or_default());
        mirror.used.store(self.tick(), Ordering::Relaxed);
        mirror
    }

    /// The next value of the clock.
    pub(crate) fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    /// The mirrors to drop, so that all have no more than their bytes: the least recently used first, and
    /// never `keep`. An index that is larger than that has its mirror nevertheless.
    pub(crate) fn too_many(&self, keep: IndexId) -> Vec<(IndexId, Arc<Mirror>)> {
        let table = self.table.lock();
        let mut all: Vec<_> = table.iter().map(|(id, it)| (*id, Arc::clone(it))).collect();
        drop(table);
        let mut bytes: u64 = all.iter().map(|(_, mirror)| mirror.state().bytes).sum();
        all.sort_by_key(|(_, mirror)| mirror.used.load(Ordering::Relaxed));
        let mut dropped = Vec::new();
        for (id, mirror) in all {
            if bytes <= self.bytes_max {
                break;
            }
            let own = mirror.state().bytes;
            if id != keep && own > 0 {
                bytes -= own;
                dropped.push((id, mirror));
            }
        }
        dropped
    }

    /// Forgets the content of all mirrors.
    pub(crate) fn forget_all(&self) {
        self.table.lock().values().for_each(|mirror| mirror.set(None, 0));
    }

    /// Notes that an index may be due for a snapshot. `true` if it was not noted before.
    pub(crate) fn note_head(&self, index: &Index, head: &LogHead) -> bool {
        head.is_snapshot_due(self.snapshot_changes)
            && self.due.lock().insert(index.id, index.clone()).is_none()
    }

    /// The noted indexes.
    pub(crate) fn due(&self) -> Vec<Index> {
        self.due.lock().values().cloned().collect()
    }

    /// Forgets the note about an index.
    pub(crate) fn is_done(&self, id: IndexId) {
        self.due.lock().remove(&id);
    }

    /// The states of all mirrors with content.
    pub(crate) fn states(&self) -> Vec<MirrorState> {
        let table = self.table.lock();
        let states = table.values().map(|mirror| mirror.state());
        states.filter(|state| state.bytes > 0 || state.position.is_some()).collect()
    }
}

impl Mirror {
    pub(crate) fn state(&self) -> MirrorState {
        *self.state.lock()
    }

    /// Sets what it has by its record. Readers may read it from now on.
    pub(crate) fn restore(&self, record: &MirrorRecord) {
        let mut state = self.state.lock();
        (state.position, state.bytes) = (Some(record.position), record.bytes);
        state.of = Some((record.created_ms, record.dimension));
    }

    /// Sets what it has. Without a position nobody reads it.
    pub(crate) fn set(&self, position: Option<LogPosition>, bytes: u64) {
        let mut state = self.state.lock();
        (state.position, state.bytes) = (position, bytes);
    }

    /// Notes that it has all changes that the log had at this value of the clock.
    pub(crate) fn compared(&self, looked: u64) {
        self.state.lock().compared = looked;
    }

    /// `true` if it was brought up to a log that was looked at behind this value of the clock.
    pub(crate) fn was_compared_since(&self, began: u64) -> bool {
        self.state.lock().compared > began
    }

    /// Notes the newest change that was seen.
    pub(crate) fn saw(&self, number: u64) {
        self.state.lock().seen = number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_mirrors_make_room() {
        let mirrors = Mirrors::new(100, 10);
        for id in [1, 2, 3] {
            mirrors.mirror(IndexId(id)).set(Some(LogPosition::default()), 40);
        }
        mirrors.mirror(IndexId(1));
        let ids = |keep| -> Vec<u32> {
            mirrors.too_many(IndexId(keep)).iter().map(|(id, _)| id.0).collect()
        };
        assert_eq!(ids(3), [2]);
        assert_eq!(ids(2), [3]);
        mirrors.mirror(IndexId(3)).set(Some(LogPosition::default()), 500);
        assert_eq!(ids(3), [2, 1], "an index that is too large is kept alone");
        assert_eq!(mirrors.states().len(), 3);
    }
}
