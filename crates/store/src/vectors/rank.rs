//! Ranking the results of a query.

use std::collections::HashMap;

use liteio_vector::{Search, Slot, SlotSet, View};

use super::compare;
use super::query::VectorQuery;
use crate::error::StoreError;
use crate::indexes::columns::Scope;
use crate::indexes::fuse::{Ranked, Scored, Sums, best, by_distance, fuse};
use crate::indexes::{OpenIndex, Vectors};
use crate::limits::FUSED_DEPTH;
use crate::meta::vector::TextSearch;

/// A query, with the state that it runs on.
pub(super) struct Ranking<'query> {
    pub(super) query: &'query VectorQuery,
    /// Text searches of the index, one for each text of the query.
    pub(super) searches: &'query [TextSearch],
    pub(super) scope: Scope<'query>,
    pub(super) open: &'query OpenIndex,
    pub(super) view: &'query View,
    pub(super) caches: &'query Vectors,
}

impl Ranking<'_> {
    /// The results after `query.after`, with the scores of all texts if requested; `None` if vectors were
    /// replaced meanwhile.
    pub(super) fn rank(&self) -> Result<Option<Vec<Ranked>>, StoreError> {
        let query = self.query;
        let filtered = match &query.filter {
            Some(filter) => match self.scope.select(filter, &self.caches.columns)? {
                Some(slots) => Some(slots),
                None => return Ok(None),
            },
            None => None,
        };
        let allowed = filtered.as_ref().unwrap_or(&self.scope.moment.slots);
        let ranked = match &query.vector {
            Some(vector) if query.texts.is_empty() => {
                Some(self.nearest(vector, query.top_k, allowed)?)
            }
            Some(vector) => self.hybrid(vector, allowed)?,
            None => self.best_texts(allowed)?,
        };
        let Some(mut ranked) = ranked else { return Ok(None) };
        if let Some(after) = &query.after {
            after.skip(&mut ranked, query.top_k);
        }
        let is_complete = !query.with_scores || self.score_texts(&mut ranked)?;
        Ok(is_complete.then_some(ranked))
    }

    /// The nearest neighbours. Slots freed meanwhile may be missing, which `try_query` detects.
    fn nearest(
        &self,
        vector: &[f32],
        depth: usize,
        allowed: &SlotSet,
    ) -> Result<Vec<Ranked>, StoreError> {
        let search = Search::new(vector, depth).within(allowed);
        let found = self.open.vectors.find(self.view, &search);
        let found = found.map_err(|error| compare::failure(&self.scope, error))?;
        compare::found_with_records(&self.scope, self.view, &found.unknown)?;
        Ok(by_distance(
            found.neighbours.into_iter().map(|found| (found.slot, found.distance)).collect(),
        ))
    }

    /// The best results by the sum of their text scores.
    fn best_texts(&self, allowed: &SlotSet) -> Result<Option<Vec<Ranked>>, StoreError> {
        let mut sums = Sums::default();
        for place in 0..self.searches.len() {
            let Some(found) = self.matches(place, allowed)? else { return Ok(None) };
            sums.add(&found);
        }
        let ranked = best(sums.all(), self.query.top_k);
        Ok(Some(ranked.into_iter().map(Ranked::new).collect()))
    }

    /// Neighbours and text results, fused by reciprocal rank.
    fn hybrid(&self, vector: &[f32], allowed: &SlotSet) -> Result<Option<Vec<Ranked>>, StoreError> {
        let depth = self.query.top_k.max(FUSED_DEPTH);
        let neighbours = self.nearest(vector, depth, allowed)?;
        let mut texts = Vec::with_capacity(self.searches.len());
        for place in 0..self.searches.len() {
            let Some(found) = self.matches(place, allowed)? else { return Ok(None) };
            texts.push(best(found, depth));
        }
        Ok(Some(fuse(&neighbours, &texts, self.query.top_k)))
    }

    /// All slots with words of a text of the query, in any order.
    fn matches(&self, place: usize, allowed: &SlotSet) -> Result<Option<Vec<Scored>>, StoreError> {
        let (search, wanted) = (&self.searches[place], &self.query.texts[place]);
        self.scope.search_text(search, &wanted.text, allowed, &self.caches.texts)
    }

    /// Adds the scores of every text, whichever search found a slot; `false` if vectors were replaced
    /// meanwhile. Scoring the few results again takes less memory than keeping the scores of all matches
    /// until the results are chosen.
    fn score_texts(&self, ranked: &mut [Ranked]) -> Result<bool, StoreError> {
        if self.query.vector.is_none() && self.searches.len() == 1 {
            for found in ranked {
                found.text_scores.push((0, found.scored.score));
            }
            return Ok(true);
        }
        let slots: SlotSet = ranked.iter().map(|found| found.scored.slot).collect();
        let slot = |(index, found): (usize, &Ranked)| (found.scored.slot, index);
        let indexes: HashMap<Slot, usize> = ranked.iter().enumerate().map(slot).collect();
        for place in 0..self.searches.len() {
            let Some(found) = self.matches(place, &slots)? else { return Ok(false) };
            for scored in found {
                if let Some(index) = indexes.get(&scored.slot) {
                    ranked[*index].text_scores.push((place, scored.score));
                }
            }
        }
        Ok(true)
    }
}
