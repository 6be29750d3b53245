//! The history of a key: every version but the current one, newest first.
//!
//! The version `null` is in the history in the order of time, like any other. An index by key has its
//! version id, so that finding it does not scan the versions of the key. In a bucket whose record is of
//! version 1, there is no such index.

use std::ops::Bound;

use liteio_kv::{Read, Write};

use super::current::Found;
use crate::error::StoreError;
use crate::meta::object::{Listed, ObjectRecord};
use crate::meta::space;
use crate::meta::usage::UsageChange;
use crate::name::{BucketId, ObjectKey, VersionId};

/// The newest version of the history, with its place.
pub(crate) fn newest(
    from: &impl Read,
    bucket: BucketId,
    key: &ObjectKey,
) -> Result<Option<(Vec<u8>, Listed)>, StoreError> {
    let prefix = space::history_of(bucket, key.as_str());
    let mut cursor = from.cursor(Bound::Included(&prefix), Bound::Unbounded)?;
    match cursor.next()? {
        Some((place, value)) if place.starts_with(&prefix) => {
            Ok(Some((place.to_vec(), Listed::decode(place, value)?)))
        }
        _ => Ok(None),
    }
}

/// The version with the id `version`, if it is in the history.
pub(crate) fn find(
    from: &impl Read,
    bucket: BucketId,
    is_version_1: bool,
    key: &ObjectKey,
    version: &VersionId,
) -> Result<Option<Found>, StoreError> {
    let stamp = match version {
        VersionId::Id(id) => Some(*id),
        VersionId::Null => null_stamp(from, bucket, is_version_1, key.as_str())?,
    };
    let Some(stamp) = stamp else { return Ok(None) };
    let place = space::history(bucket, key.as_str(), &stamp);
    match ObjectRecord::read(from, &place)? {
        Some(record) if record.version_id() == *version => {
            Ok(Some(Found { record, is_current: false }))
        }
        None if version.is_null() => Err(StoreError::corrupt("the version null is missing")),
        _ => Ok(None),
    }
}

/// The stamp of the version `null` of `key` in the history. In a bucket whose record is of version 1,
/// nothing is indexed.
pub(crate) fn null_stamp(
    from: &impl Read,
    bucket: BucketId,
    is_version_1: bool,
    key: &str,
) -> Result<Option<[u8; 16]>, StoreError> {
    if let Some(stamp) = from.get(&space::null_version(bucket, key))? {
        let stamp = stamp.as_ref().try_into();
        return stamp.map(Some).map_err(|_| StoreError::corrupt("the index of null versions"));
    }
    if !is_version_1 {
        return Ok(None);
    }
    let prefix = space::history_of(bucket, key);
    let mut cursor = from.cursor(Bound::Included(&prefix), Bound::Unbounded)?;
    while let Some((place, value)) = cursor.next()?
        && place.starts_with(&prefix)
    {
        let listed = Listed::decode(place, value)?;
        if listed.is_null {
            return Ok(Some(listed.stamp));
        }
    }
    Ok(None)
}

/// `true` if `version` is the only version in the history.
pub(crate) fn is_only(
    from: &impl Read,
    bucket: BucketId,
    key: &ObjectKey,
    version: &VersionId,
) -> Result<bool, StoreError> {
    let prefix = space::history_of(bucket, key.as_str());
    let mut cursor = from.cursor(Bound::Included(&prefix), Bound::Unbounded)?;
    let is_it = match cursor.next()? {
        Some((place, value)) if place.starts_with(&prefix) => {
            Listed::decode(place, value)?.version_id() == *version
        }
        _ => false,
    };
    Ok(is_it && !cursor.next()?.is_some_and(|(place, _)| place.starts_with(&prefix)))
}

/// Adds a version, and counts it in `usage`.
pub(crate) fn add(
    write: &mut impl Write,
    bucket: BucketId,
    key: &ObjectKey,
    record: &ObjectRecord,
    usage: &mut UsageChange,
) -> Result<(), StoreError> {
    let place = space::history(bucket, key.as_str(), &record.stamp);
    record.write(write, &place)?;
    usage.added(write, &place, record)?;
    if record.is_null {
        write.put(&space::null_version(bucket, key.as_str()), &record.stamp)?;
    }
    Ok(())
}

/// Removes a version, from `usage`, too.
pub(crate) fn remove(
    write: &mut impl Write,
    bucket: BucketId,
    key: &ObjectKey,
    record: &ObjectRecord,
    usage: &mut UsageChange,
) -> Result<(), StoreError> {
    let place = space::history(bucket, key.as_str(), &record.stamp);
    write.delete(&place)?;
    usage.removed(write, &place, record)?;
    if record.is_null {
        write.delete(&space::null_version(bucket, key.as_str()))?;
    }
    Ok(())
}

/// Indexes the `null` versions in the history of a bucket whose record was of version 1, which had no
/// such index. `true` if there is any history. No operation of that time wrote one, so in practice this is
/// a single look-up.
pub(crate) fn index(write: &mut impl Write, bucket: BucketId) -> Result<bool, StoreError> {
    let prefix = space::history_prefix(bucket, b"");
    let mut nulls = Vec::new();
    let mut has_history = false;
    let mut cursor = write.cursor(Bound::Included(&prefix), Bound::Unbounded)?;
    while let Some((place, value)) = cursor.next()?
        && place.starts_with(&prefix)
    {
        has_history = true;
        let listed = Listed::decode(place, value)?;
        if listed.is_null {
            let key = space::split_history(place).map(|(_, key, _)| key);
            let key = key.and_then(|key| String::from_utf8(key).ok());
            let key = key.ok_or_else(|| StoreError::corrupt("the key of a version's record"))?;
            nulls.push((key, listed.stamp));
        }
    }
    drop(cursor);
    for (key, stamp) in nulls {
        write.put(&space::null_version(bucket, &key), &stamp)?;
    }
    Ok(has_history)
}
