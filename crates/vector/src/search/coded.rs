//! Searching by codes first: a scan of the codes of some partitions, then exact distances of the vectors that
//! may be near.
//!
//! The nearest partitions give a threshold, with which [`Probe`] tells which others may have a neighbour at all.
//! These are visited in groups, the nearest first. Where no partition is left out, as among unrelated vectors, groups
//! are large: a threshold that comes from many vectors excludes the most.

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

/// The parts of a search that all partitions share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scan<'scan> {
    pub(super) view: &'scan View,
    pub(super) search: &'scan Search<'scan>,
    pub(super) table: &'scan Table,
    pub(super) probe: Probe,
    /// The query in the space of codes.
    pub(super) rotated: &'scan [f32],
    /// The slots that pass the filter and may be found, a bit each; `None` without a filter.
    pub(super) allowed: Option<&'scan [u64]>,
    /// `true` if these are so few that others are not worth a bound.
    pub(super) is_selective: bool,
    /// Slots that are compared in any case.
    pub(super) without_code: &'scan SlotSet,
    pub(super) scanner: Scanner,
    pub(super) counter: BitCounter,
    pub(super) work: &'scan AtomicU64,
}

/// A partition that may be visited, and the square of the distance of its centroid from the query.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visit<'table> {
    pub(super) partition: &'table Arc<Partition>,
    square: f64,
}

/// Partitions of a group. Groups double: after a small one there is a new threshold soon. The more partitions are
/// probed, the larger is the first group, which finds a better threshold at once.
const GROUP_MIN: usize = 16;
const GROUP_PART: usize = 8;
const GROUP_MAX: usize = 512;

/// Entries of the first group for each neighbour that is wanted, at the least.
const FIRSTS: usize = 2;

/// If no more than one of so many partitions is left out, groups are as if none were.
const MOST: usize = 4;

/// Entries of a group where no partition is left out: half a megabyte of bounds.
const GROUP_ENTRIES: usize = 131_072;

impl Scan<'_> {
    /// Offers all vectors that may be among the best. `spawn` makes a `Best` for another thread.
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
        // Infinite if they have not as many neighbours as are wanted: then all may be visited.
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

    /// The nearest partitions, the nearest first; `None` if none is to be left out.
    fn near(&self, finder: &mut Finder) -> Option<Vec<Visit<'_>>> {
        let centroid = |number: u32| self.table.centroid(number);
        let near = finder.near(&self.table.centroids, self.rotated, PROBES_MIN, centroid)?;
        let is_usual = near.first().is_some_and(|(square, _)| *square <= self.probe.nearest_max);
        is_usual.then(|| self.visits(near))
    }

    /// The others whose squares are not above a limit, the nearest first.
    fn beyond(&self, finder: &mut Finder, limit: f64) -> Vec<Visit<'_>> {
        let centroid = |number: u32| self.table.centroid(number);
        self.visits(finder.beyond(&self.table.centroids, self.rotated, limit, centroid))
    }

    fn visits(&self, near: Vec<(f64, u32)>) -> Vec<Visit<'_>> {
        let visit = |(square, number)| Some(Visit { partition: self.table.get(number)?, square });
        near.into_iter().filter_map(visit).collect()
    }

    /// The square of the distance up to which partitions are probed, after what was found.
    fn limit(&self, best: &Best<'_>) -> f64 {
        let square = self.square_of(best.threshold());
        // With what rounding may have done, for a query that is far from all.
        square + square * 4e-6 + self.probe.excess_max
    }

    /// The number of the nearest partitions that are visited together, for the first threshold.
    fn firsts(&self, visits: &[Visit<'_>]) -> usize {
        let mut entries = 0;
        let is_enough = |visit: &Visit<'_>| {
            entries += visit.partition.entries;
            entries >= FIRSTS * self.search.neighbours
        };
        let enough = visits.iter().position(is_enough).map_or(visits.len(), |last| last + 1);
        enough.max(PROBES_MIN).min(visits.len())
    }

    /// Visits those partitions of the groups that are probed still.
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
        // Before sums are compared.
        self.view.check()?;
        others.into_iter().try_for_each(|other| best.merge(other?))
    }

    /// The square of the distance in the space of codes that belongs to a rank.
    fn square_of(&self, rank: f64) -> f64 {
        let unit = f64::from(self.table.encoder.unit());
        match self.view.shape().metric() {
            Metric::Cosine => 2.0 * rank,
            Metric::Euclidean => rank * unit * unit,
        }
    }

    /// The bound that belongs to a rank, and a little more for what rounding may have done.
    pub(super) fn bound_of(&self, rank: f64) -> f32 {
        let square = self.square_of(rank);
        (square + square.abs() * 1e-5) as f32
    }
}

/// Groups of partitions that follow each other, with about so many entries each.
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
