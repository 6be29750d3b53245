//! DeleteObject and DeleteObjects.

use crate::error::StoreError;
use crate::name::{BucketName, ObjectKey, VersionId};
use crate::pending::Pending;
use crate::precondition::WriteConditions;
use crate::store::Store;

/// What a delete did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOutcome {
    /// Whether there was anything to delete.
    pub existed: bool,
    /// The version that was deleted, or of the delete marker; none in a bucket without versions.
    pub version_id: Option<VersionId>,
    /// Whether a delete marker was made or deleted.
    pub delete_marker: bool,
}

/// One of several objects to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteTarget {
    /// Its key.
    pub key: ObjectKey,
    /// Which version.
    pub version: Option<VersionId>,
    /// What must hold.
    pub conditions: WriteConditions,
}

impl Store {
    /// Deletes an object. One that is not there is fine, unless `conditions` want it.
    pub fn delete_object(
        &self,
        bucket: &BucketName,
        key: ObjectKey,
        version: Option<VersionId>,
        conditions: WriteConditions,
    ) -> Pending<DeleteOutcome> {
        todo!("{bucket} {key} {version:?} {conditions:?}")
    }

    /// Deletes objects in one transaction; each has an outcome of its own, in the order of `targets`.
    pub fn delete_objects(
        &self,
        bucket: &BucketName,
        targets: Vec<DeleteTarget>,
    ) -> Pending<Vec<Result<DeleteOutcome, StoreError>>> {
        todo!("{bucket} {targets:?}")
    }
}
