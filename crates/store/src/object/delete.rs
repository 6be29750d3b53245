//! DeleteObject and DeleteObjects.

use std::sync::Arc;

use liteio_kv::{Transaction, Write as _};

use super::publish::{self, Slot};
use crate::error::StoreError;
use crate::limits::DELETE_OBJECTS_MAX;
use crate::meta::claim::Claim;
use crate::meta::event::Cause;
use crate::name::{ObjectKey, VersionId};
use crate::pending::{Committed, Pending, PendingAll};
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

/// The outcome of a delete that has nothing to do at this slot; `None` of any other.
fn of_nothing(slot: &Slot<'_>, target: &DeleteTarget) -> Result<Option<DeleteOutcome>, StoreError> {
    match target.version.is_none() && slot.is_vacant() {
        false => Ok(None),
        // Recorded on AWS in moto's `test_delete_object_if_match`.
        true if target.conditions.if_match.is_some() => {
            Err(StoreError::NoSuchKey { key: target.key.clone(), marker: None })
        }
        true => Ok(Some(DeleteOutcome::default())),
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
        let bucket = Arc::clone(bucket);
        self.update_freeing(move |write, shared| {
            let slot = Slot::open(write, shared, &bucket, &target.key)?;
            if let Some(outcome) = of_nothing(&slot, &target)? {
                return Ok(Committed::new(outcome));
            }
            let (outcome, wakes) = slot.delete(write, &target)?;
            Ok(Committed::with_guard(outcome, wakes))
        })
    }

    /// The outcome of a delete that has nothing to do, since there is no object and no delete marker
    /// to add; `None` of any other. Clients often delete missing objects: after a look nothing waits
    /// for a commit of others. [`Store::delete_object`] decides.
    ///
    /// # Errors
    /// The errors of [`Store::delete_object`]; [`StoreError::Corrupt`] or [`StoreError::Io`] if
    /// metadata cannot be read.
    pub fn delete_of_nothing(
        &self,
        bucket: &Bucket,
        target: &DeleteTarget,
    ) -> Result<Option<DeleteOutcome>, StoreError> {
        match target.version {
            Some(_) => Ok(None),
            None => {
                let looked = self.read_ahead(|snapshot| {
                    let state = bucket.state(snapshot)?;
                    let slot = Slot::look(snapshot, self.shared(), bucket, state, &target.key)?;
                    Ok(of_nothing(&slot, target)?)
                });
                Ok(looked?)
            }
        }
    }

    /// Deletes objects, [some](crate::limits::CHANGED_TOGETHER) in one transaction. Each has its own outcome, in the order of
    /// `targets`.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], and with [`StoreError::InvalidRequest`] for more
    /// than [`DELETE_OBJECTS_MAX`] targets.
    pub fn delete_objects(
        &self,
        bucket: &Arc<Bucket>,
        targets: Vec<DeleteTarget>,
    ) -> PendingAll<Result<DeleteOutcome, StoreError>> {
        if targets.len() > DELETE_OBJECTS_MAX {
            let message = format!("more than {DELETE_OBJECTS_MAX} objects to delete");
            return PendingAll::refused(StoreError::InvalidRequest { message });
        }
        PendingAll::of_few(targets, |few| self.delete_few(bucket, few, |_| Ok(())))
    }

    /// Deletes some objects in a transaction in which `check` succeeds before.
    pub(crate) fn delete_few(
        &self,
        bucket: &Arc<Bucket>,
        targets: Vec<DeleteTarget>,
        check: impl Fn(&mut Transaction<'_>) -> Result<(), StoreError> + Send + 'static,
    ) -> Pending<Vec<Result<DeleteOutcome, StoreError>>> {
        let bucket = Arc::clone(bucket);
        self.update_freeing(move |write, shared| {
            write.claim(Claim::Bucket(bucket.id))?;
            check(write)?;
            publish::fetch(write, &bucket, targets.iter().map(|target| &target.key), None)?;
            let state = bucket.state(write)?;
            let mut outcomes = Vec::with_capacity(targets.len());
            let mut wakes = Vec::new();
            write.for_each(&targets, |write, target| {
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
                Ok(())
            })?;
            Ok(Committed::with_guard(outcomes, wakes))
        })
    }
}
