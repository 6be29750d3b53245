//! The scalar kernel, compiled for AVX2 and AVX-512.
#![expect(unsafe_code, reason = "functions for some processors only")]

use super::{Content, scalar};

/// Requires AVX-512F.
pub(super) fn content_avx512(vector: &[f32]) -> Content {
    // SAFETY: this kernel is only offered when the processor has the feature.
    unsafe { avx512(vector) }
}

/// Requires AVX2.
pub(super) fn content_avx2(vector: &[f32]) -> Content {
    // SAFETY: this kernel is only offered when the processor has the feature.
    unsafe { avx2(vector) }
}

#[target_feature(enable = "avx512f")]
fn avx512(vector: &[f32]) -> Content {
    scalar::content(vector)
}

#[target_feature(enable = "avx2")]
fn avx2(vector: &[f32]) -> Content {
    scalar::content(vector)
}
