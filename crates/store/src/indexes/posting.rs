//! Posting lists: the slots with one value, in little memory for few and in a bitmap for many.
//!
//! ```text
//!        insert          insert        more than LIST_MAX, and dense
//! EMPTY ────────► head ────────► List ──────────────────────────────► Bits
//!                                 │ ▲                                 ▲ │
//!                                 │ └─────── few left, or sparse ─────┼─┘
//!                                 │                                   │ dense
//!                                 └──────────────────────────► Tree ──┘
//!                                   more than LIST_MAX, and
//!                                   inserted into the middle
//! ```
//! A set whose last slot is removed is `EMPTY` again. The only slot of a set is in its head.

use std::collections::BTreeSet;

use liteio_vector::{Slot, SlotSet};

/// Length of a sorted list into whose middle a slot is still inserted, which moves at most 4 KiB.
const LIST_MAX: usize = 1_024;

/// Density at which a bitmap replaces a list: one in this many slots. A bitmap then takes no more
/// memory than 4 bytes (32 bits) for each slot.
const BITS_PART: usize = 32;
/// Density below which a bitmap is given up: one in this many slots. The distance to [`BITS_PART`]
/// keeps a set from changing its form back and forth.
const BITS_PART_KEPT: usize = 128;

/// A set of slots with its count.
#[derive(Debug)]
enum Posting {
    /// In ascending order.
    List(Vec<u32>),
    /// A long list, since a slot was inserted into its middle.
    Tree(BTreeSet<u32>),
    Bits {
        bits: SlotSet,
        count: usize,
        /// One past the largest slot that was ever in the set.
        end: u32,
    },
}

/// Estimated memory of a tree for each of its slots, in bytes.
const TREE_BYTES: usize = 8;

/// Posting lists by number. Most have one slot, which takes 4 bytes.
#[derive(Debug, Default)]
pub(crate) struct Postings {
    /// The only slot of a set, the place of the set in `sets` plus [`PLACE`], or [`EMPTY`].
    heads: Vec<u32>,
    sets: Vec<Posting>,
    /// Unused places in `sets`.
    free: Vec<u32>,
    /// Memory of the sets, in bytes.
    bytes: usize,
}

/// Head of an empty set.
const EMPTY: u32 = u32::MAX;
/// Lowest head that is a place. Lower ones are slots.
const PLACE: u32 = 1 << 31;

/// One past the largest slot that can be in a posting.
pub(crate) const SLOTS_END: u32 = PLACE;

impl Postings {
    /// Adds a slot to a set that does not have it.
    pub(crate) fn insert(&mut self, number: u32, slot: u32) {
        let number = number as usize;
        if self.heads.len() <= number {
            self.heads.resize(number + 1, EMPTY);
        }
        match self.heads[number] {
            EMPTY => self.heads[number] = slot,
            first if first < PLACE => {
                let set = Posting::List(vec![first.min(slot), first.max(slot)]);
                self.bytes += set.memory();
                let place = match self.free.pop() {
                    Some(place) => {
                        self.sets[place as usize] = set;
                        place
                    }
                    None => {
                        self.sets.push(set);
                        self.sets.len() as u32 - 1
                    }
                };
                self.heads[number] = PLACE + place;
            }
            place => self.change(place, |set| set.insert(slot)),
        }
    }

    /// Removes a slot from a set; `true` if the set is empty then.
    pub(crate) fn remove(&mut self, number: u32, slot: u32) -> bool {
        let Some(head) = self.heads.get_mut(number as usize) else { return true };
        match *head {
            EMPTY => true,
            only if only < PLACE => {
                if only == slot {
                    *head = EMPTY;
                }
                *head == EMPTY
            }
            place => {
                self.change(place, |set| set.remove(slot));
                let set = &mut self.sets[(place - PLACE) as usize];
                if set.count() > 0 {
                    return false;
                }
                self.bytes -= set.memory();
                *set = Posting::List(Vec::new());
                self.free.push(place - PLACE);
                self.heads[number as usize] = EMPTY;
                true
            }
        }
    }

    /// Number of slots in a set.
    pub(crate) fn count(&self, number: u32) -> usize {
        match self.heads.get(number as usize) {
            None | Some(&EMPTY) => 0,
            Some(slot) if *slot < PLACE => 1,
            Some(place) => self.sets[(place - PLACE) as usize].count(),
        }
    }

    /// Adds the slots of a set to `slots`, in ascending order.
    pub(crate) fn collect(&self, number: u32, slots: &mut Vec<Slot>) {
        match self.heads.get(number as usize) {
            None | Some(&EMPTY) => {}
            Some(slot) if *slot < PLACE => slots.push(Slot::new(*slot)),
            Some(place) => match &self.sets[(place - PLACE) as usize] {
                Posting::List(list) => slots.extend(list.iter().copied().map(Slot::new)),
                Posting::Tree(tree) => slots.extend(tree.iter().copied().map(Slot::new)),
                Posting::Bits { bits, .. } => slots.extend(bits.iter()),
            },
        }
    }

    /// Adds the slots of a set to `slots`.
    pub(crate) fn unite_into(&self, number: u32, slots: &mut SlotSet) {
        // Bitmaps unite by words. The first one is copied as a whole.
        match self.bits(number) {
            Some(bits) if slots.is_empty() => slots.clone_from(bits),
            Some(bits) => slots.unite(bits),
            None => self.for_each(number, |slot| {
                slots.insert(slot);
            }),
        }
    }

    /// Removes the slots of a set from `slots`.
    pub(crate) fn subtract_from(&self, number: u32, slots: &mut SlotSet) {
        match self.bits(number) {
            Some(bits) => slots.subtract(bits),
            None => self.for_each(number, |slot| {
                slots.remove(slot);
            }),
        }
    }

    /// Memory of all sets, in bytes.
    pub(crate) fn memory(&self) -> usize {
        let own = self.sets.capacity() * size_of::<Posting>();
        (self.heads.capacity() + self.free.capacity()) * 4 + own + self.bytes
    }

    fn bits(&self, number: u32) -> Option<&SlotSet> {
        let head = *self.heads.get(number as usize)?;
        match head.checked_sub(PLACE).filter(|_| head != EMPTY).map(|it| &self.sets[it as usize]) {
            Some(Posting::Bits { bits, .. }) => Some(bits),
            _ => None,
        }
    }

    fn for_each(&self, number: u32, mut each: impl FnMut(Slot)) {
        match self.heads.get(number as usize) {
            None | Some(&EMPTY) => {}
            Some(slot) if *slot < PLACE => each(Slot::new(*slot)),
            Some(place) => match &self.sets[(place - PLACE) as usize] {
                Posting::List(list) => list.iter().copied().map(Slot::new).for_each(each),
                Posting::Tree(tree) => tree.iter().copied().map(Slot::new).for_each(each),
                Posting::Bits { bits, .. } => bits.iter().for_each(each),
            },
        }
    }

    /// Changes a set in `sets`, and keeps the sum of the memory right.
    fn change(&mut self, place: u32, change: impl FnOnce(&mut Posting)) {
        let set = &mut self.sets[(place - PLACE) as usize];
        self.bytes -= set.memory();
        change(set);
        self.bytes += set.memory();
    }
}

impl Posting {
    fn insert(&mut self, slot: u32) {
        match self {
            Self::List(list) => match list.last() {
                Some(last) if *last > slot => match list.binary_search(&slot) {
                    // From here on each insertion would move more than 4 KiB.
                    Err(_) if list.len() > LIST_MAX => {
                        let mut tree: BTreeSet<u32> = std::mem::take(list).into_iter().collect();
                        tree.insert(slot);
                        *self = Self::Tree(tree);
                    }
                    Err(place) => list.insert(place, slot),
                    Ok(_) => {}
                },
                Some(last) if *last == slot => {}
                _ => list.push(slot),
            },
            Self::Tree(tree) => drop(tree.insert(slot)),
            Self::Bits { bits, count, end } => {
                *count += usize::from(bits.insert(Slot::new(slot)));
                *end = slot.saturating_add(1).max(*end);
            }
        }
        // Then the form that suits the new density.
        match self {
            Self::List(list) if list.len() > LIST_MAX => {
                if let Some(set) = bits(list.len(), list.iter().rev()) {
                    *self = set;
                }
            }
            Self::Tree(tree) => {
                if let Some(set) = bits(tree.len(), tree.iter().rev()) {
                    *self = set;
                }
            }
            Self::Bits { bits, count, end } if *count * BITS_PART_KEPT < *end as usize => {
                *self = Self::List(bits.iter().map(Slot::number).collect());
            }
            _ => {}
        }
    }

    fn remove(&mut self, slot: u32) {
        match self {
            Self::List(list) => {
                if let Ok(place) = list.binary_search(&slot) {
                    list.remove(place);
                }
            }
            Self::Tree(tree) => drop(tree.remove(&slot)),
            Self::Bits { bits, count, .. } => {
                *count -= usize::from(bits.remove(Slot::new(slot)));
                // Half of the limit, so that a set near it does not change with every insertion and
                // removal.
                if *count < LIST_MAX / 2 {
                    *self = Self::List(bits.iter().map(Slot::number).collect());
                }
            }
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::Tree(tree) => tree.len(),
            Self::Bits { count, .. } => *count,
        }
    }

    fn memory(&self) -> usize {
        match self {
            Self::List(list) => list.capacity() * 4,
            Self::Tree(tree) => tree.len() * TREE_BYTES,
            Self::Bits { end, .. } => *end as usize / 8,
        }
    }
}

/// A bitmap of `count` slots, which come in descending order, if it takes no more memory than a
/// list of them.
fn bits<'a>(count: usize, mut slots: impl Iterator<Item = &'a u32>) -> Option<Posting> {
    let last = *slots.next()?;
    if count * BITS_PART <= last as usize {
        return None;
    }
    // The largest first, so that the bitmap has its full length at once.
    let bits = std::iter::once(last).chain(slots.copied()).map(Slot::new).collect();
    Some(Posting::Bits { bits, count, end: last + 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_every_size_have_the_slots_that_were_added_and_not_removed() {
        // Parts of 200,000 slots, so that every form comes and goes.
        for part in [1, 2, 7, 31, 33, 100, 150, 1_000, 150_000] {
            let mut postings = Postings::default();
            let mut model = BTreeSet::new();
            // In an order that is not theirs, with holes.
            let slots = (0..200_000_u32).step_by(part).map(|slot| slot ^ 0x155);
            let (first, last): (Vec<u32>, Vec<u32>) = slots.partition(|slot| slot % 3 == 0);
            let check = |postings: &Postings, model: &BTreeSet<u32>| {
                let mut slots = Vec::new();
                postings.collect(3, &mut slots);
                assert!(slots.iter().map(|slot| slot.number()).eq(model.iter().copied()), "{part}");
                assert_eq!(postings.count(3), model.len());
                let mut set: SlotSet = [Slot::new(5)].into_iter().collect();
                postings.unite_into(3, &mut set);
                assert_eq!(set.count(), model.len() + usize::from(!model.contains(&5)));
                postings.subtract_from(3, &mut set);
                assert_eq!(set.count(), usize::from(!model.contains(&5)));
                assert!(postings.memory() < 200 + model.len() * 20 + 25_000, "{part}");
            };
            for slot in first.iter().chain(&last) {
                postings.insert(3, *slot);
                model.insert(*slot);
            }
            check(&postings, &model);
            for slot in &first {
                assert_eq!(
                    postings.remove(3, *slot),
                    *slot == first[first.len() - 1] && last.is_empty()
                );
                model.remove(slot);
            }
            check(&postings, &model);
            for (index, slot) in last.iter().enumerate() {
                assert_eq!(postings.remove(3, *slot), index + 1 == last.len(), "{part}");
                model.remove(slot);
                if index % 1_009 == 0 {
                    check(&postings, &model);
                }
            }
            assert_eq!((postings.count(3), postings.bytes), (0, 0));
        }
    }
}
