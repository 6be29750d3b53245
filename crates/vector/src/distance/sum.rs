//! The sum of a vector's bits, which the kernels of distances compute on the way: it costs a fraction of a CRC,
//! because the elements are in registers already.
//!
//! Steps of 16 elements, the last one filled up with zeros, are added to 16 totals, and after each step these
//! to 16 others (Fletcher's checksum): so the order of the steps counts. The sum has the 16 of each kind
//! added up. So the totals of many vectors are added lane by lane, and come to the sum of their sums: adding
//! up the lanes of each vector would take as long as a short distance.

/// Elements of a step.
pub(super) const STEP: usize = 16;

/// The sum of a vector's bits, or the sum of such sums. Damage within one element changes it for certain, any
/// other with a probability of all but about 2⁻⁶⁴.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    first: u32,
    second: u32,
}

impl Sum {
    #[inline]
    pub(crate) fn add(&mut self, other: Self) {
        self.first = self.first.wrapping_add(other.first);
        self.second = self.second.wrapping_add(other.second);
    }

    #[inline]
    pub(crate) fn to_bits(self) -> u64 {
        u64::from(self.first) << 32 | u64::from(self.second)
    }

    #[inline]
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self { first: (bits >> 32) as u32, second: bits as u32 }
    }
}

/// The totals of all vectors that a kernel was given.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub(crate) struct Totals {
    first: [u32; STEP],
    second: [u32; STEP],
}

impl Totals {
    /// Adds the totals of a vector, of whose elements `rest` is left over after whole steps.
    #[inline(always)]
    pub(super) fn add(&mut self, first: [u32; STEP], second: [u32; STEP], rest: &[f32]) {
        let (mut first, mut second) = (first, second);
        for step in rest.chunks(STEP) {
            for (first, element) in first.iter_mut().zip(step) {
                *first = first.wrapping_add(element.to_bits());
            }
            add_lanes(&mut second, &first);
        }
        add_lanes(&mut self.first, &first);
        add_lanes(&mut self.second, &second);
    }

    pub(crate) fn sum(&self) -> Sum {
        let all = |lanes: &[u32; STEP]| lanes.iter().copied().fold(0, u32::wrapping_add);
        Sum { first: all(&self.first), second: all(&self.second) }
    }
}

#[inline(always)]
pub(super) fn add_lanes(totals: &mut [u32; STEP], others: &[u32; STEP]) {
    for (total, other) in totals.iter_mut().zip(others) {
        *total = total.wrapping_add(*other);
    }
}
