//! Nearest neighbours.

mod best;
mod coded;
mod exact;
mod top_k;
mod visit;

use std::sync::atomic::AtomicU64;

use crate::check::check_vectors;
use crate::codes::{BitCounter, Probe, Scanner, Table};
use crate::distance::{Kernels, Query};
use crate::error::VectorError;
use crate::limits::{
    CODES_DIMENSION_MIN, EXACT_CANDIDATES_MAX, EXACT_CANDIDATES_PER_NEIGHBOUR, NEIGHBOURS_MAX,
};
use crate::slot::{Slot, SlotSet};
use crate::slots::{Reader, View};

pub use self::best::{Found, Neighbour};

use self::best::Best;
use self::coded::Scan;

/// Slots that are compared between two questions.
const PIECE_SLOTS: u32 = 4_096;

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

/// The same without a filter, with a pause to ask `is_over` now and then; `None` when it is.
pub(crate) fn search_exactly_in_pieces(
    view: &View,
    search: &Search<'_>,
    is_over: &dyn Fn() -> bool,
) -> Result<Option<Found>, VectorError> {
    let query = Query::new(search.query, view.shape().metric(), Kernels::best());
    let mut best = Best::new(view, search, &query);
    let mut reader = Reader::new(view);
    for first in (0..view.slot_count()).step_by(PIECE_SLOTS as usize) {
        if is_over() {
            return Ok(None);
        }
        let end = first.saturating_add(PIECE_SLOTS).min(view.slot_count());
        exact::offer_all(&mut reader, first..end, &mut best)?;
    }
    best.finish().map(Some)
}

/// The kernels that this processor runs for distances, codes and their second bits, in words.
#[must_use]
pub fn processor_kernels() -> String {
    let (distances, codes) = (Kernels::best().name, Scanner::best().name);
    format!("distances {distances}, codes {codes}, second bits {}", BitCounter::best().name)
}

/// Searches by codes. The vectors in `without_code` are compared exactly in any case. `probe` gets the number
/// of vectors that may be found; the entries that are scanned are added to `work`.
pub(crate) fn search_coded(
    view: &View,
    search: &Search<'_>,
    table: &Table,
    probe: impl FnOnce(usize) -> Probe,
    without_code: &SlotSet,
    work: &AtomicU64,
) -> Result<Found, VectorError> {
    let query = Query::new(search.query, view.shape().metric(), Kernels::best());
    let mut best = Best::new(view, search, &query);
    let without_code_allowed = without_code.iter().filter(|slot| search.allows(*slot));
    let mut reader = Reader::new(view);
    exact::offer_all(&mut reader, without_code_allowed.map(Slot::number), &mut best)?;
    let allowed = search.filter.map(|filter| {
        let word = |index| search.word(view, index) & !without_code.word(index);
        (0..filter.words().len()).map(word).collect::<Vec<u64>>()
    });
    let entries = table.entries();
    let count = match &allowed {
        Some(words) => words.iter().map(|word| word.count_ones() as usize).sum(),
        None => entries,
    };
    let probe = probe(count);
    let mut rotated = Vec::new();
    table.encoder.rotate(search.query, &mut rotated);
    let scan = Scan {
        view,
        search,
        table,
        probe,
        rotated: &rotated,
        allowed: allowed.as_deref(),
        is_selective: count < entries / 8 * 7,
        without_code,
        scanner: Scanner::best(),
        counter: BitCounter::best(),
        work,
    };
    let spawn = |threshold| Best::below(view, search, &query, threshold);
    scan.run(search.threads, &mut best, spawn)?;
    view.check()?;
    best.finish()
}
