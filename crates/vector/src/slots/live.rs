//! Which slots hold a vector that readers may see.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Slots of one chunk: 8 KiB of bits.
const CHUNK_SLOTS: usize = 65_536;
const CHUNK_WORDS: usize = CHUNK_SLOTS / 64;

type Chunk = [AtomicU64; CHUNK_WORDS];

/// One bit a slot. A clone shares the bits, not later growth.
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
    /// A set that has room for the slots below `count`, with all bits of this one shared.
    pub(super) fn grown(&self, count: u32) -> Self {
        let needed = (count as usize).div_ceil(CHUNK_SLOTS);
        if needed <= self.chunks.len() {
            return self.clone();
        }
        let mut chunks = self.chunks.to_vec();
        chunks.resize_with(needed, || Arc::new([const { AtomicU64::new(0) }; CHUNK_WORDS]));
        Self { chunks: Arc::from(chunks) }
    }

    /// The set of all slots below `count`.
    pub(super) fn full(count: u32) -> Self {
        let set = Self::default().grown(count);
        let words = set.chunks.iter().flat_map(|chunk| chunk.iter());
        for (word, first) in words.zip((0..count as usize).step_by(64)) {
            let slots = (count as usize - first).min(64);
            word.store(u64::MAX >> (64 - slots), Ordering::Release);
        }
        set
    }

    /// Whether `slot` is live. Whoever sees it live sees the bytes of its vector, too.
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

    /// Tells whether it was set.
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
