//! A dictionary: the distinct values of a column as byte strings with numbers.
//!
//! A value takes its own bytes and some 12 more, for its length, its start and its place in the
//! hash table. A map of owned strings takes 60 to 100 more. So even columns whose values are all
//! different fit into memory.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// Distinct byte strings with numbers. The number of a removed string is used again.
#[derive(Debug, Default)]
pub(crate) struct Dictionary {
    values: Values,
    free: Vec<u32>,
    /// Numbers of the values, in a hash table by value.
    numbers: HashTable<u32>,
    /// Seeded at random for each dictionary, so that nobody can choose values that collide.
    hasher: RandomState,
}

/// Values by their numbers.
#[derive(Debug, Default)]
struct Values {
    /// Values one after another: the length as a varint, then the bytes.
    bytes: Vec<u8>,
    /// Start in `bytes` by number; [`FREE`] for a number without a value.
    starts: Vec<u32>,
    /// Number of bytes of removed values.
    garbage: usize,
}

const FREE: u32 = u32::MAX;

/// Garbage in bytes up to which nothing is compacted.
const GARBAGE_MIN: usize = 4_096;

impl Dictionary {
    /// The number of `value`, if the dictionary has it.
    pub(crate) fn get(&self, value: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(value);
        self.numbers.find(hash, |number| self.values.get(*number) == value).copied()
    }

    /// The number of `value`. A missing value is added.
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

    /// Doubles the table. It is filled in the order of the numbers, because the bytes are in that
    /// order in memory. The table's own growth would hash the values in the order of its buckets:
    /// half a million values, each with a cache miss.
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

    /// Memory of the dictionary, in bytes.
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

    /// Sets the value of a number without one: a free number, or the next.
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
        // One byte for the length. A long value has two or more, and the difference only delays the
        // compaction.
        self.garbage += self.get(number).len() + 1;
        self.starts[number as usize] = FREE;
        // More than half is garbage, so the cost of the move is paid for by the removals before it.
        if self.garbage > self.bytes.len() / 2 + GARBAGE_MIN {
            self.move_together();
        }
    }

    fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let there = |(_, start): &(u32, &u32)| **start != FREE;
        (0..).zip(&self.starts).filter(there).map(|(number, _)| (number, self.get(number)))
    }

    /// Compacts: copies the values in use into a new buffer, in the order of their numbers.
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

/// Appends a length as a varint: 7 bits a byte, the lowest first. The high bit says that another
/// byte follows.
fn push_length(bytes: &mut Vec<u8>, mut length: usize) {
    while length >= 0x80 {
        bytes.push(length as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
}

#[inline]
/// Splits a varint off: the length, and the bytes behind it.
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
