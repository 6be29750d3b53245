//! The queues of replication: one for each target, with a row for each version that it must get.
//!
//! A row is written in the transaction of its change (a transactional outbox), so it exists exactly
//! if the change has happened. It names a version and has none of its data: the worker
//! reads the version as it is then. A row is deleted when its target has confirmed it, in the
//! transaction that notes that in the record of the version. So each change arrives at least once.
//! A queue has no limit: a target that is down costs rows, and no write waits for it.

mod resync;
mod settle;

use std::collections::BTreeMap;
use std::future::Future;
use std::ops::Bound;
use std::sync::Arc;

use liteio_kv::{Cursor, Read, Transaction, Write as _};

use crate::error::StoreError;
use crate::meta::key::successor;
use crate::meta::object::ObjectRecord;
use crate::meta::replication::{ReplicationState, VersionReplication};
use crate::meta::{ReplicationRow, ReplicationTask, space};
use crate::name::{BucketId, BucketName, ObjectKey};
use crate::pending::Committed;
use crate::process::{Bucket, WakeSender};
use crate::store::{Shared, Store};

pub use resync::NewResync;
pub(crate) use resync::begin;
pub use settle::{ReplicationOutcome, ReplicationResult};

/// A queued row.
#[derive(Debug)]
pub struct QueuedReplication {
    /// The number; later rows have greater ones.
    pub number: u64,
    /// The row; [`StoreError::Corrupt`] if its record is damaged.
    pub row: Result<ReplicationRow, StoreError>,
}

/// The queue of one target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplicationQueue {
    /// Number of rows that wait.
    pub waiting: u64,
    /// Time at which the oldest of them was queued, in milliseconds since 1970.
    pub oldest_ms: Option<u64>,
}

/// Bits of a number below the milliseconds of the time at which it was assigned.
const NUMBER_BITS: u32 = 16;
/// Rows deleted per transaction.
const DROPPED_AT_ONCE: usize = 1000;

/// Queues a row for `target`, and returns its number. The guard must live until the commit.
pub(crate) fn queue(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    target: &str,
    row: &ReplicationRow,
) -> Result<(u64, WakeSender), StoreError> {
    let mut state = read_or_count(write)?;
    let number = state.next.max(shared.config.clock.now_ms() << NUMBER_BITS);
    state.next = number + 1;
    *state.waiting.entry(target.to_owned()).or_default() += 1;
    let place = space::replication_row(target, number);
    write.put(&place, &row.encode(&place))?;
    state.write(write)?;
    Ok((number, WakeSender::new(shared, &signal(target))))
}

/// The name of the signal for a target. No target of events has such a name.
fn signal(target: &str) -> String {
    format!("replication {target}")
}

/// The state of the queues; recomputed from the rows if its record is damaged or missing.
fn read_or_count(write: &Transaction<'_>) -> Result<ReplicationState, StoreError> {
    match ReplicationState::read(write) {
        Ok(None) | Err(StoreError::Corrupt { .. }) => {}
        Ok(Some(state)) => return Ok(state),
        Err(error) => return Err(error),
    }
    let mut state = ReplicationState::default();
    let mut cursor = rows(write, space::ALL_REPLICATION_ROWS, None)?;
    while let Some((place, _)) = cursor.next()? {
        let Some((target, number)) = space::split_replication_row(place) else { continue };
        state.next = state.next.max(number + 1);
        *state.waiting.entry(target).or_default() += 1;
    }
    Ok(state)
}

impl Store {
    /// The first `max` rows for `target` after the number `after`, in order.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if the queue cannot be read.
    pub fn replication_rows(
        &self,
        target: &str,
        after: Option<u64>,
        max: usize,
    ) -> Result<Vec<QueuedReplication>, StoreError> {
        let prefix = space::replication_rows_of(target);
        let after = after.map(|number| space::replication_row(target, number));
        let snapshot = self.snapshot()?;
        let mut cursor = rows(&snapshot, &prefix, after.as_deref())?;
        let mut queued = Vec::new();
        while queued.len() < max
            && let Some((place, value)) = cursor.next()?
        {
            let (_, number) = space::split_replication_row(place)
                .ok_or_else(|| StoreError::corrupt("the key of a row of replication"))?;
            queued.push(QueuedReplication { number, row: ReplicationRow::decode(place, value) });
        }
        Ok(queued)
    }

    /// `true` if a target has a later version of the key of a row.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if metadata cannot be read.
    pub fn has_later_copy(&self, row: &ReplicationRow, target: &str) -> Result<bool, StoreError> {
        let key = ObjectKey::new(row.key.clone())?;
        let snapshot = self.snapshot()?;
        let is_sent = |record: &ObjectRecord| -> Result<bool, StoreError> {
            let state = record.extensions.replication()?.unwrap_or_default();
            Ok(state.copy(target).is_some_and(|copy| copy.is_sent))
        };
        let current = ObjectRecord::read(&snapshot, &space::current(row.bucket, key.as_str()))?;
        if let Some(current) = &current {
            if current.stamp >= row.stamp {
                return Ok(false);
            }
            if is_sent(current)? {
                return Ok(true);
            }
        }
        // Stamps of later versions are smaller.
        let own = space::history(row.bucket, key.as_str(), &row.stamp);
        let prefix = space::history_of(row.bucket, key.as_str());
        let mut cursor = snapshot.cursor(Bound::Included(&prefix), Bound::Excluded(&own))?;
        while let Some((place, value)) = cursor.next()? {
            if is_sent(&ObjectRecord::decode(place, value)?)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The bucket with this name, if it is still the one with this number.
    pub(crate) fn bucket_of_row(
        &self,
        id: BucketId,
        name: &str,
    ) -> Result<Option<Arc<Bucket>>, StoreError> {
        match self.bucket(&BucketName::new(name)?) {
            Ok(bucket) => Ok(Some(bucket).filter(|bucket| bucket.id == id)),
            Err(StoreError::NoSuchBucket { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The queues that are not empty, by the ARN of their target.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if metadata cannot be read.
    pub fn replication_queues(&self) -> Result<BTreeMap<String, ReplicationQueue>, StoreError> {
        let snapshot = self.snapshot()?;
        let state = ReplicationState::read(&snapshot)?.unwrap_or_default();
        let mut queues = BTreeMap::new();
        for (target, waiting) in state.waiting {
            let prefix = space::replication_rows_of(&target);
            let mut cursor = rows(&snapshot, &prefix, None)?;
            let first = cursor.next()?.and_then(|(place, _)| space::split_replication_row(place));
            if let Some((_, number)) = first {
                let oldest_ms = Some(number >> NUMBER_BITS);
                queues.insert(target, ReplicationQueue { waiting: waiting.max(1), oldest_ms });
            }
        }
        Ok(queues)
    }

    /// Deletes all rows for a target. Returns their number. The versions keep their status.
    ///
    /// # Errors
    /// The errors of the disk.
    pub fn drop_replication(&self, target: &str) -> Result<u64, StoreError> {
        let mut dropped = 0;
        loop {
            let page = self.replication_rows(target, None, DROPPED_AT_ONCE)?;
            if page.is_empty() {
                return Ok(dropped);
            }
            dropped += page.len() as u64;
            let target = target.to_owned();
            let forgotten = self.update_freeing(move |write, _| {
                let mut state = read_or_count(write)?;
                for queued in &page {
                    forget(write, &mut state, &target, queued.number)?;
                }
                state.write(write)?;
                Ok(Committed::new(()))
            });
            forgotten.wait()?;
        }
    }

    /// Number of times that rows for `target` were queued since the store was opened.
    #[must_use]
    pub fn replication_queued(&self, target: &str) -> u64 {
        self.events_queued(&signal(target))
    }

    /// Waits until rows for `target` are queued after [`Store::replication_queued`] returned
    /// `seen`.
    pub fn wait_for_replication(
        &self,
        target: &str,
        seen: u64,
    ) -> impl Future<Output = ()> + Send + use<> {
        self.wait_for_events(&signal(target), seen)
    }

    /// Number of resynchronizations that were begun since the store was opened.
    #[must_use]
    pub fn resyncs_begun(&self) -> u64 {
        self.events_queued(resync::SIGNAL)
    }

    /// Waits until one is begun after [`Store::resyncs_begun`] returned `seen`.
    pub fn wait_for_resyncs(&self, seen: u64) -> impl Future<Output = ()> + Send + use<> {
        self.wait_for_events(resync::SIGNAL, seen)
    }
}

/// The version of a key with this stamp, and its record key.
pub(crate) fn find(
    from: &impl Read,
    bucket: BucketId,
    key: &ObjectKey,
    stamp: &[u8; 16],
) -> Result<Option<(Vec<u8>, ObjectRecord)>, StoreError> {
    let place = space::current(bucket, key.as_str());
    if let Some(record) = ObjectRecord::read(from, &place)?
        && record.stamp == *stamp
    {
        return Ok(Some((place, record)));
    }
    let place = space::history(bucket, key.as_str(), stamp);
    Ok(ObjectRecord::read(from, &place)?.map(|record| (place, record)))
}

/// Deletes a row. `false` if there is none.
fn forget(
    write: &mut Transaction<'_>,
    state: &mut ReplicationState,
    target: &str,
    number: u64,
) -> Result<bool, StoreError> {
    let place = space::replication_row(target, number);
    if write.get(&place)?.is_none() {
        return Ok(false);
    }
    write.delete(&place)?;
    if let Some(waiting) = state.waiting.get_mut(target) {
        *waiting = waiting.saturating_sub(1);
        if *waiting == 0 {
            state.waiting.remove(target);
        }
    }
    Ok(true)
}

/// The row of a version.
pub(crate) fn row(
    bucket: &Bucket,
    key: &ObjectKey,
    record: &ObjectRecord,
    task: ReplicationTask,
) -> ReplicationRow {
    ReplicationRow {
        bucket: bucket.id,
        bucket_name: bucket.name.as_str().to_owned(),
        key: key.as_str().to_owned(),
        stamp: record.stamp,
        is_null: record.is_null,
        task,
    }
}

/// Queues a version for `target`, and notes it in its record, which the caller writes.
pub(crate) fn queue_version(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    target: &str,
    (bucket, key): (&Bucket, &ObjectKey),
    (record, state): (&ObjectRecord, &mut VersionReplication),
    again: bool,
) -> Result<WakeSender, StoreError> {
    let row = row(bucket, key, record, ReplicationTask::Version { again });
    let (number, wake) = queue(write, shared, target, &row)?;
    state.queued(target, number);
    Ok(wake)
}

/// The records with the key prefix `prefix`, after the key `after` if given.
fn rows<'a>(
    from: &'a impl Read,
    prefix: &[u8],
    after: Option<&[u8]>,
) -> Result<Cursor<'a>, StoreError> {
    let end = successor(prefix);
    let upper = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    Ok(from.cursor(after.map_or(Bound::Included(prefix), Bound::Excluded), upper)?)
}
