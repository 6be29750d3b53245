//! The vectors of AVX2: eight lanes.

use std::arch::x86_64::{
    __m256i as Vector, _mm256_add_epi32 as add, _mm256_and_si256 as and, _mm256_andnot_si256,
    _mm256_or_si256, _mm256_set_m128i, _mm256_set1_epi32, _mm256_slli_epi32, _mm256_srli_epi32,
    _mm256_unpackhi_epi32 as high_words, _mm256_unpackhi_epi64 as high_pairs,
    _mm256_unpacklo_epi32 as low_words, _mm256_unpacklo_epi64 as low_pairs,
    _mm256_xor_si256 as xor,
};

use super::{Lane, SINES, from_bytes, steps};

const LANES: usize = 8;
kernel!("avx2");

#[inline]
#[target_feature(enable = "avx2")]
fn row(quads: [[u8; 16]; LANES / 4]) -> Vector {
    let [first, second] = quads.map(from_bytes);
    _mm256_set_m128i(second, first)
}

#[inline]
#[target_feature(enable = "avx2")]
fn broadcast(word: u32) -> Vector {
    _mm256_set1_epi32(word.cast_signed())
}

#[inline]
#[target_feature(enable = "avx2")]
fn and_not(one: Vector, other: Vector) -> Vector {
    _mm256_andnot_si256(other, one)
}

#[inline]
#[target_feature(enable = "avx2")]
fn or_not(one: Vector, other: Vector) -> Vector {
    _mm256_or_si256(one, xor(other, broadcast(u32::MAX)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn rotate<const LEFT: i32, const RIGHT: i32>(vector: Vector) -> Vector {
    _mm256_or_si256(_mm256_slli_epi32::<LEFT>(vector), _mm256_srli_epi32::<RIGHT>(vector))
}
