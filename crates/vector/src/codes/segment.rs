//! Codes in memory, laid out in the order in which the scan reads them.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Vectors whose codes are interleaved word by word, so that one instruction processes a word of
/// each.
pub(crate) const BLOCK: usize = 8;

/// Entries per segment: the candidates of a segment fit in one 64-bit word.
pub(crate) const SEGMENT: usize = 64;
pub(crate) const SEGMENT_BLOCKS: usize = SEGMENT / BLOCK;

/// Marks an entry that has lost its slot.
pub(crate) const NO_SLOT: u32 = u32::MAX;

pub(super) const NO_PAGE: u32 = u32::MAX;

/// The same word of the codes of eight vectors: one cache line, one AVX-512 register.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(64))]
pub(crate) struct Words(pub(crate) [u64; BLOCK]);

/// The factors of eight vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(16))]
pub(crate) struct Factors {
    /// |r|², where r is the vector without the centroid of its partition.
    pub(crate) square: [f32; BLOCK],
    /// 2·|r|² ÷ Σ|rᵢ|, over the rotated r: the factor of a sum over signs.
    pub(crate) scale: [f32; BLOCK],
    /// The number of positive signs, at most 65,535 (of up to 65,536 elements; one more or less
    /// does not matter there).
    pub(crate) ones: [u16; BLOCK],
}

/// The code of one vector: two bits per element and four numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Code {
    pub(crate) signs: Vec<u64>,
    pub(crate) square: f32,
    pub(crate) scale: f32,
    pub(crate) ones: u16,
    /// The second bits, see [`second`](super::second), and their factor.
    pub(crate) second: Vec<u64>,
    pub(crate) second_scale: f32,
}

/// The upper half of a positive `f32` without its sign: eight bits of exponent, eight of the
/// fraction. Rounding a factor to it changes an estimate by at most 0.2 %, where the bits of 4,096
/// elements have a standard deviation of 0.5 %.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounded(u16);

impl Rounded {
    /// The nearest value to a finite number that is not negative.
    fn of(value: f32) -> Self {
        // Adding half a unit of the kept bits rounds to the nearest.
        Self((value.to_bits().saturating_add(1 << 14) >> 15) as u16)
    }

    #[inline]
    fn value(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 15)
    }
}

/// The codes of up to 64 vectors of one partition.
///
/// A segment shared with a snapshot is immutable, with two exceptions: an entry may lose its slot
/// in place (an atomic), and so may the page number and the dirty mark, which only the maker uses.
/// Entries are only added, in a copy if a snapshot shares the segment.
#[derive(Debug)]
pub(crate) struct Segment {
    /// Words of one code.
    pub(crate) words: usize,
    pub(super) count: usize,
    /// The words of each block that has entries. Allocated by block, since signs and second bits
    /// are nine tenths of a segment, and the last segment of a partition is half empty on average.
    pub(super) signs: Vec<Words>,
    pub(super) factors: [Factors; SEGMENT_BLOCKS],
    /// The second bits of the same blocks, one entry after the other.
    pub(super) second: Vec<u64>,
    second_scales: [Rounded; SEGMENT],
    pub(super) slots: [AtomicU32; SEGMENT],
    /// The page of this segment in the file, or [`NO_PAGE`].
    pub(super) page: AtomicU32,
    /// `true` if the page in the file is older than this.
    pub(super) is_dirty: AtomicBool,
    /// By entry: the mark of its vector, which tells whether the slot still has that vector.
    pub(super) marks: [u32; SEGMENT],
}

impl Segment {
    pub(super) fn new(words: usize) -> Self {
        Self {
            words,
            count: 0,
            signs: Vec::new(),
            factors: [Factors::default(); SEGMENT_BLOCKS],
            second: Vec::new(),
            second_scales: [Rounded::default(); SEGMENT],
            slots: [const { AtomicU32::new(NO_SLOT) }; SEGMENT],
            page: AtomicU32::new(NO_PAGE),
            is_dirty: AtomicBool::new(true),
            marks: [0; SEGMENT],
        }
    }

    /// Number of entries, including those without a slot.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn is_full(&self) -> bool {
        self.count == SEGMENT
    }

    /// A full segment whose entries have no vector: their bounds are infinite.
    pub(super) fn vacant(words: usize) -> Self {
        let mut segment = Self::new(words);
        segment.grow_to(SEGMENT);
        segment.count = SEGMENT;
        (0..SEGMENT).for_each(|index| segment.vacate(index));
        segment
    }

    /// Makes room for the codes of `entries` entries.
    pub(super) fn grow_to(&mut self, entries: usize) {
        let blocks = entries.div_ceil(BLOCK);
        if blocks * self.words > self.signs.len() {
            self.signs.reserve_exact(blocks * self.words - self.signs.len());
            self.signs.resize(blocks * self.words, Words::default());
            self.second.reserve_exact(blocks * BLOCK * self.words - self.second.len());
            self.second.resize(blocks * BLOCK * self.words, 0);
        }
    }

    /// Adds an entry. The segment must not be full.
    pub(super) fn push(&mut self, slot: u32, mark: u32, code: &Code) {
        let index = self.count;
        self.grow_to(index + 1);
        self.put(index, slot, mark, code);
        self.count += 1;
    }

    /// Turns an entry into one without a vector, whose bound is infinite.
    pub(super) fn vacate(&mut self, index: usize) {
        let none = vec![0; self.words];
        let code =
            Code { signs: none.clone(), square: f32::INFINITY, second: none, ..Code::default() };
        self.put(index, NO_SLOT, 0, &code);
    }

    /// Replaces an entry.
    pub(super) fn put(&mut self, index: usize, slot: u32, mark: u32, code: &Code) {
        let (block, lane) = (index / BLOCK, index % BLOCK);
        let words = &mut self.signs[block * self.words..][..self.words];
        for (words, word) in words.iter_mut().zip(&code.signs) {
            words.0[lane] = *word;
        }
        let factors = &mut self.factors[block];
        factors.square[lane] = code.square;
        factors.scale[lane] = code.scale;
        factors.ones[lane] = code.ones;
        self.second[index * self.words..][..self.words].copy_from_slice(&code.second);
        self.set_second_scale(index, code.second_scale);
        self.slots[index] = AtomicU32::new(slot);
        self.marks[index] = mark;
        self.is_dirty.store(true, Ordering::Relaxed);
    }

    /// The factor of an entry's second bits.
    pub(super) fn second_scale(&self, index: usize) -> f32 {
        self.second_scales[index].value()
    }

    /// Sets the factor of an entry's second bits.
    pub(super) fn set_second_scale(&mut self, index: usize, scale: f32) {
        self.second_scales[index] = Rounded::of(scale);
    }

    #[inline]
    pub(crate) fn slot(&self, index: usize) -> u32 {
        self.slots[index].load(Ordering::Relaxed)
    }

    /// Slots and marks of the entries, in order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..self.count).map(|index| (self.slot(index), self.marks[index]))
    }

    /// The index of a slot's entry.
    pub(super) fn find(&self, slot: u32) -> Option<usize> {
        let mut is_there = false;
        for other in &self.slots {
            is_there |= other.load(Ordering::Relaxed) == slot;
        }
        // A branch-free pass over all slots first, which the compiler vectorizes: most segments do
        // not have the slot.
        if is_there { (0..self.count).find(|index| self.slot(*index) == slot) } else { None }
    }

    /// Takes the slot from an entry, in place. Safe while searches use this segment: the entry's
    /// vector is no longer in their snapshots, or is in their set of slots without a code, which
    /// they compare exactly.
    pub(super) fn forget(&self, index: usize) {
        self.slots[index].store(NO_SLOT, Ordering::Relaxed);
        self.is_dirty.store(true, Ordering::Relaxed);
    }

    /// The code of an entry.
    pub(super) fn code(&self, index: usize) -> Code {
        let (block, lane) = (index / BLOCK, index % BLOCK);
        let words = &self.signs[block * self.words..][..self.words];
        let (square, scale) = self.factors(index);
        let (second, second_scale) = self.second(index);
        Code {
            signs: words.iter().map(|words| words.0[lane]).collect(),
            square,
            scale,
            ones: self.factors[block].ones[lane],
            second: second.to_vec(),
            second_scale,
        }
    }

    /// |r|² and 2·|r|² ÷ Σ|rᵢ| of an entry.
    #[inline]
    pub(crate) fn factors(&self, index: usize) -> (f32, f32) {
        let factors = &self.factors[index / BLOCK];
        (factors.square[index % BLOCK], factors.scale[index % BLOCK])
    }

    /// The second bits of an entry and their factor.
    #[inline]
    pub(crate) fn second(&self, index: usize) -> (&[u64], f32) {
        (&self.second[index * self.words..][..self.words], self.second_scale(index))
    }

    /// Prefetches the fields that point to the codes.
    #[inline]
    pub(crate) fn prefetch_head(&self) {
        crate::map::prefetch_at(std::slice::from_ref(&self.count));
        crate::map::prefetch_at(std::slice::from_ref(&self.signs));
    }

    /// Prefetches the factors, and the slots if wanted.
    #[inline]
    pub(crate) fn prefetch(&self, with_slots: bool) {
        for factors in &self.factors {
            crate::map::prefetch_at(&factors.square);
            crate::map::prefetch_at(&factors.ones);
        }
        if with_slots {
            for slots in self.slots.chunks(16) {
                crate::map::prefetch_at(slots);
            }
        }
    }

    /// Prefetches the slot of an entry.
    #[inline]
    pub(crate) fn prefetch_slot(&self, index: usize) {
        crate::map::prefetch_at(&self.slots[index..]);
    }

    /// Prefetches the data that [`second_bound`](super::second_bound) reads of an entry.
    #[inline]
    pub(crate) fn prefetch_second(&self, index: usize) {
        let factors = &self.factors[index / BLOCK];
        crate::map::prefetch_at(&factors.square[index % BLOCK..]);
        crate::map::prefetch_at(&factors.scale[index % BLOCK..]);
        crate::map::prefetch_at(&self.second_scales[index..]);
        let (bits, _) = self.second(index);
        crate::map::prefetch(bytemuck::cast_slice(bits));
    }

    /// A copy with room for the codes of `entries` entries.
    pub(super) fn with_room_for(&self, entries: usize) -> Self {
        let blocks = entries.max(self.count).div_ceil(BLOCK);
        let mut signs = Vec::with_capacity(blocks * self.words);
        signs.extend_from_slice(&self.signs);
        let mut second = Vec::with_capacity(blocks * BLOCK * self.words);
        second.extend_from_slice(&self.second);
        let mut copy = Self {
            words: self.words,
            count: self.count,
            signs,
            factors: self.factors,
            second,
            second_scales: self.second_scales,
            slots: std::array::from_fn(|index| AtomicU32::new(self.slot(index))),
            // The copy is about to be changed, so it is dirty, and keeps the page of the original.
            page: AtomicU32::new(self.page.load(Ordering::Relaxed)),
            is_dirty: AtomicBool::new(true),
            marks: self.marks,
        };
        copy.grow_to(entries);
        copy
    }
}

impl Clone for Segment {
    fn clone(&self) -> Self {
        self.with_room_for(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_rounded_by_two_thousandths_and_none_stays_none() {
        for value in [1.0, 0.3, 1.999, 3e-20, 7e34, 1.234_567] {
            let rounded = Rounded::of(value).value();
            assert!((rounded - value).abs() <= value / 500.0, "{value}: {rounded}");
            assert_eq!(Rounded::of(rounded).value(), rounded, "as in the file");
        }
        assert_eq!(Rounded::of(0.0).value(), 0.0);
    }

    #[test]
    fn codes_of_a_million_vectors_of_768_elements_take_213_megabytes() {
        let mut segment = Segment::new(768 / 64);
        segment.grow_to(SEGMENT);
        let heap = size_of_val(&*segment.signs) + size_of_val(&*segment.second);
        // The few bytes of the segment itself aside.
        assert_eq!((size_of::<Segment>() + heap) / SEGMENT, 213);
    }
}
