//! A bucket, in the state of its record when that was read.

use liteio_kv::Read;

use crate::error::StoreError;
use crate::meta::bucket::{BucketRecord, BucketState, require};
use crate::meta::{Owner, Settings, Versioning};
use crate::name::{BucketId, BucketName};

/// A bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The name.
    pub name: BucketName,
    /// The number in record keys.
    pub id: BucketId,
    /// Time of creation, in milliseconds since 1970.
    pub created_ms: u64,
    /// Its owner.
    pub owner: Owner,
    /// The region.
    pub region: String,
    /// The state of versioning.
    pub versioning: Versioning,
    /// `true` if versions may be locked.
    pub object_lock: bool,
    /// Changes with every setting and document. Id and stamp together identify one state of all
    /// settings.
    pub settings_stamp: u64,
    /// The documents and the decoded settings.
    pub settings: Settings,
    /// `true` if the history of objects lacks the index of null versions.
    pub(crate) is_version_1: bool,
}

impl Bucket {
    /// The number of the bucket, if its name still belongs to it. Every write checks this inside
    /// its transaction, against a time-of-check-to-time-of-use race: while a long body is received,
    /// the bucket may be deleted and another one created under its name.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`].
    pub(crate) fn require(&self, from: &impl Read) -> Result<BucketId, StoreError> {
        self.state(from).map(|state| state.id)
    }

    /// The state of the bucket, checked like [`Bucket::require`].
    pub(crate) fn state(&self, from: &impl Read) -> Result<BucketState, StoreError> {
        match require(from, &self.name)? {
            state if state.id == self.id => Ok(state),
            _ => Err(StoreError::NoSuchBucket { bucket: self.name.clone() }),
        }
    }

    /// The error of a read that found nothing: `error`, or `NoSuchBucket` if the bucket is gone.
    pub(crate) fn not_found(&self, from: &impl Read, error: StoreError) -> StoreError {
        match error {
            StoreError::NoSuchKey { .. } | StoreError::NoSuchVersion { .. } => {
                self.require(from).err().unwrap_or(error)
            }
            error => error,
        }
    }

    /// A bucket of which only the id matters.
    #[cfg(test)]
    pub(crate) fn with_id(id: BucketId) -> Self {
        let record = BucketRecord {
            id,
            versioning: Versioning::Never,
            object_lock: false,
            settings_stamp: 0,
            created_ms: 0,
            owner: Owner::default(),
            region: String::new(),
            is_version_1: false,
        };
        Self::new(BucketName::new("bucket").expect("a name"), record, Settings::default())
    }

    pub(crate) fn new(name: BucketName, record: BucketRecord, settings: Settings) -> Self {
        let BucketRecord { id, versioning, object_lock, settings_stamp, .. } = record;
        let BucketRecord { created_ms, owner, region, is_version_1, .. } = record;
        Self {
            name,
            id,
            created_ms,
            owner,
            region,
            versioning,
            object_lock,
            settings_stamp,
            settings,
            is_version_1,
        }
    }
}
