//! The vectors of AVX-512: sixteen lanes.

use std::arch::x86_64::{
    __m512i as Vector, _mm512_add_epi32 as add, _mm512_and_si512 as and, _mm512_andnot_si512,
    _mm512_castsi128_si512, _mm512_inserti32x4, _mm512_or_si512, _mm512_rol_epi32,
    _mm512_set1_epi32, _mm512_unpackhi_epi32 as high_words, _mm512_unpackhi_epi64 as high_pairs,
    _mm512_unpacklo_epi32 as low_words, _mm512_unpacklo_epi64 as low_pairs,
    _mm512_xor_si512 as xor,
};

use super::{Lane, SINES, from_bytes, steps};

const LANES: usize = 16;
kernel!("avx512f");

#[inline]
#[target_feature(enable = "avx512f")]
fn row(quads: [[u8; 16]; LANES / 4]) -> Vector {
    let [first, second, third, fourth] = quads.map(from_bytes);
    let row = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(first), second);
    _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(row, third), fourth)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn broadcast(word: u32) -> Vector {
    _mm512_set1_epi32(word.cast_signed())
}

#[inline]
#[target_feature(enable = "avx512f")]
fn and_not(one: Vector, other: Vector) -> Vector {
    _mm512_andnot_si512(other, one)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn or_not(one: Vector, other: Vector) -> Vector {
    _mm512_or_si512(one, xor(other, broadcast(u32::MAX)))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn rotate<const LEFT: i32, const RIGHT: i32>(vector: Vector) -> Vector {
    _mm512_rol_epi32::<LEFT>(vector)
}
