//! The order of nodes: a skip list with one writer and any number of readers.
//!
//! A node is written first, and linked later: see [`List::link_all`].
//!
//! # A node
//! Layout: sequence (8), bytes of the key (4), bytes of the value or [`TOMBSTONE`] (4), flags (4),
//! the place of the next node at each level (4 each), key, value. Everything but flags and next
//! places is written before the node is linked, and never changes.

use std::cmp::Ordering as Order;
use std::sync::atomic::{AtomicU32, Ordering};

use super::arena::{Arena, Place};

/// Levels of a list. A quarter of the nodes of each level is in the next, so 13 levels suffice for
/// 64 million (4^13).
const LEVELS: usize = 13;
const KEY_BYTES: usize = 8;
const VALUE_BYTES: usize = 12;
const FLAGS: usize = 16;
const LINKS: usize = 20;
/// Length of a value that stands for a deleted key.
const TOMBSTONE: u32 = u32::MAX;
/// Flag of a node taken back before any reader saw it.
const IS_DEAD: u32 = 1;
/// Bytes of a node that are prefetched: a small pair. The hardware prefetches the rest of a large
/// one.
const FETCHED_BYTES: usize = 192;
/// Bit offset of the number of levels in the flags.
const LEVELS_SHIFT: u32 = 8;

/// The list, in key order; of each key the newest version first.
#[derive(Debug)]
pub(super) struct List {
    pub(super) arena: Arena,
    head: [AtomicU32; LEVELS],
    /// Levels in use. Only the writer changes it.
    levels: AtomicU32,
    /// State of the random number generator for levels.
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

    /// The value; `None` where the key was deleted.
    #[inline]
    pub(super) fn value(self) -> Option<&'l [u8]> {
        let key = self.arena.number_at(self.place, KEY_BYTES) as usize;
        let value = self.arena.number_at(self.place, VALUE_BYTES);
        let offset = LINKS + 4 * self.levels() + key;
        (value != TOMBSTONE).then(|| self.arena.bytes_at(self.place, offset, value as usize))
    }

    /// `true` if a reader at `sequence` may see this version.
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

    /// Prefetches the beginning of the node.
    #[inline]
    pub(super) fn prefetch(self) {
        self.arena.prefetch(self.place, FETCHED_BYTES);
    }

    /// `true` if it comes before `other`.
    #[inline]
    pub(super) fn is_before(self, other: Self) -> bool {
        self.compare(other.key(), other.sequence()).is_lt()
    }

    /// The order relative to the newest version of `key` not above `sequence`.
    #[inline]
    pub(super) fn compare(self, key: &[u8], sequence: u64) -> Order {
        self.key().cmp(key).then_with(|| sequence.cmp(&self.sequence()))
    }
}

#[inline]
fn node(arena: &Arena, place: Place) -> Option<Node<'_>> {
    (place != 0).then_some(Node { arena, place })
}

/// The length of the common prefix.
pub(crate) fn shared_bytes(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// The eight bytes after `shared` as a number that sorts like the keys, where keys have the same
/// bytes before `shared`.
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

    /// The last node before the newest version of `key` not above `sequence`, and the node behind
    /// it.
    fn search<'l>(&'l self, key: &[u8], sequence: u64) -> (Option<Node<'l>>, Option<Node<'l>>) {
        let mut before: Option<Node<'l>> = None;
        let mut behind: Option<Node<'l>> = None;
        // A reader that misses a new level starts lower, which costs steps only.
        let levels = self.levels.load(Ordering::Acquire) as usize;
        // The node found behind the key on the level above, as most levels end at the same node.
        let mut known = 0;
        for level in (0..levels).rev() {
            loop {
                let place = self.link(before, level).load(Ordering::Acquire);
                behind = node(&self.arena, place);
                let Some(next) = behind else { break };
                // The level above has already found this node to be behind the key: skip the
                // comparison.
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

    /// The first node not before the newest version of `key` not above `sequence`.
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

    /// Writes a version of `key` without linking it. `None` if the arena is full. One thread at a
    /// time.
    pub(super) fn write(&self, key: &[u8], value: Option<&[u8]>, sequence: u64) -> Option<Place> {
        let levels = self.random_levels();
        let value_bytes = value.map_or(0, <[u8]>::len);
        let bytes = LINKS + 4 * levels + key.len() + value_bytes;
        // Unpublished until it is linked or indexed, so plain writes suffice below.
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

    /// Links written nodes, in any order. One thread at a time.
    ///
    /// They are sorted first: each search then starts near the previous node, which takes a third
    /// of the time of linking in write order.
    pub(super) fn link_all(&self, places: &[Place]) {
        let mut path = [None; LEVELS];
        for place in self.sorted(places) {
            self.link_behind(self.node(place), &mut path);
        }
    }

    /// The places, sorted by their nodes.
    pub(super) fn sorted(&self, places: &[Place]) -> impl Iterator<Item = Place> {
        let keys = || places.iter().map(|place| self.node(*place).key());
        let first = keys().next().unwrap_or_default();
        let shared = keys().fold(first.len(), |shared, key| shared_bytes(&first[..shared], key));
        // Sort by the prefix numbers, which lie side by side; only equal prefixes load the
        // scattered nodes.
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

    /// Links a node behind `path`, the last known nodes before it on each level, and moves `path`
    /// to it.
    fn link_behind<'l>(&'l self, node: Node<'l>, path: &mut [Option<Node<'l>>; LEVELS]) {
        let (key, sequence) = (node.key(), node.sequence());
        let next = |before: Option<Node<'l>>, level: usize| {
            let next = self::node(&self.arena, self.link(before, level).load(Ordering::Relaxed));
            next.filter(|next| next.compare(key, sequence) == Order::Less)
        };
        let levels = self.levels.load(Ordering::Relaxed) as usize;
        // Climb only as far as the path is behind the node, then descend: sorted nodes are close
        // together, so this is short (finger search).
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
        // Bottom up: once a node is reachable on a level, it is on all levels below. `Release`
        // publishes its contents and its own link to readers that load with `Acquire`.
        for (level, before) in path.iter_mut().enumerate().take(node_levels) {
            let link = self.link(*before, level);
            // The new node points onward before anything points to it.
            node.link(level).store(link.load(Ordering::Relaxed), Ordering::Relaxed);
            link.store(node.place, Ordering::Release);
            *before = Some(node);
        }
        // Raised last: a reader that sees a new level finds its links. One that does not just
        // searches a level less.
        if node_levels > levels {
            self.levels.store(node_levels as u32, Ordering::Release);
        }
    }

    /// Marks a node as taken back. Readers skip it; its memory is freed with the table.
    pub(super) fn kill(&self, place: Place) {
        self.arena.atomic_at(place, FLAGS).fetch_or(IS_DEAD, Ordering::Relaxed);
    }

    /// A random number of levels; each further level has a quarter of the nodes.
    fn random_levels(&self) -> usize {
        // Xorshift. Only the writer calls this.
        let mut state = self.random.load(Ordering::Relaxed);
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        self.random.store(state, Ordering::Relaxed);
        (1 + state.trailing_zeros() as usize / 2).min(LEVELS)
    }
}
