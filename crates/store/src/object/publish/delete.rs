//! Removal of versions: a delete, a rename, and the end of a key whose bucket is reset.

use liteio_kv::{Transaction, Write as _};

use super::slot::{Origin, check};
use super::{NewVersion, Slot, Wakes};
use crate::encryption::EncryptionKey;
use crate::error::StoreError;
use crate::meta::event::{Cause, EventKind};
use crate::meta::object::ObjectRecord;
use crate::meta::{Versioning, body};
use crate::name::VersionId;
use crate::object::current::Found;
use crate::object::removal::note_removal;
use crate::object::replicate::queue_deletion;
use crate::object::seal::unlock;
use crate::object::tell::{Told, tell};
use crate::object::{DeleteOutcome, DeleteTarget, history};
use crate::precondition::WriteConditions;
use crate::process::WakeReclaimer;

impl Slot<'_> {
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
}
