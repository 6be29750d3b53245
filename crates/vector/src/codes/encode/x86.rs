//! The portable loops, compiled for AVX2 and AVX-512; only the bit planes use intrinsics.
#![expect(unsafe_code, reason = "the instructions of AVX2 and AVX-512")]

use std::arch::x86_64::{
    _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_slli_epi16, _mm512_loadu_si512,
    _mm512_set1_epi8, _mm512_test_epi8_mask,
};

use super::{PLANES, QueryCode, QueryScratch};

/// [`QueryCode::fill`]; `None` if the processor has neither AVX2 nor AVX-512.
#[inline]
pub(super) fn fill(
    code: &mut QueryCode,
    rotated: &[f32],
    centroid: &[f32],
    scratch: &mut QueryScratch,
) -> Option<bool> {
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn with_avx512(
        code: &mut QueryCode,
        rotated: &[f32],
        centroid: &[f32],
        scratch: &mut QueryScratch,
    ) -> bool {
        code.fill_with(rotated, centroid, scratch, |levels| {
            // SAFETY: 64 bytes are read from an array of 64; any alignment is fine.
            let levels = unsafe { _mm512_loadu_si512(levels.as_ptr().cast()) };
            // `test` sets one mask bit per byte whose AND with the bit is not zero: a plane in one
            // instruction.
            [1, 2, 4, 8].map(|bit| _mm512_test_epi8_mask(levels, _mm512_set1_epi8(bit)))
        })
    }
    #[target_feature(enable = "avx2")]
    fn with_avx2(
        code: &mut QueryCode,
        rotated: &[f32],
        centroid: &[f32],
        scratch: &mut QueryScratch,
    ) -> bool {
        code.fill_with(rotated, centroid, scratch, |levels| {
            let (halves, _) = levels.as_chunks::<32>();
            // SAFETY: 32 bytes are read from arrays of 32; any alignment is fine.
            let [low, high] = [0, 1]
                .map(|half: usize| unsafe { _mm256_loadu_si256(halves[half].as_ptr().cast()) });
            let both = |low: i32, high: i32| {
                u64::from(low.cast_unsigned()) | u64::from(high.cast_unsigned()) << 32
            };
            // `movemask` gathers the highest bit of each byte. A level is below 16, so shifting by
            // 7, 6, 5 and 4 brings its bits 0 to 3 there. The shift works on 16-bit lanes, but the
            // bits that cross from the low byte of a lane into the high one land below its highest
            // bit.
            macro_rules! plane {
                ($left:literal) => {
                    both(
                        _mm256_movemask_epi8(_mm256_slli_epi16::<$left>(low)),
                        _mm256_movemask_epi8(_mm256_slli_epi16::<$left>(high)),
                    )
                };
            }
            let planes: [u64; PLANES] = [plane!(7), plane!(6), plane!(5), plane!(4)];
            planes
        })
    }
    if is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
    {
        // SAFETY: the processor has the features.
        return Some(unsafe { with_avx512(code, rotated, centroid, scratch) });
    }
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the feature.
        return Some(unsafe { with_avx2(code, rotated, centroid, scratch) });
    }
    None
}
