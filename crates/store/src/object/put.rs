//! PutObject.

use std::sync::Arc;

use super::{ObjectVersion, StagedBody, current};
use crate::bucket::Bucket;
use crate::checksum::ObjectChecksum;
use crate::etag::ETag;
use crate::meta::object::ObjectRecord;
use crate::meta::{ObjectMetadata, Owner};
use crate::name::ObjectKey;
use crate::pending::{Committed, Pending};
use crate::precondition::WriteConditions;
use crate::store::Store;

/// How to put an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PutOptions {
    /// What to store with it.
    pub metadata: ObjectMetadata,
    /// Its checksum, which the caller has verified.
    pub checksum: Option<ObjectChecksum>,
    /// What must hold.
    pub conditions: WriteConditions,
    /// Whose it becomes.
    pub owner: Owner,
}

impl Store {
    /// Makes `body` the current object of `key`.
    ///
    /// Fails with [`NoSuchBucket`](crate::StoreError::NoSuchBucket),
    /// [`PreconditionFailed`](crate::StoreError::PreconditionFailed) or
    /// [`NoSuchKey`](crate::StoreError::NoSuchKey) (`If-Match` without an object).
    pub fn put_object(
        &self,
        bucket: &Arc<Bucket>,
        key: ObjectKey,
        body: StagedBody,
        options: PutOptions,
    ) -> Pending<ObjectVersion> {
        let (digests, content, blob) = body.into_parts();
        let bucket = Arc::clone(bucket);
        let staged = blob.clone();
        let pending = self.update(move |write, shared| {
            let bucket = bucket.require(write)?;
            let old = current::read_current(write, bucket, &key)?;
            current::check(&options.conditions, old.as_ref(), &key)?;
            let record = ObjectRecord {
                stamp: shared.ids.version(&shared.config),
                is_null: true,
                is_delete_marker: false,
                bytes: digests.bytes,
                etag: ETag::Md5(digests.md5),
                modified_ms: shared.config.clock.now_ms(),
                owner: options.owner,
                checksum: options.checksum,
                metadata: options.metadata,
                content,
            };
            let wake = current::replace(write, shared, (bucket, &key), old.as_ref(), &record)?;
            if let Some(blob) = &blob {
                blob.hand_over(write);
            }
            let (object, _) = ObjectVersion::new(key, record, true);
            Ok(Committed::with_guard(object, (blob, wake)))
        });
        pending.with_blob(staged)
    }
}
