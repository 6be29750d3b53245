//! Records of vector buckets, indexes and vectors.

use liteio_kv::{Read, Write};
use serde::{Deserialize, Serialize};

use super::vector_metadata::{BorrowedMetadata, Metadata, MetadataValue};
use super::{Owner, record, space};
use crate::error::StoreError;
use crate::limits::RESOURCE_TAGS_MAX;
use crate::name::{BucketId, IndexId};

/// The encryption settings of a client. They are stored and returned, not applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Encryption {
    /// `AES256` or `aws:kms`.
    pub kind: String,
    /// Key, with `aws:kms`.
    pub kms_key: Option<String>,
}

/// Mode in which an index answers queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum IndexMode {
    /// The mode of S3 Vectors at its start: no text search.
    Classic,
    /// With filters before the search, and with text search.
    #[default]
    Enhanced,
}

/// Distance between vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DistanceMetric {
    /// 1 − cosine of the angle.
    Cosine,
    /// Length of the straight line.
    Euclidean,
}

/// Text search over a metadata key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextSearch {
    /// Metadata key.
    pub key: String,
    /// Language of its texts; with `None`, words are taken as they are.
    pub language: Option<Language>,
}

/// A language for text search: with stems, or for Chinese, Japanese and Korean with pairs of
/// characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Language {
    English,
    French,
    Spanish,
    Portuguese,
    Italian,
    German,
    Dutch,
    Chinese,
    Japanese,
    Korean,
}

/// A vector bucket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct VectorBucketRecord {
    pub(crate) id: BucketId,
    pub(crate) created_ms: u64,
    pub(crate) owner: Owner,
    pub(crate) encryption: Option<Encryption>,
    pub(crate) default_mode: IndexMode,
}

impl VectorBucketRecord {
    pub(crate) fn read(from: &impl Read, name: &str) -> Result<Option<Self>, StoreError> {
        match from.get(&space::vector_bucket(name))? {
            Some(bytes) => Self::decode(&bytes).map(Some),
            None => Ok(None),
        }
    }

    /// # Errors
    /// [`StoreError::NoSuchVectorBucket`].
    pub(crate) fn require(from: &impl Read, name: &str) -> Result<Self, StoreError> {
        let missing = || StoreError::NoSuchVectorBucket { bucket: name.to_owned() };
        Self::read(from, name)?.ok_or_else(missing)
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        record::decode(bytes, "a vector bucket's record")
    }

    pub(crate) fn write(&self, to: &mut impl Write, name: &str) -> Result<(), StoreError> {
        Ok(to.put(&space::vector_bucket(name), &record::encode(1, self))?)
    }
}

/// An index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IndexRecord {
    pub(crate) id: IndexId,
    pub(crate) created_ms: u64,
    pub(crate) dimension: u32,
    pub(crate) metric: DistanceMetric,
    pub(crate) non_filterable: Vec<String>,
    pub(crate) text_search: Vec<TextSearch>,
    pub(crate) mode: IndexMode,
    pub(crate) encryption: Option<Encryption>,
}

impl IndexRecord {
    pub(crate) fn read(
        from: &impl Read,
        bucket: BucketId,
        name: &str,
    ) -> Result<Option<Self>, StoreError> {
        match from.get(&space::index(bucket, name))? {
            Some(bytes) => Self::decode(&bytes).map(Some),
            None => Ok(None),
        }
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        record::decode(bytes, "an index's record")
    }

    pub(crate) fn write(
        &self,
        to: &mut impl Write,
        bucket: BucketId,
        name: &str,
    ) -> Result<(), StoreError> {
        Ok(to.put(&space::index(bucket, name), &record::encode(1, self))?)
    }
}

/// A vector: the slot of its elements, their CRC, and its metadata.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct VectorRecord {
    pub(crate) slot: u32,
    /// CRC-64 of the elements. If the slot holds others, the vector is damaged.
    pub(crate) crc: u64,
    pub(crate) metadata: Metadata,
}

impl VectorRecord {
    pub(crate) fn read(
        from: &impl Read,
        index: IndexId,
        key: &str,
    ) -> Result<Option<Self>, StoreError> {
        match from.get(&space::vector(index, key))? {
            Some(bytes) => Self::decode(&bytes).map(Some),
            None => Ok(None),
        }
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        record::decode(bytes, "a vector's record")
    }

    /// Writes the record of a vector, and the key of its slot.
    pub(crate) fn write(
        &self,
        to: &mut impl Write,
        index: IndexId,
        key: &str,
    ) -> Result<(), StoreError> {
        to.put(&space::vector(index, key), &self.encoded())?;
        Ok(to.put(&space::vector_slot(index, self.slot), key.as_bytes())?)
    }

    /// The index and the key in the key of a vector's row.
    pub(crate) fn index_and_key(row: &[u8]) -> Result<(IndexId, &str), StoreError> {
        space::split_vector(row).ok_or_else(|| StoreError::corrupt("the key of a vector"))
    }

    pub(crate) fn encoded(&self) -> Vec<u8> {
        record::encode(1, self)
    }

    /// The slot in a record, without the rest.
    pub(crate) fn slot_of(bytes: &[u8]) -> Result<u32, StoreError> {
        let (_, fields) = record::split_version(bytes, 1)?;
        Ok(record::take(fields, "a vector's record")?.0)
    }

    /// The slot and the CRC in a record, without the metadata.
    pub(crate) fn slot_and_crc_of(bytes: &[u8]) -> Result<(u32, u64), StoreError> {
        let (_, fields) = record::split_version(bytes, 1)?;
        Ok(record::take(fields, "a vector's record")?.0)
    }

    /// The slot in a record, and the values of some metadata keys.
    pub(crate) fn values_of(
        bytes: &[u8],
        keys: &[&str],
    ) -> Result<(u32, Vec<Option<MetadataValue>>), StoreError> {
        let (_, fields) = record::split_version(bytes, 1)?;
        let ((slot, _, metadata), _): ((u32, u64, BorrowedMetadata<'_>), _) =
            record::take(fields, "a vector's record")?;
        let values = keys.iter().map(|key| metadata.get(key)).collect();
        Ok((slot, values))
    }

    /// Removes the vector `key`, if it exists, and returns its slot.
    pub(crate) fn remove(
        from: &mut impl Write,
        index: IndexId,
        key: &str,
    ) -> Result<Option<u32>, StoreError> {
        let place = space::vector(index, key);
        let Some(slot) = from.get(&place)?.map(|bytes| Self::slot_of(&bytes)).transpose()? else {
            return Ok(None);
        };
        from.delete(&place)?;
        from.delete(&space::vector_slot(index, slot))?;
        Ok(Some(slot))
    }
}

/// The tags of a vector bucket or an index, in the order of their keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TagsRecord(pub(crate) std::collections::BTreeMap<String, String>);

impl TagsRecord {
    pub(crate) fn read(from: &impl Read, resource: u32) -> Result<Self, StoreError> {
        match from.get(&space::vector_tags(resource))? {
            Some(bytes) => record::decode(&bytes, "the tags of a vector bucket or index"),
            None => Ok(Self::default()),
        }
    }

    /// Adds tags, or changes existing ones.
    ///
    /// # Errors
    /// [`StoreError::InvalidField`] for more than [`RESOURCE_TAGS_MAX`].
    pub(crate) fn add(
        to: &mut impl Write,
        resource: u32,
        tags: &[(String, String)],
    ) -> Result<(), StoreError> {
        if tags.is_empty() {
            return Ok(());
        }
        let mut record = Self::read(to, resource)?;
        record.0.extend(tags.iter().cloned());
        if record.0.len() > RESOURCE_TAGS_MAX {
            let message = format!("a resource has at most {RESOURCE_TAGS_MAX} tags");
            return Err(StoreError::field("/tags", message));
        }
        record.write(to, resource)
    }

    pub(crate) fn write(&self, to: &mut impl Write, resource: u32) -> Result<(), StoreError> {
        let place = space::vector_tags(resource);
        match self.0.is_empty() {
            true => Ok(to.delete(&place)?),
            false => Ok(to.put(&place, &record::encode(1, self))?),
        }
    }
}
