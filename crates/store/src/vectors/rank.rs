//! Ranking of the results of a query.

use std::collections::HashMap;

use liteio_vector::{NEIGHBOURS_MAX, Search, Slot, SlotSet, View};

use super::compare;
use super::query::VectorQuery;
use crate::error::StoreError;
use crate::indexes::OpenIndex;
use crate::indexes::columns::Selected;
use crate::indexes::filter::Filter;
use crate::indexes::fuse::{Ranked, Scored, Sums, best, by_distance, fuse};
use crate::indexes::scope::Scope;
use crate::limits::FUSED_DEPTH;
use crate::meta::vector::TextSearch;
use crate::store::Store;

/// A query with the state on which it runs.
pub(super) struct Ranking<'query> {
    pub(super) store: &'query Store,
    pub(super) query: &'query VectorQuery,
    /// Text searches of the index, one for each text of the query.
    pub(super) searches: &'query [TextSearch],
    pub(super) scope: Scope<'query>,
    pub(super) open: &'query OpenIndex,
    pub(super) view: &'query View,
}

/// Result of a filter.
enum Filtered {
    /// The slots that it accepts.
    Slots(SlotSet),
    /// The results of a search by distance.
    Ranked(Vec<Ranked>),
    /// Vectors were replaced meanwhile.
    Replaced,
}

/// Number of neighbours to look at for each wanted result while columns are missing: at first, and
/// at most.
const NEAREST_FACTOR: usize = 8;
const NEAREST_FACTOR_MAX: usize = 64;
/// Part of the vectors up to which neighbours are looked at: one in this many. From there on,
/// reading all records takes little more time.
const NEAREST_PART: usize = 64;

impl Ranking<'_> {
    /// The results after `query.after`, with the scores of all texts if requested; `None` if
    /// vectors were replaced meanwhile.
    pub(super) fn rank(&self) -> Result<Option<Vec<Ranked>>, StoreError> {
        let query = self.query;
        let filtered = match &query.filter {
            Some(filter) => match self.filter(filter)? {
                Filtered::Slots(slots) => Some(slots),
                Filtered::Ranked(ranked) => return Ok(Some(self.after(ranked))),
                Filtered::Replaced => return Ok(None),
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
        let Some(ranked) = ranked else { return Ok(None) };
        let mut ranked = self.after(ranked);
        let is_complete = !query.with_scores || self.score_texts(&mut ranked)?;
        Ok(is_complete.then_some(ranked))
    }

    /// The results behind the previous page.
    fn after(&self, mut ranked: Vec<Ranked>) -> Vec<Ranked> {
        if let Some(after) = &self.query.after {
            after.skip(&mut ranked, self.query.top_k);
        }
        ranked
    }

    /// Applies the filter. If its columns are not ready, it has them made, and looks among the
    /// nearest neighbours meanwhile. If these do not suffice, it waits for the columns once.
    fn filter(&self, filter: &Filter) -> Result<Filtered, StoreError> {
        let columns = &self.store.inner.vectors.columns;
        let mut has_waited = false;
        loop {
            match self.scope.select(filter, columns)? {
                Selected::Slots(slots) => return Ok(Filtered::Slots(slots)),
                Selected::Replaced => return Ok(Filtered::Replaced),
                Selected::Pending(wanted) if !has_waited => {
                    self.store.want_columns(self.scope.index, &wanted);
                    if let Some(ranked) = self.nearest_that_match(filter)? {
                        return Ok(Filtered::Ranked(ranked));
                    }
                    // A wait that times out asks again: the thread that made the columns may have
                    // panicked.
                    while !columns.wait(&wanted) {
                        self.store.want_columns(self.scope.index, &wanted);
                    }
                    has_waited = true;
                }
                // After one wait the records are read, so that the query ends whatever evicts its
                // columns.
                Selected::Pending(_) | Selected::TooLarge => {
                    let slots = self.scope.select_by_records(filter)?;
                    return Ok(slots.map_or(Filtered::Replaced, Filtered::Slots));
                }
            }
        }
    }

    /// The nearest vectors that the filter accepts, if enough of them are among the nearest of all.
    /// Then only their records are read.
    fn nearest_that_match(&self, filter: &Filter) -> Result<Option<Vec<Ranked>>, StoreError> {
        let (Some(vector), []) = (&self.query.vector, &self.query.texts[..]) else {
            return Ok(None);
        };
        // After a `kill -9`, the exact comparison of the vectors without codes takes longer than
        // making columns.
        if !self.open.vectors.has_most_codes() {
            return Ok(None);
        }
        let all = &self.scope.moment.slots;
        let wanted = self.query.top_k;
        let mut depth = NEAREST_FACTOR * wanted;
        loop {
            if depth > NEIGHBOURS_MAX || depth * NEAREST_PART > all.count() {
                return Ok(None);
            }
            let mut ranked = self.nearest(vector, depth, all)?;
            let slots: Vec<Slot> = ranked.iter().map(|found| found.scored.slot).collect();
            // Replaced meanwhile: the next attempt finds more.
            let Some(accepted) = self.scope.select_records(&slots, filter)? else {
                return Ok(None);
            };
            ranked.retain(|found| accepted.contains(found.scored.slot));
            if ranked.len() >= wanted {
                ranked.truncate(wanted);
                return Ok(Some(ranked));
            }
            // Twice the depth that would suffice if the filter accepted the same part of all.
            let next = (2 * depth * wanted).checked_div(ranked.len()).unwrap_or(usize::MAX);
            if next > NEAREST_FACTOR_MAX * wanted {
                return Ok(None);
            }
            depth = next;
        }
    }

    /// The nearest neighbours. Slots freed meanwhile may be missing; `try_query` detects that.
    fn nearest(
        &self,
        vector: &[f32],
        depth: usize,
        allowed: &SlotSet,
    ) -> Result<Vec<Ranked>, StoreError> {
        let search = Search::new(vector, depth).within(allowed);
        let found = self.open.vectors.find(self.view, &search);
        let found = found.map_err(|error| compare::failure(&self.scope, error))?;
        // Vectors not yet compared with their records since the index was opened are verified before
        // the results depend on them.
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
        // Deeper than the results: a vector that is far down in each ranking may be near the top of
        // the sum.
        let depth = self.query.top_k.max(FUSED_DEPTH);
        let neighbours = self.nearest(vector, depth, allowed)?;
        let mut texts = Vec::with_capacity(self.searches.len());
        for place in 0..self.searches.len() {
            let Some(found) = self.matches(place, allowed)? else { return Ok(None) };
            texts.push(best(found, depth));
        }
        Ok(Some(fuse(&neighbours, &texts, self.query.top_k)))
    }

    /// All slots with words of one text of the query, scored, in any order.
    fn matches(&self, place: usize, allowed: &SlotSet) -> Result<Option<Vec<Scored>>, StoreError> {
        let (search, wanted) = (&self.searches[place], &self.query.texts[place]);
        self.scope.search_text(search, &wanted.text, allowed, &self.store.inner.vectors.texts)
    }

    /// Adds the scores of all texts to the results, whichever search found them; `false` if vectors
    /// were replaced meanwhile. To score the few results again takes less memory than to keep the
    /// scores of all matches until the results are chosen.
    fn score_texts(&self, ranked: &mut [Ranked]) -> Result<bool, StoreError> {
        if self.query.vector.is_none() && self.searches.len() == 1 {
            // The results are ranked by this very score.
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
