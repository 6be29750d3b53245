//! Keys of queues for targets, of events and of replication, and of resynchronizations.

use super::{EVENT, OUTBOX, QUEUE, REPLICATION, REPLICATION_ROW, RESYNC, of_bucket};
use crate::meta::key::{append_ended, split_ended};
use crate::name::BucketId;

/// The key of the record of all queues of events, of earlier programs.
pub(crate) const OUTBOX_KEY: &[u8] = &[OUTBOX];

/// The key of the record of all queues of replication, of earlier programs.
pub(crate) const REPLICATION_KEY: &[u8] = &[REPLICATION];
/// The prefix of all keys of the records of queues.
pub(crate) const ALL_QUEUES: &[u8] = &[QUEUE];
/// The prefix of all keys of rows of the queues of replication.
pub(crate) const ALL_REPLICATION_ROWS: &[u8] = &[REPLICATION_ROW];
/// The prefix of all keys of resynchronizations.
pub(crate) const ALL_RESYNCS: &[u8] = &[RESYNC];

/// The prefix of all keys of events.
pub(crate) const ALL_EVENTS: &[u8] = &[EVENT];

/// A kind of queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueKind {
    /// Events for the targets of notifications, by their names.
    Events,
    /// Versions for the targets of replication, by their ARNs.
    Replication,
}

impl QueueKind {
    fn tag(self) -> u8 {
        match self {
            Self::Events => EVENT,
            Self::Replication => REPLICATION_ROW,
        }
    }

    /// The key of the record of all queues of this kind, as programs before this one had it.
    pub(crate) fn former_place(self) -> &'static [u8] {
        match self {
            Self::Events => OUTBOX_KEY,
            Self::Replication => REPLICATION_KEY,
        }
    }
}

/// The record of the queue for a target.
pub(crate) fn queue_counter(kind: QueueKind, target: &str) -> Vec<u8> {
    [&[QUEUE, kind.tag()], target.as_bytes()].concat()
}

/// Kind and target in a key made by [`queue_counter`].
pub(crate) fn split_queue_counter(bytes: &[u8]) -> Option<(QueueKind, &str)> {
    let (&tag, target) = bytes.strip_prefix(&[QUEUE])?.split_first()?;
    let mut kinds = [QueueKind::Events, QueueKind::Replication].into_iter();
    let kind = kinds.find(|kind| kind.tag() == tag)?;
    Some((kind, std::str::from_utf8(target).ok()?))
}

/// The prefix of the keys of all rows of the queue for a target; a number of 8 bytes follows.
pub(crate) fn queue_rows(kind: QueueKind, target: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(target.len() + 11);
    bytes.push(kind.tag());
    append_ended(target.as_bytes(), &mut bytes);
    bytes
}

/// Kind, target and number in the key of a row of a queue.
pub(crate) fn split_queue_row(bytes: &[u8]) -> Option<(QueueKind, String, u64)> {
    let mut kinds = [QueueKind::Events, QueueKind::Replication].into_iter();
    let kind = kinds.find(|kind| bytes.first() == Some(&kind.tag()))?;
    let (target, number) = split_ended(&bytes[1..])?;
    Some((kind, String::from_utf8(target).ok()?, u64::from_be_bytes(number.try_into().ok()?)))
}

pub(crate) fn resync(bucket: BucketId, target: &str) -> Vec<u8> {
    let mut bytes = of_bucket(RESYNC, bucket, target.len());
    bytes.extend_from_slice(target.as_bytes());
    bytes
}

/// `true` for a key made by [`resync`].
pub(crate) fn is_resync(bytes: &[u8]) -> bool {
    bytes.first() == Some(&RESYNC)
}
