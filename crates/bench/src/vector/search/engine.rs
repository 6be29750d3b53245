//! The interface of searches.

use std::path::Path;

use super::questions::Near;
use crate::worker::Failure;

/// Vectors that are searched by cosine distance, 1 − the cosine of the angle. They have the numbers
/// 0, 1, 2, … in the order in which they were added. Methods fail when the engine does.
pub trait SearchEngine: Sized + Sync {
    /// Lets through every n-th vector: those whose number is a multiple of n.
    type Filter: Sync;

    /// A distance that is farther than this from the exact one is wrong.
    const DISTANCE_TOLERANCE: f32;

    /// Begins with nothing, for so many vectors.
    fn create(directory: &Path, vectors: u32) -> Result<Self, Failure>;

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
