//! PutObject.

use std::sync::Arc;

use super::publish::{NewVersion, Slot};
use super::{ObjectVersion, StagedBody};
use crate::checksum::ObjectChecksum;
use crate::etag::ETag;
use crate::meta::object::Extensions;
use crate::meta::{ObjectMetadata, Owner};
use crate::name::ObjectKey;
use crate::pending::{Committed, Pending};
use crate::precondition::WriteConditions;
use crate::process::Bucket;
use crate::store::Store;

/// Options of a put.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PutOptions {
    /// The metadata of the object.
    pub metadata: ObjectMetadata,
    /// The checksum of the object, which the caller has verified.
    pub checksum: Option<ObjectChecksum>,
    /// Conditions on the current object of the key.
    pub conditions: WriteConditions,
    /// The owner of the object.
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
            let slot = Slot::open(write, shared, &bucket, &key)?;
            slot.check(&options.conditions)?;
            let new = NewVersion {
                bytes: digests.bytes,
                etag: ETag::Md5(digests.md5),
                owner: options.owner.clone(),
                checksum: options.checksum,
                metadata: options.metadata.clone(),
                extensions: Extensions::default(),
                content: content.clone(),
            };
            let (object, wake) = slot.publish(write, new)?;
            if let Some(blob) = &blob {
                blob.hand_over(write);
            }
            Ok(Committed::with_guard(object, (blob.clone(), wake)))
        });
        pending.with_blob(staged)
    }
}
