//! Vector buckets and their policies.

use std::ops::Bound;

use liteio_kv::{Read, Write};

use crate::error::StoreError;
use crate::indexes::name::VectorName;
use crate::limits::LIST_INDEXES_MAX;
use crate::meta::bucket::StoreRecord;
use crate::meta::claim::Claim;
use crate::meta::key::successor;
use crate::meta::vector::{Encryption, IndexMode, TagsRecord, VectorBucketRecord};
use crate::meta::{Owner, space};
use crate::name::BucketId;
use crate::pending::{Committed, Pending};
use crate::store::Store;

/// 30 September 2026, in milliseconds since 1970: vector buckets created since have no classic
/// indexes.
const CLASSIC_ENDS_MS: u64 = 1_790_726_400_000;

/// A vector bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorBucket {
    /// Name of the vector bucket.
    pub name: VectorName,
    /// Number of the vector bucket in records.
    pub id: BucketId,
    /// Time of creation, in milliseconds since 1970.
    pub created_ms: u64,
    /// Account that created it.
    pub owner: Owner,
    /// Encryption settings of the request.
    pub encryption: Option<Encryption>,
    /// Mode of indexes that are created from now on.
    pub default_mode: IndexMode,
}

/// Selection of the vector buckets to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListVectorBuckets {
    /// Prefix of the names.
    pub prefix: String,
    /// Names after this one, exclusive.
    pub after: Option<String>,
    /// Only the vector buckets of this owner.
    pub owner_id: Option<String>,
    /// Limit of vector buckets on the page, from 1 to [`LIST_INDEXES_MAX`].
    pub max: usize,
}

/// Vector buckets in the order of their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorBucketPage {
    /// The vector buckets.
    pub buckets: Vec<VectorBucket>,
    /// [`ListVectorBuckets::after`] of the next page, if there is one.
    pub next: Option<String>,
}

impl VectorBucket {
    pub(super) fn new(name: VectorName, record: VectorBucketRecord) -> Self {
        let VectorBucketRecord { id, created_ms, owner, encryption, default_mode } = record;
        Self { name, id, created_ms, owner, encryption, default_mode }
    }

    /// The record of this very vector bucket, not of another one that has taken its name since.
    ///
    /// # Errors
    /// [`StoreError::NoSuchVectorBucket`].
    pub(super) fn require(&self, from: &impl Read) -> Result<VectorBucketRecord, StoreError> {
        VectorBucketRecord::read(from, self.name.as_str())?
            .filter(|record| record.id == self.id)
            .ok_or_else(|| StoreError::NoSuchVectorBucket { bucket: self.name.to_string() })
    }

    /// Refuses the classic mode where it is no longer allowed.
    pub(super) fn check_mode(
        created_ms: u64,
        mode: IndexMode,
        field: &str,
    ) -> Result<(), StoreError> {
        if mode == IndexMode::Classic && created_ms >= CLASSIC_ENDS_MS {
            return Err(StoreError::field(
                field,
                "CLASSIC is only for vector buckets that were created before September 30, 2026",
            ));
        }
        Ok(())
    }
}

impl Store {
    /// Creates a vector bucket.
    ///
    /// Fails with [`StoreError::VectorBucketExists`], or [`StoreError::InvalidField`] for `tags`.
    pub fn create_vector_bucket(
        &self,
        name: VectorName,
        owner: Owner,
        encryption: Option<Encryption>,
        tags: Vec<(String, String)>,
    ) -> Pending<VectorBucket> {
        self.update(move |write, shared| {
            if VectorBucketRecord::read(write, name.as_str())?.is_some() {
                return Err(StoreError::VectorBucketExists { bucket: name.to_string() });
            }
            let id = StoreRecord::take_id(write)?;
            let record = VectorBucketRecord {
                id: BucketId(id),
                created_ms: shared.config.clock.now_ms(),
                owner: owner.clone(),
                encryption: encryption.clone(),
                default_mode: IndexMode::default(),
            };
            record.write(write, name.as_str())?;
            TagsRecord::add(write, id, &tags)?;
            Ok(Committed::new(VectorBucket::new(name.clone(), record)))
        })
    }

    /// The vector bucket with a name.
    ///
    /// # Errors
    /// [`StoreError::NoSuchVectorBucket`].
    pub fn vector_bucket(&self, name: &VectorName) -> Result<VectorBucket, StoreError> {
        let record = VectorBucketRecord::require(&self.snapshot()?, name.as_str())?;
        Ok(VectorBucket::new(name.clone(), record))
    }

    /// The vector bucket with a name, and its policy as it was given, from one snapshot.
    ///
    /// # Errors
    /// [`StoreError::NoSuchVectorBucket`].
    pub fn vector_bucket_with_policy(
        &self,
        name: &VectorName,
    ) -> Result<(VectorBucket, Option<String>), StoreError> {
        let snapshot = self.snapshot()?;
        let record = VectorBucketRecord::require(&snapshot, name.as_str())?;
        let policy = policy_of(&snapshot, record.id)?;
        Ok((VectorBucket::new(name.clone(), record), policy))
    }

    /// A page of vector buckets.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if metadata cannot be read.
    pub fn list_vector_buckets(
        &self,
        query: &ListVectorBuckets,
    ) -> Result<VectorBucketPage, StoreError> {
        let prefix = space::vector_bucket(&query.prefix);
        let upper = successor(&prefix);
        let upper = upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let snapshot = self.snapshot()?;
        let mut cursor = snapshot.cursor(Bound::Included(&prefix), upper)?;
        if let Some(after) = &query.after {
            cursor.seek(&[space::vector_bucket(after), vec![0]].concat())?;
        }
        let max = query.max.clamp(1, LIST_INDEXES_MAX);
        let mut page = VectorBucketPage { buckets: Vec::new(), next: None };
        while let Some((key, value)) = cursor.next()? {
            let record = VectorBucketRecord::decode(value)?;
            if query.owner_id.as_ref().is_some_and(|owner| *owner != record.owner.id) {
                continue;
            }
            if page.buckets.len() >= max {
                page.next = page.buckets.last().map(|bucket| bucket.name.to_string());
                break;
            }
            let name = space::vector_bucket_name(key).map(VectorName::bucket);
            let name = name.ok_or_else(|| StoreError::corrupt("a vector bucket's name"))??;
            page.buckets.push(VectorBucket::new(name, record));
        }
        Ok(page)
    }

    /// Deletes a vector bucket without indexes, with its policy and tags.
    ///
    /// Fails with [`StoreError::NoSuchVectorBucket`] or [`StoreError::VectorBucketNotEmpty`].
    pub fn delete_vector_bucket(&self, bucket: &VectorBucket) -> Pending<()> {
        let bucket = bucket.clone();
        self.update_freeing(move |write, _| {
            let record = bucket.require(write)?;
            write.claim(Claim::BucketAlone(record.id))?;
            let indexes = space::indexes_of(record.id);
            let mut cursor = space::within(write, &indexes)?;
            let has_indexes = cursor.next()?.is_some();
            drop(cursor);
            if has_indexes {
                return Err(StoreError::VectorBucketNotEmpty { bucket: bucket.name.to_string() });
            }
            TagsRecord::default().write(write, record.id.0)?;
            write.delete(&space::vector_policy(record.id))?;
            write.delete(&space::vector_bucket(bucket.name.as_str()))?;
            Ok(Committed::new(()))
        })
    }

    /// Sets the mode of indexes that are created from now on.
    ///
    /// Fails with [`StoreError::NoSuchVectorBucket`] or [`StoreError::InvalidField`].
    pub fn set_default_index_mode(&self, bucket: &VectorBucket, mode: IndexMode) -> Pending<()> {
        let bucket = bucket.clone();
        self.update(move |write, _| {
            let mut record = bucket.require(write)?;
            VectorBucket::check_mode(record.created_ms, mode, "/defaultIndexMode")?;
            record.default_mode = mode;
            record.write(write, bucket.name.as_str())?;
            Ok(Committed::new(()))
        })
    }

    /// Sets the policy of a vector bucket, a text that the caller has checked.
    ///
    /// Fails with [`StoreError::NoSuchVectorBucket`].
    pub fn put_vector_bucket_policy(&self, bucket: &VectorBucket, policy: String) -> Pending<()> {
        let bucket = bucket.clone();
        self.update(move |write, _| {
            let record = bucket.require(write)?;
            write.put(&space::vector_policy(record.id), policy.as_bytes())?;
            Ok(Committed::new(()))
        })
    }

    /// The policy of a vector bucket, as it was given.
    ///
    /// # Errors
    /// [`StoreError::NoSuchVectorBucket`], [`StoreError::NoSuchVectorPolicy`].
    pub fn vector_bucket_policy(&self, bucket: &VectorBucket) -> Result<String, StoreError> {
        let snapshot = self.snapshot()?;
        let record = bucket.require(&snapshot)?;
        let missing = || StoreError::NoSuchVectorPolicy { bucket: bucket.name.to_string() };
        policy_of(&snapshot, record.id)?.ok_or_else(missing)
    }

    /// Removes the policy of a vector bucket; a missing one is fine.
    ///
    /// Fails with [`StoreError::NoSuchVectorBucket`].
    pub fn delete_vector_bucket_policy(&self, bucket: &VectorBucket) -> Pending<()> {
        let bucket = bucket.clone();
        self.update_freeing(move |write, _| {
            let record = bucket.require(write)?;
            write.delete(&space::vector_policy(record.id))?;
            Ok(Committed::new(()))
        })
    }
}

/// The policy of a vector bucket, if it has one.
fn policy_of(from: &impl Read, bucket: BucketId) -> Result<Option<String>, StoreError> {
    let Some(policy) = from.get(&space::vector_policy(bucket))? else { return Ok(None) };
    let policy = String::from_utf8(policy.to_vec());
    policy.map(Some).map_err(|_| StoreError::corrupt("the policy of a vector bucket"))
}
