//! Buckets.

mod reset;
mod settings;

use std::ops::Bound;
use std::sync::Arc;

use liteio_kv::{Read, Transaction, Write};

use crate::agreement::SETTINGS;
use crate::error::StoreError;
use crate::limits::LIST_BUCKETS_MAX;
use crate::meta::bucket::{BucketRecord, StoreRecord};
use crate::meta::claim::Claim;
use crate::meta::content::ContentId;
use crate::meta::key::successor;
use crate::meta::usage::UsageRecord;
use crate::meta::{DocumentKind, Owner, Settings, Versioning, document, space};
use crate::name::{BucketId, BucketName};
use crate::pending::{Committed, Pending};
use crate::process::{Bucket, ForgetBucket, WakeReclaimer};
use crate::store::{Shared, Store};
use crate::tables::has_catalog;

pub(crate) use self::reset::Emptying;

/// A query for one page of buckets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListBuckets {
    /// Prefix of the names.
    pub prefix: Option<String>,
    /// Only names after this one.
    pub after: Option<String>,
    /// Only buckets of this owner.
    pub owner_id: Option<String>,
    /// Most buckets on the page.
    pub max: usize,
}

/// A bucket to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewBucket {
    /// The name.
    pub name: BucketName,
    /// Its owner.
    pub owner: Owner,
    /// The region.
    pub region: String,
    /// `true` if versions may be locked, which enables versioning permanently.
    pub object_lock: bool,
    /// Initial documents.
    pub documents: Vec<(DocumentKind, Vec<u8>)>,
}

impl NewBucket {
    /// A bucket without settings.
    #[must_use]
    pub fn new(name: BucketName, owner: Owner, region: String) -> Self {
        Self { name, owner, region, object_lock: false, documents: Vec::new() }
    }
}

/// A bucket in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedBucket {
    /// The name.
    pub name: BucketName,
    /// Time of creation, in milliseconds since 1970.
    pub created_ms: u64,
    /// Its owner.
    pub owner: Owner,
    /// The region.
    pub region: String,
}

/// A page of buckets, ordered by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketPage {
    /// The buckets.
    pub buckets: Vec<ListedBucket>,
    /// [`ListBuckets::after`] of the next page; `None` on the last one.
    pub next: Option<String>,
}

impl Store {
    /// Creates a bucket.
    ///
    /// Fails with [`StoreError::BucketAlreadyOwnedByYou`] or [`StoreError::BucketAlreadyExists`].
    pub fn create_bucket(&self, new: NewBucket) -> Pending<()> {
        self.update(move |write, shared| {
            let NewBucket { name, owner, region, object_lock, documents } = &new;
            if let Some(existing) = BucketRecord::read(write, name)? {
                let bucket = name.clone();
                return Err(match existing.owner.id == owner.id {
                    true => StoreError::BucketAlreadyOwnedByYou { bucket },
                    false => StoreError::BucketAlreadyExists { bucket },
                });
            }
            let record = BucketRecord {
                id: BucketId(StoreRecord::take_id(write)?),
                versioning: match object_lock {
                    true => Versioning::Enabled,
                    false => Versioning::Never,
                },
                object_lock: *object_lock,
                settings_stamp: 0,
                created_ms: shared.config.clock.now_ms(),
                owner: owner.clone(),
                region: region.clone(),
                is_version_1: false,
            };
            record.write(write, name)?;
            UsageRecord::default().write(write, record.id)?;
            for (kind, document) in documents {
                document::write(write, record.id, *kind as u8, document)?;
            }
            Ok(Committed::new(()))
        })
    }

    /// Deletes an empty bucket, whose catalog has no namespace. Uploads in progress do not prevent it: they are aborted with it, as
    /// in S3's general purpose buckets.
    ///
    /// Fails with [`StoreError::NoSuchBucket`] or [`StoreError::BucketNotEmpty`].
    pub fn delete_bucket(&self, bucket: &Arc<Bucket>) -> Pending<()> {
        let bucket = Arc::clone(bucket);
        self.update_freeing(move |write, shared| {
            write.claim(Claim::BucketAlone(bucket.id))?;
            let id = bucket.require(write)?;
            let name = bucket.name.clone();
            for prefix in [space::current_of(id), space::history_prefix(id, b"")] {
                if first_key(write, &prefix)?.is_some() {
                    return Err(StoreError::BucketNotEmpty { bucket: name.clone() });
                }
            }
            if has_catalog(write, id)? {
                return Err(StoreError::BucketNotEmpty { bucket: name.clone() });
            }
            let wake = remove_rest(write, shared, id)?;
            write.delete(&space::bucket(name.as_str()))?;
            let forget = ForgetBucket::new(shared, &name);
            Ok(Committed::with_guard((), (wake, forget)))
        })
    }

    /// The bucket with that name, from the cache where possible.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`].
    pub fn bucket(&self, name: &BucketName) -> Result<Arc<Bucket>, StoreError> {
        let cache = &self.shared().buckets;
        if let Some(bucket) = cache.get(name) {
            return Ok(bucket);
        }
        let generation = cache.generation();
        let snapshot = self.snapshot()?;
        let Some(record) = BucketRecord::read(&snapshot, name)? else {
            return Err(StoreError::NoSuchBucket { bucket: name.clone() });
        };
        let settings = Settings::read(&snapshot, record.id)?;
        let bucket = Arc::new(Bucket::new(name.clone(), record, settings));
        cache.insert(&bucket, generation, Self::epoch_of(&snapshot, SETTINGS)?);
        Ok(bucket)
    }

    /// One page of buckets.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if metadata cannot be read.
    pub fn list_buckets(&self, query: &ListBuckets) -> Result<BucketPage, StoreError> {
        let prefix = space::bucket(query.prefix.as_deref().unwrap_or_default());
        let upper = successor(&prefix);
        let snapshot = self.snapshot()?;
        let upper = upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut cursor = snapshot.cursor(Bound::Included(&prefix), upper)?;
        if let Some(after) = &query.after {
            cursor.seek(&[space::bucket(after), vec![0]].concat())?;
        }
        let max = query.max.min(LIST_BUCKETS_MAX);
        let mut page = BucketPage { buckets: Vec::new(), next: None };
        while let Some((key, value)) = cursor.next()? {
            let name = space::bucket_name(key).and_then(|name| BucketName::new(name).ok());
            let name = name.ok_or_else(|| StoreError::corrupt("a bucket's name"))?;
            let record = BucketRecord::decode(key, value)?;
            if query.owner_id.as_ref().is_some_and(|owner| *owner != record.owner.id) {
                continue;
            }
            if page.buckets.len() >= max {
                page.next = page.buckets.last().map(|bucket| bucket.name.as_str().to_owned());
                break;
            }
            let BucketRecord { created_ms, owner, region, .. } = record;
            page.buckets.push(ListedBucket { name, created_ms, owner, region });
        }
        Ok(page)
    }
}

/// Removes the rows of a bucket other than objects and its record: uploads, documents, usage.
fn remove_rest(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    id: BucketId,
) -> Result<Option<WakeReclaimer>, StoreError> {
    let wake = end_uploads(write, shared, id)?;
    for prefix in [space::documents(id), space::resync(id, "")] {
        while let Some(key) = first_key(write, &prefix)? {
            write.delete(&key)?;
        }
    }
    write.end_counter(&space::usage(id))?;
    Ok(wake)
}

/// Queues all uploads in progress of a deleted bucket as one entry of the deletion queue. A bucket
/// number is never reused, so no request finds them until the reclaimer has ended them.
fn end_uploads(
    write: &mut impl Write,
    shared: &Arc<Shared>,
    bucket: BucketId,
) -> Result<Option<WakeReclaimer>, StoreError> {
    if first_key(write, &space::uploads_prefix(bucket, b""))?.is_none() {
        return Ok(None);
    }
    write.put(&space::deletion(&ContentId::Uploads(bucket)), &[])?;
    Ok(Some(WakeReclaimer::new(shared)))
}

/// The first key with the prefix `prefix`.
fn first_key(from: &impl Read, prefix: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
    let mut cursor = space::within(from, prefix)?;
    Ok(cursor.next()?.map(|(key, _)| key.to_vec()))
}
