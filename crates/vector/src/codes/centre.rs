//! The centre of the vectors of an index.

use super::encode::inverse_length;
use crate::error::VectorError;
use crate::metric::Metric;
use crate::slot::Slot;
use crate::slots::{Reader, View};

/// Vectors from which a centre is computed.
pub(super) const SAMPLE_MAX: usize = 4_096;

/// Excess of the mean squared distance from the centre over its minimum, at which the centre is replaced.
/// The errors of estimated distances grow with the distance, so at most by 2.5 %.
const EXCESS_MAX: f64 = 0.05;

/// The mean of a sample of the vectors. It is subtracted before encoding, because a component common to all
/// vectors does not distinguish their distances.
pub(super) struct Centre {
    pub(super) elements: Vec<f32>,
    /// The mean of the squares of their distances from it.
    spread: f64,
}

impl Centre {
    /// The mean of a sample of the vectors in `view`.
    ///
    /// # Errors
    /// [`VectorError::Io`] or [`VectorError::Corrupt`] if vectors cannot be read.
    pub(super) fn of(view: &View) -> Result<Self, VectorError> {
        let shape = view.shape();
        let mut sums = vec![0.0_f64; shape.dimension()];
        let (mut squares, mut count) = (0.0, 0_u32);
        let step = (view.slots().count() / SAMPLE_MAX).max(1);
        let sample = view.slots().step_by(step).take(SAMPLE_MAX).map(Slot::number);
        Reader::new(view).read_all(sample, |_, vector| {
            let scale = match shape.metric() {
                Metric::Euclidean => 1.0,
                Metric::Cosine => inverse_length(vector),
            };
            for (sum, element) in sums.iter_mut().zip(vector) {
                let element = f64::from(element * scale);
                *sum += element;
                squares += element * element;
            }
            count += 1;
        })?;
        let count = f64::from(count.max(1));
        let length: f64 = sums.iter().map(|sum| (sum / count) * (sum / count)).sum();
        let mean = |sum: f64| (sum / count) as f32;
        let elements = sums.into_iter().map(mean);
        let elements = elements.map(|mean| if mean.is_finite() { mean } else { 0.0 }).collect();
        Ok(Self { elements, spread: (squares / count - length).max(0.0) })
    }

    /// `true` if codes with the centre `other` are about as good as with this one.
    pub(super) fn is_near(&self, other: &[f32]) -> bool {
        let difference = |(a, b): (&f32, &f32)| f64::from(*a) - f64::from(*b);
        let differences = self.elements.iter().zip(other).map(difference);
        let square: f64 = differences.map(|difference| difference * difference).sum();
        // The mean squared distance from another point is that from the mean, plus the squared distance of
        // the two.
        square <= self.spread * EXCESS_MAX
    }
}
