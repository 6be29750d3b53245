//! The scalar kernel, one element at a time, written so that the compiler vectorizes it.

use super::{Content, EXPONENT_STEP, SIGN};

#[inline(always)]
pub(super) fn content(vector: &[f32]) -> Content {
    // The sign is cleared first, so that the addition carries into a zero bit. A zero element gives
    // exactly `EXPONENT_STEP`, any other one sets another bit.
    let of = |element: &f32| (element.to_bits() & !SIGN) + EXPONENT_STEP;
    Content(vector.iter().fold(0, |content, element| content | of(element)))
}
