//! Resetting a bucket, for tests: all versions are removed, whatever locks them, and the bucket is
//! created anew.
//!
//! ```text
//!            a page of versions each          none left, in one transaction
//! bucket ──────────────────────────► fewer ──────────────────────────────► a new one of that name,
//! or none
//! ```
//! A bucket with at most one page of versions is reset in one transaction. If a crash interrupts
//! the reset of a larger one, some versions are left. The new bucket has its own number, so a
//! writer or an upload in progress of the old one gets `NoSuchBucket`.

use std::ops::Bound;
use std::sync::Arc;

use liteio_kv::{Read, Transaction, Write as _};

use crate::error::StoreError;
use crate::meta::bucket::{BucketRecord, BucketState, StoreRecord};
use crate::meta::claim::Claim;
use crate::meta::key::successor;
use crate::meta::object::ObjectRecord;
use crate::meta::usage::UsageRecord;
use crate::meta::{DocumentKind, Versioning, document, reference, space};
use crate::name::{BucketId, BucketName, ObjectKey};
use crate::object::publish::Slot;
use crate::pending::{Committed, Pending};
use crate::process::{Bucket, ForgetBucket, WakeReclaimer};
use crate::store::{Shared, Store};
use crate::tables::remove_catalog;

/// Versions removed per transaction.
const PAGE: usize = 1000;

/// Initial documents of a bucket.
type Documents = Vec<(DocumentKind, Vec<u8>)>;

/// The progress of emptying a bucket.
#[derive(Clone, Debug)]
pub(crate) struct Emptying {
    bucket: Arc<Bucket>,
    /// Initial documents of the bucket that replaces it; `None` if it is deleted.
    anew: Option<Documents>,
    /// The record key that the next page starts at; `None` for the first page.
    place: Option<Vec<u8>>,
}

impl Store {
    /// Resets a bucket to the state after its creation: same owner and region, object lock if it
    /// has that, and these documents. All versions, delete markers and uploads in progress are
    /// removed, also those under retention or legal hold. For tests: no event is sent.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`]; the errors of the disk, after which some versions may be gone.
    pub fn reset_bucket(&self, name: &BucketName, documents: Documents) -> Result<(), StoreError> {
        let mut emptying = Emptying::new(self.bucket(name)?, Some(documents));
        while let Some(next) = self.empty(emptying).wait()? {
            emptying = next;
        }
        Ok(())
    }

    /// Removes one page of versions, and ends the bucket once none is left. Returns the remaining
    /// work.
    pub(crate) fn empty(&self, emptying: Emptying) -> Pending<Option<Emptying>> {
        self.update_freeing(move |write, shared| {
            let Emptying { bucket, anew, place } = &emptying;
            write.claim(Claim::BucketAlone(bucket.id))?;
            let state = bucket.state(write)?;
            let (next, wakes) = wipe_page(write, shared, (bucket, state), place.as_deref())?;
            // A page that started in the middle cannot know that nothing was written before it
            // meanwhile: start over until one page from the beginning finds nothing.
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

/// Removes one page of versions. Returns the record key of the first version that is left behind
/// it.
fn wipe_page(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    (bucket, state): (&Bucket, BucketState),
    from: Option<&[u8]>,
) -> Result<(Option<Vec<u8>>, Vec<WakeReclaimer>), StoreError> {
    let (page, behind) = read_page(write, state.id, from)?;
    fetch_ahead(write, state.id, &page)?;
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

/// A record key with its object key.
type Placed = (Vec<u8>, ObjectKey);

/// The object keys of the next page of records, each with its first record key, and the record key
/// after the page.
fn read_page(
    from: &impl Read,
    id: BucketId,
    begin: Option<&[u8]>,
) -> Result<(Vec<Placed>, Option<Vec<u8>>), StoreError> {
    let (mut page, mut left) = (Vec::<Placed>::new(), PAGE);
    // Current objects first, then the history. Both spaces are walked by one position, since one
    // sorts before the other.
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

/// Fetches what the removal of a page reads.
fn fetch_ahead(from: &impl Read, id: BucketId, page: &[Placed]) -> Result<(), StoreError> {
    let (Some((_, first)), Some((_, last))) = (page.first(), page.last()) else { return Ok(()) };
    let rows = page.iter().flat_map(|(_, key)| {
        [space::current(id, key.as_str()), space::null_version(id, key.as_str())]
    });
    from.fetch(rows)?;
    let mut contents = Vec::new();
    for (_, key) in page {
        let place = space::current(id, key.as_str());
        let value = from.get(&place)?;
        contents.extend(value.and_then(|value| ObjectRecord::decode_manifest(&place, &value).ok()));
    }
    // The histories of all keys of the page are one range.
    let (first, last) =
        (space::history_of(id, first.as_str()), space::history_of(id, last.as_str()));
    let end = successor(&last).unwrap_or_default();
    let mut cursor = from.cursor(Bound::Included(&first), Bound::Excluded(&end))?;
    for _ in 0..=PAGE {
        let Some((place, value)) = cursor.next()? else { break };
        contents.extend(ObjectRecord::decode_manifest(place, value));
    }
    drop(cursor);
    reference::fetch(&contents, from)
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

/// Deletes an empty bucket with its uploads and settings, and creates a new one in its place if
/// that is wanted.
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
    remove_catalog(write, record.id)?;
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
