//! The portable loop with the instructions that count bits.
#![expect(unsafe_code, reason = "the instructions that count bits")]

use std::arch::x86_64::{
    _mm256_set1_epi64x, _mm512_add_epi64, _mm512_and_si512, _mm512_castsi256_si512,
    _mm512_inserti64x4, _mm512_loadu_si512, _mm512_popcnt_epi64, _mm512_reduce_add_epi64,
    _mm512_set_epi64, _mm512_setzero_si512, _mm512_sllv_epi64,
};

use super::PLANES;

pub(super) fn count_avx512(bits: &[u64], planes: &[[u64; PLANES]]) -> (u32, u32) {
    /// Processes two words at a time: a register has the four planes of both, in memory order.
    #[target_feature(enable = "avx512f,avx512vl,avx512vpopcntdq,popcnt")]
    fn with_features(bits: &[u64], planes: &[[u64; PLANES]]) -> (u32, u32) {
        let count = bits.len().min(planes.len());
        let (mut levels, mut ones) = (_mm512_setzero_si512(), 0);
        let (pairs, rest) = bits[..count].as_chunks::<2>();
        let (planes, last) = planes[..count].as_chunks::<2>();
        for ([low, high], planes) in pairs.iter().zip(planes) {
            ones += low.count_ones() + high.count_ones();
            let low = _mm256_set1_epi64x(low.cast_signed());
            let high = _mm256_set1_epi64x(high.cast_signed());
            let words = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
            // SAFETY: two words of four planes are 64 bytes; any alignment is fine.
            let planes = unsafe { _mm512_loadu_si512(planes.as_ptr().cast()) };
            let counts = _mm512_popcnt_epi64(_mm512_and_si512(words, planes));
            levels = _mm512_add_epi64(levels, counts);
        }
        // Lane i has plane i % 4, which counts 2^(i % 4) times.
        let worth = _mm512_set_epi64(3, 2, 1, 0, 3, 2, 1, 0);
        let levels = _mm512_reduce_add_epi64(_mm512_sllv_epi64(levels, worth));
        let (last_levels, last_ones) = super::count(rest, last);
        (levels as u32 + last_levels, ones + last_ones)
    }
    // SAFETY: this kernel is only offered when the processor has the features.
    unsafe { with_features(bits, planes) }
}

pub(super) fn count_popcnt(bits: &[u64], planes: &[[u64; PLANES]]) -> (u32, u32) {
    #[target_feature(enable = "popcnt")]
    fn with_features(bits: &[u64], planes: &[[u64; PLANES]]) -> (u32, u32) {
        super::count(bits, planes)
    }
    // SAFETY: this kernel is only offered when the processor has the feature.
    unsafe { with_features(bits, planes) }
}
