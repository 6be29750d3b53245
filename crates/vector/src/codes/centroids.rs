//! The nearest centroid of a vector.

use std::sync::Arc;

use super::encode::{self, QueryCode, QueryScratch};
use super::scan::{Bounds, Masks, Scanner};
use super::segment::{SEGMENT, SEGMENT_BLOCKS, Segment};
use crate::distance::Kernels;

/// The number of centroids up to which all are compared exactly: codes gain nothing.
const EXACT_MAX: usize = 48;

/// Centroids that are compared exactly of those whose codes are the nearest. Among a thousand that are about as far,
/// as for vectors of three thousand topics, fewer often miss the nearest one, and searches probe more partitions.
const NEAREST: usize = 32;

/// Centroids with codes of their own: a vector is compared with a thousand of them in 12 µs, exactly it takes
/// four times as long.
#[derive(Debug, Default)]
pub(super) struct Centroids {
    all: Vec<(u32, Arc<[f32]>)>,
    /// Their codes, with the centroid zero.
    codes: Vec<Segment>,
    zero: Vec<f32>,
    query: QueryCode,
    scratch: QueryScratch,
    nearest: Vec<(f32, u32)>,
}

impl Centroids {
    /// Those with these numbers, all of one width.
    pub(super) fn new(all: impl Iterator<Item = (u32, Arc<[f32]>)>) -> Self {
        let mut centroids = Self { all: all.collect(), ..Self::default() };
        let width = centroids.all.first().map_or(0, |(_, centroid)| centroid.len());
        centroids.zero = vec![0.0; width];
        for all in centroids.all.chunks(SEGMENT) {
            let mut segment = Segment::new(width / 64);
            for (number, centroid) in all {
                segment.push(*number, 0, &encode::encode(centroid, &centroids.zero));
            }
            centroids.codes.push(segment);
        }
        centroids
    }

    /// The number of the centroid that is the nearest, or nearly so; `None` if there is none.
    pub(super) fn nearest(&mut self, rotated: &[f32]) -> Option<u32> {
        self.nearest.clear();
        let count = self.all.len() as u32;
        let has_code =
            self.all.len() > EXACT_MAX && self.query.fill(rotated, &self.zero, &mut self.scratch);
        if !has_code {
            self.nearest.extend((0..count).map(|index| (0.0, index)));
        } else {
            let scanner = Scanner::best();
            let mut bounds: Bounds = [0.0; SEGMENT];
            let all: Masks = [0xff; SEGMENT_BLOCKS];
            for (first, segment) in (0..count).step_by(SEGMENT).zip(&self.codes) {
                scanner.scan(segment, segment, &self.query, 0.0, &all, &mut bounds);
                self.nearest.extend(bounds.iter().copied().zip(first..count));
            }
            if self.nearest.len() > NEAREST {
                self.nearest.select_nth_unstable_by(NEAREST, |a, b| a.0.total_cmp(&b.0));
                self.nearest.truncate(NEAREST);
            }
        }
        let kernels = Kernels::best();
        let square = |index: u32| kernels.square(rotated, &self.all[index as usize].1);
        let squares = self.nearest.iter().map(|(_, index)| (square(*index), *index));
        let best = squares.min_by(|a, b| a.0.total_cmp(&b.0));
        best.map(|(_, index)| self.all[index as usize].0)
    }
}
