//! Records of the store and of buckets.

use serde::{Deserialize, Serialize};

use super::{Owner, record, space};
use crate::error::StoreError;
use crate::kv::{Read, Write};
use crate::name::{BucketId, BucketName};

/// The format that this version writes. Newer ones are refused, also by the file `format`.
pub(crate) const FORMAT: u32 = 1;

/// What is known of the store as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoreRecord {
    pub(crate) format: u32,
    /// The id of the next bucket, vector bucket or index. Ids are never used again.
    pub(crate) next_bucket: u32,
    pub(crate) created_ms: u64,
}

impl StoreRecord {
    pub(crate) fn read(from: &impl Read) -> Result<Option<Self>, StoreError> {
        let Some(bytes) = from.get(space::STORE_KEY)? else { return Ok(None) };
        let found: Self = record::decode(&bytes, "the store's record")?;
        if found.format > FORMAT {
            return Err(StoreError::FormatTooNew { found: found.format, known: FORMAT });
        }
        Ok(Some(found))
    }

    pub(crate) fn write(&self, to: &mut impl Write) -> Result<(), StoreError> {
        Ok(to.put(space::STORE_KEY, &record::encode(1, self))?)
    }

    /// Takes the next id.
    pub(crate) fn take_id(write: &mut impl Write) -> Result<u32, StoreError> {
        let mut store = Self::read(write)?
            .ok_or_else(|| StoreError::corrupt("the store's record is missing"))?;
        let id = store.next_bucket;
        let next = id.checked_add(1);
        store.next_bucket = next.ok_or_else(|| StoreError::Internal {
            what: "there are no bucket ids left".to_owned(),
        })?;
        store.write(write)?;
        Ok(id)
    }
}

/// A bucket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BucketRecord {
    /// First, so that a write finds it without the rest.
    pub(crate) id: BucketId,
    pub(crate) created_ms: u64,
    pub(crate) owner: Owner,
    pub(crate) region: String,
}

impl BucketRecord {
    pub(crate) fn read(from: &impl Read, name: &BucketName) -> Result<Option<Self>, StoreError> {
        match from.get(&space::bucket(name.as_str()))? {
            Some(bytes) => Self::decode(&bytes).map(Some),
            None => Ok(None),
        }
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        record::decode(bytes, "a bucket's record")
    }

    pub(crate) fn write(&self, to: &mut impl Write, name: &BucketName) -> Result<(), StoreError> {
        Ok(to.put(&space::bucket(name.as_str()), &record::encode(1, self))?)
    }
}

/// The id of a bucket that a transaction writes to: whether it still exists is decided here.
pub(crate) fn require(from: &impl Read, name: &BucketName) -> Result<BucketId, StoreError> {
    let Some(bytes) = from.get(&space::bucket(name.as_str()))? else {
        return Err(StoreError::NoSuchBucket { bucket: name.clone() });
    };
    let (_, fields) = record::split_version(&bytes, 1)?;
    Ok(record::take(fields, "a bucket's record")?.0)
}
