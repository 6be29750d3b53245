//! The second bit of an element, for the vectors that signs cannot exclude.
//!
//! With the sign it selects one of four levels of the Lloyd-Max quantizer of a normal distribution:
//! sign·(`MIDDLE` + `HALF`·t), where t is 1 if the size of the element is above `MIDDLE` standard
//! deviations, else −1. The stored bit is sign·t, so that Σ levelᵢ·qᵢ = `MIDDLE`·Σ signᵢ·qᵢ +
//! `HALF`·Σ bitᵢ·qᵢ. The first sum is known from the scan, the second has the same form. The
//! estimate has half of the error of the signs alone, and reads 96 bytes per 768 elements.

#[cfg(target_arch = "x86_64")]
mod x86;

use std::sync::OnceLock;

use super::encode::{PLANES, QueryCode};
use super::segment::Segment;

/// The four levels are ±(MIDDLE ± HALF), in standard deviations: ±0.4528 and ±1.5104. MIDDLE is
/// also the border between the inner and the outer level.
const MIDDLE: f32 = 0.981_6;
const HALF: f32 = 0.528_8;

/// Parts of the variance: of the levels themselves, and of their error orthogonal to r.
const LEVELS_VARIANCE: f32 = 0.882_5;
const REST: f32 = 0.103_7;

/// The second bits of a rotated r, and their factor 2·|r|² ÷ Σ levelᵢ·rᵢ. `square` is |r|², a
/// finite number above 0.
pub(super) fn encode(rotated: &[f32], square: f32) -> (Vec<u64>, f32) {
    let middle = MIDDLE * (square / rotated.len() as f32).sqrt();
    let mut bits = Vec::with_capacity(rotated.len() / 64);
    let mut sum = 0.0;
    let (words, _) = rotated.as_chunks::<64>();
    for elements in words {
        let mut word = 0;
        for (bit, element) in elements.iter().enumerate() {
            let size = element.abs();
            let is_outer = size > middle;
            sum += size * if is_outer { MIDDLE + HALF } else { MIDDLE - HALF };
            word |= u64::from(is_outer == (*element >= 0.0)) << bit;
        }
        bits.push(word);
    }
    (bits, 2.0 * square / sum)
}

/// The standard deviation of the error of Σ levelᵢ·qᵢ for a query with |q|² = `square`.
/// `of_rounding` is the variance added by rounding the query's elements.
pub(super) fn deviation(square: f32, of_rounding: f32) -> f32 {
    (REST * square + LEVELS_VARIANCE * of_rounding).sqrt()
}

/// The closer bound of an entry by its second bits, from the bound `first` of the scan.
/// `deviations` are the standard deviations of the scan and of this bound. Entries without second
/// bits keep `first`.
#[inline]
pub(crate) fn bound(
    counter: BitCounter,
    segment: &Segment,
    index: usize,
    query: &QueryCode,
    first: f32,
    deviations: (f32, f32),
) -> f32 {
    let (bits, factor) = segment.second(index);
    if factor == 0.0 {
        return first;
    }
    let (square, scale) = segment.factors(index);
    let distance = query.square + square;
    // Solves the formula of the scan for Σ sign·q, so that the signs are not read again.
    let signs = (distance - first) / scale - deviations.0 * query.deviation;
    let (levels, ones) = (counter.count)(bits, &query.planes);
    let second = query.per_level * levels as f32 + query.per_one * ones as f32 + query.shift;
    let sum = MIDDLE * signs + HALF * second;
    distance - factor * (sum + deviations.1 * query.second_deviation)
}

/// Counts Σ levels at the set bits, and the set bits, by the fastest kernel of the processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BitCounter {
    pub(crate) name: &'static str,
    count: Count,
}

/// Takes bits and the bit planes of a query.
type Count = fn(&[u64], &[[u64; PLANES]]) -> (u32, u32);

impl BitCounter {
    /// The counters that this processor can run, fastest first. The last one is portable.
    fn available() -> Vec<Self> {
        let mut available = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512vpopcntdq") && is_x86_feature_detected!("avx512vl") {
                available.push(Self { name: "AVX-512", count: x86::count_avx512 });
            }
            if is_x86_feature_detected!("popcnt") {
                available.push(Self { name: "POPCNT", count: x86::count_popcnt });
            }
        }
        available.push(Self { name: "portable", count });
        available
    }

    pub(crate) fn best() -> Self {
        static BEST: OnceLock<BitCounter> = OnceLock::new();
        *BEST.get_or_init(|| Self::available()[0])
    }
}

#[inline(always)]
fn count(bits: &[u64], planes: &[[u64; PLANES]]) -> (u32, u32) {
    let (mut levels, mut ones) = ([0; PLANES], 0);
    for (bits, planes) in bits.iter().zip(planes) {
        ones += u64::from(bits.count_ones());
        for (level, plane) in levels.iter_mut().zip(planes) {
            *level += u64::from((bits & plane).count_ones());
        }
    }
    let levels = levels.iter().enumerate().map(|(plane, count)| count << plane).sum::<u64>();
    // Fits: at most 15 for each of 65,536 elements.
    (levels as u32, ones as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kernels_count_the_same() {
        for words in [1, 4, 5, 12, 13, 64] {
            let number = |index: usize| (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let bits: Vec<u64> = (0..words).map(number).collect();
            let planes: Vec<[u64; PLANES]> =
                (0..words).map(|word| [1, 2, 3, 4].map(|plane| number(word * 7 + plane))).collect();
            let expected = count(&bits, &planes);
            for counter in BitCounter::available() {
                assert_eq!((counter.count)(&bits, &planes), expected, "{}, {words}", counter.name);
            }
        }
    }
}
