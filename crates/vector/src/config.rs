//! The shape of the vectors of a file.

use crate::error::VectorError;
use crate::limits::DIMENSION_MAX;
use crate::metric::Metric;

/// Dimension and metric of a file, fixed when it is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    dimension: u32,
    metric: Metric,
}

impl Shape {
    /// Vectors of `dimension` elements, compared by `metric`.
    ///
    /// # Errors
    /// [`VectorError::InvalidDimension`] unless `dimension` is 1 to [`DIMENSION_MAX`].
    pub fn new(dimension: usize, metric: Metric) -> Result<Self, VectorError> {
        match u32::try_from(dimension) {
            Ok(elements @ 1..) if dimension <= DIMENSION_MAX => {
                Ok(Self { dimension: elements, metric })
            }
            _ => Err(VectorError::InvalidDimension { dimension, dimension_max: DIMENSION_MAX }),
        }
    }

    /// Elements of a vector.
    #[must_use]
    pub fn dimension(self) -> usize {
        self.dimension as usize
    }

    /// The distance by which vectors are compared.
    #[must_use]
    pub fn metric(self) -> Metric {
        self.metric
    }

    /// Bytes of the elements of a vector.
    pub(crate) fn vector_bytes(self) -> usize {
        self.dimension() * 4
    }

    /// Bytes from one slot to the next: the vector, padded to whole cache lines.
    pub(crate) fn stride(self) -> usize {
        self.vector_bytes().next_multiple_of(64)
    }
}
