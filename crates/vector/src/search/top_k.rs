//! The best few of many.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Keeps the `capacity` candidates with the lowest ranks. Equal ranks are ordered by slot, so that
/// the same vectors give the same answer in whatever order they are offered.
#[derive(Debug)]
pub(crate) struct TopK {
    heap: BinaryHeap<Candidate>,
    capacity: usize,
}

/// A slot with the rank of its vector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) rank: f64,
    pub(crate) slot: u32,
}

impl TopK {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { heap: BinaryHeap::with_capacity(capacity), capacity }
    }

    /// Ranks that are not below this are not kept, except perhaps for equal ones.
    #[inline]
    pub(crate) fn threshold(&self) -> f64 {
        match self.heap.peek() {
            Some(worst) if self.heap.len() >= self.capacity => worst.rank,
            _ => f64::INFINITY,
        }
    }

    #[inline]
    pub(crate) fn offer(&mut self, candidate: Candidate) {
        if self.heap.len() < self.capacity {
            self.heap.push(candidate);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && candidate < *worst
        {
            *worst = candidate;
        }
    }

    /// The candidates kept, the best first.
    pub(crate) fn into_sorted(self) -> Vec<Candidate> {
        self.heap.into_sorted_vec()
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank.total_cmp(&other.rank).then(self.slot.cmp(&other.slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_ranks_are_kept_whatever_their_order() {
        let all: Vec<Candidate> =
            (0..100).map(|slot| Candidate { rank: f64::from(slot * 37 % 50), slot }).collect();
        let kept = |candidates: &mut dyn Iterator<Item = &Candidate>| {
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
        top.offer(Candidate { rank: 1.0, slot: 1 });
        assert!(top.into_sorted().is_empty());
    }
}
