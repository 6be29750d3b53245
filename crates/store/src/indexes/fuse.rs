//! Reciprocal rank fusion: one ranking out of several.

use std::cmp::Ordering;
use std::collections::HashMap;

use liteio_vector::Slot;

/// Constant `k` of reciprocal rank fusion: the larger, the less the first ranks stand out. 60 is
/// the value of Cormack, Clarke and Büttcher (SIGIR 2009).
const RANK_CONSTANT: f64 = 60.0;

/// A slot with its score; higher is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scored {
    pub(crate) slot: Slot,
    pub(crate) score: f64,
}

impl Scored {
    /// Order of results: the higher score first. Of equal scores the lower slot is first, so that
    /// the same vectors always come in the same order.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.slot.cmp(&other.slot))
    }
}

/// A result: a slot with its score, distance and text scores.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ranked {
    pub(crate) scored: Scored,
    pub(crate) distance: Option<f64>,
    /// Scores of the texts, with the place of each text in the query.
    pub(crate) text_scores: Vec<(usize, f64)>,
}

impl Ranked {
    pub(crate) fn new(scored: Scored) -> Self {
        Self { scored, distance: None, text_scores: Vec::new() }
    }
}

/// The best `depth` results, in order.
pub(crate) fn best(mut all: Vec<Scored>, depth: usize) -> Vec<Scored> {
    // Selection before sorting: linear in the number of results.
    if all.len() > depth {
        all.select_nth_unstable_by(depth, Scored::order);
        all.truncate(depth);
    }
    all.sort_unstable_by(Scored::order);
    all
}

/// The ranking of neighbours by distance alone.
pub(crate) fn by_distance(neighbours: Vec<(Slot, f64)>) -> Vec<Ranked> {
    let ranked = |(slot, distance)| Ranked {
        distance: Some(distance),
        ..Ranked::new(Scored { slot, score: -distance })
    };
    let mut ranked: Vec<Ranked> = neighbours.into_iter().map(ranked).collect();
    // The search ordered them by the values from which distances are computed. These are more
    // precise, so some distances are equal although the values differ, and equal ones go by slot.
    ranked.sort_unstable_by(|left, right| left.scored.order(&right.scored));
    ranked
}

/// Sums of the scores of several texts.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    /// Sum by slot; 0 for slots that no text found, because every score is greater.
    by_slot: Vec<f64>,
}

impl Sums {
    /// Adds the scores of one text, in any order.
    pub(crate) fn add(&mut self, found: &[Scored]) {
        for scored in found {
            let place = scored.slot.number() as usize;
            if self.by_slot.len() <= place {
                self.by_slot.resize(place + 1, 0.0);
            }
            self.by_slot[place] += scored.score;
        }
    }

    /// All slots that a text found, in any order.
    pub(crate) fn all(self) -> Vec<Scored> {
        let sums = self.by_slot.into_iter().zip(0..).filter(|(score, _)| *score > 0.0);
        sums.map(|(score, slot)| Scored { slot: Slot::new(slot), score }).collect()
    }
}

/// The best `top_k` by reciprocal rank fusion: every ranking that has a slot, by distance or by
/// text, adds 1 / (60 + place) to its score.
pub(crate) fn fuse(neighbours: &[Ranked], texts: &[Vec<Scored>], top_k: usize) -> Vec<Ranked> {
    let mut sums: HashMap<Slot, f64> = HashMap::new();
    let by_distance = neighbours.iter().map(|neighbour| neighbour.scored.slot).enumerate();
    let by_text = texts.iter().flat_map(|found| found.iter().map(|scored| scored.slot).enumerate());
    for (place, slot) in by_distance.chain(by_text) {
        // Places count from 1.
        *sums.entry(slot).or_default() += 1.0 / (RANK_CONSTANT + place as f64 + 1.0);
    }
    let distances: HashMap<Slot, Option<f64>> =
        neighbours.iter().map(|neighbour| (neighbour.scored.slot, neighbour.distance)).collect();
    let all = sums.into_iter().map(|(slot, score)| Scored { slot, score }).collect();
    let ranked = |scored: Scored| Ranked {
        distance: distances.get(&scored.slot).copied().flatten(),
        ..Ranked::new(scored)
    };
    best(all, top_k).into_iter().map(ranked).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(ranked: &[Ranked]) -> Vec<u32> {
        ranked.iter().map(|ranked| ranked.scored.slot.number()).collect()
    }

    fn scored(slot: u32, score: f64) -> Scored {
        Scored { slot: Slot::new(slot), score }
    }

    fn neighbours(distances: &[(u32, f64)]) -> Vec<Ranked> {
        by_distance(
            distances.iter().map(|(slot, distance)| (Slot::new(*slot), *distance)).collect(),
        )
    }

    #[test]
    fn what_is_good_at_both_comes_first() {
        let neighbours = neighbours(&[(1, 0.1), (2, 0.2), (3, 0.3)]);
        assert_eq!(slots(&neighbours), [1, 2, 3]);
        let texts = [vec![scored(2, 9.0), scored(4, 5.0)]];
        let fused = fuse(&neighbours, &texts, 3);
        assert_eq!(slots(&fused), [2, 1, 4]);
        assert_eq!(fused[0].scored.score, 1.0 / 62.0 + 1.0 / 61.0);
        assert_eq!((fused[2].distance, fused[1].distance), (None, Some(0.1)));
    }

    #[test]
    fn the_scores_of_several_texts_are_added() {
        let mut sums = Sums::default();
        sums.add(&[scored(1, 3.0), scored(2, 2.0)]);
        sums.add(&[scored(3, 1.0), scored(2, 2.0)]);
        assert_eq!(best(sums.all(), 2), [scored(2, 4.0), scored(1, 3.0)]);
    }

    #[test]
    fn equals_are_in_the_order_of_their_slots() {
        assert_eq!(slots(&neighbours(&[(7, 0.5), (3, 0.5), (9, 0.0)])), [9, 3, 7]);
        let all: Vec<Scored> =
            (0..100).rev().map(|slot| scored(slot, f64::from(slot / 50))).collect();
        let expected: Vec<Scored> = (50..60).map(|slot| scored(slot, 1.0)).collect();
        assert_eq!(best(all.clone(), 10), expected);
        assert_eq!(best(all, 1000).len(), 100);
    }
}
