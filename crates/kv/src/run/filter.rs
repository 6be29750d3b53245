//! [`Filter`]: rules out most keys that a run does not have.
//!
//! A blocked Bloom filter: all bits of a key are in one cache line ("Cache-, Hash- and
//! Space-Efficient Bloom Filters", Putze, Sanders and Singler, 2007). With 10 bits and 6 probes for
//! each key the false-positive rate is about 1.2 %.

const BITS_PER_KEY: u64 = 10;
const PROBES: u32 = 6;
/// 64-bit words in a line.
const LINE: usize = 8;
const LINE_BYTES: usize = LINE * 8;
/// Bits of a hash that select one bit of a line: log2(512).
const PROBE_BITS: u32 = 9;
/// 2^64 divided by the golden ratio (Fibonacci hashing): its multiples are spread evenly.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A filter.
#[derive(Debug)]
pub(super) struct Filter {
    lines: Vec<[u64; LINE]>,
}

impl Filter {
    /// A filter for `keys` keys.
    pub(super) fn new(keys: u64) -> Self {
        let lines = (keys * BITS_PER_KEY).div_ceil(LINE_BYTES as u64 * 8).max(1);
        Self { lines: vec![[0; LINE]; usize::try_from(lines).expect("less than the keys")] }
    }

    /// The line of a hash, and a number whose bits select the probes in the line.
    #[inline]
    fn place(&self, hash: u64) -> (usize, u64) {
        // The upper half of the hash selects the line by multiplication instead of a modulo; the
        // product below mixes all bits.
        let line = ((hash >> 32) * self.lines.len() as u64) >> 32;
        (line as usize, hash.wrapping_mul(SPREAD))
    }

    #[inline]
    fn probes(bits: u64) -> impl Iterator<Item = (usize, u64)> {
        (0..PROBES).map(move |probe| {
            // Six probes of nine bits use the upper 54 bits.
            let bit = (bits >> (64 - PROBE_BITS * (probe + 1))) & ((1 << PROBE_BITS) - 1);
            ((bit / 64) as usize, 1 << (bit % 64))
        })
    }

    pub(super) fn add(&mut self, hash: u64) {
        let (line, bits) = self.place(hash);
        Self::probes(bits).for_each(|(word, bit)| self.lines[line][word] |= bit);
    }

    #[inline]
    pub(super) fn may_have(&self, hash: u64) -> bool {
        let (line, bits) = self.place(hash);
        let line = &self.lines[line];
        Self::probes(bits).all(|(word, bit)| line[word] & bit != 0)
    }

    /// Bytes in memory.
    pub(super) fn memory(&self) -> usize {
        self.lines.len() * LINE_BYTES
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        self.lines.iter().flatten().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// `None` if the bytes are not a filter.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (lines, []) = bytes.as_chunks::<LINE_BYTES>() else { return None };
        let word = |line: &[u8; LINE_BYTES], at: usize| {
            u64::from_le_bytes(std::array::from_fn(|i| line[8 * at + i]))
        };
        let lines: Vec<_> =
            lines.iter().map(|line| std::array::from_fn(|at| word(line, at))).collect();
        (!lines.is_empty()).then_some(Self { lines })
    }
}
