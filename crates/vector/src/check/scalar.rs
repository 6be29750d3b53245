//! One element at a time, in a way that compilers make vectors of.

use super::{Content, EXPONENT_STEP, SIGN};

#[inline(always)]
pub(super) fn content(vector: &[f32]) -> Content {
    let of = |element: &f32| (element.to_bits() & !SIGN) + EXPONENT_STEP;
    Content(vector.iter().fold(0, |content, element| content | of(element)))
}
