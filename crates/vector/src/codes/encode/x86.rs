//! The same loops, with wide registers.
#![expect(unsafe_code, reason = "the instructions of AVX2 and AVX-512")]

use super::{QueryCode, QueryScratch};

/// [`QueryCode::fill`]; `None` if this processor has neither.
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
        code.fill_portably(rotated, centroid, scratch)
    }
    #[target_feature(enable = "avx2")]
    fn with_avx2(
        code: &mut QueryCode,
        rotated: &[f32],
        centroid: &[f32],
        scratch: &mut QueryScratch,
    ) -> bool {
        code.fill_portably(rotated, centroid, scratch)
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
