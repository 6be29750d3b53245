//! The set of live slots: slots with a vector that readers may see.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Slots per chunk: 8 KiB of bits.
const CHUNK_SLOTS: usize = 65_536;
const CHUNK_WORDS: usize = CHUNK_SLOTS / 64;

type Chunk = [AtomicU64; CHUNK_WORDS];

/// A bitmap of atomics. Clones share the bits, but not later growth.
#[derive(Clone, Debug)]
pub(crate) struct LiveSet {
    chunks: Arc<[Arc<Chunk>]>,
}

impl Default for LiveSet {
    fn default() -> Self {
        Self { chunks: Arc::from([]) }
    }
}

impl LiveSet {
    /// Makes room for the slots below `count`. Clones made before still share the bits that they
    /// have.
    pub(super) fn grow(&mut self, count: u32) {
        let needed = (count as usize).div_ceil(CHUNK_SLOTS);
        if needed > self.chunks.len() {
            let mut chunks = self.chunks.to_vec();
            chunks.resize_with(needed, || Arc::new([const { AtomicU64::new(0) }; CHUNK_WORDS]));
            self.chunks = Arc::from(chunks);
        }
    }

    /// The set of all slots below `count`.
    pub(super) fn full(count: u32) -> Self {
        let mut set = Self::default();
        set.grow(count);
        let words = set.chunks.iter().flat_map(|chunk| chunk.iter());
        for (word, first) in words.zip((0..count as usize).step_by(64)) {
            let slots = (count as usize - first).min(64);
            word.store(u64::MAX >> (64 - slots), Ordering::Release);
        }
        set
    }

    /// `true` if `slot` is live. A thread that sees the bit also sees the vector's bytes (release
    /// on `set`, acquire here).
    #[inline]
    pub(crate) fn contains(&self, slot: u32) -> bool {
        self.word(slot as usize / 64) >> (slot % 64) & 1 != 0
    }

    /// The bits of slots `64 * index` to `64 * index + 63`.
    #[inline]
    pub(crate) fn word(&self, index: usize) -> u64 {
        match self.chunks.get(index / CHUNK_WORDS) {
            Some(chunk) => chunk[index % CHUNK_WORDS].load(Ordering::Acquire),
            None => 0,
        }
    }

    pub(super) fn set(&self, slot: u32) {
        let (chunk, word, bit) = place(slot);
        self.chunks[chunk][word].fetch_or(bit, Ordering::Release);
    }

    /// Sets a range of slots, word by word.
    pub(super) fn set_run(&self, run: Range<u32>) {
        let mut next = run.start;
        while next < run.end {
            let in_word = (64 - next % 64).min(run.end - next);
            let (chunk, word, first) = place(next);
            // `in_word` ones, shifted to the bit of the first slot.
            let bits = (u64::MAX >> (64 - in_word)) * first;
            self.chunks[chunk][word].fetch_or(bits, Ordering::Release);
            next += in_word;
        }
    }

    /// Clears the bit of `slot`; `true` if it was set.
    pub(super) fn clear(&self, slot: u32) -> bool {
        let (chunk, word, bit) = place(slot);
        match self.chunks.get(chunk) {
            Some(chunk) => chunk[word].fetch_and(!bit, Ordering::AcqRel) & bit != 0,
            None => false,
        }
    }

    /// The number of live slots.
    pub(crate) fn count(&self) -> usize {
        let words = self.chunks.iter().flat_map(|chunk| chunk.iter());
        words.map(|word| word.load(Ordering::Relaxed).count_ones() as usize).sum()
    }
}

fn place(slot: u32) -> (usize, usize, u64) {
    let slot = slot as usize;
    (slot / CHUNK_SLOTS, slot % CHUNK_SLOTS / 64, 1 << (slot % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_sets_its_slots_and_no_others() {
        let ends = [0, 1, 5, 63, 64, 65, 127, 128, 200, 65_535, 65_536, 65_600];
        for start in ends {
            for end in ends.into_iter().filter(|end| *end >= start) {
                let mut set = LiveSet::default();
                set.grow(70_000);
                set.set(70);
                set.set_run(start..end);
                let among = |slot| (start..end).contains(&slot) || slot == 70;
                for slot in ends.into_iter().flat_map(|end| end.saturating_sub(2)..end + 2) {
                    assert_eq!(set.contains(slot), among(slot), "{slot} of {start}..{end}");
                }
                let mut expected = LiveSet::default();
                expected.grow(70_000);
                (0..70_000).filter(|slot| among(*slot)).for_each(|slot| expected.set(slot));
                let words = |set: &LiveSet| (0..1_100).map(|it| set.word(it)).collect::<Vec<_>>();
                assert_eq!(words(&set), words(&expected), "{start}..{end}");
            }
        }
    }

    #[test]
    fn a_clone_sees_what_is_set_later_as_far_as_it_reaches() {
        let mut set = LiveSet::full(10);
        let before = set.clone();
        set.grow(70_000);
        set.set(69_999);
        set.set(11);
        assert!(before.contains(11) && set.contains(11));
        assert!(!before.contains(69_999) && set.contains(69_999));
    }
}
