//! Kernel for NEON: two codes per register, with the instruction that counts the bits of bytes.
#![expect(unsafe_code, reason = "the instructions of NEON")]

use std::arch::aarch64::{
    uint8x16_t, uint64x2_t, vaddq_u8, vaddq_u64, vandq_u8, vcntq_u8, vdupq_n_u8, vdupq_n_u64,
    vld1q_u64, vpaddlq_u8, vpaddlq_u16, vpaddlq_u32, vreinterpretq_u8_u64, vshlq_n_u64, vst1q_u64,
};

use super::super::encode::{PLANES, QueryCode};
use super::super::segment::{BLOCK, Segment, Words};
use super::scalar::bounds_of;
use super::{Bounds, Formula, Masks};

/// Words counted before the byte counters are widened: a byte gains at most 8 per word, and 31 · 8
/// = 248 fits.
const WORDS_PER_SUM: usize = 31;
const PAIRS: usize = BLOCK / 2;

/// Requires NEON.
pub(super) fn scan(
    segment: &Segment,
    _next: &Segment,
    query: &QueryCode,
    deviations: f32,
    masks: &Masks,
    bounds: &mut Bounds,
) {
    // SAFETY: this kernel is only offered when the processor has the feature.
    unsafe { scan_neon(segment, query, deviations, masks, bounds) }
}

#[target_feature(enable = "neon")]
fn scan_neon(
    segment: &Segment,
    query: &QueryCode,
    deviations: f32,
    masks: &Masks,
    bounds: &mut Bounds,
) {
    let formula = Formula::new(query, deviations);
    let (bounds, _) = bounds.as_chunks_mut::<BLOCK>();
    let blocks = segment.signs.chunks_exact(segment.words);
    for (((mask, bounds), words), factors) in
        masks.iter().zip(bounds).zip(blocks).zip(&segment.factors)
    {
        if *mask == 0 {
            *bounds = [f32::INFINITY; BLOCK];
            continue;
        }
        let levels = level_sums(words, query);
        *bounds = bounds_of(&levels, factors, formula);
        for (lane, bound) in bounds.iter_mut().enumerate() {
            if mask >> lane & 1 == 0 {
                *bound = f32::INFINITY;
            }
        }
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn level_sums(words: &[Words], query: &QueryCode) -> [u32; BLOCK] {
    let mut sums = [vdupq_n_u64(0); PAIRS];
    let words = words.chunks(WORDS_PER_SUM);
    for (words, planes) in words.zip(query.planes.chunks(WORDS_PER_SUM)) {
        let mut counts = [[vdupq_n_u8(0); PLANES]; PAIRS];
        for (words, planes) in words.iter().zip(planes) {
            let pairs = load(words);
            for plane in 0..PLANES {
                let bits = vreinterpretq_u8_u64(vdupq_n_u64(planes[plane]));
                for (pair, counts) in pairs.iter().zip(&mut counts) {
                    counts[plane] = vaddq_u8(counts[plane], vcntq_u8(vandq_u8(*pair, bits)));
                }
            }
        }
        for (sum, counts) in sums.iter_mut().zip(counts) {
            *sum = vaddq_u64(*sum, weigh(counts));
        }
    }
    let mut levels = [0_u64; BLOCK];
    let (pairs, _) = levels.as_chunks_mut::<2>();
    for (pair, sum) in pairs.iter_mut().zip(sums) {
        // SAFETY: two numbers are written to an array of two.
        unsafe { vst1q_u64(pair.as_mut_ptr(), sum) };
    }
    // Fits: at most 15 for each of 65,536 elements.
    levels.map(|level| level as u32)
}

/// The sum over the bytes of each word and over the planes, where plane `p` counts 2^p times.
/// Pairwise additions widen bytes to 64-bit lanes.
#[inline]
#[target_feature(enable = "neon")]
fn weigh(planes: [uint8x16_t; PLANES]) -> uint64x2_t {
    let [ones, twos, fours, eights] =
        planes.map(|bytes| vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(bytes))));
    let low = vaddq_u64(ones, vshlq_n_u64::<1>(twos));
    vaddq_u64(low, vaddq_u64(vshlq_n_u64::<2>(fours), vshlq_n_u64::<3>(eights)))
}

/// The same word of eight codes, two in each register.
#[inline]
#[target_feature(enable = "neon")]
fn load(words: &Words) -> [uint8x16_t; PAIRS] {
    let (pairs, _) = words.0.as_chunks::<2>();
    [0, 1, 2, 3].map(|pair: usize| {
        // SAFETY: two numbers are read from an array of two.
        vreinterpretq_u8_u64(unsafe { vld1q_u64(pairs[pair].as_ptr()) })
    })
}
