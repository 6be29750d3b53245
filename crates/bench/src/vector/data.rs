//! The vectors of all benchmarks, computed from a seed.

use serde::{Deserialize, Serialize};

use crate::random::next;

/// Elements of a vector.
pub const DIMENSION: usize = 768;

/// Groups of clustered vectors.
const CLUSTERS: usize = 200;
/// The distance of clustered vectors from the middle of their cluster, which is as far from the others as
/// unrelated vectors are.
const SPREAD: f32 = 0.4;

/// The distribution of vectors.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// In 200 clusters, somewhat as the embeddings of texts do.
    Clustered,
    /// Anywhere (Gaussian): all neighbours are about as far as any other vector, which is the hardest
    /// case for a search that is not exact.
    Hard,
}

/// An endless sequence of vectors. Two with the same seed and distribution are the same.
#[derive(Clone, Debug)]
pub struct Vectors {
    state: u64,
    centres: Vec<f32>,
}

impl Vectors {
    /// The vectors that are stored.
    pub fn stored(distribution: Distribution, seed: u64) -> Vectors {
        Vectors::new(distribution, seed, 1)
    }

    /// The vectors that are asked for: of the same clusters, but none that is stored.
    pub fn asked(distribution: Distribution, seed: u64) -> Vectors {
        Vectors::new(distribution, seed, 2)
    }

    fn new(distribution: Distribution, seed: u64, stream: u64) -> Vectors {
        let mut vectors = Vectors { state: seed, centres: Vec::new() };
        if distribution == Distribution::Clustered {
            let mut centres = vec![0.0; CLUSTERS * DIMENSION];
            vectors.fill_normal(&mut centres);
            vectors.centres = centres;
        }
        // Far apart, so that no stream is a part of the other.
        vectors.state = seed.wrapping_add(stream << 48);
        vectors
    }

    /// The next `count` vectors, one behind the other.
    pub fn take(&mut self, count: usize) -> Vec<f32> {
        let mut elements = vec![0.0; count * DIMENSION];
        self.fill_normal(&mut elements);
        if !self.centres.is_empty() {
            for vector in elements.chunks_exact_mut(DIMENSION) {
                let cluster = (next(&mut self.state) % CLUSTERS as u64) as usize;
                let centre = &self.centres[cluster * DIMENSION..][..DIMENSION];
                for (element, centre) in vector.iter_mut().zip(centre) {
                    *element = centre + SPREAD * *element;
                }
            }
        }
        elements
    }

    /// Numbers of the standard normal distribution (Box and Muller's method).
    fn fill_normal(&mut self, elements: &mut [f32]) {
        for pair in elements.chunks_mut(2) {
            let radius = (-2.0 * (1.0 - self.fraction()).ln()).sqrt();
            let (sine, cosine) = (std::f64::consts::TAU * self.fraction()).sin_cos();
            for (element, part) in pair.iter_mut().zip([cosine, sine]) {
                *element = (radius * part) as f32;
            }
        }
    }

    fn fraction(&mut self) -> f64 {
        (next(&mut self.state) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SEED;

    fn dot(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn hard_vectors_are_unrelated_and_clustered_ones_have_near_neighbours() {
        for (distribution, related) in
            [(Distribution::Clustered, true), (Distribution::Hard, false)]
        {
            let stored = Vectors::stored(distribution, SEED).take(2_000);
            let asked = Vectors::asked(distribution, SEED).take(1);
            let cosine = |vector: &[f32]| {
                dot(vector, &asked) / (dot(vector, vector) * dot(&asked, &asked)).sqrt()
            };
            let nearest = stored.chunks_exact(DIMENSION).map(cosine).fold(-1.0, f32::max);
            assert_eq!(nearest > 0.7, related, "{distribution:?}: {nearest}");
            assert!(nearest < 0.99, "what is asked for is not stored");
        }
    }

    #[test]
    fn the_same_seed_makes_the_same_vectors_in_any_portions() {
        let mut in_two = Vectors::stored(Distribution::Hard, SEED);
        let parts = [in_two.take(3), in_two.take(2)].concat();
        assert_eq!(parts, Vectors::stored(Distribution::Hard, SEED).take(5));
        assert_ne!(parts, Vectors::stored(Distribution::Hard, SEED + 1).take(5));
    }
}
