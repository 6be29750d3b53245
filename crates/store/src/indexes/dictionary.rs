//! Byte strings with numbers: those of the distinct values of a column.
//!
//! A value takes its own bytes and some 12 more, where a map of owned strings takes 60 to 100: columns of
//! values that every vector has for itself fit into memory.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// Distinct byte strings, numbered. Numbers of removed ones are used again.
#[derive(Debug, Default)]
pub(crate) struct Dictionary {
    values: Values,
    free: Vec<u32>,
    /// The numbers of the values that are there.
    numbers: HashTable<u32>,
    /// Of each dictionary its own, so that nobody can choose values that collide.
    hasher: RandomState,
}

/// Values by their numbers.
#[derive(Debug, Default)]
struct Values {
    /// The length of each value as a varint, and its bytes.
    bytes: Vec<u8>,
    /// Start in `bytes` by number; [`FREE`] for a number without a value.
    starts: Vec<u32>,
    /// Bytes of removed values.
    garbage: usize,
}

const FREE: u32 = u32::MAX;

/// Garbage below which bytes are not moved.
const GARBAGE_MIN: usize = 4_096;

impl Dictionary {
    /// The number of `value`, if it is there.
    pub(crate) fn get(&self, value: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(value);
        self.numbers.find(hash, |number| self.values.get(*number) == value).copied()
    }

    /// The number of `value`, which is added if it is missing.
    pub(crate) fn insert(&mut self, value: &[u8]) -> u32 {
        if self.numbers.len() == self.numbers.capacity() {
            self.grow();
        }
        let Self { values, free, numbers, hasher } = self;
        let is_it = |number: &u32| values.get(*number) == value;
        let hash_of = |number: &u32| hasher.hash_one(values.get(*number));
        match numbers.entry(hasher.hash_one(value), is_it, hash_of) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                let number = free.pop().unwrap_or(values.starts.len() as u32);
                entry.insert(number);
                values.set(number, value);
                number
            }
        }
    }

    /// Makes a larger table. In the order of the numbers, which is that of the bytes: the table would hash values in its
    /// own, and of half a million fetch each from anywhere in memory.
    fn grow(&mut self) {
        let Self { values, numbers, hasher, .. } = self;
        let hash_of = |number: &u32| hasher.hash_one(values.get(*number));
        *numbers = HashTable::with_capacity(numbers.capacity() + 1);
        for (number, value) in values.iter() {
            numbers.insert_unique(hasher.hash_one(value), number, hash_of);
        }
    }

    /// Removes the value with this number.
    pub(crate) fn remove(&mut self, number: u32) {
        let hash = self.hasher.hash_one(self.values.get(number));
        let Ok(entry) = self.numbers.find_entry(hash, |other| *other == number) else { return };
        entry.remove();
        self.free.push(number);
        self.values.remove(number);
    }

    /// The value with this number, which has not been removed.
    pub(crate) fn value(&self, number: u32) -> &[u8] {
        self.values.get(number)
    }

    /// All numbers with their values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.values.iter()
    }

    /// Bytes of memory that it takes.
    pub(crate) fn memory(&self) -> usize {
        let numbers = self.values.starts.capacity() + self.free.capacity();
        self.values.bytes.capacity() + numbers * 4 + self.numbers.allocation_size()
    }
}

impl Values {
    fn get(&self, number: u32) -> &[u8] {
        let (length, rest) = split_length(&self.bytes[self.starts[number as usize] as usize..]);
        &rest[..length]
    }

    /// Sets the value of a number that has none: a free one, or the next.
    fn set(&mut self, number: u32, value: &[u8]) {
        let start = self.bytes.len() as u32;
        push_length(&mut self.bytes, value.len());
        self.bytes.extend_from_slice(value);
        match self.starts.get_mut(number as usize) {
            Some(place) => *place = start,
            None => self.starts.push(start),
        }
    }

    fn remove(&mut self, number: u32) {
        self.garbage += self.get(number).len() + 1;
        self.starts[number as usize] = FREE;
        if self.garbage > self.bytes.len() / 2 + GARBAGE_MIN {
            self.move_together();
        }
    }

    fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let there = |(_, start): &(u32, &u32)| **start != FREE;
        (0..).zip(&self.starts).filter(there).map(|(number, _)| (number, self.get(number)))
    }

    fn move_together(&mut self) {
        let mut bytes = Vec::with_capacity(self.bytes.len() - self.garbage);
        for number in 0..self.starts.len() as u32 {
            if self.starts[number as usize] != FREE {
                let start = bytes.len() as u32;
                let value = self.get(number);
                push_length(&mut bytes, value.len());
                bytes.extend_from_slice(value);
                self.starts[number as usize] = start;
            }
        }
        (self.bytes, self.garbage) = (bytes, 0);
    }
}

fn push_length(bytes: &mut Vec<u8>, mut length: usize) {
    while length >= 0x80 {
        bytes.push(length as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
}

#[inline]
fn split_length(bytes: &[u8]) -> (usize, &[u8]) {
    let mut length = 0;
    for (position, byte) in bytes.iter().enumerate() {
        length |= usize::from(byte & 0x7F) << (7 * position);
        if byte & 0x80 == 0 {
            return (length, &bytes[position + 1..]);
        }
    }
    unreachable!("every value begins with its length")
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn values_are_found_by_their_numbers_through_growth_and_removals() {
        let mut dictionary = Dictionary::default();
        let mut model: HashMap<Vec<u8>, u32> = HashMap::new();
        assert_eq!(dictionary.get(b"nothing"), None);
        let mut seed = 1_u32;
        for round in 0..40_000_u32 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let chosen = seed >> 20;
            // Some are longer than a length of one byte.
            let value = format!("{chosen}").repeat(if chosen.is_multiple_of(64) { 50 } else { 1 });
            let value = value.into_bytes();
            if round % 3 == 0 || round > 30_000 {
                if let Some(number) = model.remove(&value) {
                    dictionary.remove(number);
                }
                assert_eq!(dictionary.get(&value), None);
            } else {
                let number = dictionary.insert(&value);
                assert_eq!(*model.entry(value.clone()).or_insert(number), number);
                assert_eq!(dictionary.get(&value), Some(number));
            }
            assert_eq!(dictionary.numbers.len(), model.len());
        }
        let numbers: HashMap<Vec<u8>, u32> =
            dictionary.iter().map(|(number, value)| (value.to_vec(), number)).collect();
        assert_eq!(numbers, model);
        // 4,096 different values at most were there at a time, in some 30 KiB.
        assert!(dictionary.memory() < 150_000, "{}", dictionary.memory());
    }
}
