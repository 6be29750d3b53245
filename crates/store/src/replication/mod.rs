//! The [queues](crate::queue) of replication: one for each target, with a row for each version that
//! it must get.
//!
//! A row names a version and has none of its data: the worker reads the version as it is then. A row
//! is deleted when its target has confirmed it, in the transaction that notes that in the record of
//! the version. A queue has no limit: a target that is down costs rows, and no write waits for it.

mod resync;
mod settle;

use std::collections::BTreeMap;
use std::future::Future;
use std::ops::Bound;
use std::sync::Arc;

use liteio_kv::{Read, Transaction};

use crate::error::StoreError;
use crate::meta::object::ObjectRecord;
use crate::meta::replication::VersionReplication;
use crate::meta::space::QueueKind;
use crate::meta::{ReplicationRow, ReplicationTask, space};
use crate::name::{BucketId, BucketName, ObjectKey};
use crate::pending::Committed;
use crate::process::{Bucket, WakeSender};
use crate::queue::{self, Queue, Queued, Row};
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

/// Rows deleted per transaction.
const DROPPED_AT_ONCE: usize = 1000;

/// Queues a row for `target`, and returns its number. The guard must live until the commit.
pub(crate) fn queue_row(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    target: &str,
    row: &ReplicationRow,
) -> Result<(u64, WakeSender), StoreError> {
    let number = Queue::of(target).push(write, shared.config.clock.now_ms(), row)?;
    Ok((number, WakeSender::new(shared, &signal(target))))
}

impl Row for ReplicationRow {
    const KIND: QueueKind = QueueKind::Replication;

    fn encode(&self, place: &[u8]) -> Vec<u8> {
        Self::encode(self, place)
    }

    fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        Self::decode(place, bytes)
    }
}

/// The name of the signal for a target. No target of events has such a name.
fn signal(target: &str) -> String {
    format!("replication {target}")
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
        let page = Queue::<ReplicationRow>::of(target).page(&self.snapshot()?, after, max)?;
        let queued = |Queued { number, row }| QueuedReplication { number, row };
        Ok(page.into_iter().map(queued).collect())
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
        let mut queues = BTreeMap::new();
        for (target, state) in queue::states(&snapshot, QueueKind::Replication)? {
            let oldest_ms = Queue::<ReplicationRow>::of(&target).oldest_ms(&snapshot)?;
            if oldest_ms.is_some() {
                let waiting = state.waiting.max(1);
                queues.insert(target, ReplicationQueue { waiting, oldest_ms });
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
            let queue = Queue::<ReplicationRow>::of(target);
            let forgotten = self.update_freeing(move |write, _| {
                queue.forget(write, page.iter().map(|queued| queued.number))?;
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
    let (number, wake) = queue_row(write, shared, target, &row)?;
    state.queued(target, number);
    Ok(wake)
}
