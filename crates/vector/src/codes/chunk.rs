//! Codes in memory, in the order in which the scan reads them.

/// Vectors whose codes lie side by side, so that one instruction sees a word of each.
pub(crate) const BLOCK: usize = 8;

/// Slots of one chunk.
pub(crate) const CHUNK_SLOTS: usize = 4_096;
pub(crate) const CHUNK_BLOCKS: usize = CHUNK_SLOTS / BLOCK;

/// The same word of the codes of eight vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(64))]
pub(crate) struct Words(pub(crate) [u64; BLOCK]);

/// The factors of eight vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(32))]
pub(crate) struct Factors {
    /// |r|², where r is the vector without the centre.
    pub(crate) square: [f32; BLOCK],
    /// 2·|r|² ÷ Σ|rᵢ|, over the rotated r: the factor of a sum over signs.
    pub(crate) scale: [f32; BLOCK],
    /// The number of signs that are positive.
    pub(crate) ones: [f32; BLOCK],
}

/// The code of one vector: a sign an element, three numbers, and the finer code.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Code {
    pub(crate) signs: Vec<u64>,
    pub(crate) square: f32,
    pub(crate) scale: f32,
    pub(crate) ones: f32,
    /// Four bits an element and a number, see [`Refinement`](super::refine).
    pub(crate) refined: Vec<u8>,
}

/// The codes of 4,096 slots, of which some may be free.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// Words of one code.
    pub(super) words: usize,
    /// The words of each block.
    pub(super) signs: Box<[Words]>,
    pub(super) factors: Box<[Factors]>,
    /// The finer codes, one after the other, up to the last that was set; `None` when there was no memory
    /// for them. In memory of the process: from a map of a file, a failing device would end the process.
    refined: Option<Vec<u8>>,
    pub(super) refined_bytes: usize,
}

impl Chunk {
    pub(super) fn new(words: usize, refined_bytes: usize) -> Self {
        Self {
            words,
            signs: vec![Words::default(); CHUNK_BLOCKS * words].into_boxed_slice(),
            factors: vec![Factors::default(); CHUNK_BLOCKS].into_boxed_slice(),
            refined: Some(Vec::new()),
            refined_bytes,
        }
    }

    pub(super) fn set(&mut self, index: usize, code: &Code) {
        let (block, lane) = (index / BLOCK, index % BLOCK);
        let words = &mut self.signs[block * self.words..][..self.words];
        for (words, word) in words.iter_mut().zip(&code.signs) {
            words.0[lane] = *word;
        }
        let factors = &mut self.factors[block];
        factors.square[lane] = code.square;
        factors.scale[lane] = code.scale;
        factors.ones[lane] = code.ones;
        self.set_refined(index, &code.refined);
    }

    /// Sets finer codes from the one of `index` on.
    pub(super) fn set_refined(&mut self, index: usize, codes: &[u8]) {
        let Some(refined) = &mut self.refined else { return };
        let start = index * self.refined_bytes;
        let end = start + codes.len();
        if let Some(missing) = end.checked_sub(refined.len())
            && refined.try_reserve(missing).is_err()
        {
            return self.forget_refined();
        }
        refined.resize(refined.len().max(end), 0);
        refined[start..end].copy_from_slice(codes);
    }

    /// Drops the finer codes for good: more vectors are compared exactly then.
    pub(super) fn forget_refined(&mut self) {
        self.refined = None;
    }

    /// The finer codes up to the last that was set; of those that were never set they are zeros.
    pub(super) fn all_refined(&self) -> &[u8] {
        self.refined.as_deref().unwrap_or_default()
    }

    /// Prefetches a finer code into the cache of the processor.
    #[inline]
    pub(crate) fn prefetch(&self, index: usize) {
        if let Some((code, _)) = self.refined(index) {
            crate::map::prefetch(code);
            crate::map::prefetch(bytemuck::cast_slice(&self.factors[index / BLOCK].square));
        }
    }

    /// The finer code of a vector and its |r|².
    pub(crate) fn refined(&self, index: usize) -> Option<(&[u8], f32)> {
        let start = index * self.refined_bytes;
        let code = self.refined.as_ref()?.get(start..start + self.refined_bytes)?;
        Some((code, self.factors[index / BLOCK].square[index % BLOCK]))
    }
}
