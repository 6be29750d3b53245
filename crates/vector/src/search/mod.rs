//! Nearest neighbours.

mod best;
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

pub use self::best::{Found, Neighbour};

use self::best::Best;
use self::coded::{Scan, Scratch, partition_chunks};

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
        Ok(search_exactly(self, search)?.neighbours)
    }
}

/// Compares all vectors.
pub(crate) fn search_exactly(view: &View, search: &Search<'_>) -> Result<Found, VectorError> {
    let query = Query::new(search.query, view.shape().metric(), Kernels::best());
    let mut best = Best::new(view, search, &query);
    if search.neighbours > 0 {
        exact::scan(view, search, &mut best)?;
    }
    best.finish()
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
) -> Result<Found, VectorError> {
    let Some(query_code) = codes.query(search.query) else {
        return search_exactly(view, search);
    };
    let query = Query::new(search.query, view.shape().metric(), Kernels::best());
    let mut best = Best::new(view, search, &query);
    let without_code_allowed = without_code.iter().filter(|slot| search.allows(*slot));
    let mut reader = Reader::new(view);
    exact::offer_all(&mut reader, without_code_allowed.map(Slot::number), &mut best)?;
    let scanner = Scanner::best();
    let partition_chunks = partition_chunks(view.slot_count(), search.threads);
    let query_code = &query_code;
    let scan = Scan { view, search, codes, query_code, scanner, without_code, partition_chunks };
    let threads = search.threads.clamp(1, scan.partitions().max(1));
    if threads == 1 {
        let mut scratch = Scratch::new(view);
        for partition in 0..scan.partitions() {
            scan.partition(partition, &mut scratch, &mut best)?;
        }
        view.check()?;
        return best.finish();
    }
    let next = AtomicUsize::new(0);
    let work = |mut best| {
        let mut scratch = Scratch::new(view);
        loop {
            let partition = next.fetch_add(1, Ordering::Relaxed);
            if partition >= scan.partitions() {
                return Ok(best);
            }
            scan.partition(partition, &mut scratch, &mut best)?;
        }
    };
    let found: Vec<Result<Best<'_>, VectorError>> = std::thread::scope(|scope| {
        let spawn = |_| scope.spawn(|| work(Best::new(view, search, &query)));
        let others: Vec<_> = (1..threads).map(spawn).collect();
        let own = work(best);
        let join = |other: std::thread::ScopedJoinHandle<'_, _>| match other.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        std::iter::once(own).chain(others.into_iter().map(join)).collect()
    });
    let mut all = Best::new(view, search, &query);
    // Before sums are compared.
    view.check()?;
    for best in found {
        all.merge(best?)?;
    }
    all.finish()
}
