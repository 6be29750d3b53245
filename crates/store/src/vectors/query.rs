//! Finding vectors.

use std::collections::HashSet;

use liteio_vector::{Search, Slot, SlotSet, VectorError, View, vector_crc};

use super::check;
use super::columns::Scope;
use super::filter::Filter;
use super::fuse::{Ranked, fuse};
use super::get::damaged;
use super::index::{Index, NEEDS_ENHANCED};
use super::open::OpenIndex;
use crate::error::StoreError;
use crate::kv::{Read, Snapshot};
use crate::limits::{FUSED_DEPTH, QUERY_TEXT_CHARACTERS_MAX, QUERY_TEXTS_MAX, TOP_K_MAX};
use crate::meta::space;
use crate::meta::vector::{IndexMode, TextSearch, VectorRecord};
use crate::meta::vector_metadata::Metadata;
use crate::store::Store;

/// What to find: the nearest vectors, the best texts, or what is good at both.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VectorQuery {
    /// The vector whose neighbours are wanted.
    pub vector: Option<Vec<f32>>,
    /// Words, and the metadata key to look for them.
    pub texts: Vec<QueryText>,
    /// How many results.
    pub top_k: usize,
    /// Only these. Applied before the search, so `top_k` results come back whenever so many match.
    pub filter: Option<Filter>,
    /// If not that of the index.
    pub mode: Option<IndexMode>,
    /// Whether the metadata of the results is wanted.
    pub with_metadata: bool,
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

    /// The text searches of the index that the query asks for, in its order.
    fn check(&self, index: &Index) -> Result<Vec<TextSearch>, StoreError> {
        if !(1..=TOP_K_MAX).contains(&self.top_k) {
            let message = format!("{} is not from 1 to {TOP_K_MAX}", self.top_k);
            return Err(StoreError::field("topK", message));
        }
        match &self.vector {
            Some(vector) => check::elements(vector, index, || "queryVector.float32".to_owned())?,
            None if self.texts.is_empty() => {
                let message = "a query has a queryVector, queryTexts or both";
                return Err(StoreError::field("queryVector", message));
            }
            None => {}
        }
        if let Some(filter) = &self.filter {
            filter.check(index)?;
        }
        if self.mode == Some(IndexMode::Classic) && index.mode == IndexMode::Enhanced {
            let message = "CLASSIC cannot be asked of an index in ENHANCED mode";
            return Err(StoreError::field("queryMode", message));
        }
        if !self.texts.is_empty() && index.mode == IndexMode::Classic {
            return Err(StoreError::field("queryTexts", NEEDS_ENHANCED));
        }
        if self.texts.len() > QUERY_TEXTS_MAX {
            let message = format!("at most {QUERY_TEXTS_MAX} are allowed");
            return Err(StoreError::field("queryTexts", message));
        }
        let mut seen = HashSet::new();
        let mut searches = Vec::with_capacity(self.texts.len());
        for (position, wanted) in self.texts.iter().enumerate() {
            let path = |field: &str| format!("queryTexts[{position}].{field}");
            let characters = wanted.text.chars().count();
            if !(1..=QUERY_TEXT_CHARACTERS_MAX).contains(&characters) {
                let message = format!("a text has 1 to {QUERY_TEXT_CHARACTERS_MAX} characters");
                return Err(StoreError::field(path("text"), message));
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

/// A vector that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Its key.
    pub key: String,
    /// Its distance from the query, if the vector search has found it.
    pub distance: Option<f64>,
    /// The score of its text by metadata key, for those whose text search has found it.
    pub text_scores: Vec<(String, f64)>,
    /// What its places in the vector search and the text searches come to, for a query with both.
    pub fused: Option<f64>,
    /// Its metadata, if it was asked for.
    pub metadata: Option<Metadata>,
}

/// What was found, the best first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryAnswer {
    /// The vectors.
    pub hits: Vec<Hit>,
}

impl Store {
    /// The best results of a query. All are of one moment: every put and delete that was acknowledged
    /// before is seen.
    ///
    /// # Errors
    /// [`StoreError::InvalidField`], [`StoreError::NoSuchIndex`], and [`StoreError::Corrupt`] when the
    /// elements of a result are not those that were put.
    pub fn query_vectors(
        &self,
        index: &Index,
        query: &VectorQuery,
    ) -> Result<QueryAnswer, StoreError> {
        let searches = query.check(index)?;
        let open = self.open_index(index)?;
        self.consistently(&open, |view| self.try_query(&open, view, index, query, &searches))
    }

    /// `None` when vectors were replaced meanwhile.
    pub(super) fn try_query(
        &self,
        open: &OpenIndex,
        view: &View,
        index: &Index,
        query: &VectorQuery,
        searches: &[TextSearch],
    ) -> Result<Option<QueryAnswer>, StoreError> {
        // Before the snapshot: what is not in that any more is noticed.
        let moment = open.referenced.now();
        if moment.end > view.slot_count() {
            // What was put since the view was made may stand for what is in the view no more.
            return Ok(None);
        }
        let snapshot = self.snapshot()?;
        index.require(&snapshot)?;
        let scope = Scope { index, snapshot: &snapshot, moment: &moment };
        let Some(ranked) = self.rank(open, view, query, searches, &scope)? else {
            return Ok(None);
        };
        if open.referenced.now().removals != moment.removals {
            // One that was given back meanwhile may have been missed.
            return Ok(None);
        }
        resolve(&snapshot, view, index, query, &ranked)
    }

    /// The slots of the best results; `None` when vectors were replaced meanwhile.
    fn rank(
        &self,
        open: &OpenIndex,
        view: &View,
        query: &VectorQuery,
        searches: &[TextSearch],
        scope: &Scope<'_>,
    ) -> Result<Option<Vec<Ranked>>, StoreError> {
        let caches = &self.inner.vectors;
        let filtered = match &query.filter {
            Some(filter) => match scope.select(filter, &caches.columns)? {
                Some(slots) => Some(slots),
                None => return Ok(None),
            },
            None => None,
        };
        let allowed = filtered.as_ref().unwrap_or(&scope.moment.slots);
        let is_hybrid = query.vector.is_some() && !query.texts.is_empty();
        let depth = if is_hybrid { FUSED_DEPTH } else { query.top_k };
        let neighbours = match &query.vector {
            Some(vector) => nearest(open, view, vector, depth, allowed)?,
            None => Vec::new(),
        };
        // The scores of several keys are added, so each search has to tell of more than the best.
        let depth = if query.texts.len() > 1 { depth.max(FUSED_DEPTH) } else { depth };
        let mut texts = Vec::with_capacity(searches.len());
        for (search, wanted) in searches.iter().zip(&query.texts) {
            let found = scope.search_text(search, &wanted.text, allowed, depth, &caches.texts)?;
            match found {
                Some(found) => texts.push((search.key.as_str(), found)),
                None => return Ok(None),
            }
        }
        Ok(Some(fuse(neighbours, texts, query.top_k, is_hybrid)))
    }
}

/// Those of slots that were given back meanwhile may be missing, which `query_vectors` notices.
fn nearest(
    open: &OpenIndex,
    view: &View,
    vector: &[f32],
    depth: usize,
    allowed: &SlotSet,
) -> Result<Vec<(Slot, f64)>, StoreError> {
    let found = open.vectors.search(view, &Search::new(vector, depth).within(allowed))?;
    Ok(found.into_iter().map(|found| (found.slot, found.distance)).collect())
}

/// Keys and metadata of slots; `None` when one was given to another vector meanwhile.
fn resolve(
    snapshot: &Snapshot,
    view: &View,
    index: &Index,
    query: &VectorQuery,
    ranked: &[Ranked],
) -> Result<Option<QueryAnswer>, StoreError> {
    let mut hits = Vec::with_capacity(ranked.len());
    for found in ranked {
        let Some(key) = snapshot.get(&space::vector_slot(index.id, found.slot.number()))? else {
            return Ok(None);
        };
        let key = String::from_utf8(key.to_vec())
            .map_err(|_| StoreError::corrupt("the key of a vector"))?;
        let record = VectorRecord::read(snapshot, index.id, &key)?;
        let Some(record) = record.filter(|record| record.slot == found.slot.number()) else {
            return Err(StoreError::corrupt(format!("the slot of the vector {key:?}")));
        };
        if found.distance.is_some() {
            match view.vector(found.slot) {
                Ok(vector) if vector_crc(&vector) == record.crc => {}
                Ok(_) => return Err(damaged(&key)),
                Err(VectorError::NoSuchSlot(_)) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        hits.push(Hit {
            key,
            distance: found.distance,
            text_scores: found.text_scores.clone(),
            fused: found.fused,
            metadata: query.with_metadata.then_some(record.metadata),
        });
    }
    Ok(Some(QueryAnswer { hits }))
}
