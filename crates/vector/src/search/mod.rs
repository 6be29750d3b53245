//! Nearest neighbours.

mod coded;
mod exact;
mod top_k;

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::check::check_vectors;
use crate::codes::{Codes, Dot, Scanner};
use crate::distance::{Kernels, Query};
use crate::error::VectorError;
use crate::limits::{
    CODES_DIMENSION_MIN, EXACT_CANDIDATES_MAX, EXACT_CANDIDATES_PER_NEIGHBOUR, NEIGHBOURS_MAX,
};
use crate::slot::{Slot, SlotSet};
use crate::slots::{Reader, View};

use self::coded::{Scan, Scratch, partition_chunks};
use self::top_k::TopK;

/// A search: the query and its limits.
#[derive(Clone, Copy, Debug)]
pub struct Search<'search> {
    /// The vector whose neighbours are wanted.
    pub query: &'search [f32],
    /// The number of neighbours wanted, at most [`NEIGHBOURS_MAX`].
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
    /// The slot of the vector.
    pub slot: Slot,
    /// The distance from the query by the metric of the file, computed from all elements as `f32`.
    /// Never below 0, always finite: only a Euclidean one can be larger than any `f32`.
    pub distance: f64,
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

    pub(crate) fn check(&self, view: &View) -> Result<(), VectorError> {
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

    /// `true` if all candidates are to be compared exactly: there are few of them, or they are short, or
    /// many neighbours are wanted.
    pub(crate) fn is_exact(&self, view: &View) -> bool {
        if view.shape().dimension() < CODES_DIMENSION_MIN {
            return true;
        }
        let exact_max = EXACT_CANDIDATES_MAX.max(EXACT_CANDIDATES_PER_NEIGHBOUR * self.neighbours);
        let words = (view.slot_count() as usize).div_ceil(64);
        let mut candidates = 0;
        for index in 0..words {
            candidates += self.word(view, index).count_ones() as usize;
            if candidates > exact_max {
                return false;
            }
        }
        true
    }

    fn allows(&self, slot: Slot) -> bool {
        self.filter.is_none_or(|filter| filter.contains(slot))
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
    /// The nearest neighbours by comparing all vectors, without codes: the reference for
    /// [`VectorIndex::search`](crate::VectorIndex::search).
    ///
    /// # Errors
    /// As [`VectorIndex::search`](crate::VectorIndex::search).
    pub fn search_exactly(&self, search: &Search<'_>) -> Result<Vec<Neighbour>, VectorError> {
        search.check(self)?;
        if search.neighbours == 0 {
            return Ok(Vec::new());
        }
        let query = Query::new(search.query, self.shape().metric(), Kernels::best());
        let mut top = TopK::new(search.neighbours);
        exact::scan(self, search, &query, &mut top)?;
        Ok(finish(top, &query))
    }
}

/// The kernels that this processor runs for distances, codes and finer codes, in words.
#[must_use]
pub fn processor_kernels() -> String {
    let (distances, codes, finer) = (Kernels::best().name, Scanner::best().name, Dot::best().name);
    format!("distances {distances}, codes {codes}, finer codes {finer}")
}

/// Searches by codes. The vectors in `without_code` are compared exactly in any case.
pub(crate) fn search_coded(
    view: &View,
    search: &Search<'_>,
    codes: &Codes,
    without_code: &SlotSet,
) -> Result<Vec<Neighbour>, VectorError> {
    let query = Query::new(search.query, view.shape().metric(), Kernels::best());
    let mut top = TopK::new(search.neighbours);
    let Some(query_code) = codes.query(search.query) else {
        exact::scan(view, search, &query, &mut top)?;
        return Ok(finish(top, &query));
    };
    let without_code_allowed = without_code.iter().filter(|slot| search.allows(*slot));
    let mut reader = Reader::new(view);
    exact::offer_all(&mut reader, &query, without_code_allowed.map(Slot::number), &mut top)?;
    let scanner = Scanner::best();
    let partition_chunks = partition_chunks(view.slot_count(), search.threads);
    let scan = Scan {
        view,
        search,
        query: &query,
        codes,
        query_code: &query_code,
        scanner,
        without_code,
        partition_chunks,
    };
    let threads = search.threads.clamp(1, scan.partitions().max(1));
    if threads == 1 {
        let mut scratch = Scratch::new(view);
        for partition in 0..scan.partitions() {
            scan.partition(partition, &mut scratch, &mut top)?;
        }
        view.check()?;
        return Ok(finish(top, &query));
    }
    let next = AtomicUsize::new(0);
    let work = |mut top: TopK<f64>| {
        let mut scratch = Scratch::new(view);
        loop {
            let partition = next.fetch_add(1, Ordering::Relaxed);
            if partition >= scan.partitions() {
                return Ok(top);
            }
            scan.partition(partition, &mut scratch, &mut top)?;
        }
    };
    let tops: Vec<Result<TopK<f64>, VectorError>> = std::thread::scope(|scope| {
        let spawn = |_| scope.spawn(|| work(TopK::new(search.neighbours)));
        let others: Vec<_> = (1..threads).map(spawn).collect();
        let own = work(top);
        let join = |other: std::thread::ScopedJoinHandle<'_, _>| match other.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        std::iter::once(own).chain(others.into_iter().map(join)).collect()
    });
    let mut all = TopK::new(search.neighbours);
    for top in tops {
        top?.into_sorted().into_iter().for_each(|candidate| all.offer(candidate));
    }
    view.check()?;
    Ok(finish(all, &query))
}

fn finish(top: TopK<f64>, query: &Query<'_>) -> Vec<Neighbour> {
    let neighbour = |candidate: top_k::Candidate<f64>| Neighbour {
        slot: Slot::new(candidate.slot),
        distance: query.distance(candidate.rank),
    };
    top.into_sorted().into_iter().map(neighbour).collect()
}
