//! What a search must be able to do to be measured.

use std::path::Path;

use super::questions::Near;
use crate::worker::Failure;

/// Vectors that are searched by cosine distance, 1 − the cosine of the angle. They have the numbers
/// 0, 1, 2, … in the order in which they were added.
pub trait SearchEngine: Sized + Sync {
    /// What lets through every n-th vector: those whose number is a multiple of n.
    type Filter: Sync;

    /// How far a distance may be from the exact one before it counts as wrong.
    const DISTANCE_TOLERANCE: f32;

    /// Begins with nothing, for so many vectors.
    ///
    /// # Errors
    /// When the engine cannot; that goes for all of these.
    fn create(directory: &Path, vectors: u32) -> Result<Self, Failure>;

    /// Adds vectors that stand one behind the other, the first of which has the number `first`.
    ///
    /// # Errors
    /// As above.
    fn add(&mut self, first: u32, vectors: &[f32]) -> Result<(), Failure>;

    /// Does what is left to do before the first search.
    ///
    /// # Errors
    /// As above.
    fn finish(&mut self) -> Result<(), Failure>;

    /// Makes a filter.
    fn filter(&self, every: u32) -> Self::Filter;

    /// The nearest `neighbours` vectors that the filter lets through, the nearest first, found by the
    /// calling thread alone.
    ///
    /// # Errors
    /// As above.
    fn search(
        &self,
        query: &[f32],
        neighbours: usize,
        filter: Option<&Self::Filter>,
    ) -> Result<Vec<Near>, Failure>;
}
