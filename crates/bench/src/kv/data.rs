//! Keys and values for all engines: computed from a number and the seed, in any language.

use crate::random::{GOLDEN, mix};

/// Length of a key.
pub const KEY_BYTES: usize = 16;
/// Length of a value.
pub const VALUE_BYTES: usize = 100;

/// A key.
pub type Key = [u8; KEY_BYTES];
/// A value.
pub type Value = [u8; VALUE_BYTES];

/// Generator of keys and values. The same seed gives the same data.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    seed: u64,
}

impl Data {
    /// The data of a seed.
    pub fn new(seed: u64) -> Data {
        Data { seed }
    }

    /// The key of entry `number`. Different entries have different keys, whose order is independent
    /// of the numbers: entries put by number are put in random key order.
    pub fn key(&self, number: u64) -> Key {
        let first = mix(self.seed.wrapping_add(number.wrapping_mul(GOLDEN)));
        let mut key = [0; KEY_BYTES];
        key[..8].copy_from_slice(&first.to_be_bytes());
        key[8..].copy_from_slice(&mix(first ^ GOLDEN).to_be_bytes());
        key
    }

    /// The value of entry `number`: bytes that no engine can compress.
    pub fn value(&self, number: u64) -> Value {
        let mut value = [0; VALUE_BYTES];
        self.fill(number, &mut value);
        value
    }

    /// A value of entry `number` with a given length. A longer one begins with the shorter ones.
    pub(crate) fn large_value(&self, number: u64, bytes: u64) -> Vec<u8> {
        let mut value = vec![0; bytes as usize];
        self.fill(number, &mut value);
        value
    }

    fn fill(&self, number: u64, value: &mut [u8]) {
        let mut state = mix(self.seed ^ mix(number));
        for piece in value.chunks_mut(8) {
            state = state.wrapping_add(GOLDEN);
            piece.copy_from_slice(&mix(state).to_le_bytes()[..piece.len()]);
        }
    }

    /// Entry `step` of a random sequence of entries below `count`, with repetitions.
    pub fn random_entry(&self, step: u64, count: u64) -> u64 {
        // The high half of the product is uniform over [0, count).
        let random = u128::from(mix(!self.seed ^ step.wrapping_mul(GOLDEN)));
        ((random * u128::from(count)) >> 64) as u64
    }
}

/// A cheap digest of entries in their order, which reads every byte.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Seen {
    /// Number of entries.
    pub(crate) count: u64,
    sum: u64,
}

impl Seen {
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        self.count += 1;
        for piece in key.chunks(8).chain(value.chunks(8)) {
            let mut word = [0; 8];
            word[..piece.len()].copy_from_slice(piece);
            self.sum = self.sum.rotate_left(1).wrapping_add(u64::from_le_bytes(word));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SEED;
    use std::collections::BTreeSet;

    #[test]
    fn keys_differ_and_come_in_no_order() {
        let data = Data::new(SEED);
        let keys: Vec<Key> = (0..10_000).map(|number| data.key(number)).collect();
        let different: BTreeSet<&Key> = keys.iter().collect();
        assert_eq!(different.len(), keys.len());
        let ascending = keys.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((4_700..5_300).contains(&ascending), "{ascending} of 9,999 steps go up");
    }

    #[test]
    fn every_entry_is_as_likely_as_another() {
        let data = Data::new(SEED);
        let mut hits = [0; 10];
        for step in 0..10_000 {
            hits[data.random_entry(step, 10) as usize] += 1;
        }
        assert!(hits.iter().all(|hits| (850..1_150).contains(hits)), "{hits:?}");
        assert_eq!(data.random_entry(7, 1), 0);
    }

    /// The rivals in Go make the same: their test holds these bytes, too.
    #[test]
    fn the_data_is_the_same_in_every_language() {
        let data = Data::new(SEED);
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hex(&data.key(1)), "bdd732262feb6e95e37241c09304f97f");
        assert_eq!(hex(&data.value(1)[..8]), "5428df8592816531");
        assert_eq!(hex(&data.value(1)[96..]), "e1891dd7");
        assert_eq!(data.random_entry(1, 1_000_000), 601_271);
    }

    #[test]
    fn a_scan_in_another_order_or_with_another_byte_is_seen() {
        let seen = |pairs: &[(&str, &str)]| {
            let mut seen = Seen::default();
            pairs.iter().for_each(|(key, value)| seen.add(key.as_bytes(), value.as_bytes()));
            seen
        };
        let right = seen(&[("a", "1"), ("b", "2")]);
        assert_eq!(right, seen(&[("a", "1"), ("b", "2")]));
        assert_ne!(right, seen(&[("b", "2"), ("a", "1")]));
        assert_ne!(right, seen(&[("a", "1"), ("b", "3")]));
        assert_ne!(right, seen(&[("a", "1")]));
    }
}
