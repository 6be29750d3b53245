//! Resynchronization: a walk over the versions of a bucket that queues them for a target, in steps
//! that survive a restart.
//!
//! The history comes before the current versions, so that the last version that a target gets is the
//! current one, also if it chooses the version ids. A second pass over the history finds versions
//! that were current in the first one and were replaced before their turn. A step is one
//! transaction: it queues the versions of a page and moves the position.

use std::ops::Bound;
use std::sync::Arc;

use liteio_kv::{Read as _, Transaction, Write as _};

use super::queue_version;
use crate::error::StoreError;
use crate::meta::claim::Claim;
use crate::meta::key::successor;
use crate::meta::object::ObjectRecord;
use crate::meta::{Resync, space};
use crate::name::ObjectKey;
use crate::pending::{Committed, Pending};
use crate::process::{Bucket, WakeSender};
use crate::store::{Shared, Store};

/// The name of the signal. No target has such a name.
pub(super) const SIGNAL: &str = "resynchronization\0";

/// Versions looked at in one step.
const STEP: usize = 256;

/// The pass over the current versions, and the last one.
const CURRENT: u8 = 1;
const LAST: u8 = 2;

/// A resynchronization to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewResync {
    /// Its id.
    pub id: String,
    /// ARN of the target.
    pub target: String,
    /// `true` to queue also what the target is said to have.
    pub again: bool,
    /// Only versions older than this time, in milliseconds since 1970.
    pub before_ms: u64,
}

impl Store {
    /// Begins a resynchronization, in place of an earlier one for the same bucket and target.
    ///
    /// Fails with [`StoreError::NoSuchBucket`].
    pub fn begin_resync(&self, bucket: &Arc<Bucket>, new: NewResync) -> Pending<()> {
        let bucket = Arc::clone(bucket);
        self.update(move |write, shared| {
            bucket.require(write)?;
            let wake = begin(write, shared, &bucket, &new)?;
            Ok(Committed::with_guard((), wake))
        })
    }

    /// Cancels the resynchronizations of a bucket that run, for `target` or for all targets. Returns
    /// their ids. What they have queued is sent.
    ///
    /// Fails with [`StoreError::NoSuchBucket`].
    pub fn cancel_resync(
        &self,
        bucket: &Arc<Bucket>,
        target: Option<String>,
    ) -> Pending<Vec<String>> {
        let bucket = Arc::clone(bucket);
        // It stops writing, so it works on a full disk, too.
        self.update_freeing(move |write, shared| {
            bucket.require(write)?;
            let prefix = space::resync(bucket.id, target.as_deref().unwrap_or_default());
            let end = successor(&prefix);
            let upper = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            let mut running = Vec::new();
            let mut cursor = write.cursor(Bound::Included(&prefix), upper)?;
            while let Some((place, value)) = cursor.next()? {
                let Ok(resync) = Resync::decode(place, value) else { continue };
                if !resync.is_done && target.as_ref().is_none_or(|it| *it == resync.target) {
                    running.push((place.to_vec(), resync));
                }
            }
            drop(cursor);
            let mut ids = Vec::new();
            for (place, mut resync) in running {
                (resync.is_done, resync.is_cancelled) = (true, true);
                resync.stepped_ms = shared.config.clock.now_ms();
                write.put(&place, &resync.encode(&place))?;
                ids.push(resync.id);
            }
            Ok(Committed::new(ids))
        })
    }

    /// The resynchronizations of all buckets; damaged records are left out.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if the key space cannot be read.
    pub fn resyncs(&self) -> Result<Vec<(u32, Resync)>, StoreError> {
        let mut found = Vec::new();
        self.walk(&self.snapshot()?, space::ALL_RESYNCS, &mut |place, value| {
            if let Ok(resync) = Resync::decode(place, value) {
                found.push((resync.bucket.0, resync));
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// The resynchronizations of a bucket.
    ///
    /// # Errors
    /// The errors of [`Store::resyncs`].
    pub fn resyncs_of(&self, bucket: &Bucket) -> Result<Vec<Resync>, StoreError> {
        let all = self.resyncs()?.into_iter();
        Ok(all.filter(|(id, _)| *id == bucket.id.0).map(|(_, resync)| resync).collect())
    }

    /// Takes one step of a resynchronization. Returns `true` at its end.
    ///
    /// # Errors
    /// The errors of the disk, and [`StoreError::Corrupt`].
    pub fn step_resync(&self, resync: &Resync) -> Result<bool, StoreError> {
        let bucket = self.bucket_of_row(resync.bucket, &resync.bucket_name)?;
        let place = space::resync(resync.bucket, &resync.target);
        let Some(bucket) = bucket else {
            let removed = self.update_freeing(move |write, _| {
                write.delete(&place)?;
                Ok(Committed::new(true))
            });
            return removed.wait();
        };
        const NONE: Vec<WakeSender> = Vec::new();
        let id = resync.id.clone();
        let stepped = self.update(move |write, shared| {
            let Some(bytes) = write.get(&place)?.map(|bytes| bytes.to_vec()) else {
                return Ok(Committed::with_guard(true, NONE));
            };
            let mut resync = Resync::decode(&place, &bytes)?;
            // Another one has taken its place, which the next look finds.
            if resync.id != id || resync.is_done {
                return Ok(Committed::with_guard(true, NONE));
            }
            let wakes = step(write, shared, &bucket, &mut resync)?;
            write.put(&place, &resync.encode(&place))?;
            Ok(Committed::with_guard(resync.is_done, wakes))
        });
        stepped.wait()
    }
}

/// Writes the record of a new resynchronization.
pub(crate) fn begin(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    bucket: &Bucket,
    new: &NewResync,
) -> Result<WakeSender, StoreError> {
    let now_ms = shared.config.clock.now_ms();
    let resync = Resync {
        id: new.id.clone(),
        target: new.target.clone(),
        bucket: bucket.id,
        bucket_name: bucket.name.as_str().to_owned(),
        again: new.again,
        before_ms: new.before_ms,
        started_ms: now_ms,
        stepped_ms: now_ms,
        pass: 0,
        position: None,
        seen: 0,
        queued: 0,
        bytes: 0,
        is_done: false,
        is_cancelled: false,
    };
    let place = space::resync(bucket.id, &new.target);
    write.put(&place, &resync.encode(&place))?;
    Ok(WakeSender::new(shared, SIGNAL))
}

fn step(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    bucket: &Arc<Bucket>,
    resync: &mut Resync,
) -> Result<Vec<WakeSender>, StoreError> {
    resync.stepped_ms = shared.config.clock.now_ms();
    let prefix = match resync.pass {
        CURRENT => space::current_of(bucket.id),
        _ => space::history_prefix(bucket.id, b""),
    };
    let lower = match &resync.position {
        Some(position) => Bound::Excluded(position.as_slice()),
        None => Bound::Included(prefix.as_slice()),
    };
    let end = successor(&prefix);
    let upper = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let mut page = Vec::new();
    let mut cursor = write.cursor(lower, upper)?;
    while page.len() < STEP
        && let Some((place, value)) = cursor.next()?
    {
        page.push((place.to_vec(), value.to_vec()));
    }
    drop(cursor);
    match page.last() {
        Some((place, _)) => resync.position = Some(place.clone()),
        None if resync.pass == LAST => resync.is_done = true,
        None => (resync.pass, resync.position) = (resync.pass + 1, None),
    }
    // Versions of a key are newest first.
    let mut wakes = Vec::new();
    write.for_each(page.iter().rev(), |write, (place, value)| {
        // Damage is for verify and repair, and keeps no other version from its copy.
        let Ok(record) = ObjectRecord::decode(place, value) else { return Ok(()) };
        let key = match space::split_history(place) {
            Some((_, key, _)) => Some(key),
            None => space::split_current(place).map(|(_, key)| key.to_vec()),
        };
        let key = key.and_then(|key| String::from_utf8(key).ok());
        let key = key.ok_or_else(|| StoreError::corrupt("the key of a version's record"))?;
        let key = ObjectKey::new(key)?;
        resync.seen += u64::from(resync.pass != LAST);
        wakes.extend(requeue(write, shared, bucket, resync, (place, key, record))?);
        Ok::<_, StoreError>(())
    })?;
    Ok(wakes)
}

/// Queues a version, if a rule selects it and the target does not have it.
fn requeue(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    bucket: &Arc<Bucket>,
    resync: &mut Resync,
    (place, key, mut record): (&[u8], ObjectKey, ObjectRecord),
) -> Result<Option<WakeSender>, StoreError> {
    write.claim(Claim::Bucket(bucket.id))?;
    write.claim(Claim::Key(bucket.id, key.as_str()))?;
    let Some(replication) = &bucket.settings.replication else { return Ok(None) };
    let rules = replication.rules_for(key.as_str(), &record.metadata.tags);
    let rule = rules.into_iter().find(|rule| rule.target == resync.target);
    let Some(rule) = rule.filter(|rule| rule.copies_existing || resync.again) else {
        return Ok(None);
    };
    let mut state = record.extensions.replication()?.unwrap_or_default();
    let has_it = state.copy(&rule.target).is_some();
    // What it should send again was queued by the first pass, or is new.
    let is_left_out = (has_it && (!resync.again || resync.pass == LAST))
        // After a loss at the target, what came from there goes back.
        || (state.is_replica && !resync.again)
        || (record.is_delete_marker && !rule.copies_markers)
        || !rule.copies(record.encryption_scheme()?.as_ref())
        || record.modified_ms >= resync.before_ms;
    if is_left_out {
        return Ok(None);
    }
    let of = (&**bucket, &key);
    let wake = queue_version(write, shared, &rule.target, of, (&record, &mut state), resync.again)?;
    resync.queued += 1;
    resync.bytes += record.bytes;
    record.extensions = std::mem::take(&mut record.extensions).with_replication(Some(&state));
    record.write(write, place)?;
    Ok(Some(wake))
}
