//! Distances, by the fastest kernels that the processor has.

mod scalar;

use crate::config::Metric;

/// The kernels of one kind of processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernels {
    pub(crate) name: &'static str,
    /// Σ query·vector and Σ vector².
    dot_and_square: fn(&[f32], &[f32]) -> (f32, f32),
    /// Σ (query − vector)².
    squared_difference: fn(&[f32], &[f32]) -> f32,
}

const SCALAR: Kernels = Kernels {
    name: "scalar",
    dot_and_square: scalar::dot_and_square,
    squared_difference: scalar::squared_difference,
};

impl Kernels {
    /// All that this processor can run, the fastest first. The last is the scalar one.
    pub(crate) fn available() -> Vec<Self> {
        vec![SCALAR]
    }

    pub(crate) fn best() -> Self {
        Self::available()[0]
    }
}

/// A query, ready to be compared with many vectors.
#[derive(Debug)]
pub(crate) struct Query<'query> {
    vector: &'query [f32],
    metric: Metric,
    length: f64,
    kernels: Kernels,
}

impl<'query> Query<'query> {
    pub(crate) fn new(vector: &'query [f32], metric: Metric, kernels: Kernels) -> Self {
        let length = vector.iter().map(|element| f64::from(*element).powi(2)).sum::<f64>().sqrt();
        Self { vector, metric, length, kernels }
    }

    /// What orders vectors: the cosine distance, or the square of the Euclidean one.
    #[inline]
    pub(crate) fn rank(&self, vector: &[f32]) -> f32 {
        let rank = match self.metric {
            Metric::Euclidean => (self.kernels.squared_difference)(self.vector, vector),
            Metric::Cosine => {
                let (dot, square) = (self.kernels.dot_and_square)(self.vector, vector);
                // Squares below are imprecise, or zero, for want of exponents.
                if square < f32::MIN_POSITIVE * 1e8 {
                    return self.rank_precisely(vector);
                }
                1.0 - dot / (self.length as f32 * square.sqrt())
            }
        };
        if rank.is_finite() { rank } else { self.rank_precisely(vector) }
    }

    /// The distance that belongs to a rank.
    pub(crate) fn distance(&self, rank: f32) -> f32 {
        match self.metric {
            Metric::Cosine => rank,
            Metric::Euclidean => rank.max(0.0).sqrt(),
        }
    }

    /// For elements so large or small that their squares are no longer `f32`.
    #[cold]
    fn rank_precisely(&self, vector: &[f32]) -> f32 {
        let pairs = self.vector.iter().zip(vector);
        let pairs = pairs.map(|(query, element)| (f64::from(*query), f64::from(*element)));
        match self.metric {
            Metric::Euclidean => {
                pairs.map(|(query, element)| (query - element).powi(2)).sum::<f64>() as f32
            }
            Metric::Cosine => {
                let (dot, square) = pairs.fold((0.0, 0.0), |(dot, square), (query, element)| {
                    (dot + query * element, square + element * element)
                });
                (1.0 - dot / (self.length * f64::sqrt(square))) as f32
            }
        }
    }
}
