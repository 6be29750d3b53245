//! usearch: a graph (HNSW) in memory.

use std::path::Path;
use std::thread;

use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

use liteio_bench::vector::search::questions::Near;
use liteio_bench::vector::search::{SearchEngine, work};
use liteio_bench::worker::{self, Candidate, Failure};

fn main() -> std::io::Result<()> {
    worker::main(&[
        Candidate { name: "usearch-64", version, measure: work::run::<Usearch<64>> },
        Candidate { name: "usearch-256", version, measure: work::run::<Usearch<256>> },
    ])
}

fn version() -> String {
    format!("{} ({})", usearch::version(), usearch::hardware_acceleration_available())
}

/// Looks at `EXPANSION` candidates when it searches.
struct Usearch<const EXPANSION: usize> {
    index: Index,
    dimension: usize,
}

impl<const EXPANSION: usize> SearchEngine for Usearch<EXPANSION> {
    type Filter = u32;
    /// Elements have eight bits of precision.
    const DISTANCE_TOLERANCE: f32 = 0.02;

    fn create(_: &Path, vectors: u32, dimension: usize) -> Result<Self, Failure> {
        let options = IndexOptions {
            dimensions: dimension,
            metric: MetricKind::Cos,
            quantization: ScalarKind::BF16,
            expansion_search: EXPANSION,
            ..IndexOptions::default()
        };
        let index = Index::new(&options)?;
        index.reserve(vectors as usize)?;
        Ok(Usearch { index, dimension })
    }

    fn add(&mut self, first: u32, vectors: &[f32]) -> Result<(), Failure> {
        let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let numbered: Vec<(u64, &[f32])> =
            (u64::from(first)..).zip(vectors.chunks_exact(self.dimension)).collect();
        let share = numbered.len().div_ceil(threads).max(1);
        let index = &self.index;
        thread::scope(|scope| {
            let add = |part: &[(u64, &[f32])]| {
                part.iter().try_for_each(|(number, vector)| {
                    index.add(*number, vector).map_err(|error| error.to_string())
                })
            };
            let parts: Vec<_> =
                numbered.chunks(share).map(|part| scope.spawn(move || add(part))).collect();
            for part in parts {
                part.join().map_err(|_| "a thread has panicked")??;
            }
            Ok(())
        })
    }

    fn finish(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn filter(&self, every: u32) -> u32 {
        every
    }

    fn search(
        &self,
        query: &[f32],
        neighbours: usize,
        filter: Option<&u32>,
    ) -> Result<Vec<Near>, Failure> {
        let matches = match filter {
            None => self.index.search(query, neighbours)?,
            Some(every) => {
                let every = u64::from(*every);
                self.index.filtered_search(query, neighbours, |key| key.is_multiple_of(every))?
            }
        };
        let near = |(key, distance): (&u64, &f32)| {
            Ok(Near { number: u32::try_from(*key)?, distance: *distance })
        };
        matches.keys.iter().zip(&matches.distances).map(near).collect()
    }
}
