//! Changes of a version that stays what it is: its tags, its lock and its access control list.

use std::sync::Arc;

use super::ObjectVersion;
use super::current::{self, Found};
use super::publish::missing_lock_configuration;
use super::tell::{Told, tell};
use crate::error::StoreError;
use crate::meta::bucket::BucketState;
use crate::meta::event::{Cause, EventKind};
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
    /// No tags.
    NoTags,
    /// Another retention, or none.
    Retention {
        /// The new one.
        retention: Option<Retention>,
        /// The old one may be in governance mode and not have ended.
        bypasses_governance: bool,
    },
    /// A legal hold, or none.
    LegalHold(bool),
    /// Another access control list, or the default.
    Acl {
        /// The new one.
        acl: Option<Vec<u8>>,
        /// Canonical id of the owner that the new one was made for. A version with another was written
        /// meanwhile, and so was one with another access control list than the next.
        seen_owner_id: String,
        /// The access control list that it takes the place of.
        seen_acl: Option<Vec<u8>>,
    },
    /// Another change, of no other version than the one that was seen.
    IfSeen(SeenVersion, Box<VersionChange>),
}

/// As much of a version as decisions about access look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenVersion {
    /// Canonical id of its owner.
    pub owner_id: String,
    /// Its access control list.
    pub acl: Option<Vec<u8>>,
    /// Its tags.
    pub tags: Vec<(String, String)>,
}

impl VersionChange {
    /// The event that tells of it, if there is one.
    fn event(&self) -> Option<EventKind> {
        match self {
            Self::Tags(_) => Some(EventKind::TaggingPut),
            Self::NoTags => Some(EventKind::TaggingDelete),
            Self::Acl { acl, seen_acl, .. } if acl == seen_acl => None,
            Self::Acl { .. } => Some(EventKind::AclPut),
            Self::Retention { .. } | Self::LegalHold(_) => None,
            Self::IfSeen(_, change) => change.event(),
        }
    }
}

impl Store {
    /// Changes a version, or without one the current object.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], [`StoreError::NoSuchKey`], [`StoreError::NoSuchVersion`] and
    /// [`StoreError::IsDeleteMarker`]; for a lock with [`StoreError::ObjectLocked`], if it would become
    /// weaker, and with [`StoreError::InvalidRequest`] in a bucket without; with
    /// [`StoreError::ConditionalRequestConflict`], if the version is not the one that was seen.
    pub fn change_object(
        &self,
        bucket: &Arc<Bucket>,
        key: ObjectKey,
        version: Option<VersionId>,
        change: VersionChange,
        cause: Cause,
    ) -> Pending<ObjectVersion> {
        let bucket = Arc::clone(bucket);
        self.update(move |write, shared| {
            let state = bucket.state(write)?;
            let Found { mut record, is_current } =
                current::find(write, &bucket, &key, version.as_ref())?;
            if record.is_delete_marker {
                return Err(StoreError::IsDeleteMarker { marker: record.delete_marker() });
            }
            apply(&change, &mut record, (&bucket, &state), shared.config.clock.now_ms())?;
            let place = match is_current {
                true => space::current(state.id, key.as_str()),
                false => space::history(state.id, key.as_str(), &record.stamp),
            };
            record.write(write, &place)?;
            let wake = match change.event() {
                None => Told::default(),
                Some(kind) => {
                    tell(write, shared, (&bucket, &state), (&key, &record), (kind, &cause))?
                }
            };
            let object = ObjectVersion::new(key.clone(), record, is_current, &bucket.owner)?;
            Ok(Committed::with_guard(object, wake))
        })
    }
}

fn apply(
    change: &VersionChange,
    record: &mut ObjectRecord,
    (bucket, state): (&Bucket, &BucketState),
    now_ms: u64,
) -> Result<(), StoreError> {
    let old_lock = || match state.object_lock {
        true => record.extensions.lock(),
        false => Err(missing_lock_configuration()),
    };
    let new = match change {
        VersionChange::Tags(tags) => {
            record.metadata.tags.clone_from(tags);
            return Ok(());
        }
        VersionChange::NoTags => {
            record.metadata.tags.clear();
            return Ok(());
        }
        VersionChange::Acl { acl, seen_owner_id, seen_acl } => {
            let is_seen = record.owner.as_ref().unwrap_or(&bucket.owner).id == *seen_owner_id
                && record.extensions.acl()? == *seen_acl;
            if !is_seen {
                return Err(StoreError::ConditionalRequestConflict);
            }
            record.extensions = std::mem::take(&mut record.extensions).with_acl(acl.as_ref());
            return Ok(());
        }
        VersionChange::IfSeen(seen, change) => {
            let is_seen = record.owner.as_ref().unwrap_or(&bucket.owner).id == seen.owner_id
                && record.extensions.acl()? == seen.acl
                && record.metadata.tags == seen.tags;
            return match is_seen {
                true => apply(change, record, (bucket, state), now_ms),
                false => Err(StoreError::ConditionalRequestConflict),
            };
        }
        VersionChange::Retention { retention, bypasses_governance } => {
            let old = old_lock()?;
            old.check_weakening(*retention, now_ms, *bypasses_governance)?;
            ObjectLock { retention: *retention, ..old }
        }
        VersionChange::LegalHold(legal_hold) => {
            ObjectLock { legal_hold: *legal_hold, ..old_lock()? }
        }
    };
    record.extensions = std::mem::take(&mut record.extensions).with_lock(new);
    Ok(())
}
