//! Changes of a version that stays what it is: its tags and its lock.

use std::sync::Arc;

use super::ObjectVersion;
use super::current::{self, Found};
use super::publish::missing_lock_configuration;
use crate::error::StoreError;
use crate::meta::bucket::BucketState;
use crate::meta::object::ObjectRecord;
use crate::meta::{ObjectLock, Retention, space};
use crate::name::{ObjectKey, VersionId};
use crate::pending::{Committed, Pending};
use crate::process::Bucket;
use crate::store::Store;

/// A change of a version. Its bytes and its time stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionChange {
    /// Other tags in place of all that it has.
    Tags(Vec<(String, String)>),
    /// Another retention, or none.
    Retention {
        /// The new one.
        retention: Option<Retention>,
        /// The old one may be in governance mode and not have ended.
        bypasses_governance: bool,
    },
    /// A legal hold, or none.
    LegalHold(bool),
}

impl Store {
    /// Changes a version, or without one the current object.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], [`StoreError::NoSuchKey`], [`StoreError::NoSuchVersion`] and
    /// [`StoreError::IsDeleteMarker`]; for a lock with [`StoreError::ObjectLocked`], if it would become
    /// weaker, and with [`StoreError::InvalidRequest`] in a bucket without.
    pub fn change_object(
        &self,
        bucket: &Arc<Bucket>,
        key: ObjectKey,
        version: Option<VersionId>,
        change: VersionChange,
    ) -> Pending<ObjectVersion> {
        let bucket = Arc::clone(bucket);
        self.update(move |write, shared| {
            let state = bucket.state(write)?;
            let Found { mut record, is_current } =
                current::find(write, &bucket, &key, version.as_ref())?;
            if record.is_delete_marker {
                return Err(StoreError::IsDeleteMarker { marker: record.delete_marker() });
            }
            apply(&change, &mut record, &state, shared.config.clock.now_ms())?;
            let place = match is_current {
                true => space::current(state.id, key.as_str()),
                false => space::history(state.id, key.as_str(), &record.stamp),
            };
            record.write(write, &place)?;
            let object = ObjectVersion::new(key.clone(), record, is_current, &bucket.owner)?;
            Ok(Committed::new(object))
        })
    }
}

fn apply(
    change: &VersionChange,
    record: &mut ObjectRecord,
    state: &BucketState,
    now_ms: u64,
) -> Result<(), StoreError> {
    if let VersionChange::Tags(tags) = change {
        record.metadata.tags.clone_from(tags);
        return Ok(());
    }
    if !state.object_lock {
        return Err(missing_lock_configuration());
    }
    let old = record.extensions.lock()?;
    let new = match *change {
        VersionChange::Retention { retention, bypasses_governance } => {
            old.check_weakening(retention, now_ms, bypasses_governance)?;
            ObjectLock { retention, ..old }
        }
        VersionChange::LegalHold(legal_hold) => ObjectLock { legal_hold, ..old },
        VersionChange::Tags(_) => old,
    };
    record.extensions = std::mem::take(&mut record.extensions).with_lock(new);
    Ok(())
}
