//! Searches for nearest neighbours, compared with the exact ones.

pub mod questions;
pub mod work;

mod liteio;

use std::path::Path;

pub(crate) use liteio::LiteIoSearch;
use questions::Near;

use crate::worker::Failure;

/// Phase in which all vectors are added and made searchable.
pub(crate) const BUILD: &str = "build";

/// A kind of search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Top {
    /// Number of neighbours.
    pub(crate) neighbours: usize,
    /// Number of threads, each with its own searches.
    pub(crate) threads: u64,
    /// Part of the vectors that pass the filter: one in this many; 1 without a filter.
    pub(crate) every: u32,
}

/// All kinds, in the order of reports.
pub(crate) const TOPS: [Top; 6] =
    [top(10, 1, 1), top(10, 2, 1), top(100, 1, 1), top(10, 1, 2), top(10, 1, 10), top(10, 1, 100)];

const fn top(neighbours: usize, threads: u64, every: u32) -> Top {
    Top { neighbours, threads, every }
}

impl Top {
    /// Phase in an outcome.
    pub(crate) fn id(self) -> String {
        format!("top_{}_threads_{}_every_{}", self.neighbours, self.threads, self.every)
    }

    /// Name for people.
    pub(crate) fn title(self) -> String {
        match self {
            Top { neighbours, threads: 1, every: 1 } => format!("Top {neighbours}, 1 thread"),
            Top { neighbours, threads, every: 1 } => format!("Top {neighbours}, {threads} threads"),
            Top { neighbours, every, .. } => format!("Top {neighbours}, filter 1/{every}"),
        }
    }
}

/// Vectors that are searched by cosine distance, 1 − cosine of the angle. Their numbers are 0, 1,
/// 2, … in the order of addition. Methods fail if the engine does.
pub trait SearchEngine: Sized + Sync {
    /// A filter that passes every n-th vector: the numbers divisible by n.
    type Filter: Sync;

    /// Largest allowed difference of a distance from the exact one.
    const DISTANCE_TOLERANCE: f32;

    /// An empty engine, for this many vectors with this many elements.
    fn create(directory: &Path, vectors: u32, dimension: usize) -> Result<Self, Failure>;

    /// Adds vectors, stored one after another. The first one has the number `first`.
    fn add(&mut self, first: u32, vectors: &[f32]) -> Result<(), Failure>;

    /// Does the remaining work before the first search.
    fn finish(&mut self) -> Result<(), Failure>;

    /// Makes a filter.
    fn filter(&self, every: u32) -> Self::Filter;

    /// The nearest `neighbours` vectors that pass the filter, the nearest first, found by the
    /// calling thread alone.
    fn search(
        &self,
        query: &[f32],
        neighbours: usize,
        filter: Option<&Self::Filter>,
    ) -> Result<Vec<Near>, Failure>;
}
