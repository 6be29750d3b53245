//! Getting vectors by their keys.

use liteio_vector::{Slot, VectorError, View, vector_crc};

use super::check;
use crate::error::StoreError;
use crate::indexes::Index;
use crate::indexes::OpenIndex;
use crate::limits::GET_VECTORS_MAX;
use crate::meta::vector::VectorRecord;
use crate::meta::vector_metadata::Metadata;
use crate::store::Store;

/// So often is a request started again because vectors were replaced while it ran: then those who
/// replace them wait.
const FREE_ATTEMPTS: usize = 4;

/// What is still inconsistent then is damaged.
const ATTEMPTS_MAX: usize = FREE_ATTEMPTS + 2;

/// Which vectors, and what of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GetVectors {
    /// Their keys.
    pub keys: Vec<String>,
    /// Whether their elements are wanted.
    pub with_elements: bool,
    /// Whether their metadata is wanted.
    pub with_metadata: bool,
}

/// A vector, as far as it was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredVector {
    /// Its key.
    pub key: String,
    /// Its elements.
    pub elements: Option<Vec<f32>>,
    /// Its metadata.
    pub metadata: Option<Metadata>,
}

impl Store {
    /// The vectors of some keys, in the order of the keys. Those that are not there are left out.
    ///
    /// # Errors
    /// [`StoreError::InvalidField`], [`StoreError::NoSuchIndex`], and [`StoreError::Corrupt`] when the
    /// elements are not those that were put.
    pub fn get_vectors(
        &self,
        index: &Index,
        query: &GetVectors,
    ) -> Result<Vec<StoredVector>, StoreError> {
        check::count(query.keys.len(), GET_VECTORS_MAX, "keys")?;
        for (position, key) in query.keys.iter().enumerate() {
            check::vector_key(key, || format!("keys[{position}]"))?;
        }
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

    /// Runs `attempt` with a view until it has seen slots and records that fit together.
    pub(super) fn consistently<T>(
        &self,
        open: &OpenIndex,
        mut attempt: impl FnMut(&View) -> Result<Option<T>, StoreError>,
    ) -> Result<T, StoreError> {
        for number in 0..ATTEMPTS_MAX {
            let _held = (number >= FREE_ATTEMPTS).then(|| open.referenced.hold());
            // First: what is replaced from here on keeps its slot until the view is gone.
            let view = open.vectors.slots().view();
            if let Some(result) = attempt(&view)? {
                return Ok(result);
            }
        }
        Err(StoreError::corrupt("records of vectors name slots that are not there"))
    }
}

/// The elements of a vector; `None` when it was replaced meanwhile.
pub(super) fn read(
    view: &View,
    record: &VectorRecord,
    key: &str,
) -> Result<Option<Vec<f32>>, StoreError> {
    let mut elements = vec![0.0; view.shape().dimension()];
    match view.read_into(Slot::new(record.slot), &mut elements) {
        Ok(()) => {}
        Err(VectorError::NoSuchSlot(_)) => return Ok(None),
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
