//! DeleteObject and DeleteObjects.

use std::sync::Arc;

use super::publish::Slot;
use crate::error::StoreError;
use crate::limits::DELETE_OBJECTS_MAX;
use crate::meta::event::Cause;
use crate::name::{ObjectKey, VersionId};
use crate::pending::{Committed, Pending};
use crate::precondition::WriteConditions;
use crate::process::Bucket;
use crate::store::Store;

/// The outcome of a delete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOutcome {
    /// `true` if there was anything to delete.
    pub existed: bool,
    /// The version of the request, or the delete marker that was added; none in a bucket without
    /// versions.
    pub version_id: Option<VersionId>,
    /// `true` when a delete marker was made or deleted.
    pub delete_marker: bool,
}

/// One of several objects to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteTarget {
    /// Its key.
    pub key: ObjectKey,
    /// Its version; without one, the object.
    pub version: Option<VersionId>,
    /// Conditions on it.
    pub conditions: WriteConditions,
    /// A retention in governance mode does not keep it.
    pub bypasses_governance: bool,
    /// The reason for the delete, which its event tells.
    pub cause: Cause,
}

impl DeleteTarget {
    /// The object of that key, or its version, without conditions.
    #[must_use]
    pub fn new(key: ObjectKey, version: Option<VersionId>) -> Self {
        let conditions = WriteConditions::default();
        Self { key, version, conditions, bypasses_governance: false, cause: Cause::Unknown }
    }
}

impl Store {
    /// Deletes an object. A missing one is no error, even with `conditions`.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], [`StoreError::PreconditionFailed`] or
    /// [`StoreError::ObjectLocked`].
    pub fn delete_object(
        &self,
        bucket: &Arc<Bucket>,
        target: DeleteTarget,
    ) -> Pending<DeleteOutcome> {
        // Clients delete what is not there all the time, and nothing has to be committed for that.
        if target.version.is_none() {
            match self.is_vacant(bucket, &target.key) {
                Ok(false) => {}
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

    /// `true` if there is no such object, and no delete marker has to tell so.
    fn is_vacant(&self, bucket: &Bucket, key: &ObjectKey) -> Result<bool, StoreError> {
        Ok(Slot::open(&self.snapshot()?, self.shared(), bucket, key)?.is_vacant())
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
                    // Decided before anything was written, so the transaction continues with the others.
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
