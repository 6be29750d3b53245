//! Nearest neighbours.

mod exact;
mod top_k;

use crate::check::check_vectors;
use crate::distance::{Kernels, Query};
use crate::error::VectorError;
use crate::limits::NEIGHBOURS_MAX;
use crate::slot::{Slot, SlotSet};
use crate::slots::View;

use self::top_k::TopK;

/// What to search for.
#[derive(Clone, Copy, Debug)]
pub struct Search<'search> {
    /// The vector whose neighbours are wanted.
    pub query: &'search [f32],
    /// How many, at most [`NEIGHBOURS_MAX`].
    pub neighbours: usize,
    /// Only vectors in these slots; without it all of them. It is applied before the search: as many
    /// neighbours come back as are wanted whenever that many match.
    pub filter: Option<&'search SlotSet>,
    /// Threads that share the work, this one included; 0 is taken for 1.
    pub threads: usize,
}

/// A vector that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// Where it is.
    pub slot: Slot,
    /// How far it is from the query by the metric of the file, computed exactly.
    pub distance: f32,
}

impl<'search> Search<'search> {
    /// The nearest `neighbours` of `query` among all vectors, found by one thread.
    #[must_use]
    pub fn new(query: &'search [f32], neighbours: usize) -> Self {
        Self { query, neighbours, filter: None, threads: 1 }
    }

    /// The same search among the vectors in `filter`.
    #[must_use]
    pub fn within(self, filter: &'search SlotSet) -> Self {
        Self { filter: Some(filter), ..self }
    }

    fn check(&self, view: &View) -> Result<(), VectorError> {
        let shape = view.shape();
        if self.query.len() != shape.dimension() {
            let (expected, found) = (shape.dimension(), self.query.len());
            return Err(VectorError::WrongLength { expected, found });
        }
        check_vectors(self.query, shape)?;
        if self.neighbours > NEIGHBOURS_MAX {
            let (neighbours, neighbours_max) = (self.neighbours, NEIGHBOURS_MAX);
            return Err(VectorError::TooManyNeighbours { neighbours, neighbours_max });
        }
        Ok(())
    }

    /// The bits of the slots `64 * index` to `64 * index + 63` that may be found.
    #[inline]
    fn word(&self, view: &View, index: usize) -> u64 {
        let live = view.live_word(index);
        match self.filter {
            Some(filter) if live != 0 => live & filter.word(index),
            _ => live,
        }
    }
}

impl View {
    /// The nearest neighbours by comparing all vectors, without codes: what
    /// [`VectorIndex::search`](crate::VectorIndex::search) is measured against.
    ///
    /// # Errors
    /// As [`VectorIndex::search`](crate::VectorIndex::search).
    pub fn search_exactly(&self, search: &Search<'_>) -> Result<Vec<Neighbour>, VectorError> {
        search.check(self)?;
        let query = Query::new(search.query, self.shape().metric(), Kernels::best());
        let mut top = TopK::new(search.neighbours);
        exact::scan(self, search, &query, &mut top)?;
        Ok(finish(top, &query))
    }
}

fn finish(top: TopK, query: &Query<'_>) -> Vec<Neighbour> {
    let neighbour = |candidate: top_k::Candidate| Neighbour {
        slot: Slot::new(candidate.slot),
        distance: query.distance(candidate.rank),
    };
    top.into_sorted().into_iter().map(neighbour).collect()
}
