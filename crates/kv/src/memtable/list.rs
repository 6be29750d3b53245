//! The nodes of a memtable in order: a skip list with one writer and any number of readers.
//!
//! A node is written first, and linked later: see [`List::link_all`].
//!
//! # A node
//! 8 bytes sequence, 4 bytes of the key, 4 bytes of the value or [`TOMBSTONE`], 4 flags, then the place of the next
//! node at each of its levels, 4 bytes each, key, value. Everything but flags and places of next nodes
//! is written before the node is linked, and never changes.

use std::cmp::Ordering as Order;
use std::sync::atomic::{AtomicU32, Ordering};

use super::arena::{Arena, Place};

/// Levels of a list; with a quarter of the nodes of each level in the next, enough for 64 million.
const LEVELS: usize = 13;
const KEY_BYTES: usize = 8;
const VALUE_BYTES: usize = 12;
const FLAGS: usize = 16;
const LINKS: usize = 20;
/// In place of the bytes of a value: there is none, the key was deleted.
const TOMBSTONE: u32 = u32::MAX;
/// Taken back before anybody saw it.
const IS_DEAD: u32 = 1;
/// Bytes of a node that are fetched ahead: a small pair. Those of a large one follow each other.
const FETCHED_BYTES: usize = 192;
/// The flags above the lowest 8 bits have the number of levels.
const LEVELS_SHIFT: u32 = 8;

/// The list, by key in order of bytes, and of each key the newest first.
#[derive(Debug)]
pub(super) struct List {
    pub(super) arena: Arena,
    head: [AtomicU32; LEVELS],
    /// Levels in use. The writer changes it only.
    levels: AtomicU32,
    /// State of the generator of levels.
    random: AtomicU32,
}

/// A node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node<'l> {
    arena: &'l Arena,
    pub(super) place: Place,
}

impl<'l> Node<'l> {
    #[inline]
    pub(super) fn sequence(self) -> u64 {
        self.arena.long_at(self.place, 0)
    }

    #[inline]
    fn levels(self) -> usize {
        (self.arena.atomic_at(self.place, FLAGS).load(Ordering::Relaxed) >> LEVELS_SHIFT) as usize
    }

    #[inline]
    pub(super) fn key(self) -> &'l [u8] {
        let bytes = self.arena.number_at(self.place, KEY_BYTES) as usize;
        self.arena.bytes_at(self.place, LINKS + 4 * self.levels(), bytes)
    }

    /// `None` where the key was deleted.
    #[inline]
    pub(super) fn value(self) -> Option<&'l [u8]> {
        let key = self.arena.number_at(self.place, KEY_BYTES) as usize;
        let value = self.arena.number_at(self.place, VALUE_BYTES);
        let offset = LINKS + 4 * self.levels() + key;
        (value != TOMBSTONE).then(|| self.arena.bytes_at(self.place, offset, value as usize))
    }

    /// `true` if a reader at `sequence` sees it, or something newer of the same key.
    #[inline]
    pub(super) fn is_visible(self, sequence: u64) -> bool {
        let is_dead = self.arena.atomic_at(self.place, FLAGS).load(Ordering::Relaxed) & IS_DEAD;
        self.sequence() <= sequence && is_dead == 0
    }

    #[inline]
    fn link(self, level: usize) -> &'l AtomicU32 {
        self.arena.atomic_at(self.place, LINKS + 4 * level)
    }

    /// The next node in the list.
    #[inline]
    pub(super) fn next(self) -> Option<Self> {
        node(self.arena, self.link(0).load(Ordering::Acquire))
    }

    /// Fetches what is read first of it into the cache of the processor.
    #[inline]
    pub(super) fn prefetch(self) {
        self.arena.prefetch(self.place, FETCHED_BYTES);
    }

    /// `true` if it comes before `other`.
    #[inline]
    pub(super) fn is_before(self, other: Self) -> bool {
        self.compare(other.key(), other.sequence()).is_lt()
    }

    /// Its order relative to the newest version of `key` that is not above `sequence`.
    #[inline]
    pub(super) fn compare(self, key: &[u8], sequence: u64) -> Order {
        self.key().cmp(key).then_with(|| sequence.cmp(&self.sequence()))
    }
}

#[inline]
fn node(arena: &Arena, place: Place) -> Option<Node<'_>> {
    (place != 0).then_some(Node { arena, place })
}

/// The number of bytes with which both begin.
pub(crate) fn shared_bytes(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// A number in the order of keys that have the same bytes before `shared`: of the bytes that follow these.
#[inline]
pub(crate) fn prefix(key: &[u8], shared: usize) -> u64 {
    let behind = &key[shared.min(key.len())..];
    if let Some(bytes) = behind.first_chunk() {
        return u64::from_be_bytes(*bytes);
    }
    let mut bytes = [0; 8];
    bytes[..behind.len()].copy_from_slice(behind);
    u64::from_be_bytes(bytes)
}

impl List {
    pub(super) fn new() -> Self {
        Self {
            arena: Arena::new(),
            head: [const { AtomicU32::new(0) }; LEVELS],
            levels: AtomicU32::new(1),
            random: AtomicU32::new(0x9e37_79b9),
        }
    }

    pub(super) fn node(&self, place: Place) -> Node<'_> {
        Node { arena: &self.arena, place }
    }

    pub(super) fn first(&self) -> Option<Node<'_>> {
        node(&self.arena, self.head[0].load(Ordering::Acquire))
    }

    #[inline]
    fn link<'l>(&'l self, before: Option<Node<'l>>, level: usize) -> &'l AtomicU32 {
        match before {
            Some(node) => node.link(level),
            None => &self.head[level],
        }
    }

    /// The last node before the newest version of `key` that is not above `sequence`, and the node behind it.
    fn search<'l>(&'l self, key: &[u8], sequence: u64) -> (Option<Node<'l>>, Option<Node<'l>>) {
        let mut before: Option<Node<'l>> = None;
        let mut behind: Option<Node<'l>> = None;
        let levels = self.levels.load(Ordering::Acquire) as usize;
        let mut known = 0;
        for level in (0..levels).rev() {
            loop {
                let place = self.link(before, level).load(Ordering::Acquire);
                behind = node(&self.arena, place);
                let Some(next) = behind else { break };
                // On the level above it was found to be behind the key.
                if place == known {
                    break;
                }
                if next.compare(key, sequence) != Order::Less {
                    known = place;
                    break;
                }
                before = Some(next);
            }
        }
        (before, behind)
    }

    /// The first node that is not before the newest version of `key` that is not above `sequence`.
    #[inline]
    pub(super) fn at(&self, key: &[u8], sequence: u64) -> Option<Node<'_>> {
        self.search(key, sequence).1
    }

    /// The last node with a key before `key`.
    pub(super) fn before(&self, key: &[u8]) -> Option<Node<'_>> {
        self.search(key, u64::MAX).0
    }

    /// The last node.
    pub(super) fn last(&self) -> Option<Node<'_>> {
        let mut last = None;
        for level in (0..self.levels.load(Ordering::Acquire) as usize).rev() {
            while let Some(next) = node(&self.arena, self.link(last, level).load(Ordering::Acquire))
            {
                last = Some(next);
            }
        }
        last
    }

    /// Writes a version of `key`, to be linked. `None` if the arena is full. One thread at a time.
    pub(super) fn write(&self, key: &[u8], value: Option<&[u8]>, sequence: u64) -> Option<Place> {
        let levels = self.random_levels();
        let value_bytes = value.map_or(0, <[u8]>::len);
        let bytes = LINKS + 4 * levels + key.len() + value_bytes;
        let place = self.arena.allocate(bytes)?;
        let value_field = value.map_or(TOMBSTONE, |value| value.len() as u32);
        self.arena.write_long(place, 0, sequence);
        self.arena.write_number(place, KEY_BYTES, key.len() as u32);
        self.arena.write_number(place, VALUE_BYTES, value_field);
        self.arena.write_number(place, FLAGS, (levels as u32) << LEVELS_SHIFT);
        for level in 0..levels {
            self.arena.write_number(place, LINKS + 4 * level, 0);
        }
        self.arena.write(place, LINKS + 4 * levels, key);
        self.arena.write(place, LINKS + 4 * levels + key.len(), value.unwrap_or_default());
        Some(place)
    }

    /// Links nodes that were written, in any order. One thread at a time.
    ///
    /// They are sorted first: a node then lies near the one before, and the search begins there. That takes a third
    /// of the time of linking each as it comes.
    pub(super) fn link_all(&self, places: &[Place]) {
        let mut path = [None; LEVELS];
        for place in self.sorted(places) {
            self.link_behind(self.node(place), &mut path);
        }
    }

    /// The places in the order of their nodes.
    pub(super) fn sorted(&self, places: &[Place]) -> impl Iterator<Item = Place> {
        let keys = || places.iter().map(|place| self.node(*place).key());
        let first = keys().next().unwrap_or_default();
        let shared = keys().fold(first.len(), |shared, key| shared_bytes(&first[..shared], key));
        // The bytes in which keys first differ lie side by side, those behind them all over the table.
        let mut sorted: Vec<(u64, Place)> =
            keys().map(|key| prefix(key, shared)).zip(places.iter().copied()).collect();
        sorted.sort_unstable_by(|one, other| {
            one.0.cmp(&other.0).then_with(|| {
                let other = self.node(other.1);
                self.node(one.1).compare(other.key(), other.sequence())
            })
        });
        sorted.into_iter().map(|(_, place)| place)
    }

    /// Links a node behind `path`, the last nodes before it that are known on each level, and puts it there.
    fn link_behind<'l>(&'l self, node: Node<'l>, path: &mut [Option<Node<'l>>; LEVELS]) {
        let (key, sequence) = (node.key(), node.sequence());
        let next = |before: Option<Node<'l>>, level: usize| {
            let next = self::node(&self.arena, self.link(before, level).load(Ordering::Relaxed));
            next.filter(|next| next.compare(key, sequence) == Order::Less)
        };
        let levels = self.levels.load(Ordering::Relaxed) as usize;
        let mut level = 0;
        while level < levels && next(path[level], level).is_some() {
            level += 1;
        }
        let mut reached = None;
        while level > 0 {
            level -= 1;
            let mut before = reached.or(path[level]);
            while let Some(next) = next(before, level) {
                before = Some(next);
            }
            path[level] = before;
            reached = before;
        }
        let node_levels = node.levels();
        for (level, before) in path.iter_mut().enumerate().take(node_levels) {
            let link = self.link(*before, level);
            node.link(level).store(link.load(Ordering::Relaxed), Ordering::Relaxed);
            link.store(node.place, Ordering::Release);
            *before = Some(node);
        }
        if node_levels > levels {
            self.levels.store(node_levels as u32, Ordering::Release);
        }
    }

    /// Takes a node back that nobody has seen.
    pub(super) fn kill(&self, place: Place) {
        self.arena.atomic_at(place, FLAGS).fetch_or(IS_DEAD, Ordering::Relaxed);
    }

    /// A random number of levels, a quarter of the nodes with each more.
    fn random_levels(&self) -> usize {
        // Xorshift: only the writer is here.
        let mut state = self.random.load(Ordering::Relaxed);
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        self.random.store(state, Ordering::Relaxed);
        (1 + state.trailing_zeros() as usize / 2).min(LEVELS)
    }
}
