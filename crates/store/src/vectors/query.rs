//! Finding vectors.

use liteio_vector::{Search, Slot, SlotSet, VectorError, View, vector_crc};

use super::check;
use super::get::damaged;
use super::index::Index;
use super::open::OpenIndex;
use crate::error::StoreError;
use crate::kv::{Read, Snapshot};
use crate::limits::TOP_K_MAX;
use crate::meta::space;
use crate::meta::vector::VectorRecord;
use crate::meta::vector_metadata::Metadata;
use crate::store::Store;

/// What to find.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorQuery {
    /// The vector whose neighbours are wanted.
    pub vector: Option<Vec<f32>>,
    /// How many results.
    pub top_k: usize,
    /// Whether the metadata of the results is wanted.
    pub with_metadata: bool,
}

impl VectorQuery {
    /// The nearest `top_k` neighbours of `vector`.
    #[must_use]
    pub fn nearest(vector: Vec<f32>, top_k: usize) -> Self {
        Self { vector: Some(vector), top_k, with_metadata: false }
    }
}

/// A vector that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Its key.
    pub key: String,
    /// Its distance from the query.
    pub distance: Option<f32>,
    /// Its metadata, if it was asked for.
    pub metadata: Option<Metadata>,
}

/// What was found, the best first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryAnswer {
    /// The vectors.
    pub hits: Vec<Hit>,
}

/// A slot that was found.
#[derive(Clone, Debug)]
pub(super) struct Ranked {
    pub(super) slot: Slot,
    pub(super) distance: Option<f32>,
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
        if !(1..=TOP_K_MAX).contains(&query.top_k) {
            let message = format!("{} is not from 1 to {TOP_K_MAX}", query.top_k);
            return Err(StoreError::field("topK", message));
        }
        if let Some(vector) = &query.vector {
            check::elements(vector, index, || "queryVector.float32".to_owned())?;
        }
        let open = self.open_index(index)?;
        self.consistently(&open, |view| {
            // Before the snapshot: what is not in that any more is noticed.
            let (slots, removals) = open.referenced.slots();
            let snapshot = self.snapshot()?;
            index.require(&snapshot)?;
            let Some(ranked) = rank(&open, view, query, &slots)? else { return Ok(None) };
            if open.referenced.slots().1 != removals {
                // One that was given back meanwhile may have been missed.
                return Ok(None);
            }
            resolve(&snapshot, view, index, query, &ranked)
        })
    }
}

/// The slots of the best results; `None` when one was given back meanwhile.
fn rank(
    open: &OpenIndex,
    view: &View,
    query: &VectorQuery,
    slots: &SlotSet,
) -> Result<Option<Vec<Ranked>>, StoreError> {
    let Some(vector) = &query.vector else { return Ok(Some(Vec::new())) };
    let search = Search::new(vector, query.top_k).within(slots);
    let neighbours = match open.vectors.search(view, &search) {
        Err(VectorError::NoSuchSlot(_)) => return Ok(None),
        neighbours => neighbours?,
    };
    let ranked = |neighbour: liteio_vector::Neighbour| Ranked {
        slot: neighbour.slot,
        distance: Some(neighbour.distance),
    };
    Ok(Some(neighbours.into_iter().map(ranked).collect()))
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
        let metadata = query.with_metadata.then_some(record.metadata);
        hits.push(Hit { key, distance: found.distance, metadata });
    }
    Ok(Some(QueryAnswer { hits }))
}
