//! Stored vectors, queries and the right answers, in files that every process reads.

use std::fs::File;
use std::io::{self, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::vector::data::{DIMENSION, Distribution, Vectors};

/// Vectors that are made, written and read together.
pub const BLOCK: u32 = 1_000;
/// Filters whose right answers are known, with how many neighbours.
const ANSWERED: [(u32, usize); 4] = [(1, 100), (2, 10), (10, 10), (100, 10)];
/// Neighbours beyond the wanted ones that are looked at again with more digits.
const SPARE: usize = 16;

/// A vector near another.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Near {
    /// Its number.
    pub number: u32,
    /// 1 − the cosine of the angle.
    pub distance: f32,
}

/// The right answers for all queries and one filter.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Answers {
    every: u32,
    nearest: Vec<Vec<Near>>,
}

/// A test of searching: its vectors, queries and right answers.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Questions {
    /// Vectors.
    pub vectors: u32,
    /// Queries.
    pub queries: u32,
    /// The file of the vectors, elements of four bytes, the lowest first.
    stored: PathBuf,
    /// The file of the queries.
    asked: PathBuf,
    answers: Vec<Answers>,
}

impl Questions {
    /// Makes a test in `directory` and returns the path that [`Questions::load`] takes.
    pub fn make(
        directory: &Path,
        distribution: Distribution,
        seed: u64,
        vectors: u32,
        queries: u32,
    ) -> io::Result<PathBuf> {
        let name = format!("{distribution:?}-{vectors}").to_lowercase();
        let place = |kind: &str| directory.join(format!("{name}.{kind}"));
        let asked = Vectors::asked(distribution, seed).take(queries as usize);
        std::fs::write(place("asked"), bytes_of(&asked))?;
        let mut search = ExactSearch::new(&asked);
        let mut stored = Vectors::stored(distribution, seed);
        let mut file = File::create(place("stored"))?;
        for first in (0..vectors).step_by(BLOCK as usize) {
            let block = stored.take(BLOCK.min(vectors - first) as usize);
            file.write_all(&bytes_of(&block))?;
            search.look_at(first, &block);
        }
        let questions = Questions {
            vectors,
            queries,
            stored: place("stored"),
            asked: place("asked"),
            answers: search.answers(),
        };
        let path = place("json");
        std::fs::write(&path, serde_json::to_vec(&questions)?)?;
        Ok(path)
    }

    /// Reads a test.
    pub fn load(path: &Path) -> io::Result<Questions> {
        Ok(serde_json::from_reader(BufReader::new(File::open(path)?))?)
    }

    /// Removes its files.
    pub fn remove(self, path: &Path) {
        for path in [&self.stored, &self.asked, path] {
            let _ = std::fs::remove_file(path);
        }
    }

    /// Shows all vectors in blocks, with the number of each block's first.
    pub fn for_each_block<E: From<io::Error>>(
        &self,
        mut each: impl FnMut(u32, &[f32]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut file = File::open(&self.stored)?;
        let mut bytes = vec![0; BLOCK as usize * DIMENSION * 4];
        for first in (0..self.vectors).step_by(BLOCK as usize) {
            let count = BLOCK.min(self.vectors - first) as usize;
            let bytes = &mut bytes[..count * DIMENSION * 4];
            file.read_exact(bytes)?;
            each(first, &elements_of(bytes))?;
        }
        Ok(())
    }

    /// All queries, one behind the other.
    pub fn asked(&self) -> io::Result<Vec<f32>> {
        Ok(elements_of(&std::fs::read(&self.asked)?))
    }

    /// The right answer to a query, the nearest first; `None` if it is not known for this filter.
    pub fn nearest(&self, query: usize, every: u32, neighbours: usize) -> Option<&[Near]> {
        let answers = self.answers.iter().find(|answers| answers.every == every)?;
        let nearest = answers.nearest.get(query)?;
        let matching = self.vectors.div_ceil(every) as usize;
        nearest.get(..neighbours.min(matching))
    }
}

/// The exact neighbours of some queries, by comparing them with every vector. It shares no code with
/// what is measured.
#[derive(Debug)]
pub struct ExactSearch<'a> {
    queries: Vec<Query<'a>>,
}

#[derive(Debug)]
struct Query<'a> {
    vector: &'a [f32],
    length: f64,
    found: Vec<Found>,
}

/// The nearest so far that a filter lets through.
#[derive(Debug)]
struct Found {
    every: u32,
    wanted: usize,
    nearest: Vec<(f64, u32)>,
}

impl<'a> ExactSearch<'a> {
    /// Of these queries, which stand one behind the other.
    pub fn new(queries: &'a [f32]) -> ExactSearch<'a> {
        let query = |vector: &'a [f32]| Query {
            vector,
            length: length(vector),
            found: ANSWERED
                .iter()
                .map(|(every, wanted)| Found {
                    every: *every,
                    wanted: *wanted,
                    nearest: Vec::new(),
                })
                .collect(),
        };
        ExactSearch { queries: queries.chunks_exact(DIMENSION).map(query).collect() }
    }

    /// Compares vectors, the first of which has the number `first`.
    pub fn look_at(&mut self, first: u32, vectors: &[f32]) {
        for (number, vector) in (first..).zip(vectors.chunks_exact(DIMENSION)) {
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
    pub fn nearest(&self, query: usize) -> Vec<Near> {
        let found = self.queries.get(query).and_then(|query| query.found.first());
        found.map(Found::best).unwrap_or_default()
    }

    fn answers(&self) -> Vec<Answers> {
        let of = |place: usize| Answers {
            every: ANSWERED[place].0,
            nearest: self.queries.iter().map(|query| query.found[place].best()).collect(),
        };
        (0..ANSWERED.len()).map(of).collect()
    }
}

impl Found {
    /// True if a vector at about this distance may be among the nearest.
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

/// In lanes, so that the compiler can use wide registers.
fn rough_dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; 16];
    for (a, b) in a.chunks_exact(16).zip(b.chunks_exact(16)) {
        for lane in 0..16 {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    lanes.iter().sum()
}

const _: () = assert!(DIMENSION.is_multiple_of(16));

fn bytes_of(elements: &[f32]) -> Vec<u8> {
    elements.iter().flat_map(|element| element.to_le_bytes()).collect()
}

fn elements_of(bytes: &[u8]) -> Vec<f32> {
    let element = |bytes: &[u8; 4]| f32::from_le_bytes(*bytes);
    bytes.as_chunks::<4>().0.iter().map(element).collect()
}
