//! Buckets.

use std::sync::Arc;

use crate::error::StoreError;
use crate::meta::Owner;
use crate::name::{BucketId, BucketName};
use crate::pending::Pending;
use crate::store::Store;

/// A bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Its name.
    pub name: BucketName,
    /// Its number in records.
    pub id: BucketId,
    /// When it was created, in milliseconds since 1970.
    pub created_ms: u64,
    /// Whose it is.
    pub owner: Owner,
    /// Where it was created.
    pub region: String,
}

/// Which buckets to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListBuckets {
    /// Names that begin so.
    pub prefix: Option<String>,
    /// Names behind this one.
    pub after: Option<String>,
    /// Those of this owner.
    pub owner_id: Option<String>,
    /// At most so many.
    pub max: usize,
}

/// Buckets in the order of their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketPage {
    /// The buckets.
    pub buckets: Vec<Arc<Bucket>>,
    /// [`ListBuckets::after`] of the next page, if there is one.
    pub next: Option<String>,
}

impl Store {
    /// Creates a bucket.
    ///
    /// Fails with [`StoreError::BucketAlreadyOwnedByYou`] or [`StoreError::BucketAlreadyExists`].
    pub fn create_bucket(&self, name: BucketName, owner: Owner, region: String) -> Pending<Bucket> {
        todo!("{name} {owner:?} {region}")
    }

    /// Deletes an empty bucket.
    ///
    /// Fails with [`StoreError::NoSuchBucket`] or [`StoreError::BucketNotEmpty`].
    pub fn delete_bucket(&self, name: BucketName) -> Pending<()> {
        todo!("{name}")
    }

    /// The bucket of that name, from memory where possible.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`].
    pub fn bucket(&self, name: &BucketName) -> Result<Arc<Bucket>, StoreError> {
        todo!("{name}")
    }

    /// A page of buckets.
    ///
    /// # Errors
    /// When metadata cannot be read.
    pub fn list_buckets(&self, query: &ListBuckets) -> Result<BucketPage, StoreError> {
        todo!("{query:?}")
    }
}
