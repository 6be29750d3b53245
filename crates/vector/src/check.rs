//! What a vector may hold.

use crate::config::{Metric, Shape};
use crate::error::VectorError;

/// Checks one or more vectors, one after the other in `vectors`.
pub(crate) fn check_vectors(vectors: &[f32], shape: Shape) -> Result<(), VectorError> {
    for (index, vector) in vectors.chunks_exact(shape.dimension()).enumerate() {
        // Without a branch in the loop, so that it takes many elements at once.
        let mut all_finite = true;
        let mut any_bits = 0;
        for element in vector {
            all_finite &= element.is_finite();
            any_bits |= element.to_bits();
        }
        if !all_finite {
            let element = vector.iter().position(|element| !element.is_finite()).unwrap_or(0);
            return Err(VectorError::NotFinite { vector: index, element });
        }
        // All bits but the sign are zero in every element.
        if any_bits << 1 == 0 && shape.metric() == Metric::Cosine {
            return Err(VectorError::ZeroLength { vector: index });
        }
    }
    Ok(())
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
        assert!(check(&[0.0, -0.0], Metric::Euclidean).is_ok());
        assert!(check(&[0.0, f32::MIN_POSITIVE / 4.0], Metric::Cosine).is_ok());
    }
}
