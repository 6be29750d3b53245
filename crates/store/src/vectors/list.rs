//! Listing vectors in the order of their keys.

use crc_fast::CrcAlgorithm::Crc64Nvme;

use super::get::{StoredVector, read};
use crate::error::StoreError;
use crate::indexes::Index;
use crate::limits::{LIST_SEGMENTS_MAX, LIST_VECTORS_MAX, VECTOR_PAGE_BYTES_MAX};
use crate::meta::space;
use crate::meta::vector::VectorRecord;
use crate::store::Store;

/// Segment of a parallel listing: the keys whose CRC-64/NVME modulo `count` is `index`. With the
/// same count, a key always belongs to the same segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    index: u32,
    count: u32,
}

impl Segment {
    /// The whole index.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// Segment `index` of `count`.
    ///
    /// # Errors
    /// [`StoreError::InvalidField`].
    pub fn new(index: u32, count: u32) -> Result<Self, StoreError> {
        if !(1..=LIST_SEGMENTS_MAX).contains(&count) {
            let range = 1..=u64::from(LIST_SEGMENTS_MAX);
            return Err(StoreError::out_of_range("/segmentCount", &range));
        }
        if index >= count {
            let message = format!("{index} is not less than segmentCount, which is {count}");
            return Err(StoreError::field("/segmentIndex", message));
        }
        Ok(Self { index, count })
    }

    fn contains(self, key: &[u8]) -> bool {
        let hash = crc_fast::checksum(Crc64Nvme, key);
        self.count == 1 || hash % u64::from(self.count) == u64::from(self.index)
    }
}

/// Selection of the vectors to list, and of the parts to return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListVectors {
    /// Keys after this one, exclusive.
    pub after: Option<String>,
    /// Segment of the parallel listing.
    pub segment: Segment,
    /// Limit of vectors on the page, from 1 to [`LIST_VECTORS_MAX`].
    pub max: usize,
    /// Returns the elements, too.
    pub with_elements: bool,
    /// Returns the metadata, too.
    pub with_metadata: bool,
}

impl Default for ListVectors {
    fn default() -> Self {
        Self {
            after: None,
            segment: Segment::WHOLE,
            max: LIST_VECTORS_MAX,
            with_elements: false,
            with_metadata: false,
        }
    }
}

/// Vectors in the order of their keys.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorPage {
    /// The vectors.
    pub vectors: Vec<StoredVector>,
    /// [`ListVectors::after`] of the next page, if there is one.
    pub next: Option<String>,
}

impl Store {
    /// A page of vectors. It ends with the vector that makes it larger than
    /// [`VECTOR_PAGE_BYTES_MAX`].
    ///
    /// # Errors
    /// [`StoreError::NoSuchIndex`], and [`StoreError::Corrupt`] if elements differ from the ones
    /// that were put.
    pub fn list_vectors(
        &self,
        index: &Index,
        query: &ListVectors,
    ) -> Result<VectorPage, StoreError> {
        self.read_vectors(index, |store, index| store.list_stored(index, query))
    }

    fn list_stored(&self, index: &Index, query: &ListVectors) -> Result<VectorPage, StoreError> {
        let max = query.max.clamp(1, LIST_VECTORS_MAX);
        let open = self.open_index(index)?;
        self.consistently(&open, |view| {
            let snapshot = self.snapshot()?;
            index.require(&snapshot)?;
            let prefix = space::vectors_of(index.id);
            let mut cursor = space::within(&snapshot, &prefix)?;
            if let Some(after) = &query.after {
                cursor.seek(&[space::vector(index.id, after), vec![0]].concat())?;
            }
            let mut page = VectorPage { vectors: Vec::new(), next: None };
            let mut bytes = 0;
            while let Some((place, value)) = cursor.next()? {
                let (_, key) = VectorRecord::index_and_key(place)?;
                if !query.segment.contains(key.as_bytes()) {
                    continue;
                }
                if page.vectors.len() >= max || bytes >= VECTOR_PAGE_BYTES_MAX {
                    page.next = page.vectors.last().map(|vector| vector.key.clone());
                    break;
                }
                bytes += key.len();
                let (mut elements, mut metadata) = (None, None);
                if query.with_elements || query.with_metadata {
                    let record = VectorRecord::decode(value)?;
                    if query.with_elements {
                        elements = read(view, &record, key)?;
                        if elements.is_none() {
                            return Ok(None);
                        }
                        bytes += view.shape().dimension() * 4;
                    }
                    if query.with_metadata {
                        bytes += record.metadata.bytes();
                        metadata = Some(record.metadata);
                    }
                }
                page.vectors.push(StoredVector { key: key.to_owned(), elements, metadata });
            }
            Ok(Some(page))
        })
    }
}
