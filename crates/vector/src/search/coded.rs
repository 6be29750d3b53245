//! Searching by codes first: a scan of all codes, then exact distances of those that may be near.
//!
//! A partition of the slots is scanned for lower bounds of the distances. The exact distances of the
//! few with the lowest bounds give a threshold; everyone whose bound is below it is compared exactly.

use super::Search;
use super::exact;
use super::top_k::{Candidate, TopK};
use crate::codes::{Bounds, CHUNK_SLOTS, Codes, Masks, QueryCode, Scanner};
use crate::config::Metric;
use crate::distance::Query;
use crate::error::VectorError;
use crate::limits::{
    BOUND_DEVIATIONS, FEW_BOUND_DEVIATIONS, FEW_SLOTS, FIRSTS_MIN, FIRSTS_PER_NEIGHBOUR,
    PARTITION_SLOTS_MAX, REFINED_DEVIATIONS,
};
use crate::slot::{Slot, SlotSet};
use crate::slots::View;

/// What all partitions of a search share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scan<'scan> {
    pub(super) view: &'scan View,
    pub(super) search: &'scan Search<'scan>,
    pub(super) query: &'scan Query<'scan>,
    pub(super) codes: &'scan Codes,
    pub(super) query_code: &'scan QueryCode,
    pub(super) scanner: Scanner,
    /// Slots that are compared exactly in any case, because their codes may not be there yet.
    pub(super) without_code: &'scan SlotSet,
    /// Chunks of one partition.
    pub(super) partition_chunks: usize,
}

/// Memory that is used again for the next partition.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    bounds: Vec<f32>,
    candidates: Vec<u32>,
    near: Vec<u32>,
}

/// Finer codes that are fetched while one is compared.
const PREFETCH_AHEAD: usize = 8;

const _: () = assert!(PARTITION_SLOTS_MAX.is_multiple_of(CHUNK_SLOTS));

/// How many chunks a partition has, so that all threads have work.
pub(super) fn partition_chunks(slots: u32, threads: usize) -> usize {
    let chunks = (slots as usize).div_ceil(CHUNK_SLOTS);
    chunks.div_ceil(threads.max(1)).clamp(1, PARTITION_SLOTS_MAX / CHUNK_SLOTS)
}

impl Scan<'_> {
    /// How many partitions there are.
    pub(super) fn partitions(&self) -> usize {
        (self.view.slot_count() as usize).div_ceil(self.partition_chunks * CHUNK_SLOTS)
    }

    /// Offers all vectors of one partition that may be among the best.
    pub(super) fn partition(
        &self,
        partition: usize,
        scratch: &mut Scratch,
        top: &mut TopK<f64>,
    ) -> Result<(), VectorError> {
        self.find_bounds(partition, &mut scratch.bounds);
        let first_slot = (partition * self.partition_chunks * CHUNK_SLOTS) as u32;
        let bounds = &mut scratch.bounds;
        // The best by their bounds first: they make the threshold that spares the others.
        let firsts = (FIRSTS_PER_NEIGHBOUR * self.search.neighbours).max(FIRSTS_MIN);
        let mut best = TopK::new(firsts);
        for_each_below(bounds, f32::INFINITY, |slot, rank| {
            best.offer(Candidate { rank, slot });
            best.threshold()
        });
        let mut best = best.into_sorted();
        for candidate in &mut best {
            bounds[candidate.slot as usize] = f32::INFINITY;
            candidate.slot += first_slot;
        }
        // Ever closer: by their finer bounds, until these say that nobody nearer is left.
        self.refine_all(&mut best);
        best.sort_unstable();
        for (index, candidate) in best.iter().enumerate() {
            if is_above(candidate.rank, self.bound_of(top.threshold())) {
                break;
            }
            if let Some(later) = best.get(index + 1) {
                self.view.prefetch(later.slot);
            }
            self.offer(candidate.slot, top)?;
        }
        self.rerank(first_slot, scratch, top)
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

    fn rerank(
        &self,
        first_slot: u32,
        scratch: &mut Scratch,
        top: &mut TopK<f64>,
    ) -> Result<(), VectorError> {
        let threshold = self.bound_of(top.threshold());
        let candidates = &mut scratch.candidates;
        candidates.clear();
        for_each_below(&scratch.bounds, threshold, |slot, _| {
            candidates.push(slot);
            threshold
        });
        let chunks = candidates.chunk_by(|a, b| chunk_of(*a) == chunk_of(*b));
        for candidates in chunks {
            self.refine(first_slot, candidates, &mut scratch.near, top)?;
        }
        Ok(())
    }

    /// Compares exactly those of `candidates`, all of one chunk, that the finer codes do not exclude.
    fn refine(
        &self,
        first_slot: u32,
        candidates: &[u32],
        near: &mut Vec<u32>,
        top: &mut TopK<f64>,
    ) -> Result<(), VectorError> {
        near.clear();
        let first_slot_of_chunk = candidates.first().map_or(0, |first| first_slot + first);
        let chunk_index = first_slot_of_chunk as usize / CHUNK_SLOTS;
        let Some(chunk) = self.codes.chunk(chunk_index) else { return Ok(()) };
        {
            let chunk = chunk.read();
            let threshold = self.bound_of(top.threshold());
            for candidate in candidates.iter().take(PREFETCH_AHEAD) {
                chunk.prefetch(*candidate as usize % CHUNK_SLOTS);
            }
            for (index, candidate) in candidates.iter().enumerate() {
                if let Some(later) = candidates.get(index + PREFETCH_AHEAD) {
                    chunk.prefetch(*later as usize % CHUNK_SLOTS);
                }
                let refined = chunk.refined(*candidate as usize % CHUNK_SLOTS);
                let is_near = refined.is_none_or(|(code, square)| {
                    let query = &self.query_code.refined;
                    !is_above(query.bound(code, square, REFINED_DEVIATIONS), threshold)
                });
                if is_near {
                    near.push(first_slot + candidate);
                }
            }
        }
        for (index, slot) in near.iter().enumerate() {
            if let Some(later) = near.get(index + 1) {
                self.view.prefetch(*later);
            }
            self.offer(*slot, top)?;
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

    #[inline]
    fn offer(&self, slot: u32, top: &mut TopK<f64>) -> Result<(), VectorError> {
        exact::offer(self.view, self.query, Slot::new(slot), top)
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

/// What cannot be compared is not above: it is a candidate.
#[inline]
fn is_above(bound: f32, limit: f32) -> bool {
    bound > limit
}

fn chunk_of(slot: u32) -> u32 {
    slot / CHUNK_SLOTS as u32
}
