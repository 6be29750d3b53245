//! Nearest neighbours, compared with the exact ones.

pub mod questions;
pub mod work;

mod liteio;

use std::path::Path;

pub(crate) use liteio::LiteIoSearch;
use questions::Near;

use crate::worker::Failure;

/// The phase in which all vectors are added and made ready for searching.
pub(crate) const BUILD: &str = "build";

/// Searches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Top {
    /// Neighbours that are wanted.
    pub(crate) neighbours: usize,
    /// Threads, each with a search of its own.
    pub(crate) threads: u64,
    /// One of so many vectors passes the filter; 1: there is none.
    pub(crate) every: u32,
}

/// All of them, in the order of reports.
pub(crate) const TOPS: [Top; 6] =
    [top(10, 1, 1), top(10, 2, 1), top(100, 1, 1), top(10, 1, 2), top(10, 1, 10), top(10, 1, 100)];

const fn top(neighbours: usize, threads: u64, every: u32) -> Top {
    Top { neighbours, threads, every }
}

impl Top {
    /// Its phase in an outcome.
    pub(crate) fn id(self) -> String {
        format!("top_{}_threads_{}_every_{}", self.neighbours, self.threads, self.every)
    }

    /// Its name for people.
    pub(crate) fn title(self) -> String {
        match self {
            Top { neighbours, threads: 1, every: 1 } => format!("Top {neighbours}, 1 thread"),
            Top { neighbours, threads, every: 1 } => format!("Top {neighbours}, {threads} threads"),
            Top { neighbours, every, .. } => format!("Top {neighbours}, filter 1/{every}"),
        }
    }
}

/// Vectors that are searched by cosine distance, 1 − the cosine of the angle. They have the numbers
/// 0, 1, 2, … in the order in which they were added. Methods fail when the engine does.
pub trait SearchEngine: Sized + Sync {
    /// Lets through every n-th vector: those whose number is a multiple of n.
    type Filter: Sync;

    /// A distance that is farther than this from the exact one is wrong.
    const DISTANCE_TOLERANCE: f32;

    /// Begins with nothing, for so many vectors of so many elements.
    fn create(directory: &Path, vectors: u32, dimension: usize) -> Result<Self, Failure>;

    /// Adds vectors that stand one behind the other, the first of which has the number `first`.
    fn add(&mut self, first: u32, vectors: &[f32]) -> Result<(), Failure>;

    /// Does what is left to do before the first search.
    fn finish(&mut self) -> Result<(), Failure>;

    /// Makes a filter.
    fn filter(&self, every: u32) -> Self::Filter;

    /// The nearest `neighbours` vectors that the filter lets through, the nearest first, found by the
    /// calling thread alone.
    fn search(
        &self,
        query: &[f32],
        neighbours: usize,
        filter: Option<&Self::Filter>,
    ) -> Result<Vec<Near>, Failure>;
}
