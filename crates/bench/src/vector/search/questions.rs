//! Test data for searches: stored vectors, queries and the right answers.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::random::SEED;
use crate::vector::data::{Distribution, Vectors, rough_dot};

/// Number of vectors that are made together.
const BLOCK: u32 = 1_000;
/// Filters with known right answers, and the number of neighbours.
const ANSWERED: [(u32, usize); 4] = [(1, 100), (2, 10), (10, 10), (100, 10)];
/// Number of neighbours beyond the wanted ones that are compared again with more digits.
const SPARE: usize = 16;

/// A neighbour.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Near {
    /// Number of the vector.
    pub number: u32,
    /// 1 − the cosine of the angle.
    pub distance: f32,
}

/// Test data of searches. Vectors and queries are computed from the seed; the answers are stored.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Questions {
    pub(crate) vectors: u32,
    /// Elements of a vector.
    pub(crate) dimension: usize,
    queries: u32,
    distribution: Distribution,
    /// Right answers for each filter of [`ANSWERED`] and every query.
    answers: Vec<Vec<Vec<Near>>>,
}

impl Questions {
    /// Makes test data, and finds the answers.
    pub(crate) fn new(
        distribution: Distribution,
        (vectors, dimension): (u32, usize),
        queries: u32,
    ) -> Questions {
        let answers = Vec::new();
        let mut questions = Questions { vectors, dimension, queries, distribution, answers };
        let asked = questions.queries();
        let mut search = ExactSearch::new(&asked, dimension);
        let Ok(()) = questions.for_each_block(|first, vectors| {
            search.look_at(first, vectors);
            Ok::<(), std::convert::Infallible>(())
        });
        let answers =
            |place: usize| search.queries.iter().map(|query| query.found[place].best()).collect();
        questions.answers = (0..ANSWERED.len()).map(answers).collect();
        questions
    }

    /// Writes test data for other processes.
    pub(crate) fn save(&self, path: &Path) -> io::Result<()> {
        std::fs::write(path, serde_json::to_vec(self)?)
    }

    /// Reads test data.
    pub(crate) fn load(path: &Path) -> io::Result<Questions> {
        Ok(serde_json::from_reader(BufReader::new(File::open(path)?))?)
    }

    /// Passes all vectors in blocks to a visitor, with the number of the first one in each.
    pub(crate) fn for_each_block<E>(
        &self,
        mut each: impl FnMut(u32, &[f32]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut stored = Vectors::stored_of(self.dimension, self.distribution, SEED);
        for first in (0..self.vectors).step_by(BLOCK as usize) {
            each(first, &stored.take(BLOCK.min(self.vectors - first) as usize))?;
        }
        Ok(())
    }

    /// All queries, one after another.
    pub(crate) fn queries(&self) -> Vec<f32> {
        Vectors::asked_of(self.dimension, self.distribution, SEED).take(self.queries as usize)
    }

    /// The right answer to a query, the nearest first; `None` if it is not known for this filter.
    pub(crate) fn nearest(&self, query: usize, every: u32, neighbours: usize) -> Option<&[Near]> {
        let place = ANSWERED.iter().position(|(known, _)| *known == every)?;
        let matching = self.vectors.div_ceil(every) as usize;
        self.answers.get(place)?.get(query)?.get(..neighbours.min(matching))
    }
}

/// Exact neighbours of some queries, found by comparison with every vector. The search shares no
/// code with the measured engines.
#[derive(Debug)]
pub(crate) struct ExactSearch<'a> {
    dimension: usize,
    queries: Vec<Query<'a>>,
}

#[derive(Debug)]
struct Query<'a> {
    vector: &'a [f32],
    length: f64,
    found: [Found; ANSWERED.len()],
}

/// The nearest vectors so far that pass a filter.
#[derive(Debug)]
struct Found {
    every: u32,
    wanted: usize,
    nearest: Vec<(f64, u32)>,
}

impl<'a> ExactSearch<'a> {
    /// A search for these queries, stored one after another.
    pub(crate) fn new(queries: &'a [f32], dimension: usize) -> ExactSearch<'a> {
        let query = |vector: &'a [f32]| Query {
            vector,
            length: length(vector),
            found: ANSWERED.map(|(every, wanted)| Found { every, wanted, nearest: Vec::new() }),
        };
        let queries = queries.chunks_exact(dimension).map(query).collect();
        ExactSearch { dimension, queries }
    }

    /// Compares vectors. The first one has the number `first`.
    pub(crate) fn look_at(&mut self, first: u32, vectors: &[f32]) {
        for (number, vector) in (first..).zip(vectors.chunks_exact(self.dimension)) {
            let length = length(vector);
            for query in &mut self.queries {
                let rough =
                    1.0 - f64::from(rough_dot(query.vector, vector)) / (query.length * length);
                let wanted =
                    |found: &&mut Found| number.is_multiple_of(found.every) && found.takes(rough);
                let mut exact = None;
                for found in query.found.iter_mut().filter(wanted) {
                    let distance = *exact.get_or_insert_with(|| {
                        1.0 - dot(query.vector, vector) / (query.length * length)
                    });
                    found.offer(distance, number);
                }
            }
        }
    }

    /// The exact neighbours of query `query` among all vectors, at most 100.
    pub(crate) fn nearest(&self, query: usize) -> Vec<Near> {
        self.queries.get(query).map(|query| query.found[0].best()).unwrap_or_default()
    }
}

impl Found {
    /// `true` if a vector at about this distance may be among the nearest.
    fn takes(&self, rough: f64) -> bool {
        let kept = self.wanted + SPARE;
        self.nearest.len() < kept || self.nearest.last().is_none_or(|(worst, _)| rough < *worst)
    }

    fn offer(&mut self, distance: f64, number: u32) {
        let place = self.nearest.partition_point(|(other, _)| *other <= distance);
        self.nearest.insert(place, (distance, number));
        self.nearest.truncate(self.wanted + SPARE);
    }

    fn best(&self) -> Vec<Near> {
        let near =
            |(distance, number): &(f64, u32)| Near { number: *number, distance: *distance as f32 };
        self.nearest.iter().take(self.wanted).map(near).collect()
    }
}

fn length(vector: &[f32]) -> f64 {
    dot(vector, vector).sqrt()
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}
