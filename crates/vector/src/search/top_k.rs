//! The k best of many candidates.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Keeps the `capacity` candidates with the lowest ranks, in a max-heap. Equal ranks are ordered by
/// slot, so that the result does not depend on the order of offers.
#[derive(Debug)]
pub(crate) struct TopK<R: Rank> {
    heap: BinaryHeap<Candidate<R>>,
    capacity: usize,
}

/// A number that orders candidates: ranks of vectors are `f64`, bounds are `f32`.
pub(crate) trait Rank: Copy + PartialOrd {
    const INFINITY: Self;

    fn total_cmp(&self, other: &Self) -> Ordering;
}

/// A slot with the rank of its vector, or with a bound of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate<R> {
    pub(crate) rank: R,
    pub(crate) slot: u32,
}

impl Rank for f32 {
    const INFINITY: Self = Self::INFINITY;

    #[inline]
    fn total_cmp(&self, other: &Self) -> Ordering {
        Self::total_cmp(self, other)
    }
}

impl Rank for f64 {
    const INFINITY: Self = Self::INFINITY;

    #[inline]
    fn total_cmp(&self, other: &Self) -> Ordering {
        Self::total_cmp(self, other)
    }
}

impl<R: Rank> TopK<R> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { heap: BinaryHeap::with_capacity(capacity), capacity }
    }

    /// The worst kept rank once the heap is full, else infinity. A candidate above it cannot be
    /// kept.
    #[inline]
    pub(crate) fn threshold(&self) -> R {
        match self.heap.peek() {
            Some(worst) if self.heap.len() >= self.capacity => worst.rank,
            _ => R::INFINITY,
        }
    }

    #[inline(always)]
    pub(crate) fn offer(&mut self, candidate: Candidate<R>) {
        // Nearly all candidates end here, without a call.
        if candidate.rank > self.threshold() {
            return;
        }
        self.keep(candidate);
    }

    fn keep(&mut self, candidate: Candidate<R>) {
        if self.heap.len() < self.capacity {
            self.heap.push(candidate);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && candidate < *worst
        {
            *worst = candidate;
        }
    }

    /// The kept candidates, best first.
    pub(crate) fn into_sorted(self) -> Vec<Candidate<R>> {
        self.heap.into_sorted_vec()
    }
}

impl<R: Rank> PartialEq for Candidate<R> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<R: Rank> Eq for Candidate<R> {}

impl<R: Rank> PartialOrd for Candidate<R> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<R: Rank> Ord for Candidate<R> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank.total_cmp(&other.rank).then(self.slot.cmp(&other.slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_ranks_are_kept_whatever_their_order() {
        let all: Vec<Candidate<f64>> =
            (0..100).map(|slot| Candidate { rank: f64::from(slot * 37 % 50), slot }).collect();
        let kept = |candidates: &mut dyn Iterator<Item = &Candidate<f64>>| {
            let mut top = TopK::new(7);
            candidates.for_each(|candidate| top.offer(*candidate));
            assert_eq!(top.threshold(), 3.0);
            top.into_sorted().iter().map(|kept| (kept.rank, kept.slot)).collect::<Vec<_>>()
        };
        let forwards = kept(&mut all.iter());
        assert_eq!(forwards, kept(&mut all.iter().rev()));
        let ranks: Vec<f64> = forwards.iter().map(|(rank, _)| *rank).collect();
        assert_eq!(ranks, [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0]);
    }

    #[test]
    fn none_are_kept_when_none_are_wanted() {
        let mut top = TopK::new(0);
        top.offer(Candidate { rank: 1.0_f32, slot: 1 });
        assert!(top.into_sorted().is_empty());
    }
}
