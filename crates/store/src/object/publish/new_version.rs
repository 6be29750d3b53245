//! New versions: of a request, of an import, and of an object that moves.

use liteio_checksum::ObjectChecksum;
use liteio_kv::Transaction;

use super::slot::Origin;
use super::{Slot, Wakes, missing_lock_configuration};
use crate::encryption::{EncryptionRecord, ObjectSealing};
use crate::error::StoreError;
use crate::etag::ETag;
use crate::meta::content::Content;
use crate::meta::event::{Cause, EventKind};
use crate::meta::object::{Extensions, ObjectRecord};
use crate::meta::{ObjectLock, ObjectMetadata, Owner, body};
use crate::name::VersionId;
use crate::object::{ObjectVersion, annotations, identity};
use crate::process::WakeReclaimer;

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

impl Slot<'_> {
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
    pub(in crate::object) fn record_of(
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
}
