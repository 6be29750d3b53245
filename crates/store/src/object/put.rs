//! PutObject.

use super::{ObjectVersion, StagedBody};
use crate::checksum::ObjectChecksum;
use crate::meta::{ObjectMetadata, Owner};
use crate::name::{BucketName, ObjectKey};
use crate::pending::Pending;
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
        bucket: &BucketName,
        key: ObjectKey,
        body: StagedBody,
        options: PutOptions,
    ) -> Pending<ObjectVersion> {
        todo!("{bucket} {key} {body:?} {options:?}")
    }
}
