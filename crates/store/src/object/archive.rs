//! History records, which no operation writes yet: fixtures of data directories hold them.

use std::sync::Arc;

use super::current::read_current;
use crate::bucket::Bucket;
use crate::checksum::DigestSet;
use crate::error::StoreError;
use crate::etag::ETag;
use crate::kv::{Transaction, Write};
use crate::meta::content::Content;
use crate::meta::object::ObjectRecord;
use crate::meta::{ObjectMetadata, Owner, space};
use crate::name::{BucketId, ObjectKey, VersionId};
use crate::pending::{Committed, Pending};
use crate::store::{Shared, Store};

/// A change to the versions of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionChange {
    /// The current object gets a version id in place of `null`.
    Name,
    /// The current object moves into the history.
    Archive,
    /// A delete marker enters the history.
    MarkDeleted,
}

impl Store {
    /// Makes `change` to the versions of `key`, and returns the version it made.
    pub fn change_versions(
        &self,
        bucket: &Arc<Bucket>,
        key: &ObjectKey,
        change: VersionChange,
    ) -> Pending<VersionId> {
        let (bucket, key) = (Arc::clone(bucket), key.clone());
        self.update(move |write, shared| {
            let bucket = bucket.require(write)?;
            apply(write, shared, bucket, &key, change).map(Committed::new)
        })
    }
}

fn apply(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    bucket: BucketId,
    key: &ObjectKey,
    change: VersionChange,
) -> Result<VersionId, StoreError> {
    let place = space::current(bucket, key.as_str());
    let current = read_current(write, bucket, key)?;
    let missing = || StoreError::NoSuchKey { key: key.clone() };
    let record = match change {
        VersionChange::Name => {
            let record = ObjectRecord { is_null: false, ..current.ok_or_else(missing)? };
            write.put(&place, &record.encode())?;
            return Ok(record.version_id());
        }
        VersionChange::Archive => current.ok_or_else(missing)?,
        VersionChange::MarkDeleted => ObjectRecord {
            stamp: shared.ids.version(&shared.config),
            is_null: false,
            is_delete_marker: true,
            bytes: 0,
            etag: ETag::Md5(DigestSet::new(&[]).finish().md5),
            modified_ms: shared.config.clock.now_ms(),
            owner: Owner::default(),
            checksum: None,
            metadata: ObjectMetadata::default(),
            content: Content::Inline(bytes::Bytes::new()),
        },
    };
    write.put(&space::history(bucket, key.as_str(), &record.stamp), &record.encode())?;
    write.delete(&place)?;
    Ok(record.version_id())
}
