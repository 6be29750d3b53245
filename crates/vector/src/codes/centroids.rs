//! The centroids of a table, by their codes: those that are near a vector.
//!
//! A centroid has a code of its own, as vectors have, with the centroid zero. A vector is compared with all codes,
//! and exactly with those that may be near: of thousands of centroids a few.

use std::sync::Arc;

use super::encode::{self, QueryCode, QueryScratch};
use super::lowest::Lowest;
use super::scan::{Masks, Scanner};
use super::second::{self, BitCounter};
use super::segment::{SEGMENT, SEGMENT_BLOCKS, Segment};
use crate::distance::Kernels;

/// Centroids that are compared by their second bits, and exactly, to find the nearest one. Among thousands that are
/// about as far fewer often miss it, and searches probe more partitions.
const CLOSER: usize = 64;
const NEAREST: usize = 16;

/// Standard deviations by which the estimate of a distance is lowered to a bound: a partition that is missed costs a
/// neighbour only if it has one.
const DEVIATIONS: f32 = 2.0;

/// Codes of centroids, by the number of their partition. A snapshot has those that it was made with: segments are
/// copied to be changed.
#[derive(Clone, Debug)]
pub(crate) struct Centroids {
    /// Words of one code.
    words: usize,
    segments: Vec<Arc<Segment>>,
    /// Those that are there, a bit each, and those of them that vectors are given to.
    present: Vec<u64>,
    takers: Vec<u64>,
}

/// Buffers of a comparison with all centroids.
#[derive(Debug, Default)]
pub(crate) struct Finder {
    zero: Vec<f32>,
    query: QueryCode,
    scratch: QueryScratch,
    /// Bounds or estimates of the squares of the distances, by number; infinity where there is none.
    bounds: Vec<f32>,
    lowest: Lowest,
    /// Those that may be near, with the numbers of the centroids.
    found: Vec<(f32, u32)>,
    /// Bounds up to this one were collected.
    done: f32,
    /// The vector is so far from all, or so near to the centre, that only exact comparison tells.
    is_far: bool,
}

impl Centroids {
    /// None yet, of so many words.
    pub(super) fn new(words: usize) -> Self {
        Self { words, segments: Vec::new(), present: Vec::new(), takers: Vec::new() }
    }

    /// The first ones, in the order of their numbers.
    pub(super) fn of(all: &[Arc<[f32]>]) -> Self {
        let mut centroids = Self::new(all.first().map_or(0, |first| first.len() / 64));
        for (number, centroid) in (0..).zip(all) {
            centroids.set(number, centroid);
        }
        centroids
    }

    /// Adds a centroid, which takes vectors.
    pub(super) fn set(&mut self, number: u32, centroid: &[f32]) {
        let (segment, index) = (number as usize / SEGMENT, number as usize % SEGMENT);
        while self.segments.len() <= segment {
            self.segments.push(Arc::new(Segment::vacant(self.words)));
            self.present.push(0);
            self.takers.push(0);
        }
        let code = encode::encode(centroid, &vec![0.0; centroid.len()]);
        Arc::make_mut(&mut self.segments[segment]).put(index, number, 0, &code);
        self.present[segment] |= 1 << index;
        self.takers[segment] |= 1 << index;
    }

    /// `true` if there is one that takes vectors.
    pub(super) fn has_takers(&self) -> bool {
        self.takers.iter().any(|bits| *bits != 0)
    }

    /// Lets it take no more vectors. Searches find it still.
    pub(super) fn retire(&mut self, number: u32) {
        if let Some(takers) = self.takers.get_mut(number as usize / SEGMENT) {
            *takers &= !(1 << (number as usize % SEGMENT));
        }
    }

    pub(super) fn remove(&mut self, number: u32) {
        self.retire(number);
        if let Some(segment) = self.segments.get_mut(number as usize / SEGMENT) {
            Arc::make_mut(segment).vacate(number as usize % SEGMENT);
            self.present[number as usize / SEGMENT] &= !(1 << (number as usize % SEGMENT));
        }
    }
}

impl Finder {
    /// Finds bounds of the squares of the distances from a vector, lowered by so many standard deviations: of all
    /// centroids, or of those that take vectors. Returns the limit below which the `count` lowest are.
    fn find(
        &mut self,
        centroids: &Centroids,
        rotated: &[f32],
        (deviations, with_retired): (f32, bool),
        count: usize,
    ) -> f32 {
        let Self { zero, query, scratch, bounds, lowest, is_far, .. } = self;
        zero.resize(rotated.len(), 0.0);
        *is_far = !query.fill(rotated, zero, scratch);
        let scanner = Scanner::best();
        bounds.resize(centroids.segments.len() * SEGMENT, f32::INFINITY);
        lowest.begin(count, f32::INFINITY);
        let (places, _) = bounds.as_chunks_mut::<SEGMENT>();
        for (index, bounds) in places.iter_mut().enumerate() {
            let segment = &centroids.segments[index];
            let next = centroids.segments.get(index + 1).unwrap_or(segment);
            let wanted = if with_retired { &centroids.present } else { &centroids.takers };
            let wanted = wanted[index];
            let masks: Masks = wanted.to_le_bytes();
            const { assert!(SEGMENT_BLOCKS == size_of::<u64>(), "a bit for each place") }
            if *is_far || wanted == 0 {
                let is_there = |at: usize| wanted >> at & 1 != 0;
                let bound = |at| if is_there(at) { f32::NEG_INFINITY } else { f32::INFINITY };
                *bounds = std::array::from_fn(bound);
            } else {
                scanner.scan(segment, next, query, deviations, &masks, bounds);
            }
            lowest.offer(bounds, scanner);
        }
        lowest.last()
    }

    /// Collects the centroids whose bounds are not above `limit`, without those that are not above `done`.
    fn collect(&mut self, limit: f32, done: Option<f32>) {
        let scanner = Scanner::best();
        self.found.clear();
        let (places, _) = self.bounds.as_chunks::<SEGMENT>();
        for (first, bounds) in (0_u32..).step_by(SEGMENT).zip(places) {
            let mut wanted = scanner.not_above(bounds, limit);
            if let Some(done) = done {
                wanted &= !scanner.not_above(bounds, done);
            }
            while wanted != 0 {
                let index = wanted.trailing_zeros();
                wanted &= wanted - 1;
                self.found.push((bounds[index as usize], first + index));
            }
        }
    }

    /// Makes the bounds that were collected closer.
    fn look_closer(&mut self, centroids: &Centroids, deviations: f32) {
        let counter = BitCounter::best();
        for (bound, number) in &mut self.found {
            if *bound > f32::NEG_INFINITY {
                let (segment, index) = (*number as usize / SEGMENT, *number as usize % SEGMENT);
                let segment = &centroids.segments[segment];
                let deviations = (deviations, deviations);
                *bound = second::bound(counter, segment, index, &self.query, *bound, deviations);
            }
        }
    }

    /// The number of the centroid that is the nearest of those that take vectors, or nearly so; `None` if there is
    /// none. `centroid` returns the one with a number.
    pub(super) fn nearest<'centroid>(
        &mut self,
        centroids: &Centroids,
        rotated: &[f32],
        centroid: impl Fn(u32) -> Option<&'centroid [f32]>,
    ) -> Option<u32> {
        let limit = self.find(centroids, rotated, (0.0, false), CLOSER);
        self.collect(limit, None);
        if self.found.len() > NEAREST && !self.is_far {
            // Where thousands are equally far, one is as good as the other.
            self.found.truncate(2 * CLOSER);
            self.look_closer(centroids, 0.0);
            self.found.select_nth_unstable_by(NEAREST, |a, b| a.0.total_cmp(&b.0));
            self.found.truncate(NEAREST);
        }
        let squares = self.squares(rotated, centroid);
        squares.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, number)| number)
    }

    /// The centroids that are the nearest of a vector, or nearly so, with the squares of their distances, the nearest
    /// first: at least `count`, if there are as many. `None` if the vector is too far away for codes: no order of
    /// distances means anything then.
    pub(crate) fn near<'centroid>(
        &mut self,
        centroids: &Centroids,
        rotated: &[f32],
        count: usize,
        centroid: impl Fn(u32) -> Option<&'centroid [f32]>,
    ) -> Option<Vec<(f64, u32)>> {
        self.done = self.find(centroids, rotated, (DEVIATIONS, true), CLOSER.max(count));
        if self.is_far {
            return None;
        }
        self.collect(self.done, None);
        Some(self.measure(rotated, f64::INFINITY, centroid))
    }

    /// The others after those that [`Finder::near`] has found whose squares are not above a limit, the nearest first.
    pub(crate) fn beyond<'centroid>(
        &mut self,
        centroids: &Centroids,
        rotated: &[f32],
        limit: f64,
        centroid: impl Fn(u32) -> Option<&'centroid [f32]>,
    ) -> Vec<(f64, u32)> {
        if limit <= f64::from(self.done) {
            return Vec::new();
        }
        self.collect(limit as f32, Some(self.done));
        if limit < f64::INFINITY {
            self.look_closer(centroids, DEVIATIONS);
            self.found.retain(|(bound, _)| f64::from(*bound) <= limit);
        }
        self.measure(rotated, limit, centroid)
    }

    /// The squares of the distances of those that were found, if they are not above a limit, the nearest first.
    fn measure<'centroid>(
        &self,
        rotated: &[f32],
        limit: f64,
        centroid: impl Fn(u32) -> Option<&'centroid [f32]>,
    ) -> Vec<(f64, u32)> {
        let squares = self.squares(rotated, centroid).filter(|(square, _)| *square <= limit);
        let mut near: Vec<(f64, u32)> = squares.collect();
        near.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        near
    }

    /// The squares of the distances of those that were found, with their numbers.
    fn squares<'centroid>(
        &self,
        rotated: &[f32],
        centroid: impl Fn(u32) -> Option<&'centroid [f32]>,
    ) -> impl Iterator<Item = (f64, u32)> {
        let kernels = Kernels::best();
        self.found.iter().filter_map(move |(_, number)| {
            Some((kernels.square(rotated, centroid(*number)?), *number))
        })
    }
}
