//! [`Memtable`]: the updates since some moment, ordered, in memory.
//!
//! One thread writes, any number read meanwhile. Every write has a sequence, by which a reader passes over what is newer
//! than its snapshot. A hash index finds what was just written; the order of keys is made when somebody asks for it,
//! of all writes since the last time together: the drain, or a cursor. A deleted key has a node without a value, a tombstone,
//! because the tree beneath may have it. Nothing is removed before all of the table is.

mod arena;
mod index;
mod list;
mod order;
mod segment;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use liteio_disk::{RandomSource as _, SystemRandom};
use parking_lot::Mutex;
use twox_hash::XxHash3_64;

pub(crate) use self::arena::Place;
use self::index::Index;
use self::list::Node;
pub(crate) use self::list::{prefix, shared_bytes};
use self::order::{Order, Walk};

/// Bytes that one table can have at most.
pub(super) const MEMTABLE_BYTES_MAX: usize = arena::ARENA_BYTES_MAX;

/// Bytes for a write beside its node: 12 to 24 of the index, with the tables that it has outgrown, and what waits for
/// the order. The mean, because an index doubles at once what it has grown by.
const INDEX_BYTES: usize = 24;

/// Random, so that nobody can make keys that collide.
static SEED: LazyLock<u64> = LazyLock::new(|| {
    let mut seed = [0; 8];
    // Without it lookups are right, and can be made slow.
    let _ = SystemRandom.fill(&mut seed);
    u64::from_le_bytes(seed)
});

/// The hash of a key in all tables.
#[inline]
pub(super) fn hash(key: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(*SEED, key)
}

/// A table.
#[derive(Debug)]
pub(super) struct Memtable {
    order: Order,
    index: Index,
    /// Held by the one that writes. What it wrote and is not in the order yet, oldest first.
    unordered: Mutex<Vec<Place>>,
    /// Number of writes.
    writes: AtomicU64,
    /// Everything up to this sequence is written.
    written: AtomicU64,
    /// Everything up to this sequence is in the order.
    ordered: AtomicU64,
    /// Held by the one that makes order: the number of nodes in it.
    ordering: Mutex<usize>,
}

/// A key with its value, or without one if it was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry<'m> {
    pub(super) key: &'m [u8],
    pub(super) value: Option<&'m [u8]>,
}

impl<'m> Entry<'m> {
    fn of(node: Node<'m>) -> Self {
        Self { key: node.key(), value: node.value() }
    }
}

impl Memtable {
    pub(super) fn new() -> Self {
        Self {
            order: Order::new(),
            index: Index::new(),
            unordered: Mutex::default(),
            writes: AtomicU64::new(0),
            written: AtomicU64::new(0),
            ordered: AtomicU64::new(0),
            ordering: Mutex::default(),
        }
    }

    /// Bytes of memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.order.list.arena.bytes() + self.writes() as usize * INDEX_BYTES
    }

    pub(super) fn is_empty(&self) -> bool {
        self.written.load(Ordering::Acquire) == 0
    }

    /// The number of writes: of entries at the most.
    pub(super) fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    /// Writes a version of `key`, which has the hash `hash`, newer than all there are. Readers see it from
    /// `sequence` on, which is above 0 and grows. `None` if the table is full.
    pub(super) fn insert(
        &self,
        key: &[u8],
        hash: u64,
        value: Option<&[u8]>,
        sequence: u64,
    ) -> Option<Place> {
        let mut unordered = self.unordered.lock();
        let place = self.order.list.write(key, value, sequence)?;
        self.index.set(hash, place, |place| self.order.list.node(place).key() == key);
        unordered.push(place);
        // Nobody else writes.
        self.writes.store(self.writes() + 1, Ordering::Relaxed);
        self.written.store(sequence, Ordering::Release);
        Some(place)
    }

    /// The order, with everything up to `sequence` in it.
    #[inline]
    fn order(&self, sequence: u64) -> &Order {
        let wanted = || sequence.min(self.written.load(Ordering::Acquire));
        if self.ordered.load(Ordering::Acquire) < wanted() {
            self.make_order(wanted);
        }
        &self.order
    }

    #[cold]
    fn make_order(&self, wanted: impl Fn() -> u64) {
        let mut before = self.ordering.lock();
        if self.ordered.load(Ordering::Acquire) < wanted() {
            let mut unordered = self.unordered.lock();
            let places = std::mem::take(&mut *unordered);
            let written = self.written.load(Ordering::Acquire);
            drop(unordered);
            self.order.add(&places, *before);
            *before += places.len();
            self.ordered.store(written, Ordering::Release);
        }
    }

    /// Takes a version back that no reader has seen.
    pub(super) fn take_back(&self, place: Place) {
        self.order.list.kill(place);
    }

    /// The newest version of `key`, which has the hash `hash`, that a reader at `sequence` sees.
    #[inline]
    pub(super) fn get(&self, key: &[u8], hash: u64, sequence: u64) -> Option<Entry<'_>> {
        let place = self.index.find(hash, |place| self.order.list.node(place).key() == key)?;
        let newest = self.order.list.node(place);
        if newest.is_visible(sequence) {
            return Some(Entry::of(newest));
        }
        self.entries_from(key, sequence).next().filter(|entry| entry.key == key)
    }

    /// The last entry with a key up to `key`, tombstones included.
    pub(super) fn at_or_before(&self, key: &[u8], sequence: u64) -> Option<Entry<'_>> {
        self.get(key, hash(key), sequence).or_else(|| self.before(key, sequence))
    }

    /// The last entry with a key before `key`.
    pub(super) fn before(&self, key: &[u8], sequence: u64) -> Option<Entry<'_>> {
        self.last_up_to(self.order(sequence).before(key), sequence)
    }

    /// The last entry.
    pub(super) fn last(&self, sequence: u64) -> Option<Entry<'_>> {
        self.last_up_to(self.order(sequence).last(), sequence)
    }

    /// The entry of the last key, not behind that of `node`, of which a version is visible.
    fn last_up_to<'m>(&'m self, node: Option<Node<'m>>, sequence: u64) -> Option<Entry<'m>> {
        let mut node = node;
        while let Some(oldest) = node {
            let key = oldest.key();
            let found = self.entries_from(key, sequence).next();
            if let Some(entry) = found.filter(|entry| entry.key == key) {
                return Some(entry);
            }
            node = self.order.before(key);
        }
        None
    }

    /// All entries in order.
    pub(super) fn entries(&self, sequence: u64) -> Entries<'_> {
        Entries::of(self.order(sequence).walk(), sequence)
    }

    /// The entries in order from the first with a key not before `key`.
    pub(super) fn entries_from(&self, key: &[u8], sequence: u64) -> Entries<'_> {
        Entries::of(self.order(sequence).walk_from(key, sequence), sequence)
    }
}

/// The newest visible version of each key.
#[derive(Clone, Debug)]
pub(crate) struct Entries<'m> {
    /// The node with which the search for the next entry begins.
    next: Option<Node<'m>>,
    /// Those behind it.
    walk: Walk<'m>,
    sequence: u64,
}

impl<'m> Entries<'m> {
    fn of(mut walk: Walk<'m>, sequence: u64) -> Self {
        Self { next: walk.next(), walk, sequence }
    }
}

impl<'m> Iterator for Entries<'m> {
    type Item = Entry<'m>;

    #[inline]
    fn next(&mut self) -> Option<Entry<'m>> {
        loop {
            let node = self.next?;
            self.next = self.walk.next();
            if !node.is_visible(self.sequence) {
                continue;
            }
            let entry = Entry::of(node);
            // Older versions of the same key.
            while self.next.is_some_and(|older| older.key() == entry.key) {
                self.next = self.walk.next();
            }
            return Some(entry);
        }
    }
}
