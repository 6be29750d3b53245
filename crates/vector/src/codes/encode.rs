//! Encoding: codes of vectors, and the form of a query that is compared with codes.
//!
//! A code keeps the signs of the rotated vector r, after the centre of the data was subtracted. For a
//! query q, also without the centre and rotated, |r − q|² = |r|² + |q|² − 2⟨r, q⟩, and ⟨r, q⟩ is
//! estimated by |r|²·Σ sign(rᵢ)·qᵢ ÷ Σ|rᵢ|, whose expectation over rotations it is (the estimator of
//! RaBitQ). For cosines, vectors and query are scaled to length 1 first; then |r − q|² is twice the
//! cosine distance.

use std::ops::RangeInclusive;

use super::chunk::Code;
use super::refine::{self, RefinedQuery};
use super::rotation::Rotation;
use crate::config::Shape;
use crate::metric::Metric;

/// Levels of an element of the query: 4 bits.
const LEVELS: f32 = 15.0;
pub(crate) const PLANES: usize = 4;

/// Sums of squares that codes can represent: below, squares of elements underflow; above, a bound might
/// become infinite, which is the mark of slots without a vector.
const SQUARES: RangeInclusive<f32> = 1e-30..=1e35;

/// Turns vectors into codes.
#[derive(Debug)]
pub(crate) struct Encoder {
    shape: Shape,
    rotation: Rotation,
    centre: Vec<f32>,
}

/// A query, ready to be compared with codes.
#[derive(Debug)]
pub(crate) struct QueryCode {
    /// For each word of a code the four bits of its elements of the query, a plane each.
    pub(crate) planes: Vec<[u64; PLANES]>,
    /// |q|².
    pub(crate) square: f32,
    /// With S = Σ over positive signs of the levels: Σ sign(rᵢ)·qᵢ = per_level·S + per_one·ones + shift.
    pub(crate) per_level: f32,
    pub(crate) per_one: f32,
    pub(crate) shift: f32,
    /// One standard deviation of the error of that sum.
    pub(crate) deviation: f32,
    pub(crate) refined: RefinedQuery,
}

impl Encoder {
    pub(super) fn new(shape: Shape, centre: Vec<f32>) -> Self {
        Self { shape, rotation: Rotation::new(width(shape)), centre }
    }

    pub(super) fn shape(&self) -> Shape {
        self.shape
    }

    pub(super) fn centre(&self) -> &[f32] {
        &self.centre
    }

    /// Words of a code.
    pub(super) fn words(&self) -> usize {
        width(self.shape) / 64
    }

    pub(crate) fn encode(&self, vector: &[f32]) -> Code {
        let (rotated, square) = self.rotate(vector);
        let is_centre = rotated.iter().all(|element| *element == 0.0);
        let sum: f32 = rotated.iter().map(|element| element.abs()).sum();
        let mut signs = Vec::with_capacity(self.words());
        let (chunks, _) = rotated.as_chunks::<64>();
        for chunk in chunks {
            let mut word = 0;
            for (bit, element) in chunk.iter().enumerate() {
                word |= u64::from(*element >= 0.0) << bit;
            }
            signs.push(word);
        }
        let ones = signs.iter().map(|word| word.count_ones()).sum::<u32>() as f32;
        if is_centre {
            // Its distance is |q|², without an estimate.
            return Code { signs, square: 0.0, scale: 0.0, ones, refined: self.no_refined() };
        }
        if !SQUARES.contains(&square) {
            // Always compared exactly.
            let square = f32::NEG_INFINITY;
            return Code { signs, square, scale: 0.0, ones, refined: self.no_refined() };
        }
        let scale = 2.0 * square / sum;
        Code { signs, square, scale, ones, refined: refine::encode(&rotated, square) }
    }

    /// With the factor 0: nothing is estimated.
    fn no_refined(&self) -> Vec<u8> {
        vec![0; self.refined_bytes()]
    }

    /// Bytes of a finer code.
    pub(super) fn refined_bytes(&self) -> usize {
        refine::code_bytes(width(self.shape))
    }

    /// `None` when it is so far from the centre, or so near, that only exact comparison helps.
    pub(crate) fn query(&self, vector: &[f32]) -> Option<QueryCode> {
        let (rotated, square) = self.rotate(vector);
        let is_centre = rotated.iter().all(|element| *element == 0.0);
        if !is_centre && !SQUARES.contains(&square) {
            return None;
        }
        let lowest = rotated.iter().copied().fold(f32::INFINITY, f32::min);
        let highest = rotated.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let step = ((highest - lowest) / LEVELS).max(f32::MIN_POSITIVE);
        let mut planes = Vec::with_capacity(self.words());
        let mut level_sum = 0;
        let (chunks, _) = rotated.as_chunks::<64>();
        for chunk in chunks {
            let mut word = [0; PLANES];
            for (bit, element) in chunk.iter().enumerate() {
                let level = ((element - lowest) / step).round().clamp(0.0, LEVELS) as u64;
                level_sum += level;
                for (plane, word) in word.iter_mut().enumerate() {
                    *word |= (level >> plane & 1) << bit;
                }
            }
            planes.push(word);
        }
        let width = rotated.len() as f32;
        // Signs: the part of r that its signs do not show is √(1 − 2/π) of its length. Levels: each
        // element is rounded by up to half a step.
        let of_signs = square * (1.0 - std::f32::consts::FRAC_2_PI);
        let of_levels = step * step * width / 12.0;
        Some(QueryCode {
            planes,
            square,
            per_level: 2.0 * step,
            per_one: 2.0 * lowest,
            shift: -(lowest * width + step * level_sum as f32),
            deviation: (of_signs + of_levels).sqrt(),
            refined: RefinedQuery::new(&rotated, square),
        })
    }

    /// The vector without the centre, rotated, and the square of its length.
    fn rotate(&self, vector: &[f32]) -> (Vec<f32>, f32) {
        let mut rotated = Vec::with_capacity(width(self.shape));
        let scale = match self.shape.metric() {
            Metric::Euclidean => 1.0,
            Metric::Cosine => inverse_length(vector),
        };
        let differences =
            vector.iter().zip(&self.centre).map(|(element, centre)| element * scale - centre);
        rotated.extend(differences);
        rotated.resize(width(self.shape), 0.0);
        self.rotation.apply(&mut rotated);
        let square = sum_of_squares(&rotated);
        (rotated, square)
    }
}

/// The factor that gives a vector the length 1.
pub(super) fn inverse_length(vector: &[f32]) -> f32 {
    let square = sum_of_squares(vector);
    if SQUARES.contains(&square) {
        return 1.0 / square.sqrt();
    }
    // Elements so large or small that their squares are no `f32`.
    let square: f64 = vector.iter().map(|element| f64::from(*element).powi(2)).sum();
    (1.0 / square.sqrt()) as f32
}

fn sum_of_squares(vector: &[f32]) -> f32 {
    let (chunks, rest) = vector.as_chunks::<16>();
    let mut sums = [0.0; 16];
    for chunk in chunks {
        for (sum, element) in sums.iter_mut().zip(chunk) {
            *sum += element * element;
        }
    }
    sums.iter().sum::<f32>() + rest.iter().map(|element| element * element).sum::<f32>()
}

/// Elements after padding to whole words.
fn width(shape: Shape) -> usize {
    shape.dimension().next_multiple_of(64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_whose_squares_are_too_large_or_too_small_are_left_to_exact_comparison() {
        let dimension = 256;
        let shape = Shape::new(dimension, Metric::Euclidean).expect("a shape");
        let centre = vec![0.0; dimension];
        let encoder = Encoder::new(shape, centre.clone());
        let at = |place: f32| {
            let element = |index: usize| place * (1.0 + (index % 7) as f32 / 7.0);
            (0..dimension).map(element).collect::<Vec<f32>>()
        };
        for extreme in [1e-45, 1e-38, 1e-24, 1e-20, 1e17, 1e18, 1e19, 1e38] {
            let vector = at(extreme);
            assert_eq!(encoder.encode(&vector).square, f32::NEG_INFINITY, "{extreme}");
            assert!(encoder.query(&vector).is_none(), "{extreme}");
        }
        for ordinary in [1e-14, 1.0, 1e15] {
            let vector = at(ordinary);
            let square = encoder.encode(&vector).square;
            let expected = vector.iter().map(|element| element * element).sum::<f32>();
            assert!((square / expected - 1.0).abs() < 1e-5, "{ordinary}: {square}");
            assert!(encoder.query(&vector).is_some(), "{ordinary}");
        }
        assert_eq!(encoder.encode(&centre).square, 0.0);
        assert!(encoder.query(&centre).is_some(), "compared with the squares of the others");
    }
}
