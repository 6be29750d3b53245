//! What a vector may hold.

use crate::config::{Metric, Shape};
use crate::error::VectorError;

/// Checks one or more vectors, one after the other in `vectors`.
pub(crate) fn check_vectors(vectors: &[f32], shape: Shape) -> Result<(), VectorError> {
    for (index, vector) in vectors.chunks_exact(shape.dimension()).enumerate() {
        check_vector(vector, index, shape)?;
    }
    Ok(())
}

/// Checks the vector that errors call `index`.
#[inline]
pub(crate) fn check_vector(vector: &[f32], index: usize, shape: Shape) -> Result<(), VectorError> {
    let content = content(vector);
    if !content.is_finite {
        let element = vector.iter().position(|element| !element.is_finite()).unwrap_or(0);
        return Err(VectorError::NotFinite { vector: index, element });
    }
    if content.is_zero && shape.metric() == Metric::Cosine {
        return Err(VectorError::ZeroLength { vector: index });
    }
    Ok(())
}

struct Content {
    is_finite: bool,
    is_zero: bool,
}

/// Elements that are looked at at once.
const LANES: usize = 32;

fn content(vector: &[f32]) -> Content {
    // Zero times a finite number is zero, times any other it is not a number.
    let mut products = [0.0; LANES];
    let mut bits = [0; LANES];
    let (chunks, rest) = vector.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            products[lane] += chunk[lane] * 0.0;
            bits[lane] |= chunk[lane].to_bits();
        }
    }
    let all_bits = bits.iter().fold(0, |all, bits| all | bits);
    let rest_bits = rest.iter().fold(0, |all, element| all | element.to_bits());
    Content {
        is_finite: products.iter().all(|product| *product == 0.0)
            && rest.iter().all(|element| element.is_finite()),
        // All bits but the sign are zero in every element.
        is_zero: (all_bits | rest_bits) << 1 == 0,
    }
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
}
