//! The centroids of a table, by their codes: finds the ones near a vector.
//!
//! A centroid has a code of its own, like a vector, relative to the origin. A vector is compared
//! with all codes, and exactly only with the few centroids whose bounds are low: a handful out of
//! thousands.

use std::sync::Arc;

use super::encode::{self, QueryCode, QueryScratch};
use super::lowest::Lowest;
use super::scan::{Masks, Scanner};
use super::second::{self, BitCounter};
use super::segment::{SEGMENT, SEGMENT_BLOCKS, Segment};
use crate::distance::Kernels;

/// Centroids that are compared by their second bits (`CLOSER`), and exactly (`NEAREST`), to find
/// the nearest one. With fewer, the nearest among thousands of about equally distant ones is often
/// missed, and searches probe more partitions.
const CLOSER: usize = 64;
const NEAREST: usize = 16;

/// Standard deviations by which the estimate of a distance is lowered to a bound. Two are enough: a
/// missed partition costs a neighbour only if it contains one.
const DEVIATIONS: f32 = 2.0;

/// Codes of centroids, by the number of their partition. A clone is a snapshot: segments are
/// shared, and copied before they change.
#[derive(Clone, Debug)]
pub(crate) struct Centroids {
    /// Words of one code.
    words: usize,
    segments: Vec<Arc<Segment>>,
    /// Bit sets by number, one word per segment: `present` has the centroids that exist, `takers`
    /// the ones that accept vectors, because their partition is not draining.
    present: Vec<u64>,
    takers: Vec<u64>,
}

/// Buffers for comparing a vector with all centroids.
#[derive(Debug, Default)]
pub(crate) struct Finder {
    zero: Vec<f32>,
    query: QueryCode,
    scratch: QueryScratch,
    /// Bounds or estimates of the squared distances, by number; infinity where no centroid is
    /// wanted.
    bounds: Vec<f32>,
    lowest: Lowest,
    /// Centroids that may be near, as bound and number.
    found: Vec<(f32, u32)>,
    /// Bounds up to this one were collected by [`Finder::near`].
    done: f32,
    /// The vector is so far from all centroids, or so near to the origin, that its code says
    /// nothing: only exact comparison helps.
    is_far: bool,
}

impl Centroids {
    /// No centroids yet; codes have `words` words.
    pub(super) fn new(words: usize) -> Self {
        Self { words, segments: Vec::new(), present: Vec::new(), takers: Vec::new() }
    }

    /// The codes of `all`, numbered in this order.
    pub(super) fn of(all: &[Arc<[f32]>]) -> Self {
        let mut centroids = Self::new(all.first().map_or(0, |first| first.len() / 64));
        for (number, centroid) in (0..).zip(all) {
            centroids.set(number, centroid);
        }
        centroids
    }

    /// Adds a centroid, which accepts vectors.
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

    /// `true` if some centroid accepts vectors.
    pub(super) fn has_takers(&self) -> bool {
        self.takers.iter().any(|bits| *bits != 0)
    }

    /// Makes a centroid accept no more vectors. Searches still find it, since its partition has
    /// entries until it is drained.
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
    /// Computes bounds of the squared distances from a vector: estimates lowered by `deviations`
    /// standard deviations, for all centroids or for those that accept vectors. Returns the limit
    /// that the `count` lowest bounds do not exceed.
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
            // Bit `index` of a segment's word is byte `index / 8`, bit `index % 8` of its masks.
            let next = centroids.segments.get(index + 1).unwrap_or(segment);
            let wanted = if with_retired { &centroids.present } else { &centroids.takers };
            let wanted = wanted[index];
            let masks: Masks = wanted.to_le_bytes();
            const { assert!(SEGMENT_BLOCKS == size_of::<u64>(), "a bit for each place") }
            // Without a usable code every wanted centroid gets the bound −∞, so it is collected and
            // compared exactly.
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

    /// Collects the centroids whose bounds are at most `limit`, except those whose bounds are at
    /// most `done`.
    fn collect(&mut self, limit: f32, done: Option<f32>) {
        let scanner = Scanner::best();
        self.found.clear();
        let (places, _) = self.bounds.as_chunks::<SEGMENT>();
        for (first, bounds) in (0_u32..).step_by(SEGMENT).zip(places) {
            let mut wanted = scanner.not_above(bounds, limit);
            if let Some(done) = done {
                wanted &= !scanner.not_above(bounds, done);
            }
            // One iteration per set bit: take the lowest, then clear it.
            while wanted != 0 {
                let index = wanted.trailing_zeros();
                wanted &= wanted - 1;
                self.found.push((bounds[index as usize], first + index));
            }
        }
    }

    /// Tightens the collected bounds by the second bits.
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

    /// The number of the centroid nearest to a vector, or nearly so, among those that accept
    /// vectors; `None` if none does. `centroid` returns the centroid with a number.
    pub(super) fn nearest<'centroid>(
        &mut self,
        centroids: &Centroids,
        rotated: &[f32],
        centroid: impl Fn(u32) -> Option<&'centroid [f32]>,
    ) -> Option<u32> {
        let limit = self.find(centroids, rotated, (0.0, false), CLOSER);
        self.collect(limit, None);
        if self.found.len() > NEAREST && !self.is_far {
            // Where thousands are about equally far, any of them will do, so the list is cut before
            // the second bits are read.
            self.found.truncate(2 * CLOSER);
            self.look_closer(centroids, 0.0);
            self.found.select_nth_unstable_by(NEAREST, |a, b| a.0.total_cmp(&b.0));
            self.found.truncate(NEAREST);
        }
        let squares = self.squares(rotated, centroid);
        squares.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, number)| number)
    }

    /// The centroids nearest to a vector, or nearly so, with their squared distances, nearest
    /// first: at least `count` if that many exist. `None` if the vector is too far away for codes;
    /// the order of distances means nothing then.
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

    /// The centroids that [`Finder::near`] has not returned and whose squared distance is at most
    /// `limit`, nearest first.
    pub(crate) fn beyond<'centroid>(
        &mut self,
        centroids: &Centroids,
        rotated: &[f32],
        limit: f64,
        centroid: impl Fn(u32) -> Option<&'centroid [f32]>,
    ) -> Vec<(f64, u32)> {
        // Every centroid with a bound up to `done` was returned already, and a bound is rarely
        // above the distance.
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

    /// The exact squared distances of the collected centroids, as far as they are at most `limit`,
    /// nearest first.
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

    /// The exact squared distances of the collected centroids, with their numbers.
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
