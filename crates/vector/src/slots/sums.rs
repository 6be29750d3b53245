//! Checksums of the vectors in slots, in memory: 8 bytes per slot.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::distance::Sum;

/// Slots per chunk: 32 KiB.
const CHUNK_SLOTS: usize = 4_096;

type Chunk = [AtomicU64; CHUNK_SLOTS];

/// The checksum of each slot's vector at the time it was appended or compared with its CRC. 0 means
/// unknown: neither happened since opening, or the vector is all zeros. Clones share the checksums,
/// but not later growth.
#[derive(Clone, Debug)]
pub(crate) struct Sums {
    chunks: Arc<[Arc<Chunk>]>,
}

impl Default for Sums {
    fn default() -> Self {
        Self { chunks: Arc::from([]) }
    }
}

impl Sums {
    /// Makes room for the slots below `count`.
    pub(super) fn grow(&mut self, count: u32) {
        let needed = (count as usize).div_ceil(CHUNK_SLOTS);
        if needed > self.chunks.len() {
            let mut chunks = self.chunks.to_vec();
            chunks.resize_with(needed, || Arc::new([const { AtomicU64::new(0) }; CHUNK_SLOTS]));
            self.chunks = Arc::from(chunks);
        }
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<Sum> {
        let chunk = self.chunks.get(slot as usize / CHUNK_SLOTS)?;
        let bits = chunk[slot as usize % CHUNK_SLOTS].load(Ordering::Relaxed);
        (bits != 0).then(|| Sum::from_bits(bits))
    }

    /// Prefetches the checksum of a slot.
    #[inline]
    pub(crate) fn prefetch(&self, slot: u32) {
        if let Some(chunk) = self.chunks.get(slot as usize / CHUNK_SLOTS) {
            crate::map::prefetch_at(&chunk[slot as usize % CHUNK_SLOTS..]);
        }
    }

    /// Sets the checksum of a slot within the grown range. No view may see another vector in the
    /// slot.
    pub(super) fn set(&self, slot: u32, sum: Sum) {
        if let Some(chunk) = self.chunks.get(slot as usize / CHUNK_SLOTS) {
            chunk[slot as usize % CHUNK_SLOTS].store(sum.to_bits(), Ordering::Relaxed);
        }
    }
}
