//! A hash index from keys to their newest nodes, read without locks.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::arena::Place;

/// Number of parts that grow independently, so that no write waits for the whole index to grow.
const PARTS: usize = 64;
/// Slots of the first table of a part.
const SLOTS_MIN: usize = 1 << 4;
/// Maximum number of tables of a part, each twice as large as the one before.
const TABLES_MAX: usize = 20;

/// The index of a table.
#[derive(Debug)]
pub(super) struct Index {
    parts: [Part; PARTS],
}

impl Index {
    pub(super) fn new() -> Self {
        Self { parts: [const { Part::new() }; PARTS] }
    }

    /// The part of a hash, chosen by bits that the slots do not store.
    #[inline]
    fn part(&self, hash: u64) -> &Part {
        &self.parts[hash as usize % PARTS]
    }

    /// The place with this hash for which `is_it` returns `true`.
    #[inline]
    pub(super) fn find(&self, hash: u64, is_it: impl Fn(Place) -> bool) -> Option<Place> {
        self.part(hash).find(hash, is_it)
    }

    /// Replaces the place for which `is_it` returns `true`, or adds `place`. One thread at a time.
    pub(super) fn set(&self, hash: u64, place: Place, is_it: impl Fn(Place) -> bool) {
        self.part(hash).set(hash, place, is_it);
    }
}

/// Open addressing with linear probing. A slot has the upper 32 bits of a hash, whose lower ones
/// select the slot, and a place, which is never 0. A table that is two thirds full is replaced by
/// one twice as large, built from the slots alone. Readers still in the old table see its content,
/// which is all that their snapshots may see: later nodes are newer.
#[derive(Debug)]
struct Part {
    tables: [OnceLock<Box<[AtomicU64]>>; TABLES_MAX],
    /// The table in use.
    current: AtomicUsize,
    /// Used slots of the current table. Only the writer changes it.
    used: AtomicUsize,
}

impl Part {
    const fn new() -> Self {
        let tables = [const { OnceLock::new() }; TABLES_MAX];
        Self { tables, current: AtomicUsize::new(0), used: AtomicUsize::new(0) }
    }

    #[inline]
    fn find(&self, hash: u64, is_it: impl Fn(Place) -> bool) -> Option<Place> {
        let slots = self.tables[self.current.load(Ordering::Acquire)].get()?;
        let mask = slots.len() - 1;
        let mut at = first(hash, mask);
        loop {
            let slot = slots[at].load(Ordering::Acquire);
            if slot == 0 {
                return None;
            }
            let place = slot as Place;
            // The hash bits filter out nearly all other keys before a node is loaded.
            if slot >> 32 == hash >> 32 && is_it(place) {
                return Some(place);
            }
            at = (at + 1) & mask;
        }
    }

    fn set(&self, hash: u64, place: Place, is_it: impl Fn(Place) -> bool) {
        let mut current = self.current.load(Ordering::Relaxed);
        let mut slots = self.tables[current].get_or_init(|| table(SLOTS_MIN));
        // Above a load of two thirds linear probing gets slow.
        if self.used.load(Ordering::Relaxed) * 3 >= slots.len() * 2 && current + 1 < TABLES_MAX {
            let next = self.tables[current + 1].get_or_init(|| table(slots.len() * 2));
            for slot in slots {
                let slot = slot.load(Ordering::Relaxed);
                if slot != 0 {
                    insert(next, slot, |_| false);
                }
            }
            current += 1;
            slots = next;
            // `Release`: the new table is filled before readers can find it. The old one stays
            // until the memtable is dropped, so readers in it are safe.
            self.current.store(current, Ordering::Release);
        }
        if insert(slots, hash >> 32 << 32 | u64::from(place), is_it) {
            self.used.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn table(slots: usize) -> Box<[AtomicU64]> {
    (0..slots).map(|_| AtomicU64::new(0)).collect()
}

/// The first slot to probe for a hash.
#[inline]
fn first(hash: u64, mask: usize) -> usize {
    (hash >> 32) as usize & mask
}

/// Stores `new`. `true` if it took a free slot.
#[inline]
fn insert(slots: &[AtomicU64], new: u64, is_it: impl Fn(Place) -> bool) -> bool {
    let mask = slots.len() - 1;
    let mut at = first(new, mask);
    loop {
        let slot = slots[at].load(Ordering::Relaxed);
        if slot == 0 || (slot >> 32 == new >> 32 && is_it(slot as Place)) {
            // One atomic store replaces hash and place together, so readers see the old or the new
            // node.
            slots[at].store(new, Ordering::Release);
            return slot == 0;
        }
        at = (at + 1) & mask;
    }
}
