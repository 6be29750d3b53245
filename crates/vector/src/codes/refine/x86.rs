//! Many levels at a time: bytes are multiplied and added in pairs.
#![expect(unsafe_code, reason = "the instructions of AVX2 and AVX-512")]

use std::arch::x86_64::{
    __m256i, __m512i, _mm256_add_epi16, _mm256_add_epi32, _mm256_and_si256, _mm256_loadu_si256,
    _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_set1_epi8, _mm256_set1_epi16,
    _mm256_setzero_si256, _mm256_srli_epi16, _mm256_storeu_si256, _mm512_add_epi16,
    _mm512_add_epi32, _mm512_and_si512, _mm512_loadu_si512, _mm512_madd_epi16,
    _mm512_maddubs_epi16, _mm512_reduce_add_epi32, _mm512_set1_epi8, _mm512_set1_epi16,
    _mm512_setzero_si512, _mm512_srli_epi16,
};

use super::GROUP;

/// Only for a processor with AVX-512BW.
pub(super) fn dot_avx512(levels: &[u8], elements: &[i8]) -> i32 {
    // SAFETY: this kernel is only offered when the processor has the feature.
    unsafe { avx512(levels, elements) }
}

/// Only for a processor with AVX2.
pub(super) fn dot_avx2(levels: &[u8], elements: &[i8]) -> i32 {
    // SAFETY: this kernel is only offered when the processor has the feature.
    unsafe { avx2(levels, elements) }
}

#[target_feature(enable = "avx512f,avx512bw")]
fn avx512(levels: &[u8], elements: &[i8]) -> i32 {
    let (groups, _) = levels.as_chunks::<64>();
    let (elements, _) = elements.as_chunks::<GROUP>();
    let mut sum = _mm512_setzero_si512();
    for (levels, elements) in groups.iter().zip(elements) {
        let (low_elements, high_elements) = elements.split_at(64);
        // SAFETY: each is 64 bytes long; any alignment is fine.
        let [levels, low_elements, high_elements]: [__m512i; 3] = unsafe {
            [
                _mm512_loadu_si512(levels.as_ptr().cast()),
                _mm512_loadu_si512(low_elements.as_ptr().cast()),
                _mm512_loadu_si512(high_elements.as_ptr().cast()),
            ]
        };
        let half = _mm512_set1_epi8(15);
        let low = _mm512_maddubs_epi16(_mm512_and_si512(levels, half), low_elements);
        let high = _mm512_and_si512(_mm512_srli_epi16::<4>(levels), half);
        let high = _mm512_maddubs_epi16(high, high_elements);
        // Four products of at most 15 · 127: far from the end of 16 bits.
        let pairs = _mm512_add_epi16(low, high);
        sum = _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
    }
    _mm512_reduce_add_epi32(sum)
}

#[target_feature(enable = "avx2")]
fn avx2(levels: &[u8], elements: &[i8]) -> i32 {
    let (groups, _) = levels.as_chunks::<64>();
    let (elements, _) = elements.as_chunks::<GROUP>();
    let mut sum = _mm256_setzero_si256();
    for (levels, elements) in groups.iter().zip(elements) {
        for start in [0, 32] {
            let levels = load(&levels[start..start + 32]);
            let low_elements = load(bytemuck::cast_slice(&elements[start..start + 32]));
            let high_elements = load(bytemuck::cast_slice(&elements[64 + start..64 + start + 32]));
            let half = _mm256_set1_epi8(15);
            let low = _mm256_maddubs_epi16(_mm256_and_si256(levels, half), low_elements);
            let high = _mm256_and_si256(_mm256_srli_epi16::<4>(levels), half);
            let high = _mm256_maddubs_epi16(high, high_elements);
            let pairs = _mm256_add_epi16(low, high);
            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
        }
    }
    let mut sums = [0_i32; 8];
    // SAFETY: eight numbers are written to an array of eight; any alignment is fine.
    unsafe { _mm256_storeu_si256(sums.as_mut_ptr().cast(), sum) };
    sums.iter().sum()
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8]) -> __m256i {
    assert!(bytes.len() >= 32, "a whole register");
    // SAFETY: 32 bytes are there, as just asserted; any alignment is fine.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}
