//! The history of a key: every version except the current one, newest first.
//!
//! The version `null` is in the history in order of time, like any other. An index by object key
//! has its stamp, so that finding it needs no scan of the key's versions. A bucket whose record has
//! version 1 lacks that index.

use liteio_kv::{Read, Write};

use super::current::Found;
use crate::error::StoreError;
use crate::meta::object::{Listed, ObjectRecord};
use crate::meta::space;
use crate::meta::usage::UsageChange;
use crate::name::{BucketId, ObjectKey, VersionId};

/// The newest version of the history, with its record key.
pub(crate) fn newest(
    from: &impl Read,
    bucket: BucketId,
    key: &ObjectKey,
) -> Result<Option<(Vec<u8>, Listed)>, StoreError> {
    // Stamps are inverted times, so the first key of the prefix is the newest version.
    let prefix = space::history_of(bucket, key.as_str());
    let mut cursor = space::within(from, &prefix)?;
    match cursor.next()? {
        Some((place, value)) => Ok(Some((place.to_vec(), Listed::decode(place, value)?))),
        None => Ok(None),
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
        // A non-null id equals the stamp; the check excludes the version `null`, whose stamp is no
        // id.
        Some(record) if record.version_id() == *version => {
            Ok(Some(Found { record, is_current: false }))
        }
        None if version.is_null() => Err(StoreError::corrupt("the version null is missing")),
        _ => Ok(None),
    }
}

/// The stamp of the version `null` of `key` in the history. A bucket whose record has version 1 has
/// no index, so its history is scanned.
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
    // Without an entry, only a bucket of version 1 can have a `null` in its history.
    if !is_version_1 {
        return Ok(None);
    }
    let prefix = space::history_of(bucket, key);
    let mut cursor = space::within(from, &prefix)?;
    while let Some((place, value)) = cursor.next()? {
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
    let mut cursor = space::within(from, &prefix)?;
    let is_it = match cursor.next()? {
        Some((place, value)) => Listed::decode(place, value)?.version_id() == *version,
        None => false,
    };
    Ok(is_it && cursor.next()?.is_none())
}

/// Adds a version to the history, the index and the usage.
pub(crate) fn add(
    write: &mut impl Write,
    bucket: BucketId,
    key: &ObjectKey,
    record: &ObjectRecord,
    usage: &mut UsageChange,
) -> Result<(), StoreError> {
    let place = space::history(bucket, key.as_str(), &record.stamp);
    record.write(write, &place)?;
    usage.added(place, record);
    // A key has at most one version `null`, so this replaces no other entry.
    if record.is_null {
        write.put(&space::null_version(bucket, key.as_str()), &record.stamp)?;
    }
    Ok(())
}

/// Removes a version from the history, the index and the usage.
pub(crate) fn remove(
    write: &mut impl Write,
    bucket: BucketId,
    key: &ObjectKey,
    record: &ObjectRecord,
    usage: &mut UsageChange,
) -> Result<(), StoreError> {
    let place = space::history(bucket, key.as_str(), &record.stamp);
    write.delete(&place)?;
    usage.removed(place, record);
    if record.is_null {
        write.delete(&space::null_version(bucket, key.as_str()))?;
    }
    Ok(())
}

/// Indexes the `null` versions in the history of a bucket whose record has version 1, which lacked
/// the index. `true` if the bucket has any history. No operation of that time wrote one, so in
/// practice this is one look-up.
pub(crate) fn index(write: &mut impl Write, bucket: BucketId) -> Result<bool, StoreError> {
    let prefix = space::history_prefix(bucket, b"");
    let mut nulls = Vec::new();
    let mut has_history = false;
    let mut cursor = space::within(write, &prefix)?;
    while let Some((place, value)) = cursor.next()? {
        has_history = true;
        let listed = Listed::decode(place, value)?;
        if listed.is_null {
            let key = space::split_history(place).map(|(_, key, _)| key);
            let key = key.and_then(|key| String::from_utf8(key).ok());
            let key = key.ok_or_else(|| StoreError::corrupt("the key of a version's record"))?;
            nulls.push((key, listed.stamp));
        }
    }
    // The cursor borrows the transaction.
    drop(cursor);
    for (key, stamp) in nulls {
        write.put(&space::null_version(bucket, &key), &stamp)?;
    }
    Ok(has_history)
}
