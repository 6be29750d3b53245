//! Nearest-neighbour search.

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

/// Slots compared between two polls of `is_over`.
const PIECE_SLOTS: u32 = 4_096;

/// A search: the query, the number of neighbours, the filter.
#[derive(Clone, Copy, Debug)]
pub struct Search<'search> {
    /// The vector to find neighbours of.
    pub query: &'search [f32],
    /// Wanted number of neighbours, at most [`NEIGHBOURS_MAX`].
    pub neighbours: usize,
    /// Slots that may be found; `None` allows all. The filter is applied before the search, so the
    /// result is complete whenever enough vectors match.
    pub filter: Option<&'search SlotSet>,
    /// Number of threads that share the work, including the caller's; 0 means 1.
    pub threads: usize,
}

impl<'search> Search<'search> {
    /// A search for the nearest `neighbours` of `query` among all vectors, on one thread.
    #[must_use]
    pub fn new(query: &'search [f32], neighbours: usize) -> Self {
        Self { query, neighbours, filter: None, threads: 1 }
    }

    /// The same search among the slots of `filter`.
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

    /// `true` if all candidates are compared exactly: they are few or short, or many neighbours are
    /// wanted.
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

    /// The live and allowed slots among `64 * index` to `64 * index + 63`, as bits.
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
    /// The nearest neighbours by exact comparison of all vectors, without codes: the reference for
    /// [`VectorIndex::search`](crate::VectorIndex::search).
    ///
    /// # Errors
    /// The errors of [`VectorIndex::search`](crate::VectorIndex::search).
    pub fn search_exactly(&self, search: &Search<'_>) -> Result<Vec<Neighbour>, VectorError> {
        search.check(self)?;
        Ok(search_exactly(self, search)?.neighbours)
    }
}

/// Searches by exact comparison.
pub(crate) fn search_exactly(view: &View, search: &Search<'_>) -> Result<Found, VectorError> {
    let query = Query::new(search.query, view.shape().metric(), Kernels::best());
    let mut best = Best::new(view, search, &query);
    if search.neighbours > 0 {
        exact::scan(view, search, &mut best)?;
    }
    best.finish()
}

/// Exact search of all slots, without a filter, which polls `is_over` now and then and returns
/// `None` once it is `true`.
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

/// The names of the kernels that this processor runs for distances, codes and second bits.
#[must_use]
pub fn processor_kernels() -> String {
    let (distances, codes) = (Kernels::best().name, Scanner::best().name);
    format!("distances {distances}, codes {codes}, second bits {}", BitCounter::best().name)
}

/// Searches by codes. Vectors in `without_code` are compared exactly in any case. `probe` gets the
/// number of vectors that may be found. The number of scanned entries is added to `work`.
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
    // Slots compared above are excluded here, so that no vector is compared twice.
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
        // With more than 7/8 of the entries allowed, it is cheaper to bound all and filter the
        // survivors.
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
