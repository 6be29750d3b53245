//! Figures about all vector buckets and indexes, for metrics.

use std::ops::Bound;

use liteio_kv::{Read as _, Snapshot};

use crate::error::StoreError;
use crate::indexes::Vectors;
use crate::meta::key::successor;
use crate::meta::space;
use crate::store::Store;

/// Figures of all vector buckets together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VectorFigures {
    /// Number of vector buckets.
    pub buckets: u64,
    /// Number of indexes.
    pub indexes: u64,
    /// Number of indexes with open files: used since the start, or with filters before it.
    pub open_indexes: u64,
    /// Number of vectors in the open indexes.
    pub open_vectors: u64,
    /// Number of open indexes whose codes and partitions are just being made in the background, or
    /// whose recall is being measured.
    pub preparing: u64,
    /// Lowest measured recall of the ten nearest among the open indexes.
    pub recall_at_10: Option<f64>,
}

impl Store {
    /// Figures of all vector buckets. The call opens no files: it looks up names, and what is in
    /// memory.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if metadata cannot be read,
    /// [`StoreError::Closed`].
    pub fn vector_figures(&self) -> Result<VectorFigures, StoreError> {
        let snapshot = self.snapshot()?;
        let mut figures = VectorFigures {
            buckets: count(&snapshot, space::ALL_VECTOR_BUCKETS)?,
            indexes: count(&snapshot, space::ALL_INDEXES)?,
            ..VectorFigures::default()
        };
        for open in self.open_indexes(Vectors::all_open).unwrap_or_default() {
            figures.open_indexes += 1;
            figures.open_vectors += open.vectors.slots().view().vector_count() as u64;
            figures.preparing += u64::from(open.vectors.is_preparing());
            let recall = open.vectors.recall().map(|recall| recall.at_10);
            figures.recall_at_10 = match (figures.recall_at_10, recall) {
                (Some(lowest), Some(recall)) => Some(lowest.min(recall)),
                (lowest, recall) => lowest.or(recall),
            };
        }
        Ok(figures)
    }
}

fn count(snapshot: &Snapshot, space: &[u8]) -> Result<u64, StoreError> {
    let end = successor(space).unwrap_or_default();
    let mut cursor = snapshot.cursor(Bound::Included(space), Bound::Excluded(&end))?;
    let mut found = 0;
    while cursor.next()?.is_some() {
        found += 1;
    }
    Ok(found)
}
