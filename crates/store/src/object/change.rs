//! Changes of an existing version: its tags, its lock and its access control list.

use std::sync::Arc;

use liteio_kv::{Transaction, Write as _};

use super::ObjectVersion;
use super::annotations::{self, Annotate, Annotation, AnnotationChange};
use super::current::{self, Found};
use super::publish::{self, missing_lock_configuration};
use super::replicate;
use super::restores;
use super::tell::{Told, tell_with};
use crate::error::StoreError;
use crate::meta::bucket::BucketState;
use crate::meta::claim::Claim;
use crate::meta::event::{Cause, EventKind};
use crate::meta::object::ObjectRecord;
use crate::meta::{EventHoldChange, LegalHold, ObjectLock, RestoreRequest, Retention, space};
use crate::name::{ObjectKey, VersionId};
use crate::pending::{Committed, Pending};
use crate::process::{Bucket, WakeSender};
use crate::store::{Shared, Store};

/// A change of a version. Its bytes and its modification time stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionChange {
    /// New tags, replacing all.
    Tags(Vec<(String, String)>),
    /// No tags.
    NoTags,
    /// A new retention, or none.
    Retention {
        /// The new retention.
        retention: Option<Retention>,
        /// Allow weakening a governance retention that has not ended.
        bypasses_governance: bool,
    },
    /// An event hold that is set, changed or released.
    EventHold {
        /// The change.
        change: EventHoldChange,
        /// Allow weakening a governance retention that has not ended.
        bypasses_governance: bool,
    },
    /// Sets or clears the legal hold.
    LegalHold(bool),
    /// A new access control list, or the default.
    Acl {
        /// The new list; `None` for the default.
        acl: Option<Vec<u8>>,
        /// Canonical id of the owner that the new list was made for. The change fails if the
        /// version has another owner: it was overwritten meanwhile.
        seen_owner_id: String,
        /// The list that the new one replaces. The change fails if the version has another one.
        seen_acl: Option<Vec<u8>>,
    },
    /// A restore of a version in an archive class.
    Restore(RestoreRequest),
    /// An annotation that is put or deleted.
    Annotate(Box<Annotate>),
    /// A change that another store has made. It is applied unless a later one of its kind was.
    Replicated {
        /// Time of the change, in milliseconds since 1970.
        at_ms: u64,
        /// The change.
        change: Box<VersionChange>,
    },
    /// Another change, on the condition that the version is the one seen before: a
    /// compare-and-swap.
    IfSeen(SeenVersion, Box<VersionChange>),
}

/// The fields of a version that decisions about access depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenVersion {
    /// Canonical id of the owner.
    pub owner_id: String,
    /// The access control list.
    pub acl: Option<Vec<u8>>,
    /// The tags.
    pub tags: Vec<(String, String)>,
}

impl VersionChange {
    /// The request to restore the version, if it is one.
    fn restore(&self) -> Option<RestoreRequest> {
        match self {
            Self::Restore(request) => Some(*request),
            Self::IfSeen(_, change) => change.restore(),
            _ => None,
        }
    }

    /// The change of an annotation, if it is one.
    pub(super) fn annotate(&self) -> Option<&Annotate> {
        match self {
            Self::Annotate(annotate) => Some(annotate),
            Self::IfSeen(_, change) | Self::Replicated { change, .. } => change.annotate(),
            _ => None,
        }
    }

    /// The event of the change; `None` if it has none.
    fn event(&self) -> Option<EventKind> {
        match self {
            Self::Tags(_) => Some(EventKind::TaggingPut),
            Self::NoTags => Some(EventKind::TaggingDelete),
            // A list that stays the same is no event.
            Self::Acl { acl, seen_acl, .. } if acl == seen_acl => None,
            Self::Acl { .. } => Some(EventKind::AclPut),
            Self::Retention { .. } | Self::EventHold { .. } => Some(EventKind::RetentionPut),
            Self::Annotate(annotate) => Some(match annotate.change {
                AnnotationChange::Put(_) => EventKind::AnnotationPut,
                AnnotationChange::Delete(_) => EventKind::AnnotationDelete,
            }),
            Self::LegalHold(_) | Self::Restore(_) => None,
            Self::IfSeen(_, change) | Self::Replicated { change, .. } => change.event(),
        }
    }
}

impl Store {
    /// Changes a version; without `version`, the current object.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], [`StoreError::NoSuchKey`],
    /// [`StoreError::NoSuchVersion`] and [`StoreError::IsDeleteMarker`]; for a lock with
    /// [`StoreError::ObjectLocked`] if it would become weaker, and with
    /// [`StoreError::InvalidRequest`] in a bucket without object lock; with
    /// [`StoreError::ConditionalRequestConflict`] if the version is not the one seen before; for a
    /// restore with [`StoreError::NotArchived`], [`StoreError::RestoreInProgress`] and
    /// [`StoreError::NoSuchRetrieval`].
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
            let asked = (&change, &cause);
            let changed = changed(write, shared, &bucket, (&key, version.as_ref()), asked)?;
            Ok(Committed::with_guard(changed.object, changed.guards))
        })
    }

    /// [`Store::change_object`] for a change of an annotation: returns the annotation that was put or deleted, too;
    /// `None` if nothing has changed.
    ///
    /// Fails with [`StoreError::PreconditionFailed`], [`StoreError::TooManyAnnotations`];
    /// [`StoreError::ObjectLocked`] if an annotation of a locked version would be replaced or deleted;
    /// [`StoreError::InvalidRequest`] for an object with a key of its client, and the errors of
    /// [`Store::change_object`].
    pub fn annotate_object(
        &self,
        bucket: &Arc<Bucket>,
        key: ObjectKey,
        version: Option<VersionId>,
        change: VersionChange,
        cause: Cause,
    ) -> Pending<(ObjectVersion, Option<Annotation>)> {
        let bucket = Arc::clone(bucket);
        self.update(move |write, shared| {
            let asked = (&change, &cause);
            let changed = changed(write, shared, &bucket, (&key, version.as_ref()), asked)?;
            Ok(Committed::with_guard((changed.object, changed.annotation), changed.guards))
        })
    }
}

/// A changed version.
struct Changed {
    object: ObjectVersion,
    /// The annotation that was put or deleted.
    annotation: Option<Annotation>,
    guards: (Told, Vec<WakeSender>),
}

/// Changes a version.
fn changed(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    bucket: &Bucket,
    (key, version): (&ObjectKey, Option<&VersionId>),
    (change, cause): (&VersionChange, &Cause),
) -> Result<Changed, StoreError> {
    write.claim(Claim::Bucket(bucket.id))?;
    write.claim(Claim::Key(bucket.id, key.as_str()))?;
    publish::fetch(write, bucket, [key], None)?;
    let state = bucket.state(write)?;
    // Read, compared and written in one transaction: a decision about access on an older
    // state is caught here (time of check to time of use).
    let Found { mut record, is_current } = current::find(write, bucket, key, version)?;
    if record.is_delete_marker {
        return Err(StoreError::IsDeleteMarker { marker: record.delete_marker() });
    }
    let of_replica = replicated(change);
    let is_applied = match &of_replica {
        // Decided for each annotation.
        Some((_, change)) if change.annotate().is_some() => true,
        Some((at_ms, change)) => replicate::is_later(&mut record, change, *at_ms)?,
        None => true,
    };
    if !is_applied {
        let object = ObjectVersion::new(key.clone(), record, is_current, &bucket.owner)?;
        return Ok(Changed { object, annotation: None, guards: Default::default() });
    }
    apply(change, &mut record, (bucket, &state), shared.config.clock.now_ms())?;
    let annotation = match change.annotate() {
        None => None,
        Some(annotate) => {
            let version = (key, &mut record);
            let annotate = (annotate, of_replica.map(|(at_ms, _)| at_ms));
            let annotation = annotations::apply(write, shared, bucket, version, annotate)?;
            if annotation.is_none() {
                let object = ObjectVersion::new(key.clone(), record, is_current, &bucket.owner)?;
                return Ok(Changed { object, annotation, guards: Default::default() });
            }
            annotation
        }
    };
    let event = match change.restore() {
        Some(request) => restores::apply(write, shared, bucket, (key, &mut record), request)?,
        None => change.event(),
    };
    let replicates = match of_replica {
        Some(_) => Vec::new(),
        None => {
            let version = (key, &mut record);
            replicate::queue_change(write, shared, (bucket, &state), version, change)?
        }
    };
    // The stamp stays, and with it the place of the version.
    let place = match is_current {
        true => space::current(state.id, key.as_str()),
        false => space::history(state.id, key.as_str(), &record.stamp),
    };
    record.write(write, &place)?;
    let wake = match event {
        None => Told::default(),
        Some(kind) => {
            let (place, event) = ((bucket, &state), (kind, cause));
            tell_with(write, shared, place, (key, &record), event, annotation.as_ref())?
        }
    };
    let object = ObjectVersion::new(key.clone(), record, is_current, &bucket.owner)?;
    Ok(Changed { object, annotation, guards: (wake, replicates) })
}

/// The time and the change that another store has made, if it is one.
fn replicated(change: &VersionChange) -> Option<(u64, &VersionChange)> {
    match change {
        VersionChange::Replicated { at_ms, change } => Some((*at_ms, change)),
        VersionChange::IfSeen(_, change) => replicated(change),
        _ => None,
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
            // A record without an owner belongs to the owner of the bucket.
            let is_seen = record.owner.as_ref().unwrap_or(&bucket.owner).id == *seen_owner_id
                && record.extensions.acl()? == *seen_acl;
            if !is_seen {
                return Err(StoreError::ConditionalRequestConflict);
            }
            record.extensions = std::mem::take(&mut record.extensions).with_acl(acl.as_ref());
            return Ok(());
        }
        // Need more than the record: see `restores` and `annotations`.
        VersionChange::Restore(_) | VersionChange::Annotate(_) => return Ok(()),
        VersionChange::Replicated { change, .. } => {
            return apply(change, record, (bucket, state), now_ms);
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
            old_lock()?.with_retention(*retention, now_ms, *bypasses_governance)?
        }
        VersionChange::EventHold { change, bypasses_governance } => {
            old_lock()?.with_event_hold(*change, now_ms, *bypasses_governance)?
        }
        VersionChange::LegalHold(legal_hold) => {
            let legal_hold = if *legal_hold { LegalHold::On } else { LegalHold::Off };
            ObjectLock { legal_hold, ..old_lock()? }
        }
    };
    record.extensions = std::mem::take(&mut record.extensions).with_lock(new);
    Ok(())
}
