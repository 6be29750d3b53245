//! Codes in memory, as the scan wants them.

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
    /// 2·|r|² ÷ Σ|rᵢ|, over the rotated r: what a sum over signs is multiplied with.
    pub(crate) scale: [f32; BLOCK],
    /// The number of signs that are positive.
    pub(crate) ones: [f32; BLOCK],
}

/// The code of one vector: a sign an element, and three numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Code {
    pub(crate) signs: Vec<u64>,
    pub(crate) square: f32,
    pub(crate) scale: f32,
    pub(crate) ones: f32,
}

/// The codes of 4,096 slots, of which some may be free.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chunk {
    /// Words of one code.
    pub(super) words: usize,
    /// For each block its words.
    pub(super) signs: Box<[Words]>,
    pub(super) factors: Box<[Factors]>,
}

impl Chunk {
    pub(super) fn new(words: usize) -> Self {
        Self {
            words,
            signs: vec![Words::default(); CHUNK_BLOCKS * words].into_boxed_slice(),
            factors: vec![Factors::default(); CHUNK_BLOCKS].into_boxed_slice(),
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
    }

    #[cfg(test)]
    pub(super) fn get(&self, index: usize) -> Code {
        let (block, lane) = (index / BLOCK, index % BLOCK);
        let words = &self.signs[block * self.words..][..self.words];
        let factors = &self.factors[block];
        Code {
            signs: words.iter().map(|words| words.0[lane]).collect(),
            square: factors.square[lane],
            scale: factors.scale[lane],
            ones: factors.ones[lane],
        }
    }
}
