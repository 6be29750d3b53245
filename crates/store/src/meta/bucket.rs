//! Records of the store and of buckets.

use std::ops::Bound;

use liteio_kv::{Read, Write};
use serde::{Deserialize, Serialize};

use super::record::Sealed;
use super::{Owner, record, space};
use crate::error::StoreError;
use crate::name::{BucketId, BucketName};

/// Format that this version writes. Newer formats are refused, also by the file `format`.
pub(crate) const FORMAT: u32 = 1;

/// The record of the store as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoreRecord {
    pub(crate) format: u32,
    /// Id of the next bucket, vector bucket or index. Ids are never used again.
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

    /// Reads as [`StoreRecord::read`]. The record may be missing only if the store has no other
    /// record either. Otherwise the numbers of buckets would begin again, and a new bucket would
    /// have the objects of an old one.
    pub(crate) fn read_checked(from: &impl Read) -> Result<Option<Self>, StoreError> {
        let found = Self::read(from)?;
        if found.is_none() && from.cursor(Bound::Unbounded, Bound::Unbounded)?.next()?.is_some() {
            return Err(StoreError::corrupt("the store's record is missing"));
        }
        Ok(found)
    }

    pub(crate) fn write(&self, to: &mut impl Write) -> Result<(), StoreError> {
        Ok(to.put(space::STORE_KEY, &self.encoded())?)
    }

    /// The bytes of the record.
    pub(crate) fn encoded(&self) -> Vec<u8> {
        record::encode(1, self)
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

/// Versioning of a bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Versioning {
    /// Never enabled. A write replaces the object.
    #[default]
    Never,
    /// Every write makes a version with an id of its own.
    Enabled,
    /// Enabled before. A write replaces the version `null`; the other versions stay.
    Suspended,
}

/// A bucket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BucketRecord {
    /// The fields that writes to objects need come first, so that they decode no more.
    pub(crate) id: BucketId,
    pub(crate) versioning: Versioning,
    pub(crate) object_lock: bool,
    /// Grows with every change of a setting, in this record or in a document.
    pub(crate) settings_stamp: u64,
    pub(crate) created_ms: u64,
    pub(crate) owner: Owner,
    pub(crate) region: String,
    /// `true` if it was read from version 1. Then the history of its objects is not indexed.
    #[serde(skip)]
    pub(crate) is_version_1: bool,
}

/// The part of the record that a write to an object needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BucketState {
    pub(crate) id: BucketId,
    pub(crate) versioning: Versioning,
    /// `true` if versions may be locked.
    pub(crate) object_lock: bool,
    /// Grows with every change of the settings.
    pub(crate) settings_stamp: u64,
    pub(crate) is_version_1: bool,
}

impl BucketState {
    /// `false` if no object has a history. Version 1 could keep one, although nothing wrote it.
    pub(crate) fn has_history(&self) -> bool {
        self.versioning != Versioning::Never || self.is_version_1
    }
}

/// Version 1 of the record.
#[derive(Deserialize)]
struct BucketRecord1 {
    id: BucketId,
    created_ms: u64,
    owner: Owner,
    region: String,
}

impl BucketRecord {
    pub(crate) fn read(from: &impl Read, name: &BucketName) -> Result<Option<Self>, StoreError> {
        let place = space::bucket(name.as_str());
        match from.get(&place)? {
            Some(bytes) => Self::decode(&place, &bytes).map(Some),
            None => Ok(None),
        }
    }

    pub(crate) fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        match record::split_version(bytes, VERSION)? {
            (1, _) => {
                let BucketRecord1 { id, created_ms, owner, region } = record::decode(bytes, WHAT)?;
                let (versioning, object_lock) = (Versioning::Never, false);
                let settings_stamp = 0;
                let is_version_1 = true;
                Ok(Self {
                    id,
                    versioning,
                    object_lock,
                    settings_stamp,
                    created_ms,
                    owner,
                    region,
                    is_version_1,
                })
            }
            _ => Sealed::open(place, bytes, WHAT)?.decode(WHAT),
        }
    }

    pub(crate) fn encode(&self, place: &[u8]) -> Vec<u8> {
        record::seal(VERSION, place, self, &[])
    }

    pub(crate) fn write(&self, to: &mut impl Write, name: &BucketName) -> Result<(), StoreError> {
        let place = space::bucket(name.as_str());
        Ok(to.put(&place, &self.encode(&place))?)
    }
}

/// The state of the bucket with this name, read inside the transaction that writes to it.
///
/// # Errors
/// [`StoreError::NoSuchBucket`].
pub(crate) fn require(from: &impl Read, name: &BucketName) -> Result<BucketState, StoreError> {
    let place = space::bucket(name.as_str());
    let Some(bytes) = from.get(&place)? else {
        return Err(StoreError::NoSuchBucket { bucket: name.clone() });
    };
    match record::split_version(&bytes, VERSION)? {
        (1, fields) => {
            let (id, _) = record::take(fields, WHAT)?;
            let versioning = Versioning::Never;
            let settings_stamp = 0;
            Ok(BucketState {
                id,
                versioning,
                object_lock: false,
                settings_stamp,
                is_version_1: true,
            })
        }
        _ => {
            let fields = Sealed::open(&place, &bytes, WHAT)?.fields;
            let ((id, versioning, object_lock, settings_stamp), _) = record::take(fields, WHAT)?;
            let is_version_1 = false;
            Ok(BucketState { id, versioning, object_lock, settings_stamp, is_version_1 })
        }
    }
}

const VERSION: u8 = 2;
const WHAT: &str = "a bucket's record";

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> BucketRecord {
        BucketRecord {
            id: BucketId(7),
            versioning: Versioning::Suspended,
            object_lock: true,
            settings_stamp: 9,
            created_ms: 1_700_000_000_000,
            owner: Owner { id: "id".to_owned(), display_name: "name".to_owned() },
            region: "eu-west-1".to_owned(),
            is_version_1: false,
        }
    }

    #[test]
    fn a_bucket_survives_encoding_and_damage_is_refused() {
        let encoded = sample().encode(b"place");
        assert_eq!(BucketRecord::decode(b"place", &encoded).expect("own bytes"), sample());
        for bit in 0..encoded.len() * 8 {
            let mut damaged = encoded.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            BucketRecord::decode(b"place", &damaged).expect_err("damaged");
        }
        BucketRecord::decode(b"other", &encoded).expect_err("of another bucket");
        let newer = [&[3], &encoded[1..]].concat();
        let error = BucketRecord::decode(b"place", &newer).expect_err("newer");
        assert!(matches!(error, StoreError::FormatTooNew { found: 3, known: 2 }), "{error}");
    }

    #[test]
    fn version_1_has_never_had_versions() {
        let BucketRecord { id, created_ms, owner, region, .. } = sample();
        let encoded = record::encode(1, &(id, created_ms, owner, region));
        let expected = BucketRecord {
            versioning: Versioning::Never,
            object_lock: false,
            settings_stamp: 0,
            is_version_1: true,
            ..sample()
        };
        assert_eq!(BucketRecord::decode(b"place", &encoded).expect("own bytes"), expected);
    }
}
