//! Compares a query with the codes of a segment, by the fastest kernel of the processor.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;

use std::sync::OnceLock;

use super::encode::QueryCode;
use super::segment::{BLOCK, SEGMENT, SEGMENT_BLOCKS, Segment};

/// The candidates of a segment: one bit per entry, one byte per block.
pub(crate) type Masks = [u8; SEGMENT_BLOCKS];

/// Lower bounds of |r − q|² of the entries of a segment; infinity where an entry is no candidate.
pub(crate) type Bounds = [f32; SEGMENT];

/// Scans one segment. The second segment is the next one, for prefetching. The `f32` is the number
/// of standard deviations by which an estimate is lowered to a bound.
type Scan = fn(&Segment, &Segment, &QueryCode, f32, &Masks, &mut Bounds);

/// One bit per bound that is at most the limit, or NaN; infinity never counts.
type NotAbove = fn(&Bounds, f32) -> u64;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Scanner {
    pub(crate) name: &'static str,
    scan: Scan,
    not_above: NotAbove,
}

impl Scanner {
    /// The scanners that this processor can run, fastest first. The last one is scalar.
    pub(crate) fn available() -> Vec<Self> {
        let mut available = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vpopcntdq")
                && is_x86_feature_detected!("fma")
            {
                available.push(Self {
                    name: "AVX-512",
                    scan: avx512::scan,
                    not_above: avx512::not_above,
                });
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                available.push(Self { name: "AVX2", scan: avx2::scan, not_above: avx2::not_above });
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            available.push(Self { name: "NEON", scan: neon::scan, not_above: scalar::not_above });
        }
        available.push(Self { name: "scalar", scan: scalar::scan, not_above: scalar::not_above });
        available
    }

    pub(crate) fn best() -> Self {
        static BEST: OnceLock<Scanner> = OnceLock::new();
        *BEST.get_or_init(|| Self::available()[0])
    }

    #[inline]
    pub(crate) fn scan(
        self,
        segment: &Segment,
        next: &Segment,
        query: &QueryCode,
        deviations: f32,
        masks: &Masks,
        bounds: &mut Bounds,
    ) {
        assert_eq!(query.planes.len(), segment.words, "codes of the same width");
        // Blocks without entries have no codes in memory, and kernels stop before them.
        bounds[segment.count().next_multiple_of(BLOCK)..].fill(f32::INFINITY);
        (self.scan)(segment, next, query, deviations, masks, bounds);
    }

    /// One bit per bound that is at most `limit`, or NaN (which cannot be compared, so it must be
    /// looked at); infinity never counts.
    #[inline]
    pub(crate) fn not_above(self, bounds: &Bounds, limit: f32) -> u64 {
        (self.not_above)(bounds, limit)
    }
}

/// The factors of the query in the formula of a bound:
/// square + (|r|² − scale·(per_level·S + per_one·ones + shift)), where shift includes the slack of
/// `deviations` standard deviations.
#[derive(Clone, Copy, Debug)]
struct Formula {
    square: f32,
    per_level: f32,
    per_one: f32,
    shift: f32,
}

impl Formula {
    fn new(query: &QueryCode, deviations: f32) -> Self {
        Self {
            square: query.square,
            per_level: query.per_level,
            per_one: query.per_one,
            shift: query.shift + deviations * query.deviation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::encode::{QueryScratch, encode};
    use super::super::segment::Segment;
    use super::*;

    fn vector(dimension: usize, seed: usize) -> Vec<f32> {
        let element = |index: usize| ((index * 7 + seed * 13) as f32 * 0.37).sin();
        (0..dimension).map(element).collect()
    }

    #[test]
    fn all_kernels_find_the_same_bounds_not_above_a_limit() {
        let odd = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 10.0, 10.000_001, -0.0, f32::MAX];
        let bounds: Bounds = std::array::from_fn(|index| match odd.get(index % 9) {
            Some(odd) => *odd,
            None => index as f32,
        });
        for limit in [10.0, 0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 33.0] {
            let is_above = |bound: f32| bound > limit || bound == f32::INFINITY;
            let bits = bounds.iter().enumerate();
            let expected =
                bits.fold(0, |all, (bit, bound)| all | u64::from(!is_above(*bound)) << bit);
            for scanner in Scanner::available() {
                assert_eq!(
                    scanner.not_above(&bounds, limit),
                    expected,
                    "{}, {limit}",
                    scanner.name
                );
            }
        }
    }

    #[test]
    fn all_kernels_find_the_bounds_that_the_scalar_one_finds() {
        for dimension in [128, 192, 256, 320, 768, 4_032] {
            let centroid = vec![0.01; dimension];
            let mut segment = Segment::new(dimension / 64);
            for slot in 0..60 {
                segment.push(slot, 0, &encode(&vector(dimension, slot as usize), &centroid));
            }
            let mut masks: Masks = [0; SEGMENT_BLOCKS];
            for (block, mask) in masks.iter_mut().take(7).enumerate() {
                *mask = [0xff, 0, 0x81, 0x10, 0xff, 0xff][block % 6];
            }
            let mut query = QueryCode::default();
            let filled =
                query.fill(&vector(dimension, 1_000), &centroid, &mut QueryScratch::default());
            assert!(filled, "not too long");
            let mut expected: Bounds = [0.0; SEGMENT];
            scalar::scan(&segment, &segment, &query, 2.0, &masks, &mut expected);
            for scanner in Scanner::available() {
                let mut found: Bounds = [0.0; SEGMENT];
                scanner.scan(&segment, &segment, &query, 2.0, &masks, &mut found);
                for (slot, (found, expected)) in found.iter().zip(&expected).enumerate() {
                    let is_candidate = masks[slot / 8] >> (slot % 8) & 1 != 0;
                    assert_eq!(is_candidate, *found != f32::INFINITY, "{}, {slot}", scanner.name);
                    let is_close = (found - expected).abs() <= 1e-3 * expected.abs().max(1.0);
                    assert!(!is_candidate || is_close, "{}, {slot}", scanner.name);
                }
            }
        }
    }
}
