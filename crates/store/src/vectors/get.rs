//! Reading of vectors by their keys.

use liteio_vector::{Slot, VectorError, View, vector_crc};

use super::check;
use crate::error::StoreError;
use crate::indexes::Index;
use crate::indexes::OpenIndex;
use crate::limits::GET_VECTORS_MAX;
use crate::meta::vector::VectorRecord;
use crate::meta::vector_metadata::Metadata;
use crate::store::Store;

/// Optimistic attempts of a request, which starts again if vectors were replaced while it ran.
/// Further attempts block commits.
const FREE_ATTEMPTS: usize = 4;

/// Number of all attempts. An inconsistency that persists while no commit runs is damage.
const ATTEMPTS_MAX: usize = FREE_ATTEMPTS + 2;

/// Selection of vectors by key, and of the parts to return.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GetVectors {
    /// Keys of the vectors.
    pub keys: Vec<String>,
    /// Returns the elements, too.
    pub with_elements: bool,
    /// Returns the metadata, too.
    pub with_metadata: bool,
}

/// A vector, with the requested parts.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredVector {
    /// Key.
    pub key: String,
    /// Elements, if requested.
    pub elements: Option<Vec<f32>>,
    /// Metadata, if requested.
    pub metadata: Option<Metadata>,
}

impl Store {
    /// The vectors of some keys, in the order of the keys. Keys without a vector are left out.
    ///
    /// # Errors
    /// [`StoreError::InvalidField`], [`StoreError::NoSuchIndex`], and [`StoreError::Corrupt`] if
    /// the elements differ from the ones that were put.
    pub fn get_vectors(
        &self,
        index: &Index,
        query: &GetVectors,
    ) -> Result<Vec<StoredVector>, StoreError> {
        check::count(query.keys.len(), GET_VECTORS_MAX, "/keys")?;
        for (position, key) in query.keys.iter().enumerate() {
            check::vector_key(key, || format!("/keys/{position}"))?;
        }
        self.read_vectors(index, |store, index| store.get_stored(index, query))
    }

    fn get_stored(
        &self,
        index: &Index,
        query: &GetVectors,
    ) -> Result<Vec<StoredVector>, StoreError> {
        let open = self.open_index(index)?;
        self.consistently(&open, |view| {
            let snapshot = self.snapshot()?;
            index.require(&snapshot)?;
            let mut vectors = Vec::with_capacity(query.keys.len());
            for key in &query.keys {
                let Some(record) = VectorRecord::read(&snapshot, index.id, key)? else { continue };
                let elements = match query.with_elements {
                    true => match read(view, &record, key)? {
                        Some(elements) => Some(elements),
                        None => return Ok(None),
                    },
                    false => None,
                };
                let metadata = query.with_metadata.then_some(record.metadata);
                vectors.push(StoredVector { key: key.clone(), elements, metadata });
            }
            Ok(Some(vectors))
        })
    }

    /// Runs `attempt` with a new view each time, until its slots and records are consistent.
    pub(super) fn consistently<T>(
        &self,
        open: &OpenIndex,
        attempt: impl FnMut(&View) -> Result<Option<T>, StoreError>,
    ) -> Result<T, StoreError> {
        let result = Self::try_consistently(open, attempt);
        result.inspect_err(|error| self.shared().counters.failed_read(error))
    }

    fn try_consistently<T>(
        open: &OpenIndex,
        mut attempt: impl FnMut(&View) -> Result<Option<T>, StoreError>,
    ) -> Result<T, StoreError> {
        for number in 0..ATTEMPTS_MAX {
            // The last attempts block commits, so no vector can be replaced meanwhile.
            let _held = (number >= FREE_ATTEMPTS).then(|| open.referenced.hold());
            // The view comes before the snapshot: while the view lives, a slot that is freed from
            // here on is not overwritten.
            let view = open.vectors.slots().view();
            if let Some(result) = attempt(&view)? {
                return Ok(result);
            }
        }
        Err(StoreError::corrupt("records of vectors name slots that are not there"))
    }
}

/// The elements of a vector; `None` if it was replaced meanwhile.
pub(super) fn read(
    view: &View,
    record: &VectorRecord,
    key: &str,
) -> Result<Option<Vec<f32>>, StoreError> {
    let mut elements = vec![0.0; view.shape().dimension()];
    match view.read_into(Slot::new(record.slot), &mut elements) {
        Ok(()) => {}
        // The slot was freed, so the record was replaced.
        Err(VectorError::NoSuchSlot(_)) => return Ok(None),
        Err(VectorError::Corrupt(_)) => return Err(damaged(key)),
        Err(error) => return Err(error.into()),
    }
    if vector_crc(&elements) != record.crc {
        return Err(damaged(key));
    }
    Ok(Some(elements))
}

pub(super) fn damaged(key: &str) -> StoreError {
    StoreError::corrupt(format!("the elements of the vector {key:?} are not those that were put"))
}
