//! A hash index from keys to the newest node of each, read without a lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::arena::Place;

/// Parts that grow each for itself: nobody waits until all of an index has grown.
const PARTS: usize = 64;
/// Slots of the first table of a part.
const SLOTS_MIN: usize = 1 << 4;
/// Tables of a part, each twice as large as the one before.
const TABLES_MAX: usize = 20;

/// From the keys of a table to the newest node of each.
#[derive(Debug)]
pub(super) struct Index {
    parts: [Part; PARTS],
}

impl Index {
    pub(super) fn new() -> Self {
        Self { parts: [const { Part::new() }; PARTS] }
    }

    /// The part of a hash, by the bits of it that are not in a slot.
    #[inline]
    fn part(&self, hash: u64) -> &Part {
        &self.parts[hash as usize % PARTS]
    }

    /// The place with this hash for which `is_it` says so.
    #[inline]
    pub(super) fn find(&self, hash: u64, is_it: impl Fn(Place) -> bool) -> Option<Place> {
        self.part(hash).find(hash, is_it)
    }

    /// Puts `place` in the place of the one for which `is_it` says so, or beside the others. One thread at a time.
    pub(super) fn set(&self, hash: u64, place: Place, is_it: impl Fn(Place) -> bool) {
        self.part(hash).set(hash, place, is_it);
    }
}

/// Open addressing with linear probing. A slot has the upper 32 bits of a hash, of which the lower ones are its number
/// in the table, and a place, which is never 0. When a table is two thirds full, one twice as large takes over, made
/// from the slots alone; readers that are still in the old one see what was in it, which is all that they may see:
/// later nodes are newer than they are.
#[derive(Debug)]
struct Part {
    tables: [OnceLock<Box<[AtomicU64]>>; TABLES_MAX],
    /// The table in use.
    current: AtomicUsize,
    /// Slots in use in it. The writer changes it only.
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
            if slot >> 32 == hash >> 32 && is_it(place) {
                return Some(place);
            }
            at = (at + 1) & mask;
        }
    }

    fn set(&self, hash: u64, place: Place, is_it: impl Fn(Place) -> bool) {
        let mut current = self.current.load(Ordering::Relaxed);
        let mut slots = self.tables[current].get_or_init(|| table(SLOTS_MIN));
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

/// The number of the first slot that a hash may have.
#[inline]
fn first(hash: u64, mask: usize) -> usize {
    (hash >> 32) as usize & mask
}

/// `true` if a slot was taken that was free.
#[inline]
fn insert(slots: &[AtomicU64], new: u64, is_it: impl Fn(Place) -> bool) -> bool {
    let mask = slots.len() - 1;
    let mut at = first(new, mask);
    loop {
        let slot = slots[at].load(Ordering::Relaxed);
        if slot == 0 || (slot >> 32 == new >> 32 && is_it(slot as Place)) {
            slots[at].store(new, Ordering::Release);
            return slot == 0;
        }
        at = (at + 1) & mask;
    }
}
