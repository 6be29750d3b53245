//! The best candidates so far, and the verification of the vectors that were compared.

use super::Search;
use super::top_k::{Candidate, TopK};
use crate::distance::{Kernels, Query, Sum, Totals};
use crate::error::VectorError;
use crate::slot::{Slot, bits};
use crate::slots::{Reader, View};

/// The nearest of the vectors that were compared exactly. Damage may move a vector to any distance,
/// also out of the result. So the checksums of all compared vectors are summed, and the sum is
/// compared at the end with the sum of the recorded checksums.
#[derive(Debug)]
pub(super) struct Best<'search> {
    view: &'search View,
    search: &'search Search<'search>,
    query: &'search Query<'search>,
    top: TopK<f64>,
    /// A rank beyond which another part of the search has enough candidates.
    limit: f64,
    /// Computed and recorded checksums of the vectors whose checksum is known.
    totals: Totals,
    expected: Sum,
    /// Vectors without a recorded checksum, whose computed ones are not compared.
    unknown: Vec<Slot>,
    of_unknown: Totals,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The neighbours, the nearest first.
    pub neighbours: Vec<Neighbour>,
    /// Slots whose vectors were compared with the query, but have no checksum in memory: since
    /// opening they were neither appended nor given to [`View::compare`]. A damaged one may be
    /// missing among the neighbours.
    pub unknown: Vec<Slot>,
}

/// A neighbour: a vector and its distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// The slot of the vector.
    pub slot: Slot,
    /// The distance from the query by the metric of the file, computed from all elements. Never
    /// below 0 and always finite; only a Euclidean distance can exceed the largest `f32`.
    pub distance: f64,
}

impl<'search> Best<'search> {
    pub(super) fn new(
        view: &'search View,
        search: &'search Search<'search>,
        query: &'search Query<'search>,
    ) -> Self {
        Self {
            view,
            search,
            query,
            top: TopK::new(search.neighbours),
            limit: f64::INFINITY,
            totals: Totals::default(),
            expected: Sum::default(),
            unknown: Vec::new(),
            of_unknown: Totals::default(),
        }
    }

    /// For a part of a search, when another part has enough candidates with ranks up to `limit`.
    pub(super) fn below(
        view: &'search View,
        search: &'search Search<'search>,
        query: &'search Query<'search>,
        limit: f64,
    ) -> Self {
        Self { limit, ..Self::new(view, search, query) }
    }

    /// The rank above which no candidate can be among the best.
    #[inline]
    pub(super) fn threshold(&self) -> f64 {
        self.top.threshold().min(self.limit)
    }

    /// Compares the vector read from `slot` with the query.
    #[inline(always)]
    pub(super) fn offer(&mut self, slot: u32, vector: &[f32]) {
        let totals = match self.view.sum(slot) {
            Some(sum) => {
                self.expected.add(sum);
                &mut self.totals
            }
            None => {
                self.unknown.push(Slot::new(slot));
                &mut self.of_unknown
            }
        };
        self.top.offer(Candidate { rank: self.query.rank(vector, totals), slot });
    }

    /// Adds the candidates of another thread after verifying its vectors.
    ///
    /// # Errors
    /// The errors of [`Best::finish`].
    pub(super) fn merge(&mut self, other: Self) -> Result<(), VectorError> {
        other.check()?;
        other.top.into_sorted().into_iter().for_each(|candidate| self.top.offer(candidate));
        self.unknown.extend(other.unknown);
        Ok(())
    }

    /// Verifies the vectors and returns the result. Call it after [`View::check`], since unreadable
    /// parts were read as zeros.
    ///
    /// # Errors
    /// [`VectorError::DamagedVector`].
    pub(super) fn finish(self) -> Result<Found, VectorError> {
        self.check()?;
        let neighbour = |candidate: Candidate<f64>| Neighbour {
            slot: Slot::new(candidate.slot),
            distance: self.query.distance(candidate.rank),
        };
        let neighbours = self.top.into_sorted().into_iter().map(neighbour).collect();
        Ok(Found { neighbours, unknown: self.unknown })
    }

    fn check(&self) -> Result<(), VectorError> {
        if self.totals.sum() == self.expected { Ok(()) } else { Err(self.damage()) }
    }

    /// Finds the vector whose checksum differs, by reading all candidates again.
    #[cold]
    fn damage(&self) -> VectorError {
        let words = (self.view.slot_count() as usize).div_ceil(64);
        let slots = (0..words).flat_map(|index| bits(index, self.search.word(self.view, index)));
        let mut damaged = None;
        let read = Reader::new(self.view).read_all(slots.map(Slot::number), |slot, vector| {
            let is_damaged = |expected| Kernels::best().sum(vector) != expected;
            if damaged.is_none() && self.view.sum(slot).is_some_and(is_damaged) {
                damaged = Some(Slot::new(slot));
            }
        });
        match (read, damaged) {
            (Err(error), _) => error,
            (Ok(()), Some(slot)) => VectorError::DamagedVector(slot),
            (Ok(()), None) => VectorError::Corrupt("a vector was not read as it was put"),
        }
    }
}
