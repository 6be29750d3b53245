//! [`Follower`]: the updates of a key space from a moment on, in order, for a copy elsewhere.
//!
//! ```text
//!            log: append, sync            Follower::take
//!  group ───────────────────────► ring ─────────────────► Followed: records n+1 ..= m
//!                                   │
//!                                   └ full: emptied, and the follower has fallen behind
//! ```
//! The committer copies the changes of each record into a chunk of the ring, at
//! [`Durability::Fsync`](liteio_disk::Durability::Fsync) once they are durable. It never waits for a
//! follower. The memory of a chunk is used again once its records were read.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::KvError;
use crate::log::{OPERATION_HEADER_BYTES, Operation, Record, operations};

/// Bytes before the changes of a record in a chunk: its number, and their bytes.
const HEADER_BYTES: usize = 16;
/// Bytes of a chunk. A longer record has one of its own.
const CHUNK_BYTES: usize = 256 << 10;
/// Chunks that are kept for the next records, 8 MiB: new memory costs the committer more than the copy
/// of the record into it.
const FREE_MAX: usize = 32;

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
        let ring = Arc::new(Ring { state: Mutex::new(state), bytes_max, free: Arc::default() });
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
    free: Arc<FreeChunks>,
}

/// Empty chunks. They outlive the ring, which ends with its follower, while its records are still read.
#[derive(Debug, Default)]
struct FreeChunks(Mutex<Vec<Vec<u8>>>);

#[derive(Debug, Default)]
struct RingState {
    /// Records one after another, each in one chunk: number (8), bytes of the changes (8), changes.
    chunks: Vec<Vec<u8>>,
    /// Bytes of all records.
    bytes: usize,
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
        let needed = HEADER_BYTES + record.bytes();
        let has_room = |chunk: &Vec<u8>| chunk.capacity() - chunk.len() >= needed;
        if !state.chunks.last().is_some_and(has_room) {
            state.chunks.push(self.free.take(needed));
        }
        let Some(chunk) = state.chunks.last_mut() else { return };
        let begin = chunk.len();
        chunk.extend_from_slice(&number.to_le_bytes());
        chunk.extend_from_slice(&[0; 8]);
        record.append_changes(chunk);
        let bytes = chunk.len() - begin;
        let of_changes = (bytes - HEADER_BYTES) as u64;
        chunk[begin + 8..begin + HEADER_BYTES].copy_from_slice(&of_changes.to_le_bytes());
        state.bytes += bytes;
        if state.bytes > self.bytes_max {
            state.chunks = Vec::new();
            state.bytes = 0;
            state.is_behind = true;
        }
    }
}

impl FreeChunks {
    /// An empty chunk with room for `bytes`.
    fn take(&self, bytes: usize) -> Vec<u8> {
        match bytes <= CHUNK_BYTES {
            true => self.0.lock().pop().unwrap_or_else(|| Vec::with_capacity(CHUNK_BYTES)),
            false => Vec::with_capacity(bytes),
        }
    }

    /// Keeps a chunk that nobody reads any more.
    fn keep(&self, mut chunk: Vec<u8>) {
        let mut free = self.0.lock();
        if chunk.capacity() == CHUNK_BYTES && free.len() < FREE_MAX {
            chunk.clear();
            free.push(chunk);
        }
    }
}

/// A chunk that is being read.
#[derive(Debug)]
struct Chunk {
    bytes: Vec<u8>,
    /// Gets the memory back.
    free: Arc<FreeChunks>,
}

impl Drop for Chunk {
    fn drop(&mut self) {
        self.free.keep(std::mem::take(&mut self.bytes));
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
    /// Chunks that were not read to their end.
    chunks: VecDeque<Arc<Chunk>>,
    /// Bytes of the first one that were read.
    position: usize,
    /// The number of the newest record when they were taken: records up to it that are not among
    /// these, and were not before, change no pair.
    pub through: u64,
}

/// The changes of a followed record, in the memory of the ring: to be read by [`changes`].
#[derive(Clone)]
pub struct FollowedRecord {
    chunk: Arc<Chunk>,
    range: Range<usize>,
}

impl AsRef<[u8]> for FollowedRecord {
    fn as_ref(&self) -> &[u8] {
        &self.chunk.bytes[self.range.clone()]
    }
}

impl fmt::Debug for FollowedRecord {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FollowedRecord").field("range", &self.range).finish_non_exhaustive()
    }
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

impl Change<'_> {
    /// The bytes of its encoding.
    #[must_use]
    pub fn encoded_bytes(&self) -> usize {
        let (key, value) = match self {
            Self::Put { key, value } => (*key, *value),
            Self::Delete { key } => (*key, &[][..]),
        };
        OPERATION_HEADER_BYTES + key.len() + value.len()
    }
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
        let chunks = std::mem::take(&mut state.chunks);
        state.bytes = 0;
        let through = state.newest;
        drop(state);
        let free = &self.ring.free;
        let chunks =
            chunks.into_iter().map(|bytes| Arc::new(Chunk { bytes, free: Arc::clone(free) }));
        Ok(Followed { chunks: chunks.collect(), position: 0, through })
    }

    /// Bytes of the records since the last call of [`Follower::take`].
    #[must_use]
    pub fn waiting_bytes(&self) -> usize {
        self.ring.state.lock().bytes
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
    #[expect(clippy::should_implement_trait, reason = "`is_empty` has to follow between two items")]
    pub fn next(&mut self) -> Option<(u64, FollowedRecord)> {
        let chunk = Arc::clone(self.chunks.front()?);
        let header = chunk.bytes.get(self.position..)?.split_first_chunk::<HEADER_BYTES>();
        let (number, bytes) = header?.0.split_at(8);
        let field = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).ok();
        let (number, bytes) = (field(number)?, usize::try_from(field(bytes)?).ok()?);
        let begin = self.position + HEADER_BYTES;
        self.position = begin + bytes;
        if self.position == chunk.bytes.len() {
            self.chunks.pop_front();
            self.position = 0;
        }
        Some((number, FollowedRecord { chunk, range: begin..begin + bytes }))
    }

    /// `true` if no record is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
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
