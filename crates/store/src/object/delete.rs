//! DeleteObject and DeleteObjects.

use std::sync::Arc;

use super::current::{self, Found, WakeReclaimer};
use crate::bucket::Bucket;
use crate::error::StoreError;
use crate::kv::{Transaction, Write};
use crate::limits::DELETE_OBJECTS_MAX;
use crate::name::{BucketId, ObjectKey, VersionId};
use crate::pending::{Committed, Pending};
use crate::precondition::WriteConditions;
use crate::store::{Shared, Store};

/// What a delete did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOutcome {
    /// Whether there was anything to delete.
    pub existed: bool,
    /// The version that was named, or the delete marker that was made; none in a bucket without
    /// versions.
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
    /// Deletes an object. One that is not there is fine, also when `conditions` speak of it.
    ///
    /// Fails with [`StoreError::NoSuchBucket`] or [`StoreError::PreconditionFailed`].
    pub fn delete_object(
        &self,
        bucket: &Arc<Bucket>,
        key: ObjectKey,
        version: Option<VersionId>,
        conditions: WriteConditions,
    ) -> Pending<DeleteOutcome> {
        let bucket = Arc::clone(bucket);
        let target = DeleteTarget { key, version, conditions };
        self.update_freeing(move |write, shared| {
            let bucket = bucket.require(write)?;
            let (outcome, wake) = delete(write, shared, bucket, &target)?;
            Ok(Committed::with_guard(outcome, wake))
        })
    }

    /// Deletes objects in one transaction; each has an outcome of its own, in the order of `targets`.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], and with [`StoreError::InvalidRequest`] for more than
    /// [`DELETE_OBJECTS_MAX`] targets.
    pub fn delete_objects(
        &self,
        bucket: &Arc<Bucket>,
        targets: Vec<DeleteTarget>,
    ) -> Pending<Vec<Result<DeleteOutcome, StoreError>>> {
        if targets.len() > DELETE_OBJECTS_MAX {
            let message = format!("more than {DELETE_OBJECTS_MAX} objects to delete");
            return Pending::ready(Err(StoreError::InvalidRequest { message }));
        }
        let bucket = Arc::clone(bucket);
        self.update_freeing(move |write, shared| {
            let bucket = bucket.require(write)?;
            let mut outcomes = Vec::with_capacity(targets.len());
            let mut wakes = Vec::new();
            for target in &targets {
                match delete(write, shared, bucket, target) {
                    Ok((outcome, wake)) => {
                        outcomes.push(Ok(outcome));
                        wakes.push(wake);
                    }
                    // Decided before anything was written, so the others go on.
                    Err(error @ StoreError::PreconditionFailed { .. }) => outcomes.push(Err(error)),
                    Err(error) => return Err(error),
                }
            }
            Ok(Committed::with_guard(outcomes, wakes))
        })
    }
}

fn delete(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    bucket: BucketId,
    target: &DeleteTarget,
) -> Result<(DeleteOutcome, Option<WakeReclaimer>), StoreError> {
    let version_id = target.version;
    let found = match current::find(write, bucket, &target.key, version_id.as_ref()) {
        Ok(found) => found,
        Err(StoreError::NoSuchKey { .. } | StoreError::NoSuchVersion { .. }) => {
            return Ok((DeleteOutcome { version_id, ..DeleteOutcome::default() }, None));
        }
        Err(error) => return Err(error),
    };
    let Found { record, place, .. } = found;
    current::check(&target.conditions, Some(&record), &target.key)?;
    write.delete(&place)?;
    let wake = current::release(write, shared, [&record.content])?;
    let delete_marker = record.is_delete_marker;
    Ok((DeleteOutcome { existed: true, version_id, delete_marker }, Some(wake)))
}
