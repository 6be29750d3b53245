//! Encoding: codes of vectors, and the form of a query that is compared with codes.
//!
//! The *space of codes* is the space of the vectors (of length 1 for cosine) after three steps:
//! subtract the centre of the index, multiply by `unit`, rotate. Partitions, their centroids and
//! all estimates are in it. A code keeps the signs of r, the vector minus the centroid of its
//! partition. For a query q, also minus that centroid, |r − q|² = |r|² + |q|² − 2⟨r, q⟩. The
//! estimator of RaBitQ replaces ⟨r, q⟩ by |r|²·Σ sign(rᵢ)·qᵢ ÷ Σ|rᵢ|, whose expectation over
//! rotations is ⟨r, q⟩. For cosine, |r − q|² is twice the cosine distance.

#[cfg(target_arch = "x86_64")]
mod x86;

use std::ops::RangeInclusive;

use super::rotation::Rotation;
use super::second;
use super::segment::Code;
use crate::config::Shape;
use crate::metric::Metric;

/// Highest level of an element of the query, which has 4 bits.
const LEVELS: f32 = 15.0;
pub(crate) const PLANES: usize = 4;

/// Standard deviations covered by the levels. Rounding normally distributed elements to sixteen
/// levels has its smallest error at 2.7: two thirds of the error of levels that reach the largest
/// of 768 elements.
const REACH: f32 = 2.7;

/// Sums of squares that codes can represent. Below, squares of elements underflow; above, a bound
/// might become infinite, which marks entries without a vector.
const SQUARES: RangeInclusive<f32> = 1e-30..=1e35;

/// 2^23. Added to a number in 0..2^22, it leaves the nearest integer in the lowest bits of the
/// `f32`, because one unit in the last place is then 1. Cheaper than a call of `round`.
const ROUNDING: f32 = (1 << 23) as f32;

/// Converts vectors to codes.
#[derive(Debug)]
pub(crate) struct Encoder {
    shape: Shape,
    rotation: Rotation,
    centre: Vec<f32>,
    unit: f32,
}

/// A query minus the centroid of a partition, ready to be compared with the partition's codes.
#[derive(Debug, Default)]
pub(crate) struct QueryCode {
    /// Bit planes of the levels, for each word of a code: bit `i` of plane `p` is bit `p` of the
    /// level of element `i`.
    pub(crate) planes: Vec<[u64; PLANES]>,
    /// |q|².
    pub(crate) square: f32,
    /// With S = the sum of the levels at positive signs: Σ sign(rᵢ)·qᵢ = per_level·S + per_one·ones
    /// + shift.
    pub(crate) per_level: f32,
    pub(crate) per_one: f32,
    pub(crate) shift: f32,
    /// One standard deviation of the error of this sum.
    pub(crate) deviation: f32,
    /// One standard deviation of the error of the sum over levels of two bits.
    pub(crate) second_deviation: f32,
}

/// Buffers of [`QueryCode::fill`].
#[derive(Debug, Default)]
pub(crate) struct QueryScratch {
    residual: Vec<f32>,
    levels: Vec<u8>,
}

impl Encoder {
    pub(super) fn new(shape: Shape, centre: Vec<f32>, unit: f32) -> Self {
        Self { shape, rotation: Rotation::new(width(shape)), centre, unit }
    }

    pub(super) fn shape(&self) -> Shape {
        self.shape
    }

    pub(super) fn centre(&self) -> &[f32] {
        &self.centre
    }

    /// The factor from elements to the space of codes: a power of two; 1 for cosine.
    pub(crate) fn unit(&self) -> f32 {
        self.unit
    }

    /// Words (of 64 bits) of a code.
    pub(crate) fn words(&self) -> usize {
        width(self.shape) / 64
    }

    /// Elements of a vector in the space of codes: the dimension, padded to whole words.
    pub(crate) fn width(&self) -> usize {
        width(self.shape)
    }

    /// Converts a vector to the space of codes.
    pub(crate) fn rotate(&self, vector: &[f32], rotated: &mut Vec<f32>) {
        let scale = match self.shape.metric() {
            Metric::Euclidean => self.unit,
            Metric::Cosine => inverse_length(vector),
        };
        rotated.clear();
        let pairs = vector.iter().zip(&self.centre);
        rotated.extend(pairs.map(|(element, centre)| element * scale - centre));
        rotated.resize(width(self.shape), 0.0);
        self.rotation.apply(rotated);
    }
}

/// The code of a vector of the space of codes in the partition with this centroid.
pub(super) fn encode(rotated: &[f32], centroid: &[f32]) -> Code {
    let residual: Vec<f32> = rotated.iter().zip(centroid).map(|(a, b)| a - b).collect();
    let square = sum_of_squares(&residual);
    let is_centroid = residual.iter().all(|element| *element == 0.0);
    let sum: f32 = residual.iter().map(|element| element.abs()).sum();
    let mut signs = Vec::with_capacity(residual.len() / 64);
    let (words, _) = residual.as_chunks::<64>();
    for elements in words {
        let mut word = 0;
        for (bit, element) in elements.iter().enumerate() {
            word |= u64::from(*element >= 0.0) << bit;
        }
        signs.push(word);
    }
    let ones = signs.iter().map(|word| word.count_ones()).sum::<u32>().min(u16::MAX.into()) as u16;
    if is_centroid || !SQUARES.contains(&square) {
        // On the centroid itself the distance is |q|², exactly: all factors are 0. A vector out of
        // range gets the bound −∞ (square), so it is always compared exactly.
        let square = if is_centroid { 0.0 } else { f32::NEG_INFINITY };
        let second = vec![0; signs.len()];
        return Code { signs, square, scale: 0.0, ones, second, second_scale: 0.0 };
    }
    // The estimate 2⟨r, q⟩ ≈ scale·Σ sign(rᵢ)·qᵢ, so the kernels need one multiplication.
    let scale = 2.0 * square / sum;
    let (second, second_scale) = second::encode(&residual, square);
    Code { signs, square, scale, ones, second, second_scale }
}

impl QueryCode {
    /// Makes this the code of a query of the space of codes for the partition with this centroid.
    /// `false` if the two are so far apart, or so near, that only exact comparison helps.
    pub(crate) fn fill(
        &mut self,
        rotated: &[f32],
        centroid: &[f32],
        scratch: &mut QueryScratch,
    ) -> bool {
        #[cfg(target_arch = "x86_64")]
        if let Some(filled) = x86::fill(self, rotated, centroid, scratch) {
            return filled;
        }
        self.fill_portably(rotated, centroid, scratch)
    }

    fn fill_portably(
        &mut self,
        rotated: &[f32],
        centroid: &[f32],
        scratch: &mut QueryScratch,
    ) -> bool {
        self.fill_with(rotated, centroid, scratch, planes_of)
    }

    #[inline(always)]
    fn fill_with(
        &mut self,
        rotated: &[f32],
        centroid: &[f32],
        scratch: &mut QueryScratch,
        planes_of: impl Fn(&[u8; 64]) -> [u64; PLANES],
    ) -> bool {
        let width = rotated.len();
        let QueryScratch { residual, levels } = scratch;
        // Loops over arrays of lanes: the compiler does not vectorize an iterator that extends a
        // `Vec`.
        residual.resize(width, 0.0);
        let mut squares = [0.0; 16];
        let (residuals, _) = residual.as_chunks_mut::<16>();
        let (ones, _) = rotated.as_chunks::<16>();
        let (others, _) = centroid.as_chunks::<16>();
        for (residual, (one, other)) in residuals.iter_mut().zip(ones.iter().zip(others)) {
            for lane in 0..16 {
                let element = one[lane] - other[lane];
                residual[lane] = element;
                squares[lane] += element * element;
            }
        }
        let square: f32 = squares.iter().sum();
        let is_centroid = || residual.iter().all(|element| *element == 0.0);
        if !SQUARES.contains(&square) && !is_centroid() {
            return false;
        }
        // Rotated elements are about normally distributed, so both ends of the range are used. The
        // few elements beyond it are rounded to the outermost levels, which buys finer steps for
        // all others.
        let highest = REACH * (square / width as f32).sqrt();
        let lowest = -highest;
        let step = ((highest - lowest) / LEVELS).max(f32::MIN_POSITIVE);
        let per_step = 1.0 / step;
        levels.resize(width, 0);
        let (mut sums, mut errors) = ([0_u32; 16], [0.0; 16]);
        let (chunks, _) = residual.as_chunks::<16>();
        let (places, _) = levels.as_chunks_mut::<16>();
        for (levels, elements) in places.iter_mut().zip(chunks) {
            // Whole arrays stay in registers; `map` would be a call per lane without wide
            // registers.
            let (mut level, mut error) = ([0.0_f32; 16], [0.0_f32; 16]);
            for lane in 0..16 {
                let place = (elements[lane] - lowest) * per_step;
                // The lowest bits of the sum are the nearest level, see `ROUNDING`.
                level[lane] = place.clamp(0.0, LEVELS) + ROUNDING;
                error[lane] = place - (level[lane] - ROUNDING);
            }
            let (mut sum, mut square) = (sums, errors);
            for lane in 0..16 {
                let number = level[lane].to_bits() & 15;
                levels[lane] = number as u8;
                sum[lane] += number;
                square[lane] += error[lane] * error[lane];
            }
            (sums, errors) = (sum, square);
        }
        let level_sum: u32 = sums.iter().sum();
        // The variance of rounding, from levels to the unit of the elements.
        let of_levels = errors.iter().sum::<f32>() * step * step;
        let (words, _) = levels.as_chunks::<64>();
        self.planes.resize(words.len(), [0; PLANES]);
        for (planes, levels) in self.planes.iter_mut().zip(words) {
            *planes = planes_of(levels);
        }
        // With qᵢ ≈ lowest + step·levelᵢ and sign = 2·bit − 1:
        //   Σ sign·q = 2·step·Σ bit·level + 2·lowest·ones − (lowest·width + step·Σ level)
        self.square = square;
        self.per_level = 2.0 * step;
        self.per_one = 2.0 * lowest;
        self.shift = -(lowest * width as f32 + step * level_sum as f32);
        // Signs keep 2/π of the squared length of a normally distributed r; the rest is error.
        let of_signs = square * (1.0 - std::f32::consts::FRAC_2_PI);
        self.deviation = (of_signs + of_levels).sqrt();
        self.second_deviation = second::deviation(square, of_levels);
        true
    }
}

/// The bit planes of 64 levels, one word for each of the four bits.
#[inline(always)]
fn planes_of(levels: &[u8; 64]) -> [u64; PLANES] {
    let mut planes = [0; PLANES];
    let (groups, _) = levels.as_chunks::<8>();
    for (index, group) in groups.iter().enumerate() {
        let group = u64::from_le_bytes(*group);
        for (bit, plane) in planes.iter_mut().enumerate() {
            // Multiplying by this constant gathers the lowest bit of each of the eight bytes in the
            // highest byte, in order: byte k moves by 56 − 7k bits.
            let bits =
                (group >> bit & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56;
            *plane |= bits << (8 * index);
        }
    }
    planes
}

/// The factor that scales a vector to length 1.
pub(super) fn inverse_length(vector: &[f32]) -> f32 {
    let square = sum_of_squares(vector);
    if SQUARES.contains(&square) {
        return 1.0 / square.sqrt();
    }
    // The elements are so large or small that their squares are no normal `f32`.
    let square: f64 = vector.iter().map(|element| f64::from(*element).powi(2)).sum();
    (1.0 / square.sqrt()) as f32
}

#[inline(always)]
pub(super) fn sum_of_squares(vector: &[f32]) -> f32 {
    let (chunks, rest) = vector.as_chunks::<16>();
    // Sixteen independent sums, so that the compiler may use wide registers: floating-point
    // addition is not associative.
    let mut sums = [0.0; 16];
    for chunk in chunks {
        for (sum, element) in sums.iter_mut().zip(chunk) {
            *sum += element * element;
        }
    }
    sums.iter().sum::<f32>() + rest.iter().map(|element| element * element).sum::<f32>()
}

/// Elements after padding to whole words of 64 signs.
fn width(shape: Shape) -> usize {
    shape.dimension().next_multiple_of(64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_whose_squares_are_too_large_or_too_small_are_left_to_exact_comparison() {
        let centroid = vec![0.0; 256];
        let at = |place: f32| {
            let element = |index: usize| place * (1.0 + (index % 7) as f32 / 7.0);
            (0..256).map(element).collect::<Vec<f32>>()
        };
        let (mut query, mut scratch) = (QueryCode::default(), QueryScratch::default());
        for extreme in [1e-45, 1e-38, 1e-24, 1e-20, 1e17, 1e18, 1e19, 1e38] {
            let vector = at(extreme);
            assert_eq!(encode(&vector, &centroid).square, f32::NEG_INFINITY, "{extreme}");
            assert!(!query.fill(&vector, &centroid, &mut scratch), "{extreme}");
        }
        for ordinary in [1e-14, 1.0, 1e15] {
            let vector = at(ordinary);
            let square = encode(&vector, &centroid).square;
            let expected = vector.iter().map(|element| element * element).sum::<f32>();
            assert!((square / expected - 1.0).abs() < 1e-5, "{ordinary}: {square}");
            assert!(query.fill(&vector, &centroid, &mut scratch), "{ordinary}");
        }
        assert_eq!(encode(&centroid, &centroid).square, 0.0);
        assert!(
            query.fill(&centroid, &centroid, &mut scratch),
            "compared with the squares of the others"
        );
    }

    #[test]
    fn a_query_is_the_same_with_and_without_wide_registers() {
        for width in [64, 384, 768, 4_096] {
            let element = |index: usize| ((index * 31 + width) as f32 * 0.61).sin();
            let rotated: Vec<f32> = (0..width).map(element).collect();
            let centroid: Vec<f32> = (0..width).map(|index| element(index * 3) / 2.0).collect();
            let (mut fast, mut portable) = (QueryCode::default(), QueryCode::default());
            let mut scratch = QueryScratch::default();
            assert!(fast.fill(&rotated, &centroid, &mut scratch));
            assert!(portable.fill_portably(&rotated, &centroid, &mut scratch));
            assert_eq!(format!("{fast:?}"), format!("{portable:?}"), "{width}");
        }
    }

    #[test]
    fn planes_have_the_bits_of_the_levels() {
        let levels: [u8; 64] = std::array::from_fn(|index| (index * 7 % 16) as u8);
        let planes = planes_of(&levels);
        for (index, level) in levels.iter().enumerate() {
            let bits = planes.map(|plane| (plane >> index & 1) as u8);
            assert_eq!(bits[0] | bits[1] << 1 | bits[2] << 2 | bits[3] << 3, *level);
        }
    }
}
