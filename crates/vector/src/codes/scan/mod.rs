//! Comparing a query with the codes of a chunk, by the fastest kernel that the processor has.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;

use std::sync::OnceLock;

use super::chunk::{CHUNK_BLOCKS, CHUNK_SLOTS, Chunk};
use super::encode::QueryCode;

/// The candidates of a chunk: a bit a slot, a byte a block.
pub(crate) type Masks = [u8; CHUNK_BLOCKS];

/// The lower bounds of |r − q|² of the slots of a chunk; infinity for one that is no candidate.
pub(crate) type Bounds = [f32; CHUNK_SLOTS];

/// Scans one chunk. The third argument is the number of standard deviations by which an estimate is
/// lowered to a bound.
type Scan = fn(&Chunk, &QueryCode, f32, &Masks, &mut Bounds);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Scanner {
    pub(crate) name: &'static str,
    scan: Scan,
}

impl Scanner {
    /// All that this processor can run, the fastest first. The last is the scalar one.
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
                available.push(Self { name: "AVX-512", scan: avx512::scan });
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                available.push(Self { name: "AVX2", scan: avx2::scan });
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            available.push(Self { name: "NEON", scan: neon::scan });
        }
        available.push(Self { name: "scalar", scan: scalar::scan });
        available
    }

    pub(crate) fn best() -> Self {
        static BEST: OnceLock<Scanner> = OnceLock::new();
        *BEST.get_or_init(|| Self::available()[0])
    }

    #[inline]
    pub(crate) fn scan(
        self,
        chunk: &Chunk,
        query: &QueryCode,
        deviations: f32,
        masks: &Masks,
        bounds: &mut Bounds,
    ) {
        assert_eq!(query.planes.len(), chunk.words, "codes of the same width");
        (self.scan)(chunk, query, deviations, masks, bounds);
    }
}

/// The factors of the query in the formula of a bound:
/// square + (|r|² − scale·(per_level·S + per_one·ones + shift + slack)).
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
    use super::super::chunk::Chunk;
    use super::super::encode::Encoder;
    use super::*;
    use crate::config::Shape;
    use crate::metric::Metric;

    fn vector(dimension: usize, seed: usize) -> Vec<f32> {
        let element = |index: usize| ((index * 7 + seed * 13) as f32 * 0.37).sin();
        (0..dimension).map(element).collect()
    }

    #[test]
    fn all_kernels_find_the_bounds_that_the_scalar_one_finds() {
        for dimension in [256, 320, 768, 4_000] {
            let shape = Shape::new(dimension, Metric::Euclidean).expect("a shape");
            let encoder = Encoder::new(shape, vec![0.01; dimension]);
            let mut chunk = Chunk::new(encoder.words(), encoder.refined_bytes());
            for slot in 0..300 {
                chunk.set(slot, &encoder.encode(&vector(dimension, slot)));
            }
            let mut masks: Masks = [0; CHUNK_BLOCKS];
            for (block, mask) in masks.iter_mut().take(37).enumerate() {
                *mask = [0xff, 0, 0x81, 0x10, 0xff, 0xff][block % 6];
            }
            let query = encoder.query(&vector(dimension, 1_000)).expect("not too long");
            let mut expected: Bounds = [0.0; CHUNK_SLOTS];
            scalar::scan(&chunk, &query, 2.0, &masks, &mut expected);
            for scanner in Scanner::available() {
                let mut found: Bounds = [0.0; CHUNK_SLOTS];
                scanner.scan(&chunk, &query, 2.0, &masks, &mut found);
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
