//! The position at the end of a page of results.

use std::fmt;
use std::str::FromStr;

use liteio_vector::Slot;

use crate::error::StoreError;
use crate::indexes::fuse::{Ranked, Scored};

/// Position at the end of a page of results, as a text that the request for the next page hands
/// back. It holds the score and slot of the last result, not its place in the order, because writes
/// between two pages shift places. A search by distance alone then returns no result twice. A
/// search by texts may: BM25 depends on statistics over all texts, so every write changes all
/// scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueryPosition {
    /// Number of results of all pages so far.
    returned: usize,
    last: Scored,
}

impl QueryPosition {
    /// The position after `count` more results, which end with `last`.
    pub(super) fn after(before: Option<&Self>, count: usize, last: &Ranked) -> Self {
        let returned = before.map_or(0, |before| before.returned);
        Self { returned: returned + count, last: last.scored }
    }

    /// Removes the results of earlier pages.
    pub(super) fn skip(&self, ranked: &mut Vec<Ranked>, top_k: usize) {
        let end = ranked.partition_point(|found| self.last.order(&found.scored).is_ge());
        ranked.drain(..end);
        ranked.truncate(top_k.saturating_sub(self.returned));
    }
}

impl fmt::Display for QueryPosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Scored { slot, score } = self.last;
        write!(formatter, "{} {:x} {}", self.returned, score.to_bits(), slot.number())
    }
}

impl FromStr for QueryPosition {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        let parts = || -> Option<Self> {
            let (returned, last) = text.split_once(' ')?;
            let (score, slot) = last.split_once(' ')?;
            let score = f64::from_bits(u64::from_str_radix(score, 16).ok()?);
            let last = Scored { slot: Slot::new(slot.parse().ok()?), score };
            Some(Self { returned: returned.parse().ok()?, last })
        };
        parts().ok_or_else(|| StoreError::field("/nextToken", "use the token of the last page"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(scores: &[f64]) -> Vec<Ranked> {
        let ranked = |(score, slot)| Ranked::new(Scored { slot: Slot::new(slot), score });
        scores.iter().copied().zip(0..).map(ranked).collect()
    }

    #[test]
    fn a_page_begins_after_the_last_result_even_if_that_is_gone() {
        let all = ranked(&[0.5, 0.25, 0.25, 0.25, -0.0, -7.5]);
        let position = QueryPosition::after(None, 3, &all[2]);
        let position: QueryPosition = position.to_string().parse().expect("its own text");
        let left = |all: &[Ranked], top_k| {
            let mut left = all.to_vec();
            position.skip(&mut left, top_k);
            left
        };
        assert_eq!(left(&all, 6), all[3..]);
        assert_eq!(left(&all, 4), all[3..4]);
        assert_eq!(left(&all, 2), []);
        let without: Vec<Ranked> = [&all[..2], &all[3..]].concat();
        assert_eq!(left(&without, 6), all[3..]);
        let next = QueryPosition::after(Some(&position), 1, &all[3]);
        assert_eq!(next.returned, 4);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "1", "1 2", "1 2 3 4", "x 2 3", "1 z 3", "1 2 4294967296", "-1 2 3"] {
            assert!(text.parse::<QueryPosition>().is_err(), "{text}");
        }
    }
}
