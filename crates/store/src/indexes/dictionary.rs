//! Byte strings with numbers: those of the distinct values of a column.
//!
//! A value takes its own bytes and some 12 more, where a map of owned strings takes 60 to 100: columns of
//! values that every vector has for itself fit into memory.

use std::hash::{BuildHasher, RandomState};

/// Distinct byte strings, numbered. Numbers of removed ones are used again.
#[derive(Debug, Default)]
pub(crate) struct Dictionary {
    /// The length of each value as a varint, and its bytes.
    bytes: Vec<u8>,
    /// Start in `bytes` by number; [`FREE`] for a number without a value.
    starts: Vec<u32>,
    free: Vec<u32>,
    /// A hash table with linear probing: a number plus one, or 0.
    table: Vec<u32>,
    /// Bytes of removed values.
    garbage: usize,
    /// Of each dictionary its own, so that nobody can choose values that collide.
    hasher: RandomState,
}

const FREE: u32 = u32::MAX;

/// Garbage below which bytes are not moved.
const GARBAGE_MIN: usize = 4_096;

impl Dictionary {
    /// The number of `value`, if it is there.
    pub(crate) fn get(&self, value: &[u8]) -> Option<u32> {
        let (_, number) = self.find(value)?;
        number
    }

    /// The number of `value`, which is added if it is missing.
    pub(crate) fn insert(&mut self, value: &[u8]) -> u32 {
        if self.table.len() < (self.len() + 1) * 4 / 3 + 1 {
            self.grow();
        }
        let place = match self.find(value) {
            Some((_, Some(number))) => return number,
            Some((place, None)) => place,
            None => unreachable!("a table that has grown is not empty"),
        };
        let start = self.bytes.len() as u32;
        push_length(&mut self.bytes, value.len());
        self.bytes.extend_from_slice(value);
        let number = match self.free.pop() {
            Some(number) => {
                self.starts[number as usize] = start;
                number
            }
            None => {
                self.starts.push(start);
                self.starts.len() as u32 - 1
            }
        };
        self.table[place] = number + 1;
        number
    }

    /// Removes the value with this number.
    pub(crate) fn remove(&mut self, number: u32) {
        let Some((mut hole, Some(_))) = self.find(self.value(number)) else { return };
        self.garbage += self.value(number).len() + 1;
        self.starts[number as usize] = FREE;
        self.free.push(number);
        let mask = self.table.len() - 1;
        // The values behind it move up, unless their place is behind the hole.
        let mut next = (hole + 1) & mask;
        while let Some(other) = self.table[next].checked_sub(1) {
            let home = self.home(self.value(other));
            if next.wrapping_sub(home) & mask >= next.wrapping_sub(hole) & mask {
                self.table[hole] = other + 1;
                hole = next;
            }
            next = (next + 1) & mask;
        }
        self.table[hole] = 0;
        if self.garbage > self.bytes.len() / 2 + GARBAGE_MIN {
            self.move_together();
        }
    }

    /// The value with this number, which has not been removed.
    pub(crate) fn value(&self, number: u32) -> &[u8] {
        let (length, rest) = split_length(&self.bytes[self.starts[number as usize] as usize..]);
        &rest[..length]
    }

    /// All numbers with their values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let there = |(_, start): &(u32, &u32)| **start != FREE;
        (0..).zip(&self.starts).filter(there).map(|(number, _)| (number, self.value(number)))
    }

    /// The number of values.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - self.free.len()
    }

    /// Bytes of memory that it takes.
    pub(crate) fn memory(&self) -> usize {
        let numbers = self.starts.capacity() + self.free.capacity() + self.table.len();
        self.bytes.capacity() + numbers * 4
    }

    /// The place of `value` in the table and its number, or the place where it belongs. `None` for an empty
    /// table.
    fn find(&self, value: &[u8]) -> Option<(usize, Option<u32>)> {
        let mask = self.table.len().checked_sub(1)?;
        let mut place = self.home(value);
        while let Some(number) = self.table[place].checked_sub(1) {
            if self.value(number) == value {
                return Some((place, Some(number)));
            }
            place = (place + 1) & mask;
        }
        Some((place, None))
    }

    fn home(&self, value: &[u8]) -> usize {
        self.hasher.hash_one(value) as usize & (self.table.len() - 1)
    }

    fn grow(&mut self) {
        self.table = vec![0; (self.table.len() * 2).max(8)];
        let mask = self.table.len() - 1;
        for number in 0..self.starts.len() as u32 {
            if self.starts[number as usize] == FREE {
                continue;
            }
            let mut place = self.home(self.value(number));
            while self.table[place] != 0 {
                place = (place + 1) & mask;
            }
            self.table[place] = number + 1;
        }
    }

    fn move_together(&mut self) {
        let mut bytes = Vec::with_capacity(self.bytes.len() - self.garbage);
        for number in 0..self.starts.len() as u32 {
            if self.starts[number as usize] != FREE {
                let start = bytes.len() as u32;
                let value = self.value(number);
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
            assert_eq!(dictionary.len(), model.len());
        }
        let numbers: HashMap<Vec<u8>, u32> =
            dictionary.iter().map(|(number, value)| (value.to_vec(), number)).collect();
        assert_eq!(numbers, model);
        // 4,096 different values at most were there at a time, in some 30 KiB.
        assert!(dictionary.memory() < 150_000, "{}", dictionary.memory());
    }
}
