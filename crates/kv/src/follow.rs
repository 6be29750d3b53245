//! [`Follower`]: the updates of a key space from a moment on, in order, for a copy elsewhere.
//!
//! ```text
//!            log: append, sync            Follower::take
//!  group ───────────────────────► ring ─────────────────► Followed: records n+1 ..= m
//!                                   │
//!                                   └ full: emptied, and the follower has fallen behind
//! ```
//! The committer copies the changes of each record into the ring, at
//! [`Durability::Fsync`](liteio_disk::Durability::Fsync) once they are durable. It never waits for a
//! follower.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::KvError;
use crate::log::{Operation, Record, operations};

/// Bytes before the changes of a record in the ring: its number, and their bytes.
const HEADER_BYTES: usize = 16;
/// Memory that an emptied ring keeps for the next records.
const KEPT_BYTES: usize = 1 << 20;

/// The followers of a key space.
#[derive(Debug, Default)]
pub(super) struct Followers {
    rings: Mutex<Vec<Weak<Ring>>>,
    /// `false` while there is none: then a group pays one load of this flag.
    is_followed: AtomicBool,
}

impl Followers {
    /// Follows from behind the record `number`. The caller keeps records from being appended
    /// meanwhile.
    pub(super) fn add(&self, number: u64, bytes_max: usize) -> Follower {
        let state = RingState { newest: number, ..RingState::default() };
        let ring = Arc::new(Ring { state: Mutex::new(state), bytes_max });
        self.rings.lock().push(Arc::downgrade(&ring));
        self.is_followed.store(true, Ordering::Release);
        Follower { ring, start: number }
    }

    /// Passes on the record `number`, which is in the log.
    pub(super) fn appended(&self, number: u64, record: &Record) {
        if self.is_followed.load(Ordering::Acquire) {
            self.tell(|ring| ring.push(number, record));
        }
    }

    /// Passes on that the record `number` changes no pair.
    pub(super) fn passed(&self, number: u64) {
        if self.is_followed.load(Ordering::Acquire) {
            self.tell(|ring| ring.state.lock().newest = number);
        }
    }

    fn tell(&self, tell: impl Fn(&Ring)) {
        let mut rings = self.rings.lock();
        rings.retain(|ring| ring.upgrade().inspect(|ring| tell(ring)).is_some());
        self.is_followed.store(!rings.is_empty(), Ordering::Release);
    }
}

#[derive(Debug)]
struct Ring {
    state: Mutex<RingState>,
    bytes_max: usize,
}

#[derive(Debug, Default)]
struct RingState {
    /// Records one after another: number (8), bytes of the changes (8), changes.
    records: Vec<u8>,
    /// The number of the newest record.
    newest: u64,
    is_behind: bool,
}

impl Ring {
    fn push(&self, number: u64, record: &Record) {
        let mut state = self.state.lock();
        state.newest = number;
        if state.is_behind {
            return;
        }
        let begin = state.records.len();
        state.records.extend_from_slice(&number.to_le_bytes());
        state.records.extend_from_slice(&[0; 8]);
        record.append_changes(&mut state.records);
        let bytes = (state.records.len() - begin - HEADER_BYTES) as u64;
        state.records[begin + 8..begin + HEADER_BYTES].copy_from_slice(&bytes.to_le_bytes());
        if state.records.len() > self.bytes_max {
            state.records = Vec::new();
            state.is_behind = true;
        }
    }
}

/// Follows the updates of a key space: [`Kv::follow`](crate::Kv::follow). Ends when it is dropped.
pub struct Follower {
    ring: Arc<Ring>,
    start: u64,
}

/// The follower has fallen behind: more records than it may hold came between two calls of
/// [`Follower::take`]. Follow anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more was written than could be followed")]
pub struct Behind;

/// Consecutive records of a key space, to be read one after another.
#[derive(Debug)]
pub struct Followed {
    bytes: Vec<u8>,
    /// Bytes of those that were read.
    position: usize,
    /// The number of the newest record when they were taken: records up to it that are not among
    /// these, and were not before, change no pair.
    pub through: u64,
}

/// A change of one pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// The key gets this value.
    Put {
        /// The key.
        key: &'a [u8],
        /// The value.
        value: &'a [u8],
    },
    /// The key is removed.
    Delete {
        /// The key.
        key: &'a [u8],
    },
}

impl Follower {
    /// The number of the newest record before the first followed one. Every snapshot taken since
    /// sees all records up to it.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The number of the newest record. A snapshot taken before this call sees none beyond.
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.ring.state.lock().newest
    }

    /// `true` once [`Follower::take`] fails.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.ring.state.lock().is_behind
    }

    /// The records since the last call. Does not wait.
    ///
    /// # Errors
    /// [`Behind`], from then on.
    pub fn take(&self) -> Result<Followed, Behind> {
        let mut state = self.ring.state.lock();
        if state.is_behind {
            return Err(Behind);
        }
        let capacity = state.records.len().min(KEPT_BYTES);
        let bytes = std::mem::replace(&mut state.records, Vec::with_capacity(capacity));
        Ok(Followed { bytes, position: 0, through: state.newest })
    }
}

impl fmt::Debug for Follower {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Follower").field("start", &self.start).finish_non_exhaustive()
    }
}

impl Followed {
    /// The next record: its number and its changes, to be read by [`changes`]. A record is one or
    /// more updates that were committed together.
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot lend its items")]
    pub fn next(&mut self) -> Option<(u64, &[u8])> {
        let rest = &self.bytes[self.position..];
        let (number, rest) = rest.split_first_chunk()?;
        let (bytes, rest) = rest.split_first_chunk()?;
        let bytes = usize::try_from(u64::from_le_bytes(*bytes)).ok()?;
        let changes = rest.get(..bytes)?;
        self.position += HEADER_BYTES + bytes;
        Some((u64::from_le_bytes(*number), changes))
    }

    /// `true` if no record is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.position == self.bytes.len()
    }
}

/// The changes of a record, in order.
///
/// The bytes may come from a copy elsewhere: what is not the changes of a record is
/// [`KvError::Corrupt`].
pub fn changes(bytes: &[u8]) -> impl Iterator<Item = Result<Change<'_>, KvError>> {
    operations(bytes).map(|operation| match operation? {
        Operation::Put { key, value } => Ok(Change::Put { key, value }),
        Operation::Delete { key } => Ok(Change::Delete { key }),
        Operation::Note { .. } | Operation::Mark { .. } => {
            Err(KvError::Corrupt("a followed record names what only a log has".into()))
        }
    })
}

/// Appends a change in the encoding that [`changes`] reads.
pub fn append_change(change: Change<'_>, to: &mut Vec<u8>) {
    match change {
        Change::Put { key, value } => Operation::Put { key, value }.append(to),
        Change::Delete { key } => Operation::Delete { key }.append(to),
    }
}
