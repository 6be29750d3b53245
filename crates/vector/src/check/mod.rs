//! The check of a vector's elements: all finite, and for cosine not all zero.

mod scalar;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::sync::OnceLock;

use crate::config::Shape;
use crate::error::VectorError;
use crate::metric::Metric;

/// Checks the vectors that lie one behind the other in `vectors`.
pub(crate) fn check_vectors(vectors: &[f32], shape: Shape) -> Result<(), VectorError> {
    for (index, vector) in vectors.chunks_exact(shape.dimension()).enumerate() {
        check_vector(vector, index, shape)?;
    }
    Ok(())
}

/// Checks one vector. Errors report it by `index`.
#[inline]
pub(crate) fn check_vector(vector: &[f32], index: usize, shape: Shape) -> Result<(), VectorError> {
    let content = content(vector);
    if !content.is_finite() {
        // The kernel says only that some element is not finite; the error path finds which.
        let element = vector.iter().position(|element| !element.is_finite()).unwrap_or(0);
        return Err(VectorError::NotFinite { vector: index, element });
    }
    if content.is_zero() && shape.metric() == Metric::Cosine {
        return Err(VectorError::ZeroLength { vector: index });
    }
    Ok(())
}

/// A summary of a vector's elements, computed without branches: the bitwise OR, over all elements,
/// of (bits of `|element|`) + [`EXPONENT_STEP`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Content(u32);

impl Content {
    #[inline]
    fn is_finite(self) -> bool {
        self.0 & SIGN == 0
    }

    /// `true` if every element is zero, of either sign.
    #[inline]
    fn is_zero(self) -> bool {
        self.0 == EXPONENT_STEP
    }
}

const SIGN: u32 = 1 << 31;
/// One in the exponent field. Infinities and NaN, and only they, have the largest exponent (all
/// ones); adding one carries into the sign bit.
const EXPONENT_STEP: u32 = 1 << 23;

/// Computes the [`Content`] of a vector.
type Kernel = fn(&[f32]) -> Content;

/// The kernels that this processor can run, fastest first. The last one is scalar.
fn kernels() -> Vec<Kernel> {
    let mut kernels: Vec<Kernel> = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            kernels.push(x86::content_avx512);
        }
        if is_x86_feature_detected!("avx2") {
            kernels.push(x86::content_avx2);
        }
    }
    kernels.push(scalar::content);
    kernels
}

fn content(vector: &[f32]) -> Content {
    static BEST: OnceLock<Kernel> = OnceLock::new();
    BEST.get_or_init(|| kernels()[0])(vector)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_distance_is_named_with_its_place() {
        let shape = |metric| Shape::new(2, metric).expect("a shape");
        let check = |vectors: &[f32], metric| check_vectors(vectors, shape(metric));
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let error = check(&[1.0, 2.0, 3.0, bad], Metric::Euclidean).expect_err("not finite");
            assert!(matches!(error, VectorError::NotFinite { vector: 1, element: 1 }), "{error}");
        }
        let error = check(&[1.0, 2.0, 0.0, -0.0], Metric::Cosine).expect_err("no direction");
        assert!(matches!(error, VectorError::ZeroLength { vector: 1 }), "{error}");
        for place in 0..100 {
            let mut vector = [1.0; 100];
            vector[place] = f32::NAN;
            let shape = Shape::new(100, Metric::Cosine).expect("a shape");
            let error = check_vectors(&vector, shape).expect_err("not finite");
            assert!(
                matches!(error, VectorError::NotFinite { vector: 0, element } if element == place)
            );
            let mut vector = [0.0; 100];
            vector[place] = -1.0;
            assert!(check_vectors(&vector, shape).is_ok());
        }
        assert!(check(&[0.0, -0.0], Metric::Euclidean).is_ok());
        assert!(check(&[0.0, f32::MIN_POSITIVE / 4.0], Metric::Cosine).is_ok());
    }

    #[test]
    fn all_kernels_agree_with_the_scalar_one_at_every_length_and_place() {
        let special = [0.0, -0.0, f32::NAN, -f32::NAN, f32::INFINITY, f32::MAX, -f32::MAX, 1e-45];
        for kernel in kernels() {
            for length in (1..150).chain([768, 1_000]) {
                let mut vector: Vec<f32> = vec![0.0; length];
                assert_eq!(kernel(&vector), scalar::content(&vector), "{length} zeros");
                for place in [0, length / 3, length / 2, length - 1] {
                    for element in special {
                        vector[place] = element;
                        let content = kernel(&vector);
                        assert_eq!(content, scalar::content(&vector), "{element} at {place}");
                        assert_eq!(content.is_finite(), element.is_finite(), "{element}");
                        assert_eq!(content.is_zero(), element == 0.0, "{element}");
                    }
                    vector[place] = 0.0;
                }
            }
        }
    }
}
