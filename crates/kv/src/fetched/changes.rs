//! [`Changes`]: what the closures of a group have written so far.

use std::collections::BTreeMap;

use crate::Counts;

/// Values by keys; `None` for deleted ones.
pub(crate) type Writes = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// Writes, and changes of counters. Later closures of the group read them; those of a closure that
/// fails are taken back.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) writes: Writes,
    counters: BTreeMap<Vec<u8>, CounterChange>,
    undo: Vec<Undo>,
    bytes: usize,
}

/// The change of one counter.
#[derive(Clone, Debug, Default)]
pub(crate) struct CounterChange {
    /// `true` if what was counted before is forgotten.
    pub(crate) begins_anew: bool,
    /// The sum of the changes since.
    pub(crate) added: Counts,
    /// Changes since of which the row of the counter has to decide, which is not known yet: by the
    /// places that they change, with the next number of the queue.
    #[cfg(any(test, feature = "test-util"))]
    pub(crate) undecided: Vec<(Vec<u8>, Counts)>,
    /// The number that this group may give to the next row of the queue.
    pub(crate) next: u64,
}

/// The state before a change; `None` if there was none.
#[derive(Debug)]
enum Undo {
    Write(Vec<u8>, Option<Option<Vec<u8>>>),
    Counter(Vec<u8>, Option<CounterChange>),
}

/// A position in the changes, to go back to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark(usize);

impl Changes {
    pub(crate) fn write(&mut self, key: &[u8], value: Option<&[u8]>) {
        self.bytes += key.len() + value.map_or(0, <[u8]>::len);
        let before = self.writes.insert(key.to_vec(), value.map(<[u8]>::to_vec));
        self.undo.push(Undo::Write(key.to_vec(), before));
    }

    /// Bytes of all writes, with those that were taken back.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn counter(&self, key: &[u8]) -> Option<&CounterChange> {
        self.counters.get(key)
    }

    pub(crate) fn counters(&self) -> impl Iterator<Item = (&[u8], &CounterChange)> {
        self.counters.iter().map(|(key, change)| (key.as_slice(), change))
    }

    /// The change of a counter, to be changed.
    pub(crate) fn counter_mut(&mut self, key: &[u8]) -> &mut CounterChange {
        self.undo.push(Undo::Counter(key.to_vec(), self.counters.get(key).cloned()));
        self.counters.entry(key.to_vec()).or_default()
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark(self.undo.len())
    }

    pub(crate) fn take_back(&mut self, to: Mark) {
        for undo in self.undo.drain(to.0..).rev() {
            match undo {
                Undo::Write(key, Some(value)) => _ = self.writes.insert(key, value),
                Undo::Write(key, None) => _ = self.writes.remove(&key),
                Undo::Counter(key, Some(change)) => _ = self.counters.insert(key, change),
                Undo::Counter(key, None) => _ = self.counters.remove(&key),
            }
        }
    }
}
