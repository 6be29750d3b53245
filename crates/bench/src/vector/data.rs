//! Vectors for all benchmarks, computed from a seed.

use serde::{Deserialize, Serialize};

use crate::random::next;

/// Default number of elements of a vector.
pub const DIMENSION: usize = 768;

/// Number of clusters.
const CLUSTERS: usize = 200;
/// Distance of clustered vectors from the centre of their cluster. Centres are as far from each
/// other as unrelated vectors.
const SPREAD: f32 = 0.4;

/// Topics, the directions that they differ in, and the distance of vectors from the middle of their
/// topic in them, where topics are 1 apart, and in all others.
const TOPICS: usize = 3_000;
const TOPIC_DIRECTIONS: usize = 96;
const TOPIC_SPREAD: f32 = 0.6;
const TOPIC_NOISE: f32 = 0.1;

/// The distribution of vectors.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// 200 clusters, similar to embeddings of texts.
    Clustered,
    /// 3,000 overlapping topics in 96 directions with a little noise: neighbours belong to several
    /// topics.
    Topics,
    /// Gaussian: all neighbours are about as far as any other vector, the hardest case for an
    /// approximate search.
    Hard,
}

/// An endless sequence of vectors. The same seed and distribution give the same sequence.
#[derive(Clone, Debug)]
pub struct Vectors {
    state: u64,
    dimension: usize,
    centres: Vec<f32>,
    /// Directions of topics.
    directions: Vec<f32>,
}

impl Vectors {
    /// Vectors to store, of [`DIMENSION`] elements.
    pub fn stored(distribution: Distribution, seed: u64) -> Vectors {
        Vectors::stored_of(DIMENSION, distribution, seed)
    }

    /// Query vectors: of the same clusters, but none that is stored.
    pub fn asked(distribution: Distribution, seed: u64) -> Vectors {
        Vectors::asked_of(DIMENSION, distribution, seed)
    }

    /// [`Vectors::stored`] with another number of elements.
    pub fn stored_of(dimension: usize, distribution: Distribution, seed: u64) -> Vectors {
        Vectors::new(dimension, distribution, seed, 1)
    }

    /// [`Vectors::asked`] with another number of elements.
    pub fn asked_of(dimension: usize, distribution: Distribution, seed: u64) -> Vectors {
        Vectors::new(dimension, distribution, seed, 2)
    }

    fn new(dimension: usize, distribution: Distribution, seed: u64, stream: u64) -> Vectors {
        let (centres, directions) = (Vec::new(), Vec::new());
        let mut vectors = Vectors { state: seed, dimension, centres, directions };
        match distribution {
            Distribution::Clustered => vectors.centres = vectors.normal(CLUSTERS * dimension),
            Distribution::Topics => {
                vectors.centres = vectors.normal(TOPICS * TOPIC_DIRECTIONS);
                vectors.directions = vectors.normal(dimension * TOPIC_DIRECTIONS);
            }
            Distribution::Hard => {}
        }
        // Far apart, so that the streams do not overlap.
        vectors.state = seed.wrapping_add(stream << 48);
        vectors
    }

    /// The next `count` vectors, one behind the other.
    pub fn take(&mut self, count: usize) -> Vec<f32> {
        if !self.directions.is_empty() {
            return (0..count).flat_map(|_| self.of_a_topic()).collect();
        }
        let dimension = self.dimension;
        let mut elements = self.normal(count * dimension);
        if !self.centres.is_empty() {
            for vector in elements.chunks_exact_mut(dimension) {
                let cluster = (next(&mut self.state) % CLUSTERS as u64) as usize;
                let centre = &self.centres[cluster * dimension..][..dimension];
                for (element, centre) in vector.iter_mut().zip(centre) {
                    *element = centre + SPREAD * *element;
                }
            }
        }
        elements
    }

    fn of_a_topic(&mut self) -> Vec<f32> {
        let topic = (next(&mut self.state) % TOPICS as u64) as usize;
        let mut place = self.normal(TOPIC_DIRECTIONS);
        let centre = &self.centres[topic * TOPIC_DIRECTIONS..];
        place.iter_mut().zip(centre).for_each(|(it, centre)| *it = centre + TOPIC_SPREAD * *it);
        let mut vector = self.normal(self.dimension);
        let scale = (TOPIC_DIRECTIONS as f32).sqrt().recip();
        let rows = self.directions.chunks_exact(TOPIC_DIRECTIONS);
        for (element, row) in vector.iter_mut().zip(rows) {
            *element = TOPIC_NOISE * *element + scale * rough_dot(row, &place);
        }
        vector
    }

    /// Numbers of the standard normal distribution (Box and Muller's method).
    fn normal(&mut self, count: usize) -> Vec<f32> {
        let mut elements = vec![0.0; count];
        self.fill_normal(&mut elements);
        elements
    }

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

/// Σ a·b in lanes, so that the compiler can use wide registers.
pub(crate) fn rough_dot(a: &[f32], b: &[f32]) -> f32 {
    let (a, a_rest) = a.as_chunks::<16>();
    let (b, b_rest) = b.as_chunks::<16>();
    let mut lanes = [0.0_f32; 16];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..16 {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    lanes.iter().sum::<f32>() + rest
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
        for (distribution, related) in [
            (Distribution::Clustered, true),
            (Distribution::Topics, true),
            (Distribution::Hard, false),
        ] {
            let stored = Vectors::stored(distribution, SEED).take(2_000);
            let asked = Vectors::asked(distribution, SEED).take(1);
            let cosine = |vector: &[f32]| {
                dot(vector, &asked) / (dot(vector, vector) * dot(&asked, &asked)).sqrt()
            };
            let nearest = stored.chunks_exact(DIMENSION).map(cosine).fold(-1.0, f32::max);
            assert_eq!(nearest > 0.7, related, "{distribution:?}: {nearest}");
            assert!(nearest < 0.99, "what is asked for is not stored");
            assert_eq!(Vectors::stored_of(128, distribution, SEED).take(3).len(), 3 * 128);
        }
    }

    #[test]
    fn the_same_seed_makes_the_same_vectors_in_any_portions() {
        for distribution in [Distribution::Hard, Distribution::Topics] {
            let mut in_two = Vectors::stored(distribution, SEED);
            let parts = [in_two.take(3), in_two.take(2)].concat();
            assert_eq!(parts, Vectors::stored(distribution, SEED).take(5));
            assert_ne!(parts, Vectors::stored(distribution, SEED + 1).take(5));
        }
    }
}
