//! DeleteObject and DeleteObjects.

use std::sync::Arc;

use liteio_kv::Write as _;

use super::publish::Slot;
use crate::error::StoreError;
use crate::limits::DELETE_OBJECTS_MAX;
use crate::meta::claim::Claim;
use crate::meta::event::Cause;
use crate::name::{ObjectKey, VersionId};
use crate::pending::{Committed, Pending};
use crate::precondition::WriteConditions;
use crate::process::Bucket;
use crate::store::Store;

/// The outcome of a delete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOutcome {
    /// `true` if something was deleted.
    pub existed: bool,
    /// The version of the request, or of the added delete marker; `None` in a bucket without
    /// versions.
    pub version_id: Option<VersionId>,
    /// `true` if a delete marker was added or deleted.
    pub delete_marker: bool,
}

/// An object to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteTarget {
    /// The key.
    pub key: ObjectKey,
    /// The version; `None` for the object.
    pub version: Option<VersionId>,
    /// Conditions on the object.
    pub conditions: WriteConditions,
    /// Allow deleting a version under governance retention.
    pub bypasses_governance: bool,
    /// The reason for the delete, for its event.
    pub cause: Cause,
}

impl DeleteTarget {
    /// A target without conditions.
    #[must_use]
    pub fn new(key: ObjectKey, version: Option<VersionId>) -> Self {
        let conditions = WriteConditions::default();
        Self { key, version, conditions, bypasses_governance: false, cause: Cause::Unknown }
    }
}

impl Store {
    /// Deletes an object. A missing object is no error, even with `conditions`.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], [`StoreError::PreconditionFailed`] or
    /// [`StoreError::ObjectLocked`].
    pub fn delete_object(
        &self,
        bucket: &Arc<Bucket>,
        target: DeleteTarget,
    ) -> Pending<DeleteOutcome> {
        // Clients often delete missing objects, which needs no commit.
        if target.version.is_none() {
            match self.is_vacant(bucket, &target.key) {
                Ok(false) => {}
                // Recorded on AWS in moto's `test_delete_object_if_match`.
                Ok(true) if target.conditions.if_match.is_some() => {
                    let key = target.key.clone();
                    return Pending::ready(Err(StoreError::NoSuchKey { key, marker: None }));
                }
                Ok(true) => return Pending::ready(Ok(DeleteOutcome::default())),
                Err(error) => return Pending::ready(Err(error)),
            }
        }
        let bucket = Arc::clone(bucket);
        self.update_freeing(move |write, shared| {
            let slot = Slot::open(write, shared, &bucket, &target.key)?;
            let (outcome, wakes) = slot.delete(write, &target)?;
            Ok(Committed::with_guard(outcome, wakes))
        })
    }

    /// `true` if there is no object and the delete would add no delete marker.
    fn is_vacant(&self, bucket: &Bucket, key: &ObjectKey) -> Result<bool, StoreError> {
        let snapshot = self.snapshot()?;
        let state = bucket.state(&snapshot)?;
        Ok(Slot::look(&snapshot, self.shared(), bucket, state, key)?.is_vacant())
    }

    /// Deletes objects in one transaction. Each has its own outcome, in the order of `targets`.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], and with [`StoreError::InvalidRequest`] for more
    /// than [`DELETE_OBJECTS_MAX`] targets.
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
            write.claim(Claim::Bucket(bucket.id))?;
            let state = bucket.state(write)?;
            let mut outcomes = Vec::with_capacity(targets.len());
            let mut wakes = Vec::new();
            for target in &targets {
                let slot = Slot::open_in(write, shared, &bucket, state, &target.key)?;
                match slot.delete(write, target) {
                    Ok((outcome, wake)) => {
                        outcomes.push(Ok(outcome));
                        wakes.push(wake);
                    }
                    // These errors come before the first write of a target, so the transaction
                    // continues with the others.
                    Err(
                        error @ (StoreError::PreconditionFailed { .. } | StoreError::ObjectLocked),
                    ) => outcomes.push(Err(error)),
                    Err(error) => return Err(error),
                }
            }
            Ok(Committed::with_guard(outcomes, wakes))
        })
    }
}
