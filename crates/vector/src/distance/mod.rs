//! Distances, by the fastest kernels that the processor has.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;

use std::sync::OnceLock;

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
        let mut available = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                available.push(Self {
                    name: "AVX-512",
                    dot_and_square: avx512::dot_and_square,
                    squared_difference: avx512::squared_difference,
                });
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                available.push(Self {
                    name: "AVX2",
                    dot_and_square: avx2::dot_and_square,
                    squared_difference: avx2::squared_difference,
                });
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            available.push(Self {
                name: "NEON",
                dot_and_square: neon::dot_and_square,
                squared_difference: neon::squared_difference,
            });
        }
        available.push(SCALAR);
        available
    }

    pub(crate) fn best() -> Self {
        static BEST: OnceLock<Kernels> = OnceLock::new();
        *BEST.get_or_init(|| Self::available()[0])
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

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(dimension: usize, seed: usize) -> Vec<f32> {
        (0..dimension).map(|index| ((index * 31 + seed * 17) % 101) as f32 / 50.0 - 1.0).collect()
    }

    #[test]
    fn all_kernels_agree_with_the_scalar_one_at_every_length() {
        for kernels in Kernels::available() {
            for dimension in (1..200).chain([255, 256, 768, 1_000, 4_096]) {
                let (query, other) = (vector(dimension, 1), vector(dimension, 2));
                let (dot, square) = (kernels.dot_and_square)(&query, &other);
                let (scalar_dot, scalar_square) = scalar::dot_and_square(&query, &other);
                let difference = (kernels.squared_difference)(&query, &other);
                let scalar_difference = scalar::squared_difference(&query, &other);
                let name = kernels.name;
                let tolerance = 1e-5 * dimension as f32;
                assert!((dot - scalar_dot).abs() < tolerance, "{name}, {dimension}");
                assert!((square - scalar_square).abs() < tolerance, "{name}, {dimension}");
                assert!((difference - scalar_difference).abs() < tolerance, "{name}, {dimension}");
            }
        }
    }

    #[test]
    fn the_scalar_kernels_compute_what_they_say() {
        let (query, other) = (vector(37, 1), vector(37, 2));
        let wide = |element: f32| f64::from(element);
        let pairs = || query.iter().zip(&other).map(|(query, other)| (wide(*query), wide(*other)));
        let dot: f64 = pairs().map(|(query, other)| query * other).sum();
        let square: f64 = pairs().map(|(_, other)| other * other).sum();
        let difference: f64 = pairs().map(|(query, other)| (query - other).powi(2)).sum();
        let (found_dot, found_square) = scalar::dot_and_square(&query, &other);
        assert!((wide(found_dot) - dot).abs() < 1e-4);
        assert!((wide(found_square) - square).abs() < 1e-4);
        assert!((wide(scalar::squared_difference(&query, &other)) - difference).abs() < 1e-4);
    }

    #[test]
    fn elements_whose_squares_overflow_or_vanish_still_have_distances() {
        for scale in [1e-30_f32, 1e-10, 1.0, 1e18, 1e30] {
            for kernels in Kernels::available() {
                let query = [3.0 * scale, 4.0 * scale];
                let name = kernels.name;
                let cosine = Query::new(&query, Metric::Cosine, kernels);
                let right_angle = cosine.rank(&[-4.0 * scale, 3.0 * scale]);
                assert!((right_angle - 1.0).abs() < 1e-5, "{name}, {scale}: {right_angle}");
                let same = cosine.rank(&[6.0 * scale, 8.0 * scale]);
                assert!(same.abs() < 1e-5, "{name}, {scale}: {same}");
                let euclidean = Query::new(&query, Metric::Euclidean, kernels);
                assert!(euclidean.rank(&[0.0, scale]) >= euclidean.rank(&[0.0, 2.0 * scale]));
            }
        }
    }
}
