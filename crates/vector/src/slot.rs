//! Slots and sets of slots.

use std::fmt;

/// The place of a vector in its file. Slots are numbered from 0 without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u32);

impl Slot {
    /// The slot with this number.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number of the slot.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// A set of slots: a bitmap up to the largest slot ever inserted.
#[derive(Clone, Debug, Default)]
pub struct SlotSet {
    words: Vec<u64>,
}

impl SlotSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self { words: Vec::new() }
    }

    /// Inserts `slot`; `true` if it was missing.
    pub fn insert(&mut self, slot: Slot) -> bool {
        let (word, bit) = place(slot);
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let was_missing = self.words[word] & bit == 0;
        self.words[word] |= bit;
        was_missing
    }

    /// Removes `slot`; `true` if it was in the set.
    pub fn remove(&mut self, slot: Slot) -> bool {
        let (word, bit) = place(slot);
        match self.words.get_mut(word) {
            Some(word) if *word & bit != 0 => {
                *word &= !bit;
                true
            }
            _ => false,
        }
    }

    /// `true` if `slot` is in the set.
    #[must_use]
    pub fn contains(&self, slot: Slot) -> bool {
        let (word, bit) = place(slot);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    /// The number of slots in the set.
    #[must_use]
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// `true` if the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Removes the slots that are not in `other`.
    pub fn intersect(&mut self, other: &Self) {
        self.words.truncate(other.words.len());
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    /// Adds the slots of `other`.
    pub fn unite(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    /// Removes the slots of `other`.
    pub fn subtract(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= !other;
        }
    }

    /// The slots in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Slot> + '_ {
        self.words.iter().enumerate().flat_map(|(index, word)| bits(index, *word))
    }

    /// The bitmap, 64 slots per word, up to the largest slot ever inserted.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// The slots `64 * index` to `64 * index + 63`, as bits.
    pub(crate) fn word(&self, index: usize) -> u64 {
        self.words.get(index).copied().unwrap_or(0)
    }
}

impl FromIterator<Slot> for SlotSet {
    fn from_iter<I: IntoIterator<Item = Slot>>(slots: I) -> Self {
        let mut set = Self::new();
        set.extend(slots);
        set
    }
}

impl Extend<Slot> for SlotSet {
    fn extend<I: IntoIterator<Item = Slot>>(&mut self, slots: I) {
        for slot in slots {
            self.insert(slot);
        }
    }
}

/// The slots of the set bits of `word`, which is word number `index` of a bitmap, in ascending
/// order.
pub(crate) fn bits(index: usize, mut word: u64) -> impl Iterator<Item = Slot> {
    std::iter::from_fn(move || {
        if word == 0 {
            return None;
        }
        let bit = word.trailing_zeros();
        word &= word - 1;
        Some(Slot((index * 64) as u32 + bit))
    })
}

fn place(slot: Slot) -> (usize, u64) {
    (slot.index() / 64, 1 << (slot.index() % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(numbers: &[u32]) -> SlotSet {
        numbers.iter().copied().map(Slot::new).collect()
    }

    #[test]
    fn slots_are_kept_in_order_and_counted_once() {
        let mut slots = set(&[130, 0, 63, 64, 130]);
        let numbers: Vec<u32> = slots.iter().map(Slot::number).collect();
        assert_eq!(numbers, [0, 63, 64, 130]);
        assert_eq!(slots.count(), 4);
        assert!(!slots.insert(Slot::new(64)) && slots.insert(Slot::new(65)));
        assert!(slots.remove(Slot::new(64)) && !slots.remove(Slot::new(64)));
        assert!(!slots.remove(Slot::new(9_999)) && !slots.contains(Slot::new(9_999)));
    }

    #[test]
    fn sets_of_different_length_are_combined() {
        let few = set(&[1, 2, 64]);
        let many = set(&[2, 3, 64, 500]);
        for (left, right) in [(&few, &many), (&many, &few)] {
            let mut both = left.clone();
            both.intersect(right);
            assert_eq!(both.iter().map(Slot::number).collect::<Vec<_>>(), [2, 64]);
            let mut all = left.clone();
            all.unite(right);
            assert_eq!(all.iter().map(Slot::number).collect::<Vec<_>>(), [1, 2, 3, 64, 500]);
        }
        let mut rest = many;
        rest.subtract(&few);
        assert_eq!(rest.iter().map(Slot::number).collect::<Vec<_>>(), [3, 500]);
        assert!(SlotSet::new().is_empty());
    }
}
