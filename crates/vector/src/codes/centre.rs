//! The centre and the unit of the vectors of an index.

use super::encode::inverse_length;
use crate::error::VectorError;
use crate::metric::Metric;
use crate::slot::Slot;
use crate::slots::{Reader, View};

/// Vectors from which a centre is computed, evenly spread over the slots.
const SAMPLE_MAX: usize = 4_096;

/// Vectors longer than this many times the median are left out of the mean. One huge vector would
/// move the centre so far that all others look alike from there.
const LENGTH_MAX: f64 = 8.0;

/// Limit of a unit's binary exponent. With a unit and an inverse unit within 2^±100, squares of
/// elements about 1 are still normal `f32`.
const EXPONENT_MAX: f64 = 100.0;

/// Origin and unit of the space of codes. The origin is the mean of a sample of the vectors, which
/// is subtracted before encoding. The unit is about the inverse of the vectors' distance from the
/// origin.
pub(super) struct Centre {
    /// The origin, in units.
    pub(super) elements: Vec<f32>,
    pub(super) unit: f32,
}

impl Centre {
    /// The centre of the visible vectors.
    ///
    /// # Errors
    /// [`VectorError::Io`] or [`VectorError::Corrupt`] if vectors cannot be read.
    pub(super) fn of(view: &View) -> Result<Self, VectorError> {
        let metric = view.shape().metric();
        let step = (view.vector_count() / SAMPLE_MAX).max(1);
        let sample = || view.slots().step_by(step).take(SAMPLE_MAX).map(Slot::number);
        // Cosine compares directions, so vectors are scaled to length 1 first.
        let scale_of = |vector: &[f32]| match metric {
            Metric::Euclidean => 1.0,
            Metric::Cosine => f64::from(inverse_length(vector)),
        };
        let square_of =
            |vector: &[f32]| vector.iter().map(|it| f64::from(*it).powi(2)).sum::<f64>();
        let mut squares = Vec::new();
        // First pass: the median of the squared lengths. Cosine needs none, as all lengths are 1.
        if metric == Metric::Euclidean {
            Reader::new(view).read_all(sample(), |_, vector| squares.push(square_of(vector)))?;
            squares.sort_unstable_by(f64::total_cmp);
        }
        let median = squares.get(squares.len() / 2).copied().unwrap_or(1.0);
        let mut sums = vec![0.0_f64; view.shape().dimension()];
        // Second pass: the sum of the vectors, and of their squared lengths, without outliers. The
        // factor 1.001 keeps vectors of exactly the limit despite rounding.
        let (mut total, mut count) = (0.0, 0.0);
        Reader::new(view).read_all(sample(), |_, vector| {
            let scale = scale_of(vector);
            let square = square_of(vector) * scale * scale;
            if square <= median * LENGTH_MAX * LENGTH_MAX * 1.001 {
                vector.iter().zip(&mut sums).for_each(|(it, sum)| *sum += f64::from(*it) * scale);
                total += square;
                count += 1.0;
            }
        })?;
        let count = f64::max(count, 1.0);
        // Variance = mean of the squares − square of the mean. Cancellation may leave noise instead
        // of a small difference, so it is kept above 1e-12 of the mean square.
        let mean_square: f64 = sums.iter().map(|sum| (sum / count).powi(2)).sum();
        let spread = (total / count - mean_square).max(total / count * 1e-12);
        let unit = match metric {
            // A power of two: scaling by it is exact, so distances convert without rounding.
            Metric::Euclidean if spread > 0.0 => {
                (-spread.sqrt().log2()).round().clamp(-EXPONENT_MAX, EXPONENT_MAX).exp2()
            }
            _ => 1.0,
        };
        let elements = sums.into_iter().map(|sum| (sum / count * unit) as f32);
        // Sums that overflow `f32` leave the origin at zero in that element.
        let elements = elements.map(|mean| if mean.is_finite() { mean } else { 0.0 }).collect();
        Ok(Self { elements, unit: unit as f32 })
    }
}
