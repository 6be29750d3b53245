//! Finding versions of objects.

use liteio_kv::Read;

use super::{ObjectVersion, history};
use crate::error::StoreError;
use crate::etag::ETag;
use crate::meta::object::ObjectRecord;
use crate::meta::{Owner, space};
use crate::name::{ObjectKey, VersionId};
use crate::process::Bucket;

/// A version of an object, and whether it is current.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) record: ObjectRecord,
    pub(crate) is_current: bool,
}

/// The version with the id `version`; `None` finds the current object.
///
/// # Errors
/// [`StoreError::NoSuchKey`] without a version, [`StoreError::NoSuchVersion`] with one.
pub(crate) fn find(
    from: &impl Read,
    bucket: &Bucket,
    key: &ObjectKey,
    version: Option<&VersionId>,
) -> Result<Found, StoreError> {
    let place = space::current(bucket.id, key.as_str());
    let current = ObjectRecord::read(from, &place)?;
    let Some(version) = version else {
        let record =
            current.ok_or_else(|| StoreError::NoSuchKey { key: key.clone(), marker: None })?;
        return Ok(Found { record, is_current: true });
    };
    // The current object can be asked for by its id, too. All other versions are in the history.
    if let Some(record) = current
        && record.version_id() == *version
    {
        return Ok(Found { record, is_current: true });
    }
    history::find(from, bucket.id, bucket.is_version_1, key, version)?
        .ok_or_else(|| StoreError::NoSuchVersion { key: key.clone(), version: *version })
}

impl ObjectVersion {
    /// The public view of a record. A record without an owner belongs to `bucket_owner`.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`].
    pub(crate) fn new(
        key: ObjectKey,
        record: ObjectRecord,
        is_latest: bool,
        bucket_owner: &Owner,
    ) -> Result<Self, StoreError> {
        // A copy of an object in parts shares the parts, and is in one piece all the same.
        let part_count = match (record.content.part_list(), record.etag) {
            (Some((_, count)), ETag::Multipart { .. }) => Some(count),
            _ => None,
        };
        let is_in_tier = record.content.is_remote();
        let encryption = record.encryption_scheme()?;
        Ok(Self {
            key,
            version_id: record.version_id(),
            is_latest,
            bytes: record.bytes,
            etag: record.etag,
            modified_ms: record.modified_ms,
            checksum: record.checksum,
            metadata: record.metadata,
            part_count,
            encryption,
            owner: record.owner.unwrap_or_else(|| bucket_owner.clone()),
            lock: record.extensions.lock()?,
            acl: record.extensions.acl()?,
            has_annotations: record.extensions.annotations()?.is_some(),
            is_in_tier,
            restore: record.extensions.restore()?,
            replication: record.extensions.replication()?.and_then(|state| state.status()),
        })
    }
}
