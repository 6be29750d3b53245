//! [`Slot`]: a key that a transaction writes to, with the reads before every change of it and the writes after it.

use std::iter::once_with;
use std::sync::Arc;

use liteio_kv::{Read, Transaction, Write as _};

use super::Wakes;
use crate::error::StoreError;
use crate::meta::annotation::SetId;
use crate::meta::bucket::BucketState;
use crate::meta::claim::Claim;
use crate::meta::content::Content;
use crate::meta::event::{Cause, EventKind};
use crate::meta::object::ObjectRecord;
use crate::meta::usage::UsageChange;
use crate::meta::{Versioning, space};
use crate::name::{BucketId, ObjectKey, VersionId};
use crate::object::current::Found;
use crate::object::release::release;
use crate::object::replicate::queue_new;
use crate::object::tell::tell;
use crate::object::{ObjectVersion, annotations, history, quota};
use crate::precondition::{CurrentObject, WriteConditionResult, WriteConditions};
use crate::process::{Bucket, WakeReclaimer, WakeSender};
use crate::store::Shared;

/// The place where a version was made, as far as replication cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A request made it: it is copied.
    Here,
    /// An import or a lifecycle rule made it: it is not copied.
    Elsewhere,
}

/// A key that a transaction writes to, with its current object.
#[derive(Debug)]
pub(crate) struct Slot<'a> {
    pub(in crate::object) shared: &'a Arc<Shared>,
    pub(in crate::object) bucket: &'a Bucket,
    pub(in crate::object) state: BucketState,
    pub(in crate::object) key: &'a ObjectKey,
    /// The record key of the current object.
    pub(in crate::object) place: Vec<u8>,
    pub(super) current: Option<ObjectRecord>,
    /// Content of the removed versions, released at the end.
    pub(in crate::object) discarded: Vec<Content>,
    /// Sets of annotations of the removed versions, likewise.
    pub(super) annotations: Vec<SetId>,
    pub(in crate::object) usage: UsageChange,
    /// `true` if governance retentions are ignored.
    pub(super) bypasses_governance: bool,
    /// `true` if the change comes from another store, so that it is not queued for one.
    pub(super) is_of_replica: bool,
    /// Guards that wake the senders of replication.
    pub(super) replicates: Vec<WakeSender>,
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
    pub(in crate::object) fn look(
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

    /// Checks that no lock protects a version. Every removal passes here.
    pub(in crate::object) fn check_removal(&self, record: &ObjectRecord) -> Result<(), StoreError> {
        let lock = record.extensions.lock()?;
        if lock.is_none() {
            return Ok(());
        }
        lock.check_removal(self.shared.config.clock.now_ms(), self.bypasses_governance)
    }

    pub(in crate::object) fn find_in_history(
        &self,
        from: &impl Read,
        version: &VersionId,
    ) -> Result<Option<Found>, StoreError> {
        history::find(from, self.state.id, self.state.is_version_1, self.key, version)
    }

    /// `true` if the next write gets the version id `null`.
    pub(super) fn next_is_null(&self) -> bool {
        self.state.versioning != Versioning::Enabled
    }

    /// A stamp that is newer than every version of the key, even if the clock was set back.
    pub(super) fn next_stamp(&self, from: &impl Read) -> Result<[u8; 16], StoreError> {
        let newest = self.newest_stamp(from)?;
        self.shared.ids.version(&self.shared.config, newest.as_ref())
    }

    /// The stamp of the newest version of the key.
    pub(in crate::object) fn newest_stamp(
        &self,
        from: &impl Read,
    ) -> Result<Option<[u8; 16]>, StoreError> {
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

    /// Notes what a removed version leaves, for [`Slot::release`].
    pub(in crate::object) fn discard(&mut self, record: ObjectRecord) -> Result<(), StoreError> {
        self.annotations.extend(record.extensions.annotations()?);
        self.discarded.push(record.content);
        Ok(())
    }

    /// Releases the content and the annotations of removed versions.
    pub(in crate::object) fn release(
        &self,
        write: &mut Transaction<'_>,
    ) -> Result<WakeReclaimer, StoreError> {
        let wake = release(write, self.shared, &self.discarded)?;
        match annotations::release(write, &self.annotations)? {
            true => Ok(WakeReclaimer::new(self.shared)),
            false => Ok(wake),
        }
    }

    /// Queues a new version for the targets of replication, and notes them in its record.
    pub(super) fn queue(
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
    pub(in crate::object) fn end(
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
}

pub(super) fn check(
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
