//! An index and its record.

use liteio_kv::Read;
use liteio_vector::VectorError;

use super::name::VectorName;
use crate::error::StoreError;
use crate::meta::vector::{DistanceMetric, Encryption, IndexMode, IndexRecord, TextSearch};
use crate::name::{BucketId, IndexId};

/// An index, as its record was when it was read. Operations check that the index still exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Name of its vector bucket.
    pub bucket: VectorName,
    /// Number of its vector bucket.
    pub bucket_id: BucketId,
    /// Name of the index.
    pub name: VectorName,
    /// Number of the index in records and file names.
    pub id: IndexId,
    /// Time of creation, in milliseconds since 1970.
    pub created_ms: u64,
    /// Number of elements of a vector.
    pub dimension: u32,
    /// Distance by which vectors are compared.
    pub metric: DistanceMetric,
    /// Metadata keys that filters may not use.
    pub non_filterable: Vec<String>,
    /// Metadata keys with text search.
    pub text_search: Vec<TextSearch>,
    /// Mode in which queries are answered.
    pub mode: IndexMode,
    /// Encryption settings of the request that created it, or else of the vector bucket.
    pub encryption: Option<Encryption>,
}

impl Index {
    pub(crate) fn new(
        bucket: VectorName,
        bucket_id: BucketId,
        name: VectorName,
        record: IndexRecord,
    ) -> Self {
        let IndexRecord { id, created_ms, dimension, metric, .. } = record;
        let IndexRecord { non_filterable, text_search, mode, encryption, .. } = record;
        Self {
            bucket,
            bucket_id,
            name,
            id,
            created_ms,
            dimension,
            metric,
            non_filterable,
            text_search,
            mode,
            encryption,
        }
    }

    pub(crate) fn missing(&self) -> StoreError {
        let (bucket, index) = (self.bucket.to_string(), self.name.to_string());
        StoreError::NoSuchIndex { bucket, index }
    }

    /// An error of the files of this index.
    pub(crate) fn failure(&self, error: VectorError) -> StoreError {
        match error {
            VectorError::NoSpace(_)
            | VectorError::Poisoned(_)
            | VectorError::FormatTooNew { .. } => error.into(),
            // The arguments were checked before the call.
            error => StoreError::IndexDamaged {
                bucket: self.bucket.to_string(),
                index: self.name.to_string(),
                reason: error.to_string(),
            },
        }
    }

    /// The record of this very index, not of another one that has taken its name since.
    ///
    /// # Errors
    /// [`StoreError::NoSuchIndex`].
    pub(crate) fn require(&self, from: &impl Read) -> Result<IndexRecord, StoreError> {
        IndexRecord::read(from, self.bucket_id, self.name.as_str())?
            .filter(|record| record.id == self.id)
            .ok_or_else(|| self.missing())
    }

    pub(crate) fn is_filterable(&self, key: &str) -> bool {
        !self.non_filterable.iter().any(|other| other == key)
    }
}
