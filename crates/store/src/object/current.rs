//! Looking for versions, deciding preconditions, and putting one version in place of another.

use std::ops::Bound;
use std::sync::Arc;

use super::ObjectVersion;
use crate::error::StoreError;
use crate::kv::{Read, Write};
use crate::meta::content::Content;
use crate::meta::object::{Listed, ObjectRecord};
use crate::meta::{reference, space};
use crate::name::{BucketId, ObjectKey, VersionId};
use crate::precondition::{CurrentObject, WriteConditionResult, WriteConditions};
use crate::store::Shared;

/// The current object of `key`.
pub(crate) fn read_current(
    from: &impl Read,
    bucket: BucketId,
    key: &ObjectKey,
) -> Result<Option<ObjectRecord>, StoreError> {
    match from.get(&space::current(bucket, key.as_str()))? {
        Some(bytes) => ObjectRecord::decode(&bytes).map(Some),
        None => Ok(None),
    }
}

/// A version of an object, where it stands.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) record: ObjectRecord,
    pub(crate) is_current: bool,
    /// Its key in the key space.
    pub(crate) place: Vec<u8>,
}

/// The version that `version` names, the current one if it names none.
///
/// # Errors
/// [`StoreError::NoSuchKey`] without a version, [`StoreError::NoSuchVersion`] with one.
pub(crate) fn find(
    from: &impl Read,
    bucket: BucketId,
    key: &ObjectKey,
    version: Option<&VersionId>,
) -> Result<Found, StoreError> {
    let place = space::current(bucket, key.as_str());
    let current = read_current(from, bucket, key)?;
    let Some(version) = version else {
        let record = current.ok_or_else(|| StoreError::NoSuchKey { key: key.clone() })?;
        return Ok(Found { record, is_current: true, place });
    };
    if let Some(record) = current
        && record.version_id() == *version
    {
        return Ok(Found { record, is_current: true, place });
    }
    let place = match version {
        VersionId::Id(id) => Some(space::history(bucket, key.as_str(), id)),
        VersionId::Null => find_null(from, bucket, key)?,
    };
    if let Some(place) = place
        && let Some(bytes) = from.get(&place)?
    {
        let record = ObjectRecord::decode(&bytes)?;
        return Ok(Found { record, is_current: false, place });
    }
    Err(StoreError::NoSuchVersion { key: key.clone(), version: *version })
}

/// The place of the `null` version of `key` in the history.
fn find_null(
    from: &impl Read,
    bucket: BucketId,
    key: &ObjectKey,
) -> Result<Option<Vec<u8>>, StoreError> {
    let prefix = space::history_of(bucket, key.as_str());
    let mut cursor = from.cursor(Bound::Included(&prefix), Bound::Unbounded)?;
    while let Some((place, value)) = cursor.next()? {
        if !place.starts_with(&prefix) {
            break;
        }
        if Listed::decode(value)?.is_null {
            return Ok(Some(place.to_vec()));
        }
    }
    Ok(None)
}

/// Decides `conditions` for a write to `key`.
///
/// # Errors
/// [`StoreError::PreconditionFailed`], or [`StoreError::NoSuchKey`] when they want an object and there
/// is none.
pub(crate) fn check(
    conditions: &WriteConditions,
    current: Option<&ObjectRecord>,
    key: &ObjectKey,
) -> Result<(), StoreError> {
    if conditions.is_empty() {
        return Ok(());
    }
    let current = current.map(|record| CurrentObject {
        etag: &record.etag,
        bytes: record.bytes,
        modified_ms: record.modified_ms,
    });
    match conditions.check(current) {
        WriteConditionResult::Proceed => Ok(()),
        WriteConditionResult::NoObject => Err(StoreError::NoSuchKey { key: key.clone() }),
        WriteConditionResult::PreconditionFailed { condition } => {
            Err(StoreError::PreconditionFailed { condition })
        }
    }
}

/// Makes `new` the current object of `key` in place of `old`, whose content is released. The returned
/// guard must live until the commit.
pub(crate) fn replace(
    write: &mut impl Write,
    shared: &Arc<Shared>,
    (bucket, key): (BucketId, &ObjectKey),
    old: Option<&ObjectRecord>,
    new: &ObjectRecord,
) -> Result<WakeReclaimer, StoreError> {
    write.put(&space::current(bucket, key.as_str()), &new.encode())?;
    release(write, shared, old.map(|old| &old.content))
}

/// Releases content whose record is gone. The returned guard must live until the commit.
pub(crate) fn release<'a>(
    write: &mut impl Write,
    shared: &Arc<Shared>,
    contents: impl IntoIterator<Item = &'a Content>,
) -> Result<WakeReclaimer, StoreError> {
    let mut is_queued = false;
    for content in contents {
        is_queued |= reference::release(content, write)?;
    }
    Ok(WakeReclaimer { shared: is_queued.then(|| Arc::clone(shared)) })
}

/// Tells the reclaimer, when dropped, that there is something in its queue.
#[derive(Debug)]
pub(crate) struct WakeReclaimer {
    shared: Option<Arc<Shared>>,
}

impl WakeReclaimer {
    /// For whoever has put something into the queue.
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Some(Arc::clone(shared)) }
    }
}

impl Drop for WakeReclaimer {
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            shared.work.wake();
        }
    }
}

impl ObjectVersion {
    pub(crate) fn new(key: ObjectKey, record: ObjectRecord, is_latest: bool) -> (Self, Content) {
        let part_count = match &record.content {
            Content::Parts { count, .. } => Some(*count),
            Content::Inline(_) | Content::Extents(_) => None,
        };
        let object = Self {
            key,
            version_id: record.version_id(),
            is_latest,
            bytes: record.bytes,
            etag: record.etag,
            modified_ms: record.modified_ms,
            checksum: record.checksum,
            metadata: record.metadata,
            part_count,
            owner: record.owner,
        };
        (object, record.content)
    }
}
