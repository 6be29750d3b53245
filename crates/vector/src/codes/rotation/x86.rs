//! The portable loops, compiled for AVX2.
#![expect(unsafe_code, reason = "the instructions of AVX2")]

use super::Rotation;

/// [`Rotation::apply`]; `false` if the processor lacks AVX2.
#[inline]
pub(super) fn apply(rotation: &Rotation, vector: &mut [f32]) -> bool {
    #[target_feature(enable = "avx2")]
    fn with_avx2(rotation: &Rotation, vector: &mut [f32]) {
        // No FMA: fused operations round differently, and the result must be the same everywhere.
        rotation.apply_with_loops(vector);
    }
    if !is_x86_feature_detected!("avx2") {
        return false;
    }
    // SAFETY: the processor has the feature.
    unsafe { with_avx2(rotation, vector) };
    true
}
