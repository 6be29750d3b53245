//! The finer code: four bits an element, for the few vectors that the signs cannot exclude.
//!
//! Its estimate has a seventh of the error, so hardly any vector is compared exactly in vain, and it
//! reads an eighth of the bytes of the vector. Each element of the rotated vector is one of 16 levels
//! about `STEP` standard deviations apart, as if it were normally distributed. A code is its levels,
//! 128 elements to 64 bytes: of byte `i` the low half is element `i`, the high half `64 + i`; then
//! the factor 2·|r|² ÷ Σ (levelᵢ − 7.5)·rᵢ as `f32`; then zeros up to a multiple of 64.

mod scalar;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::sync::OnceLock;

/// Elements of a group of 64 bytes.
const GROUP: usize = 128;

/// Elements that share the same half of their bytes.
const HALF: usize = GROUP / 2;

/// Added to a small number above 0 it leaves the nearest whole number in the lowest bits, without a
/// call.
const ROUNDING: f32 = (1 << 23) as f32;

const MIDDLE: f32 = 7.5;

/// The step of sixteen levels with the least error for a normal distribution, in its standard
/// deviations, and the part of the variance that remains as error.
const STEP: f32 = 0.335;
const REST: f32 = 0.0116;

/// Bytes of the finer code of a vector with `width` elements.
pub(super) fn code_bytes(width: usize) -> usize {
    (level_bytes(width) + 4).next_multiple_of(64)
}

fn level_bytes(width: usize) -> usize {
    width.next_multiple_of(GROUP) / 2
}

/// Makes the code of a rotated vector whose elements have the sum of squares `square`, a finite
/// number above 0.
pub(super) fn encode(rotated: &[f32], square: f32) -> Vec<u8> {
    let mut code = vec![0; code_bytes(rotated.len())];
    let per_step = 1.0 / (STEP * (square / rotated.len() as f32).sqrt());
    let mut products = [0.0; HALF];
    let (halves, _) = rotated.as_chunks::<HALF>();
    for (index, elements) in halves.iter().enumerate() {
        let (bytes, _) = code[index / 2 * HALF..].as_chunks_mut::<HALF>();
        let shift = 4 * (index % 2) as u32;
        for ((byte, element), product) in bytes[0].iter_mut().zip(elements).zip(&mut products) {
            let level = (element * per_step + MIDDLE).clamp(0.0, 15.0) + ROUNDING;
            *product += (level - ROUNDING - MIDDLE) * element;
            *byte |= (level.to_bits() as u8 & 15) << shift;
        }
    }
    let product: f32 = products.iter().sum();
    let factor = 2.0 * square / product;
    let at = level_bytes(rotated.len());
    code[at..at + 4].copy_from_slice(&factor.to_le_bytes());
    code
}

/// A query, ready to be compared with finer codes.
#[derive(Debug)]
pub(crate) struct RefinedQuery {
    /// The elements as multiples of `step`.
    elements: Vec<i8>,
    step: f32,
    sum: i32,
    square: f32,
    deviation: f32,
    dot: Dot,
}

impl RefinedQuery {
    pub(super) fn new(rotated: &[f32], square: f32) -> Self {
        let largest = rotated.iter().fold(0.0_f32, |largest, element| largest.max(element.abs()));
        let step = (largest / 127.0).max(f32::MIN_POSITIVE);
        let to_multiple = |element: &f32| (element / step).round_ties_even() as i8;
        let mut elements: Vec<i8> = rotated.iter().map(to_multiple).collect();
        let sum = elements.iter().map(|element| i32::from(*element)).sum();
        elements.resize(rotated.len().next_multiple_of(GROUP), 0);
        let of_levels = square * REST / (STEP * STEP);
        let of_query = step * step / 12.0 * rotated.len() as f32 / (STEP * STEP);
        let deviation = (of_levels + of_query).sqrt();
        Self { elements, step, sum, square, deviation, dot: Dot::best() }
    }

    /// A bound below |r − q|²: the estimate, lowered by `deviations` of its error. `square` is |r|².
    #[inline]
    pub(crate) fn bound(&self, code: &[u8], square: f32, deviations: f32) -> f32 {
        let levels = &code[..self.elements.len() / 2];
        let mut factor = [0; 4];
        factor.copy_from_slice(&code[levels.len()..levels.len() + 4]);
        let factor = f32::from_le_bytes(factor);
        let product = (self.dot.dot)(levels, &self.elements) as f32 - MIDDLE * self.sum as f32;
        let slack = deviations * self.deviation;
        self.square + (square - factor * (self.step * product + slack))
    }
}

/// Σ level·element, by the fastest kernel that the processor has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dot {
    pub(crate) name: &'static str,
    /// Takes levels of whole groups, and twice as many elements.
    dot: fn(&[u8], &[i8]) -> i32,
}

impl Dot {
    /// All that this processor can run, the fastest first. The last is the scalar one.
    fn available() -> Vec<Self> {
        let mut available = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512bw") {
                available.push(Self { name: "AVX-512", dot: x86::dot_avx512 });
            }
            if is_x86_feature_detected!("avx2") {
                available.push(Self { name: "AVX2", dot: x86::dot_avx2 });
            }
        }
        available.push(Self { name: "scalar", dot: scalar::dot });
        available
    }

    pub(crate) fn best() -> Self {
        static BEST: OnceLock<Dot> = OnceLock::new();
        *BEST.get_or_init(|| Self::available()[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kernels_agree_with_the_scalar_one() {
        for groups in [1, 2, 3, 6, 7, 32, 512] {
            let levels: Vec<u8> = (0..groups * 64).map(|index| (index * 37 % 251) as u8).collect();
            for extreme in [0_i8, 1, -127, 127] {
                let element = |index: usize| match extreme {
                    0 => (index * 53 % 255) as i8,
                    extreme => extreme,
                };
                let elements: Vec<i8> = (0..groups * GROUP).map(element).collect();
                let expected = scalar::dot(&levels, &elements);
                for kernel in Dot::available() {
                    let found = (kernel.dot)(&levels, &elements);
                    assert_eq!(found, expected, "{}, {groups} groups", kernel.name);
                }
            }
        }
    }

    #[test]
    fn the_scalar_kernel_pairs_levels_with_their_elements() {
        let mut levels = vec![0; 128];
        levels[3] = 0x52;
        levels[64] = 0xf0;
        let mut elements = vec![0; 256];
        (elements[3], elements[67], elements[128], elements[192]) = (10, -3, 100, 7);
        assert_eq!(scalar::dot(&levels, &elements), 2 * 10 - 5 * 3 + 15 * 7);
    }
}
