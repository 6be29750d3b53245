//! Search for vectors.

use std::collections::HashSet;

use liteio_kv::{Read, Snapshot};
use liteio_vector::{Recall, View};

use super::check;
use super::index::NEEDS_ENHANCED;
use super::position::QueryPosition;
use super::rank::Ranking;
use crate::error::StoreError;
use crate::indexes::Index;
use crate::indexes::OpenIndex;
use crate::indexes::filter::Filter;
use crate::indexes::fuse::Ranked;
use crate::indexes::scope::Scope;
use crate::limits::{QUERY_TEXT_CHARACTERS_MAX, QUERY_TEXTS_MAX, TOP_K_MAX, VECTOR_PAGE_BYTES_MAX};
use crate::meta::space;
use crate::meta::vector::{IndexMode, TextSearch, VectorRecord};
use crate::meta::vector_metadata::Metadata;
use crate::store::Store;

/// A search by distance, by text (BM25), or by both, fused by reciprocal rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VectorQuery {
    /// The vector whose neighbours are wanted.
    pub vector: Option<Vec<f32>>,
    /// Text searches, each over one metadata key.
    pub texts: Vec<QueryText>,
    /// Limit of results over all pages together, from 1 to [`TOP_K_MAX`].
    pub top_k: usize,
    /// Condition on metadata. Applied before the search, so `top_k` results come back whenever so
    /// many vectors match.
    pub filter: Option<Filter>,
    /// Mode of the query; `None` for the mode of the index.
    pub mode: Option<IndexMode>,
    /// Returns the metadata of the results, too.
    pub with_metadata: bool,
    /// Returns the scores of the texts, too.
    pub with_scores: bool,
    /// End of the previous page of the same query.
    pub after: Option<QueryPosition>,
}

/// Words to look for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryText {
    /// The metadata key.
    pub key: String,
    /// The words.
    pub text: String,
}

impl VectorQuery {
    /// The nearest `top_k` neighbours of `vector`.
    #[must_use]
    pub fn nearest(vector: Vec<f32>, top_k: usize) -> Self {
        Self { vector: Some(vector), top_k, ..Self::default() }
    }

    /// Checks the query. Returns the text searches of the index that it uses, in its order.
    fn check(&self, index: &Index) -> Result<Vec<TextSearch>, StoreError> {
        if self.top_k == 0 {
            return Err(StoreError::out_of_range("/topK", &(1..=u64::MAX)));
        }
        if self.top_k > TOP_K_MAX {
            let message = format!("{} is not from 1 to {TOP_K_MAX}", self.top_k);
            return Err(StoreError::field("/topK", message));
        }
        match &self.vector {
            Some(vector) => {
                if let Some(wrong) = check::wrong_elements(vector, index) {
                    let path = wrong.path("/queryVector/float32");
                    return Err(StoreError::field(path, wrong.message));
                }
            }
            None if self.texts.is_empty() => {
                let message = "a query has a queryVector, queryTexts or both";
                return Err(StoreError::field("/queryVector", message));
            }
            None => {}
        }
        if let Some(filter) = &self.filter {
            filter.check(index, self.mode.unwrap_or(index.mode))?;
        }
        if self.mode == Some(IndexMode::Classic) && index.mode == IndexMode::Enhanced {
            let message = "CLASSIC cannot be asked of an index in ENHANCED mode";
            return Err(StoreError::field("/queryMode", message));
        }
        if !self.texts.is_empty() && index.mode == IndexMode::Classic {
            return Err(StoreError::field("/queryTexts", NEEDS_ENHANCED));
        }
        if self.texts.len() > QUERY_TEXTS_MAX {
            let range = 1..=QUERY_TEXTS_MAX as u64;
            return Err(StoreError::wrong_length("/queryTexts", self.texts.len(), &range));
        }
        let mut seen = HashSet::new();
        let mut searches = Vec::with_capacity(self.texts.len());
        for (position, wanted) in self.texts.iter().enumerate() {
            let path = |field: &str| format!("/queryTexts/{position}/{field}");
            let characters = wanted.text.chars().count();
            if !(1..=QUERY_TEXT_CHARACTERS_MAX).contains(&characters) {
                let range = 1..=QUERY_TEXT_CHARACTERS_MAX as u64;
                return Err(StoreError::wrong_length(path("text"), characters, &range));
            }
            if !seen.insert(&wanted.key) {
                let message = format!("the key {:?} is there twice", wanted.key);
                return Err(StoreError::field(path("metadataKey"), message));
            }
            let search = index.text_search.iter().find(|search| search.key == wanted.key);
            searches.push(search.cloned().ok_or_else(|| {
                let message = format!("the key {:?} is not configured for text search", wanted.key);
                StoreError::field(path("metadataKey"), message)
            })?);
        }
        Ok(searches)
    }
}

/// A vector that a query found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Key.
    pub key: String,
    /// Distance from the query, if the vector search found it.
    pub distance: Option<f64>,
    /// BM25 score by metadata key, for every key whose text has words of the query, if
    /// [`VectorQuery::with_scores`] is set.
    pub text_scores: Vec<(String, f64)>,
    /// Reciprocal-rank-fusion score of its ranks in the vector search and the text searches, for a
    /// query with both.
    pub fused: Option<f64>,
    /// Metadata, if [`VectorQuery::with_metadata`] is set.
    pub metadata: Option<Metadata>,
}

impl Hit {
    /// Size towards [`VECTOR_PAGE_BYTES_MAX`], in bytes.
    fn bytes(&self) -> usize {
        let texts: usize = self.text_scores.iter().map(|(key, _)| key.len() + HIT_BYTES).sum();
        HIT_BYTES + self.key.len() + texts + self.metadata.as_ref().map_or(0, Metadata::bytes)
    }
}

/// Allowance for a hit, or for the score of a text, beside its strings.
const HIT_BYTES: usize = 64;

/// A page of results, the best first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryAnswer {
    /// The vectors.
    pub hits: Vec<Hit>,
    /// [`VectorQuery::after`] of the next page, if there is one.
    pub next: Option<QueryPosition>,
}

impl Store {
    /// Recall of the searches by distance in an index. Now and then, about once in a thousand scans
    /// of all vectors, a query is answered exactly in the background and compared with the results
    /// of a search. `None` before 32 comparisons, for an index that is closed because
    /// it was not used lately, and for an index whose vectors are so few or so short that all are
    /// compared. The call opens no files.
    ///
    /// # Errors
    /// [`StoreError::NoSuchIndex`].
    pub fn recall(&self, index: &Index) -> Result<Option<Recall>, StoreError> {
        index.require(&self.snapshot()?)?;
        let open = self.open_indexes(|vectors| vectors.if_open(index.id));
        Ok(open.flatten().and_then(|open| open.vectors.recall()))
    }

    /// The best results of a query, or a page of them, which ends with the result that reaches
    /// [`VECTOR_PAGE_BYTES_MAX`]. A page shows one consistent state, which includes every put and
    /// delete acknowledged before the call. The next page is a new search on a newer state.
    ///
    /// # Errors
    /// [`StoreError::InvalidField`], [`StoreError::NoSuchIndex`], [`StoreError::IndexDamaged`], and
    /// [`StoreError::Corrupt`] if the elements of a vector differ from the ones that were put. It
    /// may be a result, or a vector that was compared with the query and found too far.
    pub fn query_vectors(
        &self,
        index: &Index,
        query: &VectorQuery,
    ) -> Result<QueryAnswer, StoreError> {
        let searches = query.check(index)?;
        self.read_vectors(index, |store, index| {
            let open = store.open_index(index)?;
            store.consistently(&open, |view| store.try_query(&open, view, index, query, &searches))
        })
    }

    /// One attempt of a query; `None` if vectors were replaced meanwhile.
    pub(super) fn try_query(
        &self,
        open: &OpenIndex,
        view: &View,
        index: &Index,
        query: &VectorQuery,
        searches: &[TextSearch],
    ) -> Result<Option<QueryAnswer>, StoreError> {
        // Taken before the snapshot: a slot that the snapshot no longer references is then detected
        // by its missing record. In the other order a vector put in between could be missed
        // unnoticed.
        let moment = open.referenced.now();
        if moment.end > view.slot_count() {
            // The moment has slots that the view lacks. If they replaced slots of the view, the
            // search would find neither the old nor the new vector.
            return Ok(None);
        }
        let snapshot = self.snapshot()?;
        index.require(&snapshot)?;
        let scope = Scope { index, snapshot: &snapshot, moment: &moment };
        let ranking = Ranking { store: self, query, searches, scope, open, view };
        let Some(ranked) = ranking.rank()? else { return Ok(None) };
        if open.referenced.now().removals != moment.removals {
            // The search skips slots that are freed while it runs, so it may have missed one.
            return Ok(None);
        }
        resolve(&snapshot, index, query, &ranked)
    }
}

/// The page that begins with the first of `ranked`; `None` if a slot got another vector meanwhile.
fn resolve(
    snapshot: &Snapshot,
    index: &Index,
    query: &VectorQuery,
    ranked: &[Ranked],
) -> Result<Option<QueryAnswer>, StoreError> {
    let mut hits: Vec<Hit> = Vec::new();
    let mut bytes = 0;
    let mut last = None;
    for found in ranked {
        // A page ends only if another result follows, so the next page is never empty for its size.
        if let Some(last) = last
            && bytes >= VECTOR_PAGE_BYTES_MAX
        {
            let next = QueryPosition::after(query.after.as_ref(), hits.len(), last);
            return Ok(Some(QueryAnswer { hits, next: Some(next) }));
        }
        let Some(hit) = hit(snapshot, index, query, found)? else { return Ok(None) };
        bytes += hit.bytes();
        hits.push(hit);
        last = Some(found);
    }
    Ok(Some(QueryAnswer { hits, next: None }))
}

/// The result for a slot, with the requested parts; `None` if the slot got another vector
/// meanwhile.
fn hit(
    snapshot: &Snapshot,
    index: &Index,
    query: &VectorQuery,
    found: &Ranked,
) -> Result<Option<Hit>, StoreError> {
    let slot = found.scored.slot;
    let Some(key) = snapshot.get(&space::vector_slot(index.id, slot.number()))? else {
        return Ok(None);
    };
    let key =
        String::from_utf8(key.to_vec()).map_err(|_| StoreError::corrupt("the key of a vector"))?;
    // Both come from one snapshot, so a difference is damage.
    let misplaced = || StoreError::corrupt(format!("the slot of the vector {key:?}"));
    let record = snapshot.get(&space::vector(index.id, &key))?.ok_or_else(misplaced)?;
    if VectorRecord::slot_of(&record)? != slot.number() {
        return Err(misplaced());
    }
    let metadata = match query.with_metadata {
        true => Some(VectorRecord::decode(&record)?.metadata),
        false => None,
    };
    let is_hybrid = query.vector.is_some() && !query.texts.is_empty();
    let text_score = |(place, score): &(usize, f64)| (query.texts[*place].key.clone(), *score);
    Ok(Some(Hit {
        key,
        distance: found.distance,
        text_scores: found.text_scores.iter().map(text_score).collect(),
        fused: is_hybrid.then_some(found.scored.score),
        metadata,
    }))
}
