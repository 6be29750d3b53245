//! Distances, by the fastest kernels of the processor.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;
mod sum;

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::OnceLock;

pub(crate) use self::sum::{Sum, Totals};

use crate::metric::Metric;

/// Sums of squares that are precise as `f32`. Below, squares of elements underflow and are lost;
/// above, the sum may have overflowed.
const PRECISE_SQUARES: RangeInclusive<f32> = f32::MIN_POSITIVE * 1e8..=f32::MAX;

/// Lengths of queries whose products with vectors stay precise, as far as the vectors' squares do.
const ORDINARY_LENGTHS: RangeInclusive<f64> = 1e-6..=1e6;

/// Takes a query and a vector.
type Kernel<T> = fn(&[f32], &[f32], &mut Totals) -> T;

/// The kernels of one kind of processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernels {
    pub(crate) name: &'static str,
    /// Σ query·vector and Σ vector²; adds the vector's checksum to the totals.
    dot_and_square: Kernel<(f32, f32)>,
    /// Σ (query − vector)²; adds the vector's checksum to the totals.
    squared_difference: Kernel<f32>,
}

const SCALAR: Kernels = Kernels {
    name: "scalar",
    dot_and_square: scalar::dot_and_square,
    squared_difference: scalar::squared_difference,
};

impl Kernels {
    /// The kernels that this processor can run, fastest first. The last ones are scalar.
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

    /// The squared Euclidean distance of two vectors.
    pub(crate) fn square(self, one: &[f32], other: &[f32]) -> f64 {
        let square = (self.squared_difference)(one, other, &mut Totals::default());
        if square.is_finite() {
            return f64::from(square);
        }
        // `f32` overflowed: computed again in `f64`, whose range is enough for any two vectors of
        // `f32`.
        let difference = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).powi(2);
        one.iter().zip(other).map(difference).sum()
    }

    /// The checksum of a vector's bits.
    pub(crate) fn sum(self, vector: &[f32]) -> Sum {
        let mut totals = Totals::default();
        // The difference with itself is the cheapest way to visit all elements; the distance is not
        // used.
        (self.squared_difference)(vector, vector, &mut totals);
        totals.sum()
    }
}

/// A query, prepared for comparison with many vectors.
#[derive(Debug)]
pub(crate) struct Query<'query> {
    vector: Cow<'query, [f32]>,
    metric: Metric,
    length: f64,
    kernels: Kernels,
}

impl<'query> Query<'query> {
    /// `vector` must have finite elements, and for cosine not only zeros.
    pub(crate) fn new(vector: &'query [f32], metric: Metric, kernels: Kernels) -> Self {
        let length = vector.iter().map(|element| f64::from(*element).powi(2)).sum::<f64>().sqrt();
        if metric == Metric::Euclidean || ORDINARY_LENGTHS.contains(&length) {
            return Self { vector: Cow::Borrowed(vector), metric, length, kernels };
        }
        // For cosine only the direction counts, so the query is scaled near length 1. A power of
        // two does not round.
        let scale = length.log2().floor().exp2().recip();
        let scaled = vector.iter().map(|element| (f64::from(*element) * scale) as f32);
        Self { vector: scaled.collect(), metric, length: length * scale, kernels }
    }

    /// The rank, which orders vectors: the cosine distance (rounding may bring it slightly below 0)
    /// or the squared Euclidean distance. Always finite: the square of a difference of two `f32`
    /// always fits in an `f64`. The vector's checksum is added to `totals`.
    #[inline]
    pub(crate) fn rank(&self, vector: &[f32], totals: &mut Totals) -> f64 {
        match self.metric {
            Metric::Euclidean => {
                let square = (self.kernels.squared_difference)(&self.vector, vector, totals);
                match PRECISE_SQUARES.contains(&square) {
                    true => f64::from(square),
                    false => self.square_precisely(vector),
                }
            }
            Metric::Cosine => {
                let (dot, square) = (self.kernels.dot_and_square)(&self.vector, vector, totals);
                match PRECISE_SQUARES.contains(&square) {
                    true => f64::from(1.0 - dot / (self.length as f32 * square.sqrt())),
                    false => self.cosine_precisely(vector),
                }
            }
        }
    }

    /// The distance of a rank: never below 0, rounded to `f32` precision. Euclidean distances
    /// beyond the largest `f32` keep the digits of an `f64`.
    pub(crate) fn distance(&self, rank: f64) -> f64 {
        let distance = match self.metric {
            Metric::Cosine => rank.clamp(0.0, 2.0),
            Metric::Euclidean => rank.sqrt(),
        };
        let rounded = distance as f32;
        if rounded.is_finite() { f64::from(rounded) } else { distance }
    }

    /// The fallback for differences whose squares are no precise `f32`.
    #[cold]
    fn square_precisely(&self, vector: &[f32]) -> f64 {
        if *self.vector == *vector {
            return 0.0;
        }
        let difference = |(query, element): (&f32, &f32)| f64::from(*query) - f64::from(*element);
        let differences = self.vector.iter().zip(vector).map(difference);
        differences.map(|difference| difference * difference).sum()
    }

    /// The fallback for elements whose squares are no precise `f32`.
    #[cold]
    fn cosine_precisely(&self, vector: &[f32]) -> f64 {
        let pairs = self.vector.iter().zip(vector);
        let pairs = pairs.map(|(query, element)| (f64::from(*query), f64::from(*element)));
        let (dot, square) = pairs.fold((0.0, 0.0), |(dot, square), (query, element)| {
            (dot + query * element, square + element * element)
        });
        1.0 - dot / (self.length * f64::sqrt(square))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Query<'_> {
        fn rank_of(&self, vector: &[f32]) -> f64 {
            self.rank(vector, &mut Totals::default())
        }
    }

    fn vector(dimension: usize, seed: usize) -> Vec<f32> {
        (0..dimension).map(|index| ((index * 31 + seed * 17) % 101) as f32 / 50.0 - 1.0).collect()
    }

    #[test]
    fn all_kernels_agree_with_the_scalar_one_at_every_length() {
        for kernels in Kernels::available() {
            for dimension in (1..200).chain([255, 256, 768, 1_000, 4_096]) {
                let (query, other) = (vector(dimension, 1), vector(dimension, 2));
                let (mut totals, mut scalar_totals) = (Totals::default(), Totals::default());
                let (both, of_scalar) = (&mut totals, &mut scalar_totals);
                let (dot, square) = (kernels.dot_and_square)(&query, &other, both);
                let difference = (kernels.squared_difference)(&query, &other, both);
                let (scalar_dot, scalar_square) = scalar::dot_and_square(&query, &other, of_scalar);
                let scalar_difference = scalar::squared_difference(&query, &other, of_scalar);
                let name = kernels.name;
                assert_eq!(totals.sum(), scalar_totals.sum(), "{name}, {dimension}");
                let mut twice = kernels.sum(&other);
                twice.add(twice);
                assert_eq!(totals.sum(), twice, "{name}, {dimension}");
                let tolerance = 1e-5 * dimension as f32;
                assert!((dot - scalar_dot).abs() < tolerance, "{name}, {dimension}");
                assert!((square - scalar_square).abs() < tolerance, "{name}, {dimension}");
                assert!((difference - scalar_difference).abs() < tolerance, "{name}, {dimension}");
            }
        }
    }

    #[test]
    fn the_sum_tells_flipped_bits_and_exchanged_elements() {
        for dimension in [1, 15, 16, 17, 100, 768] {
            let whole = vector(dimension, 3);
            let sum = |vector: &[f32]| Kernels::best().sum(vector);
            for at in 0..dimension {
                for bit in 0..32 {
                    let mut damaged = whole.clone();
                    damaged[at] = f32::from_bits(damaged[at].to_bits() ^ 1 << bit);
                    assert_ne!(sum(&damaged), sum(&whole), "bit {bit} of {at} of {dimension}");
                }
            }
            if dimension > 2 * sum::STEP {
                let mut exchanged = whole.clone();
                exchanged.rotate_left(sum::STEP);
                assert_ne!(sum(&exchanged), sum(&whole), "{dimension}");
            }
            assert_ne!(sum(&vec![0.0; dimension]), sum(&whole), "{dimension}");
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
        let totals = &mut Totals::default();
        let (found_dot, found_square) = scalar::dot_and_square(&query, &other, totals);
        assert!((wide(found_dot) - dot).abs() < 1e-4);
        assert!((wide(found_square) - square).abs() < 1e-4);
        let found = scalar::squared_difference(&query, &other, totals);
        assert!((wide(found) - difference).abs() < 1e-4);
    }

    #[test]
    fn elements_whose_squares_overflow_or_vanish_still_have_distances() {
        for scale in [1e-30_f32, 1e-10, 1.0, 1e18, 1e30] {
            for kernels in Kernels::available() {
                let query = [3.0 * scale, 4.0 * scale];
                let name = kernels.name;
                let cosine = Query::new(&query, Metric::Cosine, kernels);
                let right_angle = cosine.rank_of(&[-4.0 * scale, 3.0 * scale]);
                assert!((right_angle - 1.0).abs() < 1e-5, "{name}, {scale}: {right_angle}");
                let same = cosine.rank_of(&[6.0 * scale, 8.0 * scale]);
                assert!(same.abs() < 1e-5, "{name}, {scale}: {same}");
                let euclidean = Query::new(&query, Metric::Euclidean, kernels);
                let far = euclidean.rank_of(&[0.0, scale]);
                let near = euclidean.rank_of(&[0.0, 2.0 * scale]);
                assert!(far.is_finite() && near < far && near > 0.0, "{name}, {scale}");
                let distance = euclidean.distance(near) / f64::from(scale);
                assert!((distance - f64::sqrt(13.0)).abs() < 1e-5, "{name}, {scale}: {distance}");
            }
        }
    }

    #[test]
    fn euclidean_distances_at_both_ends_are_finite_and_in_order() {
        let places = [0.0, 1e-45, 3e-45, 1e-24, 9e-24, 1e-20, 1.0, 3e19, 3e38, f32::MAX];
        for kernels in Kernels::available() {
            for dimension in [2, 300] {
                let at = |place: f32| vec![place; dimension];
                let (origin, opposite) = (at(0.0), at(-f32::MAX));
                let from_origin = Query::new(&origin, Metric::Euclidean, kernels);
                let ranks: Vec<f64> =
                    places.iter().map(|it| from_origin.rank_of(&at(*it))).collect();
                let name = kernels.name;
                assert!(ranks.is_sorted_by(|near, far| near < far), "{name}: {ranks:?}");
                for (place, rank) in places.iter().zip(&ranks) {
                    let expected = f64::from(*place) * f64::from(dimension as u32).sqrt();
                    let error = (from_origin.distance(*rank) - expected).abs();
                    // The least `f32` above 0 is half as large as the next.
                    assert!(error <= expected * 1e-6 + 1e-45, "{name}, {place}: {error}");
                }
                let from_end = Query::new(&opposite, Metric::Euclidean, kernels);
                let farthest = from_end.distance(from_end.rank_of(&at(f32::MAX)));
                assert!(farthest.is_finite() && farthest > f64::from(f32::MAX), "{name}");
            }
        }
    }

    #[test]
    fn cosine_distances_are_from_0_to_2_and_do_not_depend_on_lengths() {
        for kernels in Kernels::available() {
            let name = kernels.name;
            for seed in 0..200 {
                let vector: Vec<f32> = vector(77, seed).iter().map(|it| it * 0.37 + 0.01).collect();
                let opposite: Vec<f32> = vector.iter().map(|element| -element).collect();
                let query = Query::new(&vector, Metric::Cosine, kernels);
                let distance = |vector: &[f32]| query.distance(query.rank_of(vector));
                assert!((0.0..1e-5).contains(&distance(&vector)), "{name}, {seed}");
                let far = distance(&opposite);
                assert!(far > 1.999_99 && far <= 2.0, "{name}, {seed}: {far}");
            }
            // Long and short queries and vectors in every combination.
            let scales = [1e-40_f32, 1e-30, 1e-15, 1e-7, 1.0, 1e7, 1e15, 1e18, 1e38];
            for (left, right) in scales.iter().flat_map(|it| scales.map(|other| (*it, other))) {
                let at = |scale: f32, direction: [f32; 3]| direction.map(|it| it * scale);
                let near = at(left, [3.0, 1.0, 1.0]);
                let query = Query::new(&near, Metric::Cosine, kernels);
                let rank = query.rank_of(&at(right, [1.0, 3.0, 1.0]));
                // Denormal numbers have few digits.
                assert!((rank - 4.0 / 11.0).abs() < 1e-4, "{name}, {left}, {right}: {rank}");
            }
        }
    }
}
