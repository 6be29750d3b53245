//! Kernels of four elements at a time.
#![expect(unsafe_code, reason = "the instructions of NEON")]

use std::arch::aarch64::{
    float32x4_t, vaddq_f32, vaddvq_f32, vdupq_n_f32, vfmaq_f32, vld1q_f32, vsubq_f32,
};

const LANES: usize = 4;

/// Only for a processor with NEON.
pub(super) fn dot_and_square(query: &[f32], vector: &[f32]) -> (f32, f32) {
    // SAFETY: this kernel is only offered when the processor has the feature.
    unsafe { dot_and_square_neon(query, vector) }
}

/// Only for a processor with NEON.
pub(super) fn squared_difference(query: &[f32], vector: &[f32]) -> f32 {
    // SAFETY: this kernel is only offered when the processor has the feature.
    unsafe { squared_difference_neon(query, vector) }
}

#[target_feature(enable = "neon")]
fn dot_and_square_neon(query: &[f32], vector: &[f32]) -> (f32, f32) {
    let mut dots = [vdupq_n_f32(0.0); 4];
    let mut squares = [vdupq_n_f32(0.0); 4];
    let (queries, query_rest) = query.as_chunks::<{ 4 * LANES }>();
    let (vectors, vector_rest) = vector.as_chunks::<{ 4 * LANES }>();
    for (query, vector) in queries.iter().zip(vectors) {
        for lane in 0..4 {
            let query = load(&query[lane * LANES..]);
            let vector = load(&vector[lane * LANES..]);
            dots[lane] = vfmaq_f32(dots[lane], query, vector);
            squares[lane] = vfmaq_f32(squares[lane], vector, vector);
        }
    }
    let (mut dot, mut square) = (sum(dots), sum(squares));
    for (query, vector) in query_rest.iter().zip(vector_rest) {
        dot += query * vector;
        square += vector * vector;
    }
    (dot, square)
}

#[target_feature(enable = "neon")]
fn squared_difference_neon(query: &[f32], vector: &[f32]) -> f32 {
    let mut sums = [vdupq_n_f32(0.0); 4];
    let (queries, query_rest) = query.as_chunks::<{ 4 * LANES }>();
    let (vectors, vector_rest) = vector.as_chunks::<{ 4 * LANES }>();
    for (query, vector) in queries.iter().zip(vectors) {
        for lane in 0..4 {
            let query = load(&query[lane * LANES..]);
            let difference = vsubq_f32(query, load(&vector[lane * LANES..]));
            sums[lane] = vfmaq_f32(sums[lane], difference, difference);
        }
    }
    let rest = query_rest.iter().zip(vector_rest).map(|(query, vector)| {
        let difference = query - vector;
        difference * difference
    });
    sum(sums) + rest.sum::<f32>()
}

#[inline]
#[target_feature(enable = "neon")]
fn sum(lanes: [float32x4_t; 4]) -> f32 {
    let [a, b, c, d] = lanes;
    vaddvq_f32(vaddq_f32(vaddq_f32(a, b), vaddq_f32(c, d)))
}

#[inline]
#[target_feature(enable = "neon")]
fn load(elements: &[f32]) -> float32x4_t {
    assert!(elements.len() >= LANES, "a whole register");
    // SAFETY: four elements are there, as just asserted; any alignment is fine.
    unsafe { vld1q_f32(elements.as_ptr()) }
}
