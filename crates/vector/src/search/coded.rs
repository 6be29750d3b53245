//! Searching by codes first: a scan of all codes, then exact distances of those that may be near.
//!
//! A partition of the slots is scanned for lower bounds of the distances. The exact distances of the
//! few with the lowest bounds give a threshold; every vector whose bound is below it is compared exactly.

use super::Search;
use super::best::Best;
use super::exact;
use super::top_k::{Candidate, TopK};
use crate::codes::{Bounds, CHUNK_SLOTS, Codes, Masks, QueryCode, Scanner};
use crate::error::VectorError;
use crate::limits::{
    BOUND_DEVIATIONS, FEW_BOUND_DEVIATIONS, FEW_SLOTS, FIRSTS_MIN, FIRSTS_PER_NEIGHBOUR,
    PARTITION_SLOTS_MAX, REFINED_DEVIATIONS,
};
use crate::metric::Metric;
use crate::slot::SlotSet;
use crate::slots::{Reader, View};

/// The parts of a search that all partitions share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scan<'scan> {
    pub(super) view: &'scan View,
    pub(super) search: &'scan Search<'scan>,
    pub(super) codes: &'scan Codes,
    pub(super) query_code: &'scan QueryCode,
    pub(super) scanner: Scanner,
    /// Slots that are compared exactly in any case, because their codes may not be there yet.
    pub(super) without_code: &'scan SlotSet,
    /// Chunks of one partition.
    pub(super) partition_chunks: usize,
}

/// Buffers that are used again for the next partition.
#[derive(Debug)]
pub(super) struct Scratch<'view> {
    bounds: Vec<f32>,
    candidates: Vec<u32>,
    near: Vec<u32>,
    reader: Reader<'view>,
}

impl<'view> Scratch<'view> {
    pub(super) fn new(view: &'view View) -> Self {
        let reader = Reader::new(view);
        Self { bounds: Vec::new(), candidates: Vec::new(), near: Vec::new(), reader }
    }
}

/// Finer codes that are fetched while one is compared.
const PREFETCH_AHEAD: usize = 8;

/// If at least one bound in this many is wanted, all are collected and partitioned by selection, which
/// takes less time than a heap of the lowest.
const SELECT_PART: usize = 64;

const _: () = assert!(PARTITION_SLOTS_MAX.is_multiple_of(CHUNK_SLOTS));

/// The number of chunks of a partition, such that all threads have work.
pub(super) fn partition_chunks(slots: u32, threads: usize) -> usize {
    let chunks = (slots as usize).div_ceil(CHUNK_SLOTS);
    chunks.div_ceil(threads.max(1)).clamp(1, PARTITION_SLOTS_MAX / CHUNK_SLOTS)
}

impl Scan<'_> {
    /// The number of partitions.
    pub(super) fn partitions(&self) -> usize {
        (self.view.slot_count() as usize).div_ceil(self.partition_chunks * CHUNK_SLOTS)
    }

    /// Offers all vectors of one partition that may be among the best.
    pub(super) fn partition(
        &self,
        partition: usize,
        scratch: &mut Scratch<'_>,
        best: &mut Best<'_>,
    ) -> Result<(), VectorError> {
        self.find_bounds(partition, &mut scratch.bounds);
        let first_slot = (partition * self.partition_chunks * CHUNK_SLOTS) as u32;
        let bounds = &mut scratch.bounds;
        // The candidates with the lowest bounds first: their distances make the threshold that excludes
        // most others.
        let firsts = (FIRSTS_PER_NEIGHBOUR * self.search.neighbours).max(FIRSTS_MIN);
        let mut first = best_bounds(bounds, firsts);
        for candidate in &mut first {
            bounds[candidate.slot as usize] = f32::INFINITY;
            candidate.slot += first_slot;
        }
        // In the order of their finer bounds, until these exclude all that remain.
        self.refine_all(&mut first);
        first.sort_unstable();
        for (index, candidate) in first.iter().enumerate() {
            if is_above(candidate.rank, self.bound_of(best.threshold())) {
                break;
            }
            if let Some(later) = first.get(index + 1) {
                self.view.prefetch(later.slot);
            }
            exact::offer(&mut scratch.reader, candidate.slot, best)?;
        }
        self.rerank(partition * self.partition_chunks, scratch, best)
    }

    /// Replaces the bounds of `candidates` from anywhere by finer ones.
    fn refine_all(&self, candidates: &mut [Candidate<f32>]) {
        candidates.sort_unstable_by_key(|candidate| candidate.slot);
        for candidates in candidates.chunk_by_mut(|a, b| chunk_of(a.slot) == chunk_of(b.slot)) {
            let index = chunk_of(candidates[0].slot) as usize;
            let Some(chunk) = self.codes.chunk(index) else { continue };
            let chunk = chunk.read();
            for candidate in &*candidates {
                chunk.prefetch(candidate.slot as usize % CHUNK_SLOTS);
            }
            for candidate in candidates {
                let refined = chunk.refined(candidate.slot as usize % CHUNK_SLOTS);
                if let Some((code, square)) = refined {
                    let query = &self.query_code.refined;
                    candidate.rank = query.bound(code, square, REFINED_DEVIATIONS);
                }
            }
        }
    }

    /// Offers the vectors that the first ones have not excluded, chunk by chunk: the neighbours found in one
    /// chunk exclude many of the next.
    fn rerank(
        &self,
        first_chunk: usize,
        scratch: &mut Scratch<'_>,
        best: &mut Best<'_>,
    ) -> Result<(), VectorError> {
        let Scratch { bounds, candidates, near, reader } = scratch;
        for (chunk, bounds) in (first_chunk..).zip(bounds.chunks(CHUNK_SLOTS)) {
            let threshold = self.bound_of(best.threshold());
            candidates.clear();
            for_each_below(bounds, threshold, |place, _| {
                candidates.push(place);
                threshold
            });
            if !candidates.is_empty() {
                self.refine(chunk, candidates, threshold, near);
                self.offer_all(near, reader, best)?;
            }
        }
        Ok(())
    }

    /// Leaves in `near` the slots of those of `candidates`, which are places in a chunk, that the finer
    /// codes do not exclude.
    fn refine(&self, index: usize, candidates: &[u32], threshold: f32, near: &mut Vec<u32>) {
        near.clear();
        let Some(chunk) = self.codes.chunk(index) else { return };
        let chunk = chunk.read();
        for candidate in candidates.iter().take(PREFETCH_AHEAD) {
            chunk.prefetch(*candidate as usize);
        }
        for (position, candidate) in candidates.iter().enumerate() {
            if let Some(later) = candidates.get(position + PREFETCH_AHEAD) {
                chunk.prefetch(*later as usize);
            }
            let is_near = chunk.refined(*candidate as usize).is_none_or(|(code, square)| {
                let query = &self.query_code.refined;
                !is_above(query.bound(code, square, REFINED_DEVIATIONS), threshold)
            });
            if is_near {
                near.push((index * CHUNK_SLOTS) as u32 + candidate);
            }
        }
    }

    fn offer_all(
        &self,
        slots: &[u32],
        reader: &mut Reader<'_>,
        best: &mut Best<'_>,
    ) -> Result<(), VectorError> {
        for (index, slot) in slots.iter().enumerate() {
            if let Some(later) = slots.get(index + 1) {
                self.view.prefetch(*later);
            }
            exact::offer(reader, *slot, best)?;
        }
        Ok(())
    }

    /// Fills `bounds` with one bound for each slot of the partition.
    fn find_bounds(&self, partition: usize, bounds: &mut Vec<f32>) {
        bounds.clear();
        let is_small = self.view.slot_count() <= FEW_SLOTS;
        let deviations = if is_small { FEW_BOUND_DEVIATIONS } else { BOUND_DEVIATIONS };
        let first_chunk = partition * self.partition_chunks;
        for index in first_chunk..first_chunk + self.partition_chunks {
            if index * CHUNK_SLOTS >= self.view.slot_count() as usize {
                break;
            }
            let Some(masks) = self.masks(index) else {
                bounds.resize(bounds.len() + CHUNK_SLOTS, f32::INFINITY);
                continue;
            };
            let Some(chunk) = self.codes.chunk(index) else {
                // Every vector in it is one of those without a code.
                bounds.resize(bounds.len() + CHUNK_SLOTS, f32::INFINITY);
                continue;
            };
            let start = bounds.len();
            bounds.resize(start + CHUNK_SLOTS, f32::INFINITY);
            let (places, _) = bounds[start..].as_chunks_mut::<CHUNK_SLOTS>();
            let places: &mut Bounds = &mut places[0];
            let chunk = chunk.read();
            self.scanner.scan(&chunk, self.query_code, deviations, &masks, places);
        }
    }

    /// The candidates of a chunk; `None` when there are none.
    fn masks(&self, chunk: usize) -> Option<Masks> {
        let mut masks: Masks = [0; CHUNK_SLOTS / 8];
        let mut any = 0;
        let (bytes, _) = masks.as_chunks_mut::<8>();
        let first_word = chunk * CHUNK_SLOTS / 64;
        for (word, bytes) in (first_word..).zip(bytes) {
            let candidates = self.search.word(self.view, word) & !self.without_code.word(word);
            any |= candidates;
            *bytes = candidates.to_le_bytes();
        }
        (any != 0).then_some(masks)
    }

    /// The bound that belongs to a rank, and a little more for what rounding may have done.
    fn bound_of(&self, rank: f64) -> f32 {
        let bound = match self.view.shape().metric() {
            Metric::Cosine => 2.0 * rank,
            Metric::Euclidean => rank,
        };
        (bound + bound.abs() * 1e-5) as f32
    }
}

/// The `count` lowest bounds, in any order.
fn best_bounds(bounds: &[f32], count: usize) -> Vec<Candidate<f32>> {
    if count * SELECT_PART < bounds.len() {
        let mut best = TopK::new(count);
        for_each_below(bounds, f32::INFINITY, |slot, rank| {
            best.offer(Candidate { rank, slot });
            best.threshold()
        });
        return best.into_sorted();
    }
    let mut all = Vec::with_capacity(bounds.len());
    for_each_below(bounds, f32::INFINITY, |slot, rank| {
        all.push(Candidate { rank, slot });
        f32::INFINITY
    });
    if all.len() > count {
        all.select_nth_unstable(count);
        all.truncate(count);
    }
    all
}

/// Calls `found` with the index and value of all `bounds` that are not above a limit, or not
/// comparable; it returns the limit from there on. Infinity is never found.
fn for_each_below(bounds: &[f32], limit: f32, mut found: impl FnMut(u32, f32) -> f32) {
    let mut limit = limit;
    let (groups, _) = bounds.as_chunks::<32>();
    for (group, bounds) in groups.iter().enumerate() {
        // Without a branch for each, because nearly all groups have none.
        let mut any = false;
        for bound in bounds {
            any |= is_below(*bound, limit);
        }
        if !any {
            continue;
        }
        for (index, bound) in bounds.iter().enumerate() {
            if is_below(*bound, limit) {
                limit = found((group * 32 + index) as u32, *bound);
            }
        }
    }
}

#[inline]
fn is_below(bound: f32, limit: f32) -> bool {
    !is_above(bound, limit) && bound != f32::INFINITY
}

/// `false` also where the two cannot be compared (NaN): such a slot is a candidate.
#[inline]
fn is_above(bound: f32, limit: f32) -> bool {
    bound > limit
}

fn chunk_of(slot: u32) -> u32 {
    slot / CHUNK_SLOTS as u32
}
