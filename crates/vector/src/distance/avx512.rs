//! Kernels for AVX-512: sixteen elements per register.
#![expect(unsafe_code, reason = "the instructions of AVX-512")]

use std::arch::x86_64::{
    __m512, __m512i, __mmask16, _mm512_add_epi32, _mm512_add_ps, _mm512_castps_si512,
    _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_maskz_loadu_ps, _mm512_reduce_add_ps,
    _mm512_setzero_ps, _mm512_setzero_si512, _mm512_storeu_si512, _mm512_sub_ps,
};

use super::sum::{STEP, Totals};

const LANES: usize = STEP;

/// Requires AVX-512F.
pub(super) fn dot_and_square(query: &[f32], vector: &[f32], totals: &mut Totals) -> (f32, f32) {
    // SAFETY: this kernel is only offered when the processor has the feature.
    unsafe { dot_and_square_avx512(query, vector, totals) }
}

/// Requires AVX-512F.
pub(super) fn squared_difference(query: &[f32], vector: &[f32], totals: &mut Totals) -> f32 {
    // SAFETY: this kernel is only offered when the processor has the feature.
    unsafe { squared_difference_avx512(query, vector, totals) }
}

#[target_feature(enable = "avx512f")]
fn dot_and_square_avx512(query: &[f32], vector: &[f32], totals: &mut Totals) -> (f32, f32) {
    // Four accumulators hide the latency of the fused multiply-add.
    let mut dots = [_mm512_setzero_ps(); 4];
    let mut squares = [_mm512_setzero_ps(); 4];
    let mut bits = Bits::new();
    let mut step = |dot: &mut __m512, square: &mut __m512, query: __m512, vector: __m512| {
        bits.add(vector);
        *dot = _mm512_fmadd_ps(query, vector, *dot);
        *square = _mm512_fmadd_ps(vector, vector, *square);
    };
    let (queries, query_rest) = query.as_chunks::<{ 4 * LANES }>();
    let (vectors, vector_rest) = vector.as_chunks::<{ 4 * LANES }>();
    for (query, vector) in queries.iter().zip(vectors) {
        for lane in 0..4 {
            let query = load(&query[lane * LANES..]);
            step(&mut dots[lane], &mut squares[lane], query, load(&vector[lane * LANES..]));
        }
    }
    for (query, vector) in query_rest.chunks(LANES).zip(vector_rest.chunks(LANES)) {
        step(&mut dots[0], &mut squares[0], load_part(query), load_part(vector));
    }
    bits.add_to(totals);
    (sum(dots), sum(squares))
}

#[target_feature(enable = "avx512f")]
fn squared_difference_avx512(query: &[f32], vector: &[f32], totals: &mut Totals) -> f32 {
    let mut sums = [_mm512_setzero_ps(); 4];
    let mut bits = Bits::new();
    let mut step = |sum: &mut __m512, query: __m512, vector: __m512| {
        bits.add(vector);
        let difference = _mm512_sub_ps(query, vector);
        *sum = _mm512_fmadd_ps(difference, difference, *sum);
    };
    let (queries, query_rest) = query.as_chunks::<{ 4 * LANES }>();
    let (vectors, vector_rest) = vector.as_chunks::<{ 4 * LANES }>();
    for (query, vector) in queries.iter().zip(vectors) {
        for lane in 0..4 {
            let query = load(&query[lane * LANES..]);
            step(&mut sums[lane], query, load(&vector[lane * LANES..]));
        }
    }
    for (query, vector) in query_rest.chunks(LANES).zip(vector_rest.chunks(LANES)) {
        step(&mut sums[0], load_part(query), load_part(vector));
    }
    bits.add_to(totals);
    sum(sums)
}

/// The running checksum of one vector, see [`Totals`].
struct Bits {
    first: __m512i,
    second: __m512i,
}

impl Bits {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new() -> Self {
        Self { first: _mm512_setzero_si512(), second: _mm512_setzero_si512() }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn add(&mut self, step: __m512) {
        self.first = _mm512_add_epi32(self.first, _mm512_castps_si512(step));
        self.second = _mm512_add_epi32(self.second, self.first);
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn add_to(&self, totals: &mut Totals) {
        totals.add(lanes(self.first), lanes(self.second), &[]);
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn lanes(register: __m512i) -> [u32; STEP] {
    let mut lanes = [0; STEP];
    // SAFETY: sixteen numbers are written to an array of sixteen; any alignment is fine.
    unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), register) };
    lanes
}

#[inline]
#[target_feature(enable = "avx512f")]
fn sum(lanes: [__m512; 4]) -> f32 {
    let [a, b, c, d] = lanes;
    _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(a, b), _mm512_add_ps(c, d)))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(elements: &[f32]) -> __m512 {
    assert!(elements.len() >= LANES, "a whole register");
    // SAFETY: sixteen elements exist, as asserted; any alignment is fine.
    unsafe { _mm512_loadu_ps(elements.as_ptr()) }
}

/// Up to sixteen elements, padded with zeros, which change neither sum nor checksum.
#[inline]
#[target_feature(enable = "avx512f")]
fn load_part(elements: &[f32]) -> __m512 {
    let count = elements.len().min(LANES);
    // The lowest `count` bits. A shift by 32 would overflow, so it is limited, and zero is a case
    // of its own.
    let mask = (u32::MAX >> (32 - count as u32).min(31)) as __mmask16;
    let mask = if count == 0 { 0 } else { mask };
    // SAFETY: masked lanes are not accessed, and the mask has a bit only for existing elements.
    unsafe { _mm512_maskz_loadu_ps(mask, elements.as_ptr()) }
}
