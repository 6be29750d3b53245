//! Search by codes: a scan of the codes of some partitions, then exact distances of the vectors
//! that may be near.
//!
//! ```text
//! 1. nearest partitions          ──► first threshold (distance of the worst neighbour so far)
//! 2. threshold + `Probe`         ──► the other partitions that may have a neighbour
//! 3. groups of them, nearest first: lower bounds by signs ──► by second bits ──► exact distance;
//!    the threshold falls after each group, so later groups shrink
//! ```
//!
//! If no partition is left out, as among unrelated vectors, groups are large: a threshold computed
//! from many vectors excludes the most.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::Search;
use super::best::Best;
use super::visit::Scratch;
use crate::codes::{BitCounter, Finder, PROBES_MIN, Partition, Probe, Scanner, Table};
use crate::error::VectorError;
use crate::metric::Metric;
use crate::slot::SlotSet;
use crate::slots::View;

/// The values that all parts of one search share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scan<'scan> {
    pub(super) view: &'scan View,
    pub(super) search: &'scan Search<'scan>,
    pub(super) table: &'scan Table,
    pub(super) probe: Probe,
    /// The query in the space of codes.
    pub(super) rotated: &'scan [f32],
    /// Bit set of slots that pass the filter and are live; `None` without a filter.
    pub(super) allowed: Option<&'scan [u64]>,
    /// `true` if the allowed slots are so few that bounds of the others are a waste.
    pub(super) is_selective: bool,
    /// Slots without a code, which are compared exactly before.
    pub(super) without_code: &'scan SlotSet,
    pub(super) scanner: Scanner,
    pub(super) counter: BitCounter,
    pub(super) work: &'scan AtomicU64,
}

/// A partition to visit, and the squared distance of its centroid from the query.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visit<'table> {
    pub(super) partition: &'table Arc<Partition>,
    square: f64,
}

/// Partitions per group. Sizes double: after a small first group there is a new threshold soon. The
/// first group is a `GROUP_PART`th of all, so that many partitions start with a better threshold.
const GROUP_MIN: usize = 16;
const GROUP_PART: usize = 8;
const GROUP_MAX: usize = 512;

/// Least number of entries of the first group, per wanted neighbour.
const FIRSTS: usize = 2;

/// If at most one in `MOST` partitions is left out, groups are made as if none were.
const MOST: usize = 4;

/// Entries per group if no partition is left out: half a megabyte of bounds.
const GROUP_ENTRIES: usize = 131_072;

impl Scan<'_> {
    /// Offers all vectors that may be among the best to `best`. `spawn` makes a `Best` for another
    /// thread, from a threshold.
    pub(super) fn run<'best>(
        &self,
        threads: usize,
        best: &mut Best<'best>,
        spawn: impl Fn(f64) -> Best<'best> + Sync,
    ) -> Result<(), VectorError> {
        let mut scratch = Scratch::new(self.view, self.search);
        let mut finder = Finder::default();
        let near = if self.probe.is_all() { None } else { self.near(&mut finder) };
        let Some(mut near) = near else {
            let visits = self.table.all().map(|(_, partition)| Visit { partition, square: 0.0 });
            let visits: Vec<Visit<'_>> = visits.collect();
            let share = self.table.entries().div_ceil(threads.max(1));
            let groups = groups_of(&visits, share.min(GROUP_ENTRIES));
            return self.visit_all(&groups, threads, &mut scratch, best, spawn);
        };
        let mut rest = near.split_off(self.firsts(&near));
        self.visit(&near, &mut scratch, best)?;
        // Infinite if too few neighbours were found: then every partition may be visited.
        let limit = self.limit(best);
        rest.extend(self.beyond(&mut finder, limit));
        rest.retain(|visit| visit.square <= limit);
        let share = self.table.entries().div_ceil(threads.max(1));
        if limit < f64::INFINITY && rest.len() * MOST > self.table.count() * (MOST - 1) {
            let groups = groups_of(&rest, share.min(GROUP_ENTRIES));
            return self.visit_all(&groups, threads, &mut scratch, best, spawn);
        }
        let mut groups = Vec::new();
        let (mut rest, mut size) =
            (&rest[..], (rest.len() / GROUP_PART).clamp(GROUP_MIN, GROUP_MAX));
        while !rest.is_empty() {
            let (group, others) = rest.split_at(size.min(rest.len()));
            groups.push(group);
            (rest, size) = (others, (2 * size).min(GROUP_MAX));
        }
        self.visit_all(&groups, threads, &mut scratch, best, spawn)
    }

    /// The nearest partitions, nearest first; `None` if no partition may be left out for this
    /// query.
    fn near(&self, finder: &mut Finder) -> Option<Vec<Visit<'_>>> {
        let centroid = |number: u32| self.table.centroid(number);
        let near = finder.near(&self.table.centroids, self.rotated, PROBES_MIN, centroid)?;
        let is_usual = near.first().is_some_and(|(square, _)| *square <= self.probe.nearest_max);
        is_usual.then(|| self.visits(near))
    }

    /// The other partitions within a squared distance, nearest first.
    fn beyond(&self, finder: &mut Finder, limit: f64) -> Vec<Visit<'_>> {
        let centroid = |number: u32| self.table.centroid(number);
        self.visits(finder.beyond(&self.table.centroids, self.rotated, limit, centroid))
    }

    fn visits(&self, near: Vec<(f64, u32)>) -> Vec<Visit<'_>> {
        let visit = |(square, number)| Some(Visit { partition: self.table.get(number)?, square });
        near.into_iter().filter_map(visit).collect()
    }

    /// The squared distance up to which partitions are probed, given the threshold so far.
    fn limit(&self, best: &Best<'_>) -> f64 {
        let square = self.square_of(best.threshold());
        // A relative slack for rounding, which matters for queries far from all vectors.
        square + square * 4e-6 + self.probe.excess_max
    }

    /// Number of the nearest partitions that are visited first, for the first threshold.
    fn firsts(&self, visits: &[Visit<'_>]) -> usize {
        let mut entries = 0;
        let is_enough = |visit: &Visit<'_>| {
            entries += visit.partition.entries;
            entries >= FIRSTS * self.search.neighbours
        };
        let enough = visits.iter().position(is_enough).map_or(visits.len(), |last| last + 1);
        enough.max(PROBES_MIN).min(visits.len())
    }

    /// Visits the partitions of the groups, except those that the threshold excludes meanwhile.
    fn visit_all<'best>(
        &self,
        groups: &[&[Visit<'_>]],
        threads: usize,
        scratch: &mut Scratch<'_>,
        best: &mut Best<'best>,
        spawn: impl Fn(f64) -> Best<'best> + Sync,
    ) -> Result<(), VectorError> {
        let work_on = |group: &[Visit<'_>], scratch: &mut Scratch<'_>, best: &mut Best<'_>| {
            let limit = self.limit(best);
            let probed = group.iter().filter(|visit| visit.square <= limit);
            let group: Vec<Visit<'_>> = probed.copied().collect();
            self.visit(&group, scratch, best)
        };
        if threads <= 1 || groups.len() < 2 {
            return groups.iter().try_for_each(|group| work_on(group, scratch, best));
        }
        // Threads take groups from a shared counter. Each has its own `Best`, so thresholds are
        // exchanged only at the start and the end.
        let next = AtomicUsize::new(0);
        let work = |best: &mut Best<'_>| {
            let mut scratch = Scratch::new(self.view, self.search);
            while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
                work_on(group, &mut scratch, best)?;
            }
            Ok(())
        };
        let threshold = best.threshold();
        let others: Vec<Result<Best<'best>, VectorError>> = std::thread::scope(|scope| {
            let spawned = |_| {
                scope.spawn(|| {
                    let mut best = spawn(threshold);
                    work(&mut best).map(|()| best)
                })
            };
            let others: Vec<_> = (1..threads.min(groups.len())).map(spawned).collect();
            let own = work(best);
            let join = |other: std::thread::ScopedJoinHandle<'_, _>| match other.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            let mut others: Vec<_> = others.into_iter().map(join).collect();
            others.extend(own.err().map(Err));
            others
        });
        // Checked before checksums are compared: an unreadable page is an I/O error, not a damaged
        // vector.
        self.view.check()?;
        others.into_iter().try_for_each(|other| best.merge(other?))
    }

    /// The squared distance in the space of codes of a rank.
    fn square_of(&self, rank: f64) -> f64 {
        let unit = f64::from(self.table.encoder.unit());
        match self.view.shape().metric() {
            Metric::Cosine => 2.0 * rank,
            Metric::Euclidean => rank * unit * unit,
        }
    }

    /// The bound of a rank, with slack for rounding.
    pub(super) fn bound_of(&self, rank: f64) -> f32 {
        let square = self.square_of(rank);
        (square + square.abs() * 1e-5) as f32
    }
}

/// Consecutive partitions in groups of about `entries` entries.
fn groups_of<'visits, 'table>(
    visits: &'visits [Visit<'table>],
    entries: usize,
) -> Vec<&'visits [Visit<'table>]> {
    let mut groups = Vec::new();
    let (mut first, mut sum) = (0, 0);
    for (index, visit) in visits.iter().enumerate() {
        sum += visit.partition.entries;
        if sum >= entries || index + 1 == visits.len() {
            groups.push(&visits[first..=index]);
            (first, sum) = (index + 1, 0);
        }
    }
    groups
}
