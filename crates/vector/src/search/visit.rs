//! The visit of a group of partitions: bounds of all their entries, then exact distances of the
//! vectors that may be near.

use std::sync::atomic::Ordering;

use super::Search;
use super::best::Best;
use super::coded::{Scan, Visit};
use super::exact;
use crate::codes::{Bounds, Lowest, QueryCode, QueryScratch, SEGMENT, Segment, second_bound};
use crate::error::VectorError;
use crate::limits::{
    BOUND_DEVIATIONS, EXACT_SHARE, EXACT_VECTORS_MIN, FEW_DEVIATIONS, FEW_SLOTS, FIRSTS_MIN,
    FIRSTS_PER_NEIGHBOUR, PROBED_DEVIATIONS, SECOND_DEVIATIONS,
};
use crate::slot::Slot;
use crate::slots::{Reader, View};

/// An entry whose vector may be near.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    bound: f32,
    /// Index among the entries of the group: segment × [`SEGMENT`] + index in the segment.
    place: u32,
}

/// Buffers reused from group to group.
#[derive(Debug)]
pub(super) struct Scratch<'view> {
    /// The query's code for each partition of the group.
    queries: Vec<QueryCode>,
    query: QueryScratch,
    /// The bounds of all entries of the group.
    bounds: Vec<f32>,
    candidates: Vec<Candidate>,
    /// Bounds and slots of the vectors to compare exactly, nearest bound first.
    near: Vec<(f32, u32)>,
    lowest: Lowest,
    reader: Reader<'view>,
    /// Number of vectors that this search may still compare exactly.
    exact_left: usize,
}

impl<'view> Scratch<'view> {
    pub(super) fn new(view: &'view View, search: &Search<'_>) -> Self {
        let share = view.slot_count() as usize / EXACT_SHARE;
        let exact_left = EXACT_VECTORS_MIN.max(share).max(search.neighbours * 16);
        Self {
            queries: Vec::new(),
            query: QueryScratch::default(),
            bounds: Vec::new(),
            candidates: Vec::new(),
            near: Vec::new(),
            lowest: Lowest::default(),
            reader: Reader::new(view),
            exact_left,
        }
    }
}

/// Distance, in candidates, at which second bits are prefetched.
const PREFETCH_AHEAD: usize = 16;

/// Distance, in candidates, at which vectors are prefetched.
const EXACT_AHEAD: usize = 3;

/// A segment of the group, and the index of its partition in the group.
#[derive(Clone, Copy, Debug)]
struct Part<'table> {
    segment: &'table Segment,
    partition: u32,
}

impl Scan<'_> {
    /// Offers the vectors of some partitions that may be among the best.
    pub(super) fn visit(
        &self,
        group: &[Visit<'_>],
        scratch: &mut Scratch<'_>,
        best: &mut Best<'_>,
    ) -> Result<(), VectorError> {
        let entries: usize = group.iter().map(|visit| visit.partition.entries).sum();
        self.work.fetch_add(entries as u64, Ordering::Relaxed);
        let mut parts: Vec<Part<'_>> = Vec::new();
        for (partition, visit) in (0..).zip(group) {
            let segments = visit.partition.segments.iter();
            parts.extend(segments.map(|segment| Part { segment, partition }));
        }
        let limit = self.bound_of(best.threshold());
        // Two rounds. The entries with the lowest bounds are compared first, because their
        // distances lower the threshold; the second round takes the entries that are still below
        // it.
        let firsts = (FIRSTS_PER_NEIGHBOUR * self.search.neighbours).max(FIRSTS_MIN);
        scratch.lowest.begin(firsts, limit);
        self.find_bounds(group, &parts, scratch);
        let last = scratch.lowest.last();
        self.collect(scratch, last, None);
        self.compare(&parts, scratch, best)?;
        if last < limit {
            let threshold = self.bound_of(best.threshold());
            self.collect(scratch, threshold, Some(last));
            self.compare(&parts, scratch, best)?;
        }
        Ok(())
    }

    /// Computes the bounds of all entries of the group.
    fn find_bounds(&self, group: &[Visit<'_>], parts: &[Part<'_>], scratch: &mut Scratch<'_>) {
        let Scratch { queries, query, bounds, lowest, .. } = scratch;
        if queries.len() < group.len() {
            queries.resize_with(group.len(), QueryCode::default);
        }
        // Every element is overwritten below.
        bounds.resize(parts.len() * SEGMENT, f32::INFINITY);
        let (places, _) = bounds.as_chunks_mut::<SEGMENT>();
        let (deviations, _) = self.deviations();
        let (mut partition, mut is_far) = (u32::MAX, false);
        for (index, (part, bounds)) in parts.iter().zip(places).enumerate() {
            // Segments are scattered in memory: fetch the header two ahead, the codes one ahead.
            if let Some(later) = parts.get(index + 2) {
                later.segment.prefetch_head();
            }
            let next = parts.get(index + 1).unwrap_or(part).segment;
            next.prefetch(self.is_selective);
            // Segments of a partition are adjacent, so the query is encoded once per partition.
            if part.partition != partition {
                partition = part.partition;
                if let Some(later) = group.get(partition as usize + 1) {
                    crate::map::prefetch(bytemuck::cast_slice(&later.partition.centroid));
                }
                let centroid = &group[partition as usize].partition.centroid;
                is_far = !queries[partition as usize].fill(self.rotated, centroid, query);
            }
            let query = &queries[partition as usize];
            let allowed = self.allowed_of(part.segment);
            if allowed == 0 {
                bounds.fill(f32::INFINITY);
            } else if is_far {
                fill_far(allowed, bounds);
            } else {
                let masks = allowed.to_le_bytes();
                self.scanner.scan(part.segment, next, query, deviations, &masks, bounds);
            }
            lowest.offer(bounds, self.scanner);
        }
    }

    /// Collects the entries whose bounds are at most `limit`, except those whose bounds are at most
    /// `done`.
    fn collect(&self, scratch: &mut Scratch<'_>, limit: f32, done: Option<f32>) {
        let Scratch { bounds, candidates, .. } = scratch;
        candidates.clear();
        let (places, _) = bounds.as_chunks::<SEGMENT>();
        for (first, bounds) in (0_u32..).step_by(SEGMENT).zip(places) {
            let mut wanted = self.scanner.not_above(bounds, limit);
            if let Some(done) = done
                && wanted != 0
            {
                wanted &= !self.scanner.not_above(bounds, done);
            }
            while wanted != 0 {
                let index = wanted.trailing_zeros();
                wanted &= wanted - 1;
                let bound = bounds[index as usize];
                candidates.push(Candidate { bound, place: first + index });
            }
        }
    }

    /// Standard deviations by which estimates of the scan, and of the second bits, are lowered.
    fn deviations(&self) -> (f32, f32) {
        match self.probe.is_all() {
            _ if self.view.slot_count() <= FEW_SLOTS => FEW_DEVIATIONS,
            true => (BOUND_DEVIATIONS, SECOND_DEVIATIONS),
            false => PROBED_DEVIATIONS,
        }
    }

    /// The entries of a segment to compute bounds of, as bits: those allowed, or all if nearly all
    /// are.
    #[inline]
    fn allowed_of(&self, segment: &Segment) -> u64 {
        let count = segment.count();
        if !self.is_selective {
            return if count == 0 { 0 } else { u64::MAX >> (SEGMENT - count) };
        }
        (0..count).fold(0, |all, index| all | u64::from(self.allows(segment.slot(index))) << index)
    }

    /// `true` if the slot's vector may be found.
    #[inline]
    fn allows(&self, slot: u32) -> bool {
        match self.allowed {
            Some(words) => {
                let word = words.get(slot as usize / 64).copied().unwrap_or(0);
                word >> (slot % 64) & 1 != 0
            }
            None => {
                let slot = Slot::new(slot);
                self.view.contains(slot) && !self.without_code.contains(slot)
            }
        }
    }

    /// Compares the candidates that their closer bounds do not exclude, in ascending order of
    /// bounds.
    fn compare(
        &self,
        parts: &[Part<'_>],
        scratch: &mut Scratch<'_>,
        best: &mut Best<'_>,
    ) -> Result<(), VectorError> {
        let Scratch { queries, candidates, near, reader, exact_left, .. } = scratch;
        let deviations = self.deviations();
        let threshold = self.bound_of(best.threshold());
        let place_of = |candidate: &Candidate| {
            let place = candidate.place as usize;
            (parts[place / SEGMENT], place % SEGMENT)
        };
        // Compact in place: `kept <= position`.
        let mut kept = 0;
        for position in 0..candidates.len() {
            if let Some(later) = candidates.get(position + PREFETCH_AHEAD) {
                let (part, index) = place_of(later);
                part.segment.prefetch_second(index);
            }
            let mut candidate = candidates[position];
            if candidate.bound > f32::NEG_INFINITY {
                let (Part { segment, partition }, index) = place_of(&candidate);
                let query = &queries[partition as usize];
                candidate.bound =
                    second_bound(self.counter, segment, index, query, candidate.bound, deviations);
            }
            if !is_above(candidate.bound, threshold) {
                let (part, index) = place_of(&candidate);
                part.segment.prefetch_slot(index);
                candidates[kept] = candidate;
                kept += 1;
            }
        }
        candidates.truncate(kept);
        // Slots are read last, after their prefetch: most candidates were excluded without touching
        // them. The slot may have been freed or rewritten since the scan, so it is checked again.
        near.clear();
        for candidate in &*candidates {
            let (part, index) = place_of(candidate);
            let slot = part.segment.slot(index);
            if self.allows(slot) {
                self.view.prefetch_sum(slot);
                near.push((candidate.bound, slot));
            }
        }
        // In ascending order, so that the loop may stop at the first bound above the threshold.
        near.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (position, (bound, slot)) in near.iter().enumerate() {
            if *exact_left == 0 || is_above(*bound, self.bound_of(best.threshold())) {
                break;
            }
            *exact_left -= 1;
            if let Some((_, later)) = near.get(position + EXACT_AHEAD) {
                self.view.prefetch(*later);
            }
            exact::offer(reader, *slot, best)?;
        }
        Ok(())
    }
}

/// Bounds of a partition that cannot be estimated: −∞ for allowed entries, which are then compared
/// exactly.
fn fill_far(allowed: u64, bounds: &mut Bounds) {
    for (index, bound) in bounds.iter_mut().enumerate() {
        *bound = if allowed >> index & 1 != 0 { f32::NEG_INFINITY } else { f32::INFINITY };
    }
}

/// `bound > limit`, so `false` for NaN, which cannot be compared: such an entry stays a candidate.
#[inline]
fn is_above(bound: f32, limit: f32) -> bool {
    bound > limit
}
