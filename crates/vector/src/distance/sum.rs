//! The checksum of a vector's bits, computed by the distance kernels on the way. It costs a
//! fraction of a CRC, since the elements are in registers already.
//!
//! It is Fletcher's checksum on 16 lanes of `u32`. For each step of 16 elements (the last one
//! padded with zeros):
//!
//! ```text
//! first[lane]  += bits of the element
//! second[lane] += first[lane]           so that the order of steps counts
//! ```
//!
//! The checksum is the sum of the `first` lanes and the sum of the `second` lanes. The lanes of
//! many vectors are added lane by lane and reduced once at the end, which gives the sum of their
//! checksums: reducing them per vector would take as long as a short distance.

/// Elements per step.
pub(super) const STEP: usize = 16;

/// The checksum of a vector's bits, or a sum of such checksums. It always detects damage within one
/// element, and other damage except with a probability of about 2⁻⁶⁴.
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

/// The lanes of the checksums of all vectors that a kernel was given.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub(crate) struct Totals {
    first: [u32; STEP],
    second: [u32; STEP],
}

impl Totals {
    /// Adds the lanes of a vector. `rest` is its elements after the last whole step.
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
