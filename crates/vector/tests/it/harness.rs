//! Vectors and files for tests.

use liteio_vector::{Metric, Shape};

/// A sequence of numbers that follows from its seed (SplitMix64).
pub(crate) struct Generator(u64);

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Between 0 and 1.
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Of the standard normal distribution.
    pub(crate) fn normal(&mut self) -> f32 {
        let radius = (-2.0 * (1.0 - self.fraction()).ln()).sqrt();
        (radius * (std::f64::consts::TAU * self.fraction()).cos()) as f32
    }

    pub(crate) fn vector(&mut self, dimension: usize) -> Vec<f32> {
        (0..dimension).map(|_| self.normal()).collect()
    }
}

pub(crate) fn shape(dimension: usize, metric: Metric) -> Shape {
    Shape::new(dimension, metric).expect("a shape")
}

/// A vector that tells its number in every element.
pub(crate) fn numbered(number: u32, dimension: usize) -> Vec<f32> {
    (0..dimension).map(|element| (number * 64 + element as u32 + 1) as f32).collect()
}

/// Vectors around `clusters` centres, as embeddings of texts about as many subjects are.
pub(crate) fn clustered(count: usize, dimension: usize, clusters: usize, seed: u64) -> Vec<f32> {
    let mut generator = Generator::new(seed);
    let centres: Vec<Vec<f32>> = (0..clusters).map(|_| generator.vector(dimension)).collect();
    let mut vectors = Vec::with_capacity(count * dimension);
    for _ in 0..count {
        let centre = &centres[generator.below(clusters as u64) as usize];
        vectors.extend(centre.iter().map(|element| element + 0.4 * generator.normal()));
    }
    vectors
}

/// Vectors that have nothing to do with each other: all are about equally far from a query, which is
/// the worst that can be searched.
pub(crate) fn unrelated(count: usize, dimension: usize, seed: u64) -> Vec<f32> {
    Generator::new(seed).vector(count * dimension)
}
