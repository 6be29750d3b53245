//! Kernels for NEON: four elements per register.
#![expect(unsafe_code, reason = "the instructions of NEON")]

use std::arch::aarch64::{
    float32x4_t, uint32x4_t, vaddq_f32, vaddq_u32, vaddvq_f32, vdupq_n_f32, vdupq_n_u32, vfmaq_f32,
    vld1q_f32, vreinterpretq_u32_f32, vst1q_u32, vsubq_f32,
};

use super::sum::{STEP, Totals};

const LANES: usize = 4;

/// Registers per step of the checksum.
const PARTS: usize = STEP / LANES;

/// Requires NEON.
pub(super) fn dot_and_square(query: &[f32], vector: &[f32], totals: &mut Totals) -> (f32, f32) {
    // SAFETY: this kernel is only offered when the processor has the feature.
    unsafe { dot_and_square_neon(query, vector, totals) }
}

/// Requires NEON.
pub(super) fn squared_difference(query: &[f32], vector: &[f32], totals: &mut Totals) -> f32 {
    // SAFETY: this kernel is only offered when the processor has the feature.
    unsafe { squared_difference_neon(query, vector, totals) }
}

#[target_feature(enable = "neon")]
fn dot_and_square_neon(query: &[f32], vector: &[f32], totals: &mut Totals) -> (f32, f32) {
    // Four accumulators hide the latency of the fused multiply-add.
    let mut dots = [vdupq_n_f32(0.0); 4];
    let mut squares = [vdupq_n_f32(0.0); 4];
    let mut bits = Bits::new();
    let (queries, query_rest) = query.as_chunks::<{ 4 * LANES }>();
    let (vectors, vector_rest) = vector.as_chunks::<{ 4 * LANES }>();
    for (query, vector) in queries.iter().zip(vectors) {
        for lane in 0..4 {
            let query = load(&query[lane * LANES..]);
            let vector = load(&vector[lane * LANES..]);
            bits.add(lane % PARTS, vector);
            dots[lane] = vfmaq_f32(dots[lane], query, vector);
            squares[lane] = vfmaq_f32(squares[lane], vector, vector);
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

#[target_feature(enable = "neon")]
fn squared_difference_neon(query: &[f32], vector: &[f32], totals: &mut Totals) -> f32 {
    let mut sums = [vdupq_n_f32(0.0); 4];
    let mut bits = Bits::new();
    let (queries, query_rest) = query.as_chunks::<{ 4 * LANES }>();
    let (vectors, vector_rest) = vector.as_chunks::<{ 4 * LANES }>();
    for (query, vector) in queries.iter().zip(vectors) {
        for lane in 0..4 {
            let query = load(&query[lane * LANES..]);
            let vector = load(&vector[lane * LANES..]);
            bits.add(lane % PARTS, vector);
            let difference = vsubq_f32(query, vector);
            sums[lane] = vfmaq_f32(sums[lane], difference, difference);
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
    first: [uint32x4_t; PARTS],
    second: [uint32x4_t; PARTS],
}

impl Bits {
    #[inline]
    #[target_feature(enable = "neon")]
    fn new() -> Self {
        Self { first: [vdupq_n_u32(0); PARTS], second: [vdupq_n_u32(0); PARTS] }
    }

    /// Adds one part of a step.
    #[inline]
    #[target_feature(enable = "neon")]
    fn add(&mut self, part: usize, elements: float32x4_t) {
        self.first[part] = vaddq_u32(self.first[part], vreinterpretq_u32_f32(elements));
        self.second[part] = vaddq_u32(self.second[part], self.first[part]);
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn add_to(&self, totals: &mut Totals, rest: &[f32]) {
        totals.add(lanes(&self.first), lanes(&self.second), rest);
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn lanes(parts: &[uint32x4_t; PARTS]) -> [u32; STEP] {
    let mut lanes = [0; STEP];
    for (part, lanes) in parts.iter().zip(lanes.as_chunks_mut::<LANES>().0) {
        // SAFETY: four numbers are written to an array of four; any alignment is fine.
        unsafe { vst1q_u32(lanes.as_mut_ptr(), *part) };
    }
    lanes
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
    // SAFETY: four elements exist, as asserted; any alignment is fine.
    unsafe { vld1q_f32(elements.as_ptr()) }
}
