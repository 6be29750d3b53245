//! Replication of objects: the rows of local changes, and versions that come from another store.
//!
//! A copy keeps the stamp of its version, which is its version id and its place in the order of the
//! versions of its key. So two stores that copy to each other agree on the versions of a key and on
//! their order, whatever the order in which they arrive. A copy queues no row: it never goes back
//! to where it came from.

use std::sync::Arc;

use liteio_kv::{Read, Transaction, Write as _};

use super::change::VersionChange;
use super::history;
use super::publish::{NewVersion, Slot, Wakes};
use super::quota;
use crate::error::StoreError;
use crate::etag::ETag;
use crate::limits::REPLICA_AHEAD_MS_MAX;
use crate::meta::bucket::BucketState;
use crate::meta::event::{Cause, EventKind};
use crate::meta::object::ObjectRecord;
use crate::meta::replication::VersionReplication;
use crate::meta::{Replication, ReplicationTask, Versioning, document, space};
use crate::name::{ObjectKey, VersionId};
use crate::object::ObjectVersion;
use crate::pending::{Committed, Pending};
use crate::process::{Bucket, WakeSender, written_ms};
use crate::replication;
use crate::store::{Shared, Store};

/// The identity of a version that comes from another store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replica {
    /// The stamp of the version.
    pub stamp: [u8; 16],
    /// `true` for the version `null`.
    pub is_null: bool,
    /// Modification time, in milliseconds since 1970.
    pub modified_ms: u64,
    /// The entity tag, whatever it was made of; `None` computes it from the content.
    pub etag: Option<ETag>,
}

impl Replica {
    /// The time in the stamp, in milliseconds since 1970.
    fn stamped_ms(&self) -> u64 {
        written_ms(&self.stamp)
    }
}

/// The replication rules of a bucket, as they are in this transaction.
fn rules(
    write: &Transaction<'_>,
    bucket: &Bucket,
    state: &BucketState,
) -> Result<Option<Arc<Replication>>, StoreError> {
    if state.settings_stamp == bucket.settings_stamp {
        return Ok(bucket.settings.replication.clone());
    }
    let document = document::read(write, bucket.id, document::REPLICATION)?;
    let decoded = document.as_deref().map(document::decode_setting).transpose()?;
    Ok(decoded.map(Arc::new))
}

/// Queues a new local version for the targets that the rules of its bucket name, and notes them in
/// its record, which the caller writes. The guards must live until the commit.
pub(super) fn queue_new(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    (bucket, state): (&Bucket, &BucketState),
    key: &ObjectKey,
    record: &mut ObjectRecord,
) -> Result<Vec<WakeSender>, StoreError> {
    let Some(replication) = rules(write, bucket, state)? else { return Ok(Vec::new()) };
    let scheme = record.encryption_scheme()?;
    let (mut copies, mut wakes) = (VersionReplication::default(), Vec::new());
    for rule in replication.rules_for(key.as_str(), &record.metadata.tags) {
        if (record.is_delete_marker && !rule.copies_markers) || !rule.copies(scheme.as_ref()) {
            continue;
        }
        let place = (bucket, key);
        let version = (&*record, &mut copies);
        wakes.push(replication::queue_version(write, shared, &rule.target, place, version, false)?);
    }
    if !copies.copies.is_empty() {
        record.extensions = std::mem::take(&mut record.extensions).with_replication(Some(&copies));
    }
    Ok(wakes)
}

/// Queues the deletion of a version at the targets whose rules say so.
pub(super) fn queue_deletion(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    (bucket, state): (&Bucket, &BucketState),
    key: &ObjectKey,
    record: &ObjectRecord,
) -> Result<Vec<WakeSender>, StoreError> {
    let Some(replication) = rules(write, bucket, state)? else { return Ok(Vec::new()) };
    let copies = record.extensions.replication()?.unwrap_or_default();
    let mut wakes = Vec::new();
    for rule in replication.rules_for(key.as_str(), &record.metadata.tags) {
        if !rule.copies_deletions {
            continue;
        }
        let version = copies.copy(&rule.target).and_then(|copy| copy.version.clone());
        let row = replication::row(bucket, key, record, ReplicationTask::Delete { version });
        wakes.push(replication::queue_row(write, shared, &rule.target, &row)?.1);
    }
    Ok(wakes)
}

/// Notes the time of a change of a version's tags or lock, and queues it for the targets that have
/// or get the version. The caller writes the record.
pub(super) fn queue_change(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    (bucket, state): (&Bucket, &BucketState),
    (key, record): (&ObjectKey, &mut ObjectRecord),
    change: &VersionChange,
) -> Result<Vec<WakeSender>, StoreError> {
    let replication = rules(write, bucket, state)?;
    let known = record.extensions.replication()?;
    if replication.is_none() && known.is_none() {
        return Ok(Vec::new());
    }
    let mut copies = known.unwrap_or_default();
    let now_ms = shared.config.clock.now_ms();
    match time_of(&mut copies, change) {
        // Later than the last one, even if the clock was set back.
        Some(time) => *time = now_ms.max(time.saturating_add(1)),
        // Each annotation has its own time.
        None if change.annotate().is_some() => {}
        None => return Ok(Vec::new()),
    }
    let mut wakes = Vec::new();
    let scheme = record.encryption_scheme()?;
    for rule in replication
        .iter()
        .flat_map(|it| it.rules_for(key.as_str(), &record.metadata.tags))
        .filter(|rule| rule.copies(scheme.as_ref()))
    {
        if copies.is_replica && !rule.copies_changed_replicas {
            continue;
        }
        let version = (&*record, &mut copies);
        let place = (bucket, key);
        wakes.push(replication::queue_version(write, shared, &rule.target, place, version, false)?);
    }
    record.extensions = std::mem::take(&mut record.extensions).with_replication(Some(&copies));
    Ok(wakes)
}

/// The time of the last change of this kind; `None` for a kind that is not replicated.
fn time_of<'a>(state: &'a mut VersionReplication, change: &VersionChange) -> Option<&'a mut u64> {
    match change {
        VersionChange::Tags(_) | VersionChange::NoTags => Some(&mut state.changes.tags_ms),
        VersionChange::Retention { .. } | VersionChange::EventHold { .. } => {
            Some(&mut state.changes.retention_ms)
        }
        VersionChange::LegalHold(_) => Some(&mut state.changes.legal_hold_ms),
        // A restore is of one store: the copy has its own.
        VersionChange::Acl { .. } | VersionChange::Restore(_) | VersionChange::Annotate(_) => None,
        VersionChange::IfSeen(_, change) => time_of(state, change),
        VersionChange::Replicated { change, .. } => time_of(state, change),
    }
}

/// Decides whether a change of another store is later than the last one of its kind here, and notes
/// its time then. Of two changes at the same time, both stores choose the greater one.
pub(super) fn is_later(
    record: &mut ObjectRecord,
    change: &VersionChange,
    at_ms: u64,
) -> Result<bool, StoreError> {
    let mut state = record.extensions.replication()?.unwrap_or_default();
    let Some(last) = time_of(&mut state, change) else { return Ok(false) };
    let is_later = match at_ms.cmp(last) {
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => is_greater(record, change)?,
    };
    if is_later {
        *last = at_ms;
        record.extensions = std::mem::take(&mut record.extensions).with_replication(Some(&state));
    }
    Ok(is_later)
}

/// `true` if the changed value sorts behind the value that the version has.
fn is_greater(record: &ObjectRecord, change: &VersionChange) -> Result<bool, StoreError> {
    let lock = record.extensions.lock()?;
    Ok(match change {
        VersionChange::Tags(tags) => *tags > record.metadata.tags,
        VersionChange::NoTags
        | VersionChange::Acl { .. }
        | VersionChange::Restore(_)
        | VersionChange::Annotate(_) => false,
        VersionChange::Retention { retention, .. } => {
            let until = |retention: &Option<crate::Retention>| retention.map(|it| it.until_ms);
            until(retention) > until(&lock.retention)
        }
        VersionChange::EventHold { change, .. } => {
            let has_hold = matches!(lock.event_hold, crate::EventHold::On(_));
            let has = (has_hold, lock.retention.map(|it| it.until_ms));
            (change.duration.is_some(), change.until_ms) > has
        }
        VersionChange::LegalHold(on) => *on && lock.legal_hold != crate::LegalHold::On,
        VersionChange::IfSeen(_, change) | VersionChange::Replicated { change, .. } => {
            is_greater(record, change)?
        }
    })
}

impl Store {
    /// Adds a delete marker that another store has made.
    ///
    /// Fails with [`StoreError::NoSuchBucket`] and the errors of a replica: see
    /// [`PutOptions::replica`](crate::PutOptions::replica).
    pub fn replicate_marker(
        &self,
        bucket: &Arc<Bucket>,
        key: ObjectKey,
        replica: Replica,
        cause: Cause,
    ) -> Pending<VersionId> {
        let bucket = Arc::clone(bucket);
        self.update(move |write, shared| {
            let slot = Slot::open(write, shared, &bucket, &key)?;
            let (record, _, wakes) = slot.replicate(write, None, &replica, &cause)?;
            Ok(Committed::with_guard(record.version_id(), wakes))
        })
    }
}

impl Slot<'_> {
    /// Writes the object of a replica, as [`Slot::publish`] does for a new version.
    pub(crate) fn publish_replica(
        self,
        write: &mut Transaction<'_>,
        mut new: NewVersion,
        replica: &Replica,
    ) -> Result<(ObjectVersion, Wakes), StoreError> {
        let cause = std::mem::take(&mut new.cause);
        let (key, owner) = (self.key().clone(), self.bucket.owner.clone());
        let (record, is_current, wakes) = self.replicate(write, Some(new), replica, &cause)?;
        Ok((ObjectVersion::new(key, record, is_current, &owner)?, wakes))
    }

    /// Makes a version of another store one of this key, at the place in its history that its stamp
    /// gives it; `None` makes a delete marker. If the key has the version, nothing changes. Returns
    /// its record, and whether it is current.
    ///
    /// # Errors
    /// [`StoreError::InvalidBucketState`] unless versioning is enabled,
    /// [`StoreError::InvalidRequest`] for a stamp of the far future or a lock in a bucket without
    /// object lock, and [`StoreError::ObjectLocked`] if a locked version `null` would be replaced;
    /// all before the first write.
    pub(crate) fn replicate(
        mut self,
        write: &mut Transaction<'_>,
        new: Option<NewVersion>,
        replica: &Replica,
        cause: &Cause,
    ) -> Result<(ObjectRecord, bool, Wakes), StoreError> {
        self.check_replica(new.as_ref(), replica)?;
        let found = replication::find(write, self.bucket_id(), self.key(), &replica.stamp)?;
        if let Some((place, record)) = found {
            let is_current = space::split_current(&place).is_some();
            return self.unneeded(write, new, record, is_current);
        }
        let newest = self.newest_stamp(write)?;
        let is_newest = newest.is_none_or(|newest| replica.stamp < newest);
        let null = if replica.is_null { self.find_null(write)? } else { None };
        if let Some(new) = &new {
            let replaced = match &null {
                Some(null) if null.record.stamp < replica.stamp => new.bytes,
                Some(null) => null.record.bytes,
                None => 0,
            };
            quota::check(write, self.bucket, new.bytes, replaced)?;
        }
        if let Some(null) = null {
            if null.record.stamp < replica.stamp {
                return self.unneeded(write, new, null.record, null.is_current);
            }
            if !is_newest {
                self.check_removal(&null.record)?;
                let (id, key) = (self.state.id, self.key);
                history::remove(write, id, key, &null.record, &mut self.usage)?;
                self.discard(null.record)?;
            }
        }
        let is_object = new.is_some();
        let mut record = match new {
            None => self.marker(replica.modified_ms, replica.stamp, replica.is_null),
            Some(mut new) => {
                new.modified_ms = Some(replica.modified_ms);
                let made = new.etag;
                new.etag = replica.etag.unwrap_or(made);
                let tag = (new.etag != made).then_some(&made);
                new.extensions = std::mem::take(&mut new.extensions).with_content_tag(tag);
                // A row for the bytes would have the stamp as its key, and another bucket of this
                // store may have a version with the same one.
                self.record_of(write, new, (replica.stamp, replica.is_null), usize::MAX)?
            }
        };
        let state = VersionReplication { is_replica: true, ..VersionReplication::default() };
        record.extensions = std::mem::take(&mut record.extensions).with_replication(Some(&state));
        if is_newest {
            self.make_room(write, replica.is_null)?;
            write.delete(&self.place)?;
        }
        let is_current = is_newest && is_object;
        match is_current {
            true => {
                record.write(write, &self.place)?;
                self.usage.added_current(&record);
            }
            false => history::add(write, self.state.id, self.key, &record, &mut self.usage)?,
        }
        let kind = if is_object { EventKind::CreatedPut } else { EventKind::RemovedMarker };
        let wakes = self.end(write, &record, (kind, cause))?;
        Ok((record, is_current, wakes))
    }

    fn check_replica(&self, new: Option<&NewVersion>, replica: &Replica) -> Result<(), StoreError> {
        if self.state.versioning != Versioning::Enabled {
            let message = "Versioning must be 'Enabled' on the bucket to receive replicas.";
            return Err(StoreError::InvalidBucketState { message: message.to_owned() });
        }
        let now_ms = self.shared.config.clock.now_ms();
        if replica.stamped_ms() > now_ms.saturating_add(REPLICA_AHEAD_MS_MAX) {
            let message = "The version id is of a time that is more than a day ahead of the clock of this \
                           server: set the clocks of both servers.";
            return Err(StoreError::InvalidRequest { message: message.to_owned() });
        }
        match new.is_some_and(|new| new.lock.protects()) && !self.state.object_lock {
            true => Err(super::publish::missing_lock_configuration()),
            false => Ok(()),
        }
    }

    /// The version `null` of the key.
    fn find_null(&self, from: &impl Read) -> Result<Option<super::current::Found>, StoreError> {
        if let Some(current) = self.current().filter(|current| current.is_null) {
            return Ok(Some(super::current::Found { record: current.clone(), is_current: true }));
        }
        self.find_in_history(from, &VersionId::Null)
    }

    /// Releases the content of a version that the key has, or has a newer one of.
    fn unneeded(
        mut self,
        write: &mut Transaction<'_>,
        new: Option<NewVersion>,
        record: ObjectRecord,
        is_current: bool,
    ) -> Result<(ObjectRecord, bool, Wakes), StoreError> {
        self.discarded.extend(new.map(|new| new.content));
        let wakes = (self.release(write)?, Default::default());
        Ok((record, is_current, wakes))
    }
}
