//! One ranking out of several.

use std::collections::HashMap;

use liteio_vector::Slot;

use super::text::Scored;

/// How little the first places stand out. The usual value of reciprocal rank fusion.
const RANK_CONSTANT: f64 = 60.0;

/// A slot that was found, with what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ranked {
    pub(super) slot: Slot,
    pub(super) distance: Option<f64>,
    pub(super) text_scores: Vec<(String, f64)>,
    pub(super) fused: Option<f64>,
}

/// The best `top_k`: of neighbours alone by distance, of texts alone by the sum of their scores, of both
/// by reciprocal rank fusion, which adds 1 / (60 + place) over the rankings that have found a slot.
pub(super) fn fuse(
    neighbours: Vec<(Slot, f64)>,
    texts: Vec<(&str, Vec<Scored>)>,
    top_k: usize,
    is_hybrid: bool,
) -> Vec<Ranked> {
    if texts.is_empty() {
        let alone = |(slot, distance)| Ranked { distance: Some(distance), ..Ranked::new(slot) };
        return neighbours.into_iter().take(top_k).map(alone).collect();
    }
    let mut merged = Merged::default();
    for (place, (slot, distance)) in neighbours.into_iter().enumerate() {
        let (ranked, rank) = merged.entry(slot);
        ranked.distance = Some(distance);
        *rank += reciprocal(place);
    }
    for (key, found) in texts {
        for (place, scored) in found.into_iter().enumerate() {
            let (ranked, rank) = merged.entry(scored.slot);
            ranked.text_scores.push((key.to_owned(), scored.score));
            *rank += if is_hybrid { reciprocal(place) } else { scored.score };
        }
    }
    let mut all = merged.all;
    // Stable: of equals the one that was found first.
    all.sort_by(|(_, left), (_, right)| right.total_cmp(left));
    all.truncate(top_k);
    let finish = |(ranked, rank)| Ranked { fused: is_hybrid.then_some(rank), ..ranked };
    all.into_iter().map(finish).collect()
}

fn reciprocal(place: usize) -> f64 {
    1.0 / (RANK_CONSTANT + place as f64 + 1.0)
}

impl Ranked {
    fn new(slot: Slot) -> Self {
        Self { slot, distance: None, text_scores: Vec::new(), fused: None }
    }
}

/// Slots in the order in which they were found first.
#[derive(Default)]
struct Merged {
    all: Vec<(Ranked, f64)>,
    places: HashMap<Slot, usize>,
}

impl Merged {
    fn entry(&mut self, slot: Slot) -> (&mut Ranked, &mut f64) {
        let place = *self.places.entry(slot).or_insert_with(|| {
            self.all.push((Ranked::new(slot), 0.0));
            self.all.len() - 1
        });
        let (ranked, rank) = &mut self.all[place];
        (ranked, rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(ranked: &[Ranked]) -> Vec<u32> {
        ranked.iter().map(|ranked| ranked.slot.number()).collect()
    }

    fn scored(slot: u32, score: f64) -> Scored {
        Scored { slot: Slot::new(slot), score }
    }

    #[test]
    fn what_is_good_at_both_comes_first() {
        let neighbours = vec![(Slot::new(1), 0.1), (Slot::new(2), 0.2), (Slot::new(3), 0.3)];
        let texts = vec![("title", vec![scored(2, 9.0), scored(4, 5.0)])];
        let fused = fuse(neighbours.clone(), texts, 3, true);
        assert_eq!(slots(&fused), [2, 1, 4]);
        assert_eq!(fused[0].fused, Some(1.0 / 62.0 + 1.0 / 61.0));
        assert_eq!(fused[0].text_scores, [("title".to_owned(), 9.0)]);
        assert_eq!((fused[2].distance, fused[1].distance), (None, Some(0.1)));
        let alone = fuse(neighbours, Vec::new(), 2, false);
        assert_eq!((slots(&alone), alone[0].fused), (vec![1, 2], None));
    }

    #[test]
    fn the_scores_of_several_texts_are_added() {
        let texts = vec![
            ("title", vec![scored(1, 3.0), scored(2, 2.0)]),
            ("body", vec![scored(2, 2.0), scored(3, 1.0)]),
        ];
        assert_eq!(slots(&fuse(Vec::new(), texts, 10, false)), [2, 1, 3]);
    }
}
