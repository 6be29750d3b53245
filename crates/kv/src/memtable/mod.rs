//! [`Memtable`]: recent updates in memory, ordered by key.
//!
//! One thread writes, any number of threads read. Every write has a sequence; a reader skips the
//! writes that are newer than its snapshot. A hash index finds recent writes. The key order is
//! built lazily, for all writes since the last time together, when the drain or a cursor asks for
//! it. A deleted key has a node without a value, a tombstone, because the tree beneath may have the
//! key. Nodes are freed only with the whole table.

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

/// Maximum bytes of one table.
pub(super) const MEMTABLE_BYTES_MAX: usize = arena::ARENA_BYTES_MAX;

/// Bytes for a write in addition to its node: 12 to 24 in the index, including its outgrown tables,
/// plus the list of unordered nodes. An average, because an index doubles at once.
const INDEX_BYTES: usize = 24;

/// Random, so that clients cannot construct colliding keys.
static SEED: LazyLock<u64> = LazyLock::new(|| {
    let mut seed = [0; 8];
    // Without a random seed lookups stay correct, but collisions could slow them down.
    let _ = SystemRandom.fill(&mut seed);
    u64::from_le_bytes(seed)
});

/// The hash of a key, the same in all tables.
#[inline]
pub(super) fn hash(key: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(*SEED, key)
}

/// A table.
#[derive(Debug)]
pub(super) struct Memtable {
    order: Order,
    index: Index,
    /// Nodes that are not in the order yet, oldest first. The writer holds the lock.
    unordered: Mutex<Vec<Place>>,
    /// Number of writes.
    writes: AtomicU64,
    /// Everything up to this sequence is written.
    written: AtomicU64,
    /// Everything up to this sequence is in the order.
    ordered: AtomicU64,
    /// The number of ordered nodes. Held by the thread that extends the order.
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

    /// Bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        self.order.list.arena.bytes() + self.writes() as usize * INDEX_BYTES
    }

    pub(super) fn is_empty(&self) -> bool {
        self.written.load(Ordering::Acquire) == 0
    }

    /// The number of writes, an upper bound of the number of entries.
    pub(super) fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    /// Writes a version of `key`, with the hash `hash`, newer than all others. Readers see it from
    /// `sequence` on; sequences are above 0 and increase. `None` if the table is full.
    pub(super) fn insert(
        &self,
        key: &[u8],
        hash: u64,
        value: Option<&[u8]>,
        sequence: u64,
    ) -> Option<Place> {
        let mut unordered = self.unordered.lock();
        // Write the node, then publish it in the index, then in the list of unordered nodes.
        let place = self.order.list.write(key, value, sequence)?;
        self.index.set(hash, place, |place| self.order.list.node(place).key() == key);
        unordered.push(place);
        // A load and a store suffice: there is one writer.
        self.writes.store(self.writes() + 1, Ordering::Relaxed);
        // `Release`, after the node is complete and queued for the order: a reader that sees the
        // sequence also finds the node.
        self.written.store(sequence, Ordering::Release);
        Some(place)
    }

    /// The order, complete up to `sequence`.
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
        // Lock order: `ordering`, then `unordered`. Check again under the lock, because another
        // thread may have done the work.
        let mut before = self.ordering.lock();
        if self.ordered.load(Ordering::Acquire) < wanted() {
            let mut unordered = self.unordered.lock();
            let places = std::mem::take(&mut *unordered);
            let written = self.written.load(Ordering::Acquire);
            // The writer continues while the nodes are sorted; `written` was read under its lock,
            // so it matches `places`.
            drop(unordered);
            // Readers of the order wait for `ordering`; the writer and readers by hash do not.
            self.order.add(&places, *before);
            *before += places.len();
            self.ordered.store(written, Ordering::Release);
        }
    }

    /// Takes back a version that no reader has seen.
    pub(super) fn take_back(&self, place: Place) {
        self.order.list.kill(place);
    }

    /// The newest version of `key`, with the hash `hash`, that a reader at `sequence` sees.
    #[inline]
    pub(super) fn get(&self, key: &[u8], hash: u64, sequence: u64) -> Option<Entry<'_>> {
        let place = self.index.find(hash, |place| self.order.list.node(place).key() == key)?;
        let newest = self.order.list.node(place);
        if newest.is_visible(sequence) {
            return Some(Entry::of(newest));
        }
        // The index has only the newest version. It is too new or taken back, so look for an older
        // one in the order.
        self.entries_from(key, sequence).next().filter(|entry| entry.key == key)
    }

    /// The last entry whose key is not above `key`, tombstones included.
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

    /// The entry of the last key, at or before the key of `node`, that has a visible version.
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

    /// All entries in key order.
    pub(super) fn entries(&self, sequence: u64) -> Entries<'_> {
        Entries::of(self.order(sequence).walk(), sequence)
    }

    /// The entries in key order from `key` on.
    pub(super) fn entries_from(&self, key: &[u8], sequence: u64) -> Entries<'_> {
        Entries::of(self.order(sequence).walk_from(key, sequence), sequence)
    }
}

/// The newest visible version of each key.
///
/// The nodes behind the last entry are looked at by the next step only: the first of them may lie in a part of the
/// order that is not sorted yet, and a reader of the range before it does not need it.
#[derive(Clone, Debug)]
pub(crate) struct Entries<'m> {
    walk: Walk<'m>,
    /// The key of the last entry, whose older versions are skipped.
    last: Option<&'m [u8]>,
    sequence: u64,
}

impl<'m> Entries<'m> {
    fn of(walk: Walk<'m>, sequence: u64) -> Self {
        Self { walk, last: None, sequence }
    }
}

impl<'m> Iterator for Entries<'m> {
    type Item = Entry<'m>;

    #[inline]
    fn next(&mut self) -> Option<Entry<'m>> {
        loop {
            let node = self.walk.next()?;
            let key = node.key();
            if node.is_visible(self.sequence) && self.last != Some(key) {
                self.last = Some(key);
                return Some(Entry::of(node));
            }
        }
    }
}
