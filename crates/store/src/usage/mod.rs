//! The usage of buckets, maintained by every write. See [`Usage`](crate::Usage).

mod count;

use std::ops::Bound;

use liteio_kv::{Read as _, Snapshot};

use crate::error::StoreError;
use crate::meta::bucket::BucketRecord;
use crate::meta::key::successor;
use crate::meta::usage::UsageRecord;
use crate::meta::{Quota, Usage, document, space};
use crate::name::{BucketId, BucketName};
use crate::process::Bucket;
use crate::store::Store;

/// The usage of one bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketUsage {
    /// The name.
    pub name: BucketName,
    /// Canonical id of the owner.
    pub owner_id: String,
    /// Number of objects, versions and bytes.
    pub usage: Usage,
    /// `false` while objects written by an older program are still being counted: the numbers are
    /// too low.
    pub is_complete: bool,
    /// The quota, in bytes.
    pub quota_bytes: Option<u64>,
}

impl Store {
    /// The usage of every bucket, ordered by name. It costs two look-ups per bucket and
    /// counts nothing.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if metadata cannot be read.
    pub fn usage(&self) -> Result<Vec<BucketUsage>, StoreError> {
        let snapshot = self.snapshot()?;
        let mut all = Vec::new();
        for (name, id, owner_id) in buckets(&snapshot)? {
            let (usage, is_complete) = of_bucket(&snapshot, id)?;
            let quota_bytes = quota_of(&snapshot, id)?;
            all.push(BucketUsage { name, owner_id, usage, is_complete, quota_bytes });
        }
        Ok(all)
    }

    /// The usage of a bucket; zeros, and not complete, for a deleted one.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if metadata cannot be read.
    pub fn bucket_usage(&self, bucket: &Bucket) -> Result<BucketUsage, StoreError> {
        let (usage, is_complete) = of_bucket(&self.snapshot()?, bucket.id)?;
        let (name, owner_id) = (bucket.name.clone(), bucket.owner.id.clone());
        let quota_bytes = bucket.settings.quota.map(|quota| quota.bytes);
        Ok(BucketUsage { name, owner_id, usage, is_complete, quota_bytes })
    }
}

fn quota_of(snapshot: &Snapshot, id: BucketId) -> Result<Option<u64>, StoreError> {
    let found = document::read(snapshot, id, document::QUOTA)?;
    let quota = found.map(|found| document::decode_setting::<Quota>(&found)).transpose()?;
    Ok(quota.map(|quota| quota.bytes))
}

fn of_bucket(snapshot: &Snapshot, id: BucketId) -> Result<(Usage, bool), StoreError> {
    let counted = snapshot.counter::<UsageRecord>(&space::usage(id))?.unwrap_or_default();
    Ok((counted.counts.into(), counted.is_complete))
}

/// Names, numbers and owners of all buckets.
fn buckets(snapshot: &Snapshot) -> Result<Vec<(BucketName, BucketId, String)>, StoreError> {
    let prefix = space::bucket("");
    let end = successor(&prefix).unwrap_or_default();
    let mut cursor = snapshot.cursor(Bound::Included(&prefix), Bound::Excluded(&end))?;
    let mut all = Vec::new();
    while let Some((key, value)) = cursor.next()? {
        let name = space::bucket_name(key).and_then(|name| BucketName::new(name).ok());
        let name = name.ok_or_else(|| StoreError::corrupt("a bucket's name"))?;
        let record = BucketRecord::decode(key, value)?;
        all.push((name, record.id, record.owner.id));
    }
    Ok(all)
}
