//! Resetting a bucket, for tests: all its versions go, whatever locks them, and then it begins anew.
//!
//! ```text
//!            a page of versions each          nothing was left in one transaction
//!  bucket ──────────────────────────► fewer ──────────────────────────────────────► a new one of that name, or none
//! ```
//! A bucket with no more than a page of versions is reset in one transaction. Of a larger one, a crash leaves the
//! rest. The new bucket has a number of its own, so whoever began to write into the old one, or has an upload in
//! progress there, finds it gone.

use std::ops::Bound;
use std::sync::Arc;

use liteio_kv::{Read, Transaction, Write as _};

use crate::error::StoreError;
use crate::meta::bucket::{BucketRecord, BucketState, StoreRecord};
use crate::meta::key::successor;
use crate::meta::usage::UsageRecord;
use crate::meta::{DocumentKind, Versioning, document, space};
use crate::name::{BucketId, BucketName, ObjectKey};
use crate::object::publish::Slot;
use crate::pending::{Committed, Pending};
use crate::process::{Bucket, ForgetBucket, WakeReclaimer};
use crate::store::{Shared, Store};

/// Versions that one transaction removes.
const PAGE: usize = 1000;

/// The first documents of a bucket.
type Documents = Vec<(DocumentKind, Vec<u8>)>;

/// A bucket that is being emptied.
#[derive(Clone, Debug)]
pub(crate) struct Emptying {
    bucket: Arc<Bucket>,
    /// The first documents of the bucket that takes its place; none if none does.
    anew: Option<Documents>,
    /// The place that the next page begins at; none at the beginning.
    place: Option<Vec<u8>>,
}

impl Store {
    /// Makes a bucket as if it had just been created by its owner, in its region, with object lock if it has that, and
    /// with these documents. All versions, delete markers and uploads in progress are gone, also those that
    /// a retention or a legal hold protects. For tests: nobody is told of it.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`]; those of the disk, after which some of the versions may be gone.
    pub fn reset_bucket(&self, name: &BucketName, documents: Documents) -> Result<(), StoreError> {
        let mut emptying = Emptying::new(self.bucket(name)?, Some(documents));
        while let Some(next) = self.empty(emptying).wait()? {
            emptying = next;
        }
        Ok(())
    }

    /// Removes a page of versions, and ends the bucket once none is left; returns how to go on.
    pub(crate) fn empty(&self, emptying: Emptying) -> Pending<Option<Emptying>> {
        self.update_freeing(move |write, shared| {
            let Emptying { bucket, anew, place } = &emptying;
            let state = bucket.state(write)?;
            let (next, wakes) = wipe_page(write, shared, (bucket, state), place.as_deref())?;
            // What was written meanwhile may be before the place that this page began at.
            if next.is_some() || place.is_some() {
                let next = Emptying { place: next, ..emptying.clone() };
                return Ok(Committed::with_guard(Some(next), wakes));
            }
            let ended = end(write, shared, bucket, anew.as_ref())?;
            Ok(Committed::with_guard(None, (wakes, ended)))
        })
    }
}

impl Emptying {
    pub(crate) fn new(bucket: Arc<Bucket>, anew: Option<Documents>) -> Self {
        Self { bucket, anew, place: None }
    }
}

/// Removes a page of versions. Returns the place of the first that is left behind it, if any is.
fn wipe_page(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    (bucket, state): (&Bucket, BucketState),
    from: Option<&[u8]>,
) -> Result<(Option<Vec<u8>>, Vec<WakeReclaimer>), StoreError> {
    let (page, behind) = read_page(write, state.id, from)?;
    let (mut room, mut wakes) = (PAGE, Vec::new());
    for (place, key) in page {
        let slot = Slot::open_in(write, shared, bucket, state, &key)?;
        let (is_gone, wake) = slot.wipe(write, &mut room)?;
        wakes.push(wake);
        if !is_gone {
            return Ok((Some(place), wakes));
        }
    }
    Ok((behind, wakes))
}

/// A place with its key.
type Placed = (Vec<u8>, ObjectKey);

/// The keys of the next page of records, each with its first place, and the place behind the page.
fn read_page(
    from: &impl Read,
    id: BucketId,
    begin: Option<&[u8]>,
) -> Result<(Vec<Placed>, Option<Vec<u8>>), StoreError> {
    let (mut page, mut left) = (Vec::<Placed>::new(), PAGE);
    for space in [space::current_of(id), space::history_prefix(id, b"")] {
        let end = successor(&space).unwrap_or_default();
        let lower = begin.unwrap_or_default().max(&space);
        if lower >= &*end {
            continue;
        }
        let mut cursor = from.cursor(Bound::Included(lower), Bound::Excluded(&end))?;
        while let Some((place, _)) = cursor.next()? {
            if left == 0 {
                return Ok((page, Some(place.to_vec())));
            }
            left -= 1;
            let key = key_of(place)?;
            if page.last().is_none_or(|(_, last)| *last != key) {
                page.push((place.to_vec(), key));
            }
        }
    }
    Ok((page, None))
}

fn key_of(place: &[u8]) -> Result<ObjectKey, StoreError> {
    let key = match space::split_current(place) {
        Some((_, key)) => Some(key.to_vec()),
        None => space::split_history(place).map(|(_, key, _)| key),
    };
    let key = key.and_then(|key| String::from_utf8(key).ok());
    let key = key.ok_or_else(|| StoreError::corrupt("the key of an object's record"))?;
    Ok(ObjectKey::new(key)?)
}

/// Takes an empty bucket away, with its uploads and settings, and puts a new one in its place if that is wanted.
fn end(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    bucket: &Bucket,
    anew: Option<&Documents>,
) -> Result<(Option<WakeReclaimer>, ForgetBucket), StoreError> {
    let record = BucketRecord::read(write, &bucket.name)?;
    let mut record =
        record.ok_or_else(|| StoreError::NoSuchBucket { bucket: bucket.name.clone() })?;
    let wake = super::remove_rest(write, shared, record.id)?;
    match anew {
        None => write.delete(&space::bucket(bucket.name.as_str()))?,
        Some(documents) => {
            record.id = BucketId(StoreRecord::take_id(write)?);
            record.versioning = match record.object_lock {
                true => Versioning::Enabled,
                false => Versioning::Never,
            };
            record.settings_stamp = 0;
            record.created_ms = shared.config.clock.now_ms();
            record.is_version_1 = false;
            record.write(write, &bucket.name)?;
            UsageRecord::default().write(write, record.id)?;
            for (kind, document) in documents {
                document::write(write, record.id, *kind as u8, document)?;
            }
        }
    }
    Ok((wake, ForgetBucket::new(shared, &bucket.name)))
}
