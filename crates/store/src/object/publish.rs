//! Publishing: the only way in which a version of an object becomes current, and the only way in
//! which it is removed.
//!
//! ```text
//!                 put, append, copy, complete, rename         delete without a version
//!  never          replaces the current object                 removes the current object
//!  enabled        archives the current object                 archives it, adds a delete marker
//!  suspended      replaces `null`, archives any other         removes `null`, archives any other,
//!                                                             adds a delete marker `null`
//! ```
//!
//! The versions of a key are in three places: the current object (unless the newest version is a
//! delete marker), the history with all others, newest first, and the index that finds the version
//! `null` in the history. Invariant: the current object is newer than every version in the history.
//!
//! One transaction does all of it, in this order:
//! 1. Read the bucket and the current object ([`Slot::open`]).
//! 2. Decide the conditions ([`Slot::check`]).
//! 3. Assign a version id, newer than every version of the key.
//! 4. Change the history: archive or discard the current version.
//! 5. Write the record.
//! 6. Update the bucket's usage, release the content of removed versions, queue the event.
//!
//! Every removed version passes [`Slot::check_removal`], where object lock refuses. A rename
//! withdraws the current object of one key with its content ([`Slot::withdraw`]) and publishes it
//! under another. A version of another store becomes current by [`Slot::import`], which keeps its
//! time and sends no event; one of a replica, at the place of its stamp, by [`Slot::replicate`].

use std::iter::once_with;
use std::sync::Arc;

use bytes::Bytes;
use liteio_checksum::{DigestSet, ObjectChecksum};
use liteio_kv::{Read, Transaction, Write};

use super::annotations;
use super::current::Found;
use super::quota;
use super::release::release;
use super::removal::note_removal;
use super::replicate::{queue_deletion, queue_new};
use super::seal::unlock;
use super::tell::{Told, tell};
use super::{DeleteOutcome, DeleteTarget, ObjectVersion, history, identity};
use crate::encryption::{EncryptionKey, EncryptionRecord, ObjectSealing};
use crate::error::StoreError;
use crate::etag::ETag;
use crate::meta::annotation::SetId;
use crate::meta::bucket::BucketState;
use crate::meta::claim::Claim;
use crate::meta::content::Content;
use crate::meta::event::{Cause, EventKind};
use crate::meta::object::{Extensions, ObjectRecord};
use crate::meta::usage::UsageChange;
use crate::meta::{ObjectLock, ObjectMetadata, Owner, Versioning, body, space};
use crate::name::{BucketId, ObjectKey, VersionId};
use crate::precondition::{CurrentObject, WriteConditionResult, WriteConditions};
use crate::process::{Bucket, WakeReclaimer, WakeSender};
use crate::store::Shared;

/// A new version of an object, without the fields that publishing sets.
#[derive(Clone, Debug)]
pub(crate) struct NewVersion {
    pub(crate) bytes: u64,
    pub(crate) etag: ETag,
    /// The modification time; `None` for the time of the transaction.
    pub(crate) modified_ms: Option<u64>,
    pub(crate) owner: Owner,
    pub(crate) checksum: Option<ObjectChecksum>,
    pub(crate) metadata: ObjectMetadata,
    /// The lock; without a retention it gets the bucket's default.
    pub(crate) lock: ObjectLock,
    pub(crate) extensions: Extensions,
    /// The data key of encrypted content, to be wrapped for this version.
    pub(crate) sealing: Option<ObjectSealing>,
    pub(crate) content: Content,
    /// The event of its creation.
    pub(crate) event: EventKind,
    /// The reason, for the event.
    pub(crate) cause: Cause,
}

/// Guards that, after the commit, wake the threads for which the transaction has queued work.
pub(crate) type Wakes = (WakeReclaimer, (Told, Vec<WakeSender>));

/// The place where a version was made, as far as replication cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// A request made it: it is copied.
    Here,
    /// An import or a lifecycle rule made it: it is not copied.
    Elsewhere,
}

/// A key that a transaction writes to, with its current object.
#[derive(Debug)]
pub(crate) struct Slot<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) bucket: &'a Bucket,
    pub(super) state: BucketState,
    pub(super) key: &'a ObjectKey,
    /// The record key of the current object.
    pub(super) place: Vec<u8>,
    current: Option<ObjectRecord>,
    /// Content of the removed versions, released at the end.
    pub(super) discarded: Vec<Content>,
    /// Sets of annotations of the removed versions, likewise.
    annotations: Vec<SetId>,
    pub(super) usage: UsageChange,
    /// `true` if governance retentions are ignored.
    bypasses_governance: bool,
    /// `true` if the change comes from another store, so that it is not queued for one.
    is_of_replica: bool,
    /// Guards that wake the senders of replication.
    replicates: Vec<WakeSender>,
}

/// Fetches together what every write to these keys reads first: the bucket, its usage, the current objects,
/// and `others`.
pub(crate) fn fetch<'k>(
    from: &impl Read,
    bucket: &Bucket,
    keys: impl IntoIterator<Item = &'k ObjectKey>,
    others: impl IntoIterator<Item = Vec<u8>>,
) -> Result<(), StoreError> {
    // Made only where they are looked at.
    let of_bucket = once_with(|| space::bucket(bucket.name.as_str()));
    let usage = once_with(|| space::usage(bucket.id));
    let current = keys.into_iter().map(|key| space::current(bucket.id, key.as_str()));
    Ok(from.fetch(of_bucket.chain(usage).chain(current).chain(others))?)
}

impl<'a> Slot<'a> {
    /// Checks that the bucket still exists, and reads the current object.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`].
    pub(crate) fn open(
        write: &mut Transaction<'_>,
        shared: &'a Arc<Shared>,
        bucket: &'a Bucket,
        key: &'a ObjectKey,
    ) -> Result<Self, StoreError> {
        write.claim(Claim::Bucket(bucket.id))?;
        quota::ahead(write, bucket);
        fetch(write, bucket, [key], None)?;
        let state = bucket.state(write)?;
        Self::open_in(write, shared, bucket, state, key)
    }

    /// [`Slot::open`] with the state of the bucket, which the transaction has claimed and read
    /// already.
    pub(crate) fn open_in(
        write: &mut Transaction<'_>,
        shared: &'a Arc<Shared>,
        bucket: &'a Bucket,
        state: BucketState,
        key: &'a ObjectKey,
    ) -> Result<Self, StoreError> {
        write.claim(Claim::Key(state.id, key.as_str()))?;
        Self::look(write, shared, bucket, state, key)
    }

    /// [`Slot::open_in`] to read only.
    pub(super) fn look(
        from: &impl Read,
        shared: &'a Arc<Shared>,
        bucket: &'a Bucket,
        state: BucketState,
        key: &'a ObjectKey,
    ) -> Result<Self, StoreError> {
        let place = space::current(state.id, key.as_str());
        // No other write comes between this read and the commit, so conditions are decided on the
        // object that the version replaces.
        let current = ObjectRecord::read(from, &place)?;
        Ok(Self {
            shared,
            bucket,
            state,
            key,
            place,
            current,
            discarded: Vec::new(),
            annotations: Vec::new(),
            usage: UsageChange::new(state.id),
            bypasses_governance: false,
            is_of_replica: false,
            replicates: Vec::new(),
        })
    }

    /// The same for a change that comes from another store.
    pub(crate) fn of_replica(self) -> Self {
        Self { is_of_replica: true, ..self }
    }

    /// The state of the bucket.
    pub(crate) fn state(&self) -> &BucketState {
        &self.state
    }

    /// The number of the bucket.
    pub(crate) fn bucket_id(&self) -> BucketId {
        self.state.id
    }

    /// The current object, unchanged.
    pub(crate) fn into_current(self) -> Result<Option<ObjectVersion>, StoreError> {
        let of = |current| ObjectVersion::new(self.key.clone(), current, true, &self.bucket.owner);
        self.current.map(of).transpose()
    }

    /// The key.
    pub(crate) fn key(&self) -> &ObjectKey {
        self.key
    }

    pub(crate) fn current(&self) -> Option<&ObjectRecord> {
        self.current.as_ref()
    }

    /// `true` if there is no object, in a bucket that never had versioning: a delete has nothing to
    /// do.
    pub(crate) fn is_vacant(&self) -> bool {
        self.current.is_none() && self.state.versioning == Versioning::Never
    }

    /// Decides `conditions` for a write.
    ///
    /// # Errors
    /// [`StoreError::PreconditionFailed`], or [`StoreError::NoSuchKey`] if they require an object
    /// and there is none.
    pub(crate) fn check(&self, conditions: &WriteConditions) -> Result<(), StoreError> {
        check(conditions, self.current.as_ref(), self.key)
    }

    /// Makes `new` the current object, if the quota of the bucket has room for it. The guard must live
    /// until the commit.
    ///
    /// # Errors
    /// [`StoreError::QuotaExceeded`], and the errors of [`Slot::publish_moved`].
    pub(crate) fn publish(
        self,
        write: &mut Transaction<'_>,
        new: NewVersion,
    ) -> Result<(ObjectVersion, Wakes), StoreError> {
        self.check_quota(write, new.bytes)?;
        self.publish_moved(write, new)
    }

    /// [`Slot::publish`] of bytes that the bucket has already.
    ///
    /// # Errors
    /// [`StoreError::ObjectLocked`] if it would remove a locked version,
    /// [`StoreError::InvalidRequest`] if it has a lock in a bucket without object lock; both before
    /// the first write.
    pub(crate) fn publish_moved(
        mut self,
        write: &mut Transaction<'_>,
        mut new: NewVersion,
    ) -> Result<(ObjectVersion, Wakes), StoreError> {
        let (event, cause) = (new.event, std::mem::take(&mut new.cause));
        new.lock = self.lock_of_new(new.lock, self.shared.config.clock.now_ms())?;
        let is_null = self.next_is_null();
        let record = self.write_object(write, new, is_null, Origin::Here)?;
        let wakes = self.end(write, &record, (event, &cause))?;
        let object = ObjectVersion::new(self.key.clone(), record, true, &self.bucket.owner)?;
        Ok((object, wakes))
    }

    /// Makes a version of another store the newest one of the key, with its fields unchanged;
    /// `None` imports a delete marker. The bucket's default retention is not applied, and no event
    /// is sent. The guard must live until the commit.
    ///
    /// # Errors
    /// The errors of [`Slot::publish`], and [`StoreError::InvalidBucketState`] for a version other
    /// than `null`, or a delete marker, in a bucket that never had versioning.
    pub(crate) fn import(
        mut self,
        write: &mut Transaction<'_>,
        new: Option<NewVersion>,
        (modified_ms, is_null): (u64, bool),
    ) -> Result<(VersionId, WakeReclaimer), StoreError> {
        // Without a history a replaced version and a delete marker would have no place.
        if !self.state.has_history() && (new.is_none() || !is_null) {
            let message = "a bucket without versioning has neither versions nor delete markers";
            return Err(StoreError::InvalidBucketState { message: message.to_owned() });
        }
        let record = match new {
            Some(new) if new.lock.protects() && !self.state.object_lock => {
                return Err(missing_lock_configuration());
            }
            Some(new) => self.write_object(write, new, is_null, Origin::Elsewhere)?,
            None => self.write_marker(write, modified_ms, is_null, Origin::Elsewhere)?,
        };
        self.usage.write(write, &self.place)?;
        Ok((record.version_id(), self.release(write)?))
    }

    /// Releases the content and the annotations of removed versions.
    pub(super) fn release(&self, write: &mut Transaction<'_>) -> Result<WakeReclaimer, StoreError> {
        let wake = release(write, self.shared, &self.discarded)?;
        match annotations::release(write, &self.annotations)? {
            true => Ok(WakeReclaimer::new(self.shared)),
            false => Ok(wake),
        }
    }

    /// Notes what a removed version leaves, for [`Slot::release`].
    pub(super) fn discard(&mut self, record: ObjectRecord) -> Result<(), StoreError> {
        self.annotations.extend(record.extensions.annotations()?);
        self.discarded.push(record.content);
        Ok(())
    }

    /// Writes the record of a new object, with its lock unchanged.
    fn write_object(
        &mut self,
        write: &mut Transaction<'_>,
        new: NewVersion,
        is_null: bool,
        origin: Origin,
    ) -> Result<ObjectRecord, StoreError> {
        // The stamp is taken while the current object is still known, since it must be newer.
        // `make_room` takes the current object away.
        let stamp = self.next_stamp(write)?;
        let kept = new.extensions.annotations()?;
        self.make_room(write, is_null)?;
        // An append takes the annotations of the object that it replaces.
        self.annotations.retain(|set| Some(*set) != kept);
        let record_bytes_max = self.shared.config.record_body_bytes_max;
        let mut record = self.record_of(write, new, (stamp, is_null), record_bytes_max)?;
        self.queue(write, &mut record, origin)?;
        record.write(write, &self.place)?;
        self.usage.added_current(&record);
        Ok(record)
    }

    /// The record of a new object, which the caller writes. Bytes beyond `record_bytes_max` are
    /// written to a row.
    pub(super) fn record_of(
        &self,
        write: &mut Transaction<'_>,
        new: NewVersion,
        (stamp, is_null): ([u8; 16], bool),
        record_bytes_max: usize,
    ) -> Result<ObjectRecord, StoreError> {
        annotations::adopt(write, &new, (self.state.id, self.key, &stamp))?;
        let NewVersion { bytes, etag, owner, checksum, metadata, content, .. } = new;
        let NewVersion { lock, extensions, sealing, modified_ms, .. } = new;
        let modified_ms = modified_ms.unwrap_or_else(|| self.shared.config.clock.now_ms());
        let extensions = match lock {
            lock if lock.is_none() => extensions,
            lock => extensions.with_lock(lock),
        };
        // The key is wrapped last: the wrapping is bound to the stamp.
        let extensions = match &sealing {
            None => extensions,
            Some(sealing) => {
                let encryption = self.wrapped(sealing, &content, &stamp)?;
                extensions.with_encryption(Some(&encryption))
            }
        };
        let version = (self.state.id, self.key, &stamp);
        let content = body::put(write, content, record_bytes_max, version)?;
        Ok(ObjectRecord {
            bytes,
            etag,
            modified_ms,
            stamp,
            is_null,
            is_delete_marker: false,
            // Most objects belong to the owner of the bucket, who is not stored.
            owner: (owner != self.bucket.owner).then_some(owner),
            checksum,
            metadata,
            extensions,
            content,
        })
    }

    /// Queues a new version for the targets of replication, and notes them in its record.
    fn queue(
        &mut self,
        write: &mut Transaction<'_>,
        record: &mut ObjectRecord,
        origin: Origin,
    ) -> Result<(), StoreError> {
        if origin == Origin::Here {
            let of = (self.bucket, &self.state);
            self.replicates.extend(queue_new(write, self.shared, of, self.key, record)?);
        }
        Ok(())
    }

    /// Writes the usage of the bucket, releases the content of removed versions, and queues the
    /// event of the change of `record`.
    pub(super) fn end(
        &mut self,
        write: &mut Transaction<'_>,
        record: &ObjectRecord,
        event: (EventKind, &Cause),
    ) -> Result<Wakes, StoreError> {
        // Once, after all changes of the operation to the numbers.
        self.usage.write(write, &self.place)?;
        let wake = self.release(write)?;
        let place = (self.bucket, &self.state);
        let told = tell(write, self.shared, place, (self.key, record), event)?;
        Ok((wake, (told, std::mem::take(&mut self.replicates))))
    }

    /// The lock of a new version, with the bucket's default retention.
    fn lock_of_new(&self, lock: ObjectLock, now_ms: u64) -> Result<ObjectLock, StoreError> {
        if !self.state.object_lock {
            return match lock.protects() {
                true => Err(missing_lock_configuration()),
                false => Ok(ObjectLock::default()),
            };
        }
        let has_own = lock.retention_at(now_ms).is_some();
        Ok(match self.bucket.settings.default_retention.filter(|_| !has_own) {
            Some(default) => default.from(now_ms, lock.legal_hold),
            None => lock.written_at(now_ms),
        })
    }

    /// The data key of `content`, wrapped for the version `stamp`.
    fn wrapped(
        &self,
        sealing: &ObjectSealing,
        content: &Content,
        stamp: &[u8; 16],
    ) -> Result<EncryptionRecord, StoreError> {
        sealing.wrap(identity(self.state.id, self.key, stamp, content), &*self.shared.config.random)
    }

    /// Removes the current object in order to publish it under another key; `None` if there is
    /// none. Its content stays referenced: the count moves with the returned version. Its data key
    /// is returned for wrapping under the new key. `customer` is the customer key that it is
    /// encrypted with.
    ///
    /// # Errors
    /// [`StoreError::ObjectLocked`], and the errors of a read for the customer key; both before the
    /// first write.
    pub(crate) fn withdraw(
        mut self,
        write: &mut Transaction<'_>,
        customer: Option<&EncryptionKey>,
        cause: &Cause,
    ) -> Result<Option<(NewVersion, Told)>, StoreError> {
        let Some(mut record) = self.current.take() else { return Ok(None) };
        self.check_removal(&record)?;
        // Before the first write: a wrong customer key must leave everything as it is.
        let data_key = unlock(self.shared, self.state.id, self.key, &record, customer)?;
        let sealing = match (record.extensions.encryption()?, data_key) {
            (Some(encryption), Some(data)) => {
                Some(self.shared.config.keys.resealing(&encryption, data, customer)?)
            }
            _ => None,
        };
        // Not discarded: the content lives on under the new key.
        write.delete(&self.place)?;
        self.usage.removed_current(&record);
        let content = body::take(write, std::mem::take(&mut record.content))?;
        note_removal(write, self.state.id, self.key)?;
        // Without history there is nothing to promote.
        if self.state.has_history() {
            self.promote(write)?;
        }
        self.usage.write(write, &self.place)?;
        let place = (self.bucket, &self.state);
        let event = (EventKind::RemovedDelete, cause);
        let wake = tell(write, self.shared, place, (self.key, &record), event)?;
        let new = NewVersion {
            bytes: record.bytes,
            etag: record.etag,
            modified_ms: Some(record.modified_ms),
            owner: record.owner.unwrap_or_else(|| self.bucket.owner.clone()),
            checksum: record.checksum,
            metadata: record.metadata,
            lock: record.extensions.lock()?,
            extensions: record.extensions,
            sealing,
            content,
            event: EventKind::CreatedCopy,
            cause: cause.clone(),
        };
        Ok(Some((new, wake)))
    }

    /// Deletes a version; without a version the object, by adding a delete marker in a versioned
    /// bucket. A missing version is no error, whatever the conditions. The guard must live until
    /// the commit.
    ///
    /// # Errors
    /// [`StoreError::PreconditionFailed`] and [`StoreError::ObjectLocked`], before the first write.
    pub(crate) fn delete(
        mut self,
        write: &mut Transaction<'_>,
        target: &DeleteTarget,
    ) -> Result<(DeleteOutcome, Option<Wakes>), StoreError> {
        let DeleteTarget { version, conditions, bypasses_governance, .. } = target;
        let version = version.as_ref();
        self.bypasses_governance = *bypasses_governance;
        let (outcome, record) = match (version, self.state.versioning) {
            (None, Versioning::Enabled | Versioning::Suspended) => {
                let origin = match target.cause {
                    // As on AWS, the markers of lifecycle rules are not copied: targets have rules
                    // of their own.
                    Cause::Lifecycle => Origin::Elsewhere,
                    _ => Origin::Here,
                };
                self.add_delete_marker(write, conditions, origin)?
            }
            _ => match self.remove(write, version, conditions)? {
                Some(removed) => removed,
                None => {
                    // S3 answers with success, and no event is sent.
                    let version_id = version.copied();
                    return Ok((DeleteOutcome { version_id, ..DeleteOutcome::default() }, None));
                }
            },
        };
        // A marker deleted by its id is a removed version, not a new marker.
        let is_new_marker = record.is_delete_marker && version.is_none();
        let event = match (&target.cause, is_new_marker) {
            (Cause::Lifecycle, true) => EventKind::ExpiredMarker,
            (Cause::Lifecycle, false) => EventKind::ExpiredDelete,
            (_, true) => EventKind::RemovedMarker,
            (_, false) => EventKind::RemovedDelete,
        };
        if version.is_some() && !self.is_of_replica && target.cause != Cause::Lifecycle {
            let of = (self.bucket, &self.state);
            self.replicates.extend(queue_deletion(write, self.shared, of, self.key, &record)?);
        }
        let wakes = self.end(write, &record, (event, &target.cause))?;
        Ok((outcome, Some(wakes)))
    }

    /// Removes versions of the key, the history from the newest and then the current one, whatever
    /// locks them, as long as `room` allows. No event is sent. Returns whether all are gone; the
    /// guard must live until the commit.
    pub(crate) fn wipe(
        mut self,
        write: &mut Transaction<'_>,
        room: &mut usize,
    ) -> Result<(bool, WakeReclaimer), StoreError> {
        let mut is_gone = true;
        // The history first: whatever is left, the current object is newer than it.
        while let Some((place, _)) = history::newest(write, self.state.id, self.key)? {
            if *room == 0 {
                is_gone = false;
                break;
            }
            let record = ObjectRecord::read(write, &place)?;
            let record = record.ok_or_else(|| StoreError::corrupt("a version has vanished"))?;
            history::remove(write, self.state.id, self.key, &record, &mut self.usage)?;
            self.discard(record)?;
            *room -= 1;
        }
        match self.current.take() {
            Some(_) if *room == 0 => is_gone = false,
            Some(record) => {
                write.delete(&self.place)?;
                self.usage.removed_current(&record);
                self.discard(record)?;
                *room -= 1;
            }
            // The removed newest version may have been a delete marker that hid the remaining ones.
            None if !is_gone => self.promote(write)?,
            None => {}
        }
        self.usage.write(write, &self.place)?;
        Ok((is_gone, self.release(write)?))
    }

    fn add_delete_marker(
        &mut self,
        write: &mut Transaction<'_>,
        conditions: &WriteConditions,
        origin: Origin,
    ) -> Result<(DeleteOutcome, ObjectRecord), StoreError> {
        // A delete marker on top of a delete marker is allowed, as in S3, and needs no condition.
        let existed = self.current.is_some();
        if existed {
            self.check(conditions)?;
        }
        let is_null = self.next_is_null();
        let now_ms = self.shared.config.clock.now_ms();
        let marker = self.write_marker(write, now_ms, is_null, origin)?;
        let version_id = Some(marker.version_id());
        Ok((DeleteOutcome { existed, version_id, delete_marker: true }, marker))
    }

    fn write_marker(
        &mut self,
        write: &mut Transaction<'_>,
        modified_ms: u64,
        is_null: bool,
        origin: Origin,
    ) -> Result<ObjectRecord, StoreError> {
        // The stamp first: it must be newer than the current object, which `make_room` takes away.
        let stamp = self.next_stamp(write)?;
        self.make_room(write, is_null)?;
        write.delete(&self.place)?;
        let mut marker = self.marker(modified_ms, stamp, is_null);
        self.queue(write, &mut marker, origin)?;
        history::add(write, self.state.id, self.key, &marker, &mut self.usage)?;
        Ok(marker)
    }

    /// The record of a delete marker.
    pub(super) fn marker(&self, modified_ms: u64, stamp: [u8; 16], is_null: bool) -> ObjectRecord {
        ObjectRecord {
            bytes: 0,
            etag: ETag::Md5(DigestSet::new(&[]).finish().md5),
            modified_ms,
            stamp,
            is_null,
            is_delete_marker: true,
            owner: None,
            checksum: None,
            metadata: ObjectMetadata::default(),
            extensions: Extensions::default(),
            content: Content::Inline(Bytes::new()),
        }
    }

    /// Removes a version (`None`: the current object) and returns it; `None` if it does not exist.
    fn remove(
        &mut self,
        write: &mut Transaction<'_>,
        version: Option<&VersionId>,
        conditions: &WriteConditions,
    ) -> Result<Option<(DeleteOutcome, ObjectRecord)>, StoreError> {
        // Taken out of `self`, so that the branches below may move the record.
        let current = self.current.take();
        let is_current =
            |record: &ObjectRecord| version.is_none_or(|it| *it == record.version_id());
        let found = match current {
            Some(record) if is_current(&record) => Some(Found { record, is_current: true }),
            current => {
                self.current = current;
                match version {
                    Some(version) => self.find_in_history(write, version)?,
                    None => None,
                }
            }
        };
        let Some(Found { record, is_current }) = found else { return Ok(None) };
        // All checks come before the first write, so a refused removal changes nothing.
        check(conditions, Some(&record), self.key)?;
        self.check_removal(&record)?;
        match is_current {
            true => {
                write.delete(&self.place)?;
                self.usage.removed_current(&record);
            }
            false => history::remove(write, self.state.id, self.key, &record, &mut self.usage)?,
        }
        let delete_marker = record.is_delete_marker;
        if is_current || delete_marker {
            note_removal(write, self.state.id, self.key)?;
        }
        self.discard(record.clone())?;
        // The removed version was the newest (a delete marker included): the next one may become
        // current.
        if self.current.is_none() && self.state.has_history() {
            self.promote(write)?;
        }
        let version_id = version.copied();
        Ok(Some((DeleteOutcome { existed: true, version_id, delete_marker }, record)))
    }

    /// Makes the newest version of the history current, unless it is a delete marker. Keeps the
    /// invariant that the current object is newer than the history.
    fn promote(&mut self, write: &mut Transaction<'_>) -> Result<(), StoreError> {
        let newest = history::newest(write, self.state.id, self.key)?;
        let Some((place, newest)) = newest else { return Ok(()) };
        if newest.is_delete_marker {
            // The marker keeps hiding the older versions: the key has no current object.
            return Ok(());
        }
        let record = ObjectRecord::read(write, &place)?;
        let record = record.ok_or_else(|| StoreError::corrupt("a version has vanished"))?;
        // The record moves unchanged: it keeps its stamp and its version id.
        history::remove(write, self.state.id, self.key, &record, &mut self.usage)?;
        record.write(write, &self.place)?;
        self.usage.added_current(&record);
        Ok(())
    }

    /// Makes room for a newer version: discards the version that it replaces, and archives the
    /// current one otherwise. `is_null` tells whether the newer version is `null`.
    ///
    /// ```text
    /// newer version   current       history has `null`   effect
    /// an id           any           any                  current is archived
    /// null            null          no                   current is discarded, replaced in place
    /// null            an id, none   yes                  current is archived, old `null` discarded
    /// null            an id, none   no                   current is archived
    /// ```
    pub(super) fn make_room(
        &mut self,
        write: &mut Transaction<'_>,
        is_null: bool,
    ) -> Result<(), StoreError> {
        let current = self.current.take();
        if let Some(current) = &current {
            // If it is archived, `history::add` counts it again, at its new place.
            self.usage.removed_current(current);
        }
        match current {
            // The current object is the version `null` (a key has at most one), and the new record
            // overwrites it.
            Some(current) if is_null && current.is_null => {
                self.check_removal(&current)?;
                self.discard(current)?;
                return Ok(());
            }
            Some(current) => {
                history::add(write, self.state.id, self.key, &current, &mut self.usage)?;
            }
            None => {}
        }
        // The only `null` of the key may be in the history, from before versioning or while it was
        // suspended.
        if is_null
            && self.state.has_history()
            && let Some(found) = self.find_in_history(write, &VersionId::Null)?
        {
            self.check_removal(&found.record)?;
            let (id, usage) = (self.state.id, &mut self.usage);
            history::remove(write, id, self.key, &found.record, usage)?;
            self.discard(found.record)?;
        }
        Ok(())
    }

    /// `true` if the next write gets the version id `null`.
    fn next_is_null(&self) -> bool {
        self.state.versioning != Versioning::Enabled
    }

    pub(super) fn find_in_history(
        &self,
        from: &impl Read,
        version: &VersionId,
    ) -> Result<Option<Found>, StoreError> {
        history::find(from, self.state.id, self.state.is_version_1, self.key, version)
    }

    /// Checks that no lock protects a version. Every removal passes here.
    pub(super) fn check_removal(&self, record: &ObjectRecord) -> Result<(), StoreError> {
        let lock = record.extensions.lock()?;
        if lock.is_none() {
            return Ok(());
        }
        lock.check_removal(self.shared.config.clock.now_ms(), self.bypasses_governance)
    }

    /// A stamp that is newer than every version of the key, even if the clock was set back.
    fn next_stamp(&self, from: &impl Read) -> Result<[u8; 16], StoreError> {
        let newest = self.newest_stamp(from)?;
        self.shared.ids.version(&self.shared.config, newest.as_ref())
    }

    /// The stamp of the newest version of the key.
    pub(super) fn newest_stamp(&self, from: &impl Read) -> Result<Option<[u8; 16]>, StoreError> {
        // By the invariant the current object is the newest version. A newer one in the history can
        // only be a delete marker, and then no object is current.
        Ok(match &self.current {
            Some(current) => Some(current.stamp),
            None if self.state.has_history() => {
                history::newest(from, self.state.id, self.key)?.map(|(_, listed)| listed.stamp)
            }
            None => None,
        })
    }
}

/// The error for a lock in a bucket without object lock.
pub(crate) fn missing_lock_configuration() -> StoreError {
    let message = "Bucket is missing Object Lock Configuration".to_owned();
    StoreError::InvalidRequest { message }
}

fn check(
    conditions: &WriteConditions,
    current: Option<&ObjectRecord>,
    key: &ObjectKey,
) -> Result<(), StoreError> {
    if conditions.is_empty() {
        return Ok(());
    }
    let current = current.map(|record| CurrentObject {
        etag: &record.etag,
        bytes: record.bytes,
        modified_ms: record.modified_ms,
    });
    match conditions.check(current) {
        WriteConditionResult::Proceed => Ok(()),
        WriteConditionResult::NoObject => {
            Err(StoreError::NoSuchKey { key: key.clone(), marker: None })
        }
        WriteConditionResult::PreconditionFailed { condition } => {
            Err(StoreError::PreconditionFailed { condition })
        }
    }
}
