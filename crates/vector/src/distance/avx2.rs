//! Kernels for AVX2: eight elements per register.
#![expect(unsafe_code, reason = "the instructions of AVX2")]

use std::arch::x86_64::{
    __m256, __m256i, _mm256_add_epi32, _mm256_add_ps, _mm256_castps_si256, _mm256_fmadd_ps,
    _mm256_loadu_ps, _mm256_setzero_ps, _mm256_setzero_si256, _mm256_storeu_ps,
    _mm256_storeu_si256, _mm256_sub_ps,
};

use super::sum::{STEP, Totals};

const LANES: usize = 8;

/// Registers per step of the checksum.
const PARTS: usize = STEP / LANES;

/// Requires AVX2 and FMA.
pub(super) fn dot_and_square(query: &[f32], vector: &[f32], totals: &mut Totals) -> (f32, f32) {
    // SAFETY: this kernel is only offered when the processor has the features.
    unsafe { dot_and_square_avx2(query, vector, totals) }
}

/// Requires AVX2 and FMA.
pub(super) fn squared_difference(query: &[f32], vector: &[f32], totals: &mut Totals) -> f32 {
    // SAFETY: this kernel is only offered when the processor has the features.
    unsafe { squared_difference_avx2(query, vector, totals) }
}

#[target_feature(enable = "avx2,fma")]
fn dot_and_square_avx2(query: &[f32], vector: &[f32], totals: &mut Totals) -> (f32, f32) {
    // Four accumulators hide the latency of the fused multiply-add.
    let mut dots = [_mm256_setzero_ps(); 4];
    let mut squares = [_mm256_setzero_ps(); 4];
    let mut bits = Bits::new();
    let (queries, query_rest) = query.as_chunks::<{ 4 * LANES }>();
    let (vectors, vector_rest) = vector.as_chunks::<{ 4 * LANES }>();
    for (query, vector) in queries.iter().zip(vectors) {
        for lane in 0..4 {
            let query = load(&query[lane * LANES..]);
            let vector = load(&vector[lane * LANES..]);
            bits.add(lane % PARTS, vector);
            dots[lane] = _mm256_fmadd_ps(query, vector, dots[lane]);
            squares[lane] = _mm256_fmadd_ps(vector, vector, squares[lane]);
        }
    }
    bits.add_to(totals, vector_rest);
    let (mut dot, mut square) = (sum(dots), sum(squares));
    for (query, vector) in query_rest.iter().zip(vector_rest) {
        dot += query * vector;
        square += vector * vector;
    }
    (dot, square)
}

#[target_feature(enable = "avx2,fma")]
fn squared_difference_avx2(query: &[f32], vector: &[f32], totals: &mut Totals) -> f32 {
    let mut sums = [_mm256_setzero_ps(); 4];
    let mut bits = Bits::new();
    let (queries, query_rest) = query.as_chunks::<{ 4 * LANES }>();
    let (vectors, vector_rest) = vector.as_chunks::<{ 4 * LANES }>();
    for (query, vector) in queries.iter().zip(vectors) {
        for lane in 0..4 {
            let query = load(&query[lane * LANES..]);
            let vector = load(&vector[lane * LANES..]);
            bits.add(lane % PARTS, vector);
            let difference = _mm256_sub_ps(query, vector);
            sums[lane] = _mm256_fmadd_ps(difference, difference, sums[lane]);
        }
    }
    bits.add_to(totals, vector_rest);
    let rest = query_rest.iter().zip(vector_rest).map(|(query, vector)| {
        let difference = query - vector;
        difference * difference
    });
    sum(sums) + rest.sum::<f32>()
}

/// The running checksum of one vector, see [`Totals`].
struct Bits {
    first: [__m256i; PARTS],
    second: [__m256i; PARTS],
}

impl Bits {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn new() -> Self {
        Self { first: [_mm256_setzero_si256(); PARTS], second: [_mm256_setzero_si256(); PARTS] }
    }

    /// Adds one part of a step.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn add(&mut self, part: usize, elements: __m256) {
        self.first[part] = _mm256_add_epi32(self.first[part], _mm256_castps_si256(elements));
        self.second[part] = _mm256_add_epi32(self.second[part], self.first[part]);
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn add_to(&self, totals: &mut Totals, rest: &[f32]) {
        totals.add(lanes(&self.first), lanes(&self.second), rest);
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn lanes(parts: &[__m256i; PARTS]) -> [u32; STEP] {
    let mut lanes = [0; STEP];
    for (part, lanes) in parts.iter().zip(lanes.as_chunks_mut::<LANES>().0) {
        // SAFETY: eight numbers are written to an array of eight; any alignment is fine.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), *part) };
    }
    lanes
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn sum(lanes: [__m256; 4]) -> f32 {
    let [a, b, c, d] = lanes;
    let total = _mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d));
    let mut elements = [0.0; LANES];
    // SAFETY: eight elements are written to an array of eight; any alignment is fine.
    unsafe { _mm256_storeu_ps(elements.as_mut_ptr(), total) };
    elements.iter().sum()
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn load(elements: &[f32]) -> __m256 {
    assert!(elements.len() >= LANES, "a whole register");
    // SAFETY: eight elements exist, as asserted; any alignment is fine.
    unsafe { _mm256_loadu_ps(elements.as_ptr()) }
}
