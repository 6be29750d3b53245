//! [`Database`]: what runs the updates of several processes over one key space.
//!
//! ```text
//!  closures ──► run over what is known ──► a Group: claims, versions read, writes ──► commit ──► answers
//!                  ▲         │ a read is not known                                      │
//!                  │         ▼                                                          │ Conflict: with
//!                  └──── fetch: one moment, many wants ◄────────────────────────────────┘ what changed
//! ```
//! A closure holds nothing between fetch and commit. A commit compares the versions of everything
//! that its closures read, and writes, in one step: either nothing has changed, or it changes
//! nothing. So reads of one run may come from several moments, but no result of such a run is ever
//! acknowledged.
//!
//! # Versions
//! Each row has a version, which its writer chooses: [`Group::version`]. No two commits have the same
//! one, and 0 means that there is no row.
//!
//! # Ranges and claims
//! Rows that other updates add to a range have no version that could be compared. So a commit also
//! compares the [`Digest`] of each range that its closures read, and does that after it has taken its
//! claims: two commits with the same claim run one after the other, unless both share it.
//!
//! # Answers that are lost
//! A commit has the number of its [`Worker`]: each one more than the one before. Where the answer is
//! lost, [`Database::settle`] finds out whether the commit happened, and keeps it from happening
//! later. A number smaller than the last acknowledged one means that the database itself has lost
//! commits, as the failover to an asynchronous standby may.

mod ahead;
mod config;
mod counted;
#[cfg(any(test, feature = "test-util"))]
mod simulated;
mod snapshot;

use std::fmt::Debug;
use std::pin::Pin;

use crate::{Counts, KvError};

pub use ahead::{Ahead, Around};
pub use config::DatabaseConfig;
pub(crate) use counted::CountedDatabase;
#[cfg(any(test, feature = "test-util"))]
pub use simulated::{Faults, SimulatedDatabase};
pub use snapshot::Moment;
pub(crate) use snapshot::{DatabaseSnapshot, nonsense};

/// Number of the epochs that a database keeps.
pub const EPOCHS: usize = 2;

/// Numbers that change with each commit that touches what they stand for: caches of other processes are
/// exact while the number is the same. Each is the version of the last such commit, so that none comes
/// twice, even if a failover loses commits. Their meaning is the caller's.
pub type Epochs = [u64; EPOCHS];

/// The engine of a key space of several processes. Calls block the thread, unless they return a future.
pub trait Database: Debug + Send + Sync + 'static {
    /// The number of the run of this process: greater than those of all processes that began
    /// earlier, at least 1, less than 2^23.
    fn run(&self) -> u32;

    /// Fetches what is wanted, all of one moment: an answer for each want. It sees every commit that
    /// was acknowledged before the call, to any process.
    ///
    /// # Errors
    /// [`KvError::Io`] if the database does not answer, [`KvError::Corrupt`] if its answer makes no sense.
    fn fetch(&self, wants: &[Want]) -> Result<Fetched, KvError>;

    /// [`Database::fetch`] for a caller that must not block: the database is asked when the future is polled.
    ///
    /// # Errors
    /// As [`Database::fetch`].
    fn fetch_later(&self, wants: Vec<Want>) -> Fetching;

    /// Commits a group, as durably as the database is set up for, or changes nothing.
    ///
    /// # Errors
    /// See [`CommitError`].
    fn commit(&self, worker: Worker, number: u64, group: &Group) -> Result<(), CommitError>;

    /// Finds out what became of the commit with this number, whose answer was lost. After this answer
    /// the commit cannot happen any more, and `number` is used up either way.
    ///
    /// # Errors
    /// [`KvError::Io`] if the database does not answer: it is still open what became of it.
    fn settle(&self, worker: Worker, number: u64) -> Result<Settled, KvError>;

    /// Takes `count` numbers, in a row, for rows of queues: greater than all that any process took before
    /// the call, and at least `floor`. Returns the first one. Numbers that are not used are never given
    /// again.
    ///
    /// # Errors
    /// [`KvError::Io`] if the database does not answer.
    fn take_numbers(&self, count: u32, floor: u64) -> Result<u64, KvError>;

    /// A view of one moment, at the latest that of its first fetch, and not before this call.
    ///
    /// # Errors
    /// [`KvError::Io`] if the database does not answer.
    fn view(&self) -> Result<Box<dyn View>, KvError>;

    /// The primary that this process uses: another one after each promotion of a standby, and never again a former one.
    /// `None` if the database cannot tell.
    ///
    /// A former primary may go on beside the new one. It commits nothing any more, but a process that has not met the
    /// new one yet still reads there.
    fn primary(&self) -> Option<PrimaryId> {
        None
    }
}

/// Id of a primary: another one than those of the primaries that it has replaced.
pub type PrimaryId = u64;

/// The future of [`Database::fetch_later`].
pub type Fetching = Pin<Box<dyn Future<Output = Result<Fetched, KvError>> + Send>>;

/// All of a key space at one moment, for reads that take long.
pub trait View: Debug + Send + Sync {
    /// Fetches what is wanted, of the moment of the view: an answer for each want.
    ///
    /// # Errors
    /// As [`Database::fetch`], and [`KvError::Io`] if the view was given up because it lasted too long.
    fn fetch(&self, wants: &[Want]) -> Result<Fetched, KvError>;
}

/// Something to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// The row of a key. Answered by [`Answer::Row`].
    Key(Vec<u8>),
    /// The first `max` rows from `lower` on and below `upper` (`None`: up to the last key), or the last
    /// ones, beginning with the last one. Answered by [`Answer::Rows`].
    Rows {
        /// The first key of the range.
        lower: Vec<u8>,
        /// The end of the range, which is not in it.
        upper: Option<Vec<u8>>,
        /// Number of rows at most; at least 1.
        max: usize,
        /// `true` for the last rows.
        is_backward: bool,
    },
    /// The first entries of a [`GroupedRange`](crate::GroupedRange), with the same meaning of each field.
    /// Answered by [`Answer::Entries`].
    Entries {
        /// The first key.
        lower: Vec<u8>,
        /// The end of the range, which is not in it.
        upper: Vec<u8>,
        /// The bytes at which a group ends; none make no groups.
        delimiter: Vec<u8>,
        /// Bytes of each key before those in which the delimiter is looked for.
        text: usize,
        /// The end of the bytes in which the delimiter is looked for; empty for the end of the key.
        text_end: Vec<u8>,
        /// Number of entries at most; at least 1.
        max: usize,
    },
    /// The sum of the changes of a counter. Answered by [`Answer::Counts`].
    Counter(Vec<u8>),
}

/// The answers to a fetch, of one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The time of the database at that moment, in milliseconds since 1970.
    pub now_ms: u64,
    /// The epochs at that moment.
    pub epochs: Epochs,
    /// An answer for each want, in their order.
    pub answers: Vec<Answer>,
}

/// The answer to a [`Want`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The row of the key; `None` if there is none.
    Row(Option<Row>),
    /// Rows in the order asked for. If there are fewer than `max`, the range has no others. An answer of
    /// very many bytes may have fewer, too: `is_whole` tells.
    Rows {
        /// Keys and their rows.
        rows: Vec<(Vec<u8>, Row)>,
        /// `true` if the range has no other rows.
        is_whole: bool,
    },
    /// Entries in the order of their keys.
    Entries {
        /// The entries.
        entries: Vec<Entry>,
        /// `true` if the range has no other entries.
        is_whole: bool,
    },
    /// The sum of the changes of the counter.
    Counts(Counts),
}

/// The version of a row, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The [`Group::version`] of the commit that wrote it.
    pub version: u64,
    /// The value.
    pub value: Vec<u8>,
}

/// An entry of a grouped range: see [`GroupedEntry`](crate::GroupedEntry).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A key of no group, with its row.
    Row(Vec<u8>, Row),
    /// The bytes that all keys of a group begin with.
    Group(Vec<u8>),
}

/// The one who commits: a thread of a process. Its commits run one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Worker {
    /// The [`Database::run`] of its process.
    pub run: u32,
    /// Its number in the process.
    pub index: u32,
}

/// Updates that are committed together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// The version of all rows that this writes.
    pub version: u64,
    /// The claims, sorted by name, each once: exclusive if one of the updates claims it so.
    pub claims: Vec<ClaimName>,
    /// Keys that were read and are not among the writes, and the versions that were found; 0 for no row.
    pub keys: Vec<(Vec<u8>, u64)>,
    /// Ranges that were read, with what was found. What was read of the group's own writes is not in it.
    pub ranges: Vec<RangeRead>,
    /// The writes, sorted by key, each key once.
    pub writes: Vec<RowWrite>,
    /// The changes of counters, each counter once.
    pub counters: Vec<CounterWrite>,
    /// `true` for each epoch that begins with this commit.
    pub begins: [bool; EPOCHS],
}

/// The name of a [`Claim`](crate::Claim).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClaimName {
    /// The name.
    pub name: Vec<u8>,
    /// `true` if others may share it at the same time.
    pub is_shared: bool,
}

/// A range that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeRead {
    /// The first key.
    pub lower: Vec<u8>,
    /// The end, which is not in it; `None` for the end of all keys.
    pub upper: Option<Vec<u8>>,
    /// The rows that were found in it.
    pub digest: Digest,
}

/// The rows of a range, in short: equal for equal rows, and almost never for others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    /// Number of rows.
    pub rows: u64,
    /// The sum of their versions.
    pub sum: u128,
    /// Their versions, combined bit by bit with exclusive or.
    pub xor: u64,
}

impl Digest {
    /// Adds a row.
    pub fn add(&mut self, version: u64) {
        self.rows += 1;
        self.sum += u128::from(version);
        self.xor ^= version;
    }
}

/// A write of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowWrite {
    /// The key.
    pub key: Vec<u8>,
    /// The version that was read, 0 for no row; `None` if it was not read, so that any will do.
    pub expected: Option<u64>,
    /// The new value; `None` deletes the row.
    pub value: Option<Vec<u8>>,
}

/// A change of one counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterWrite {
    /// The key of the counter.
    pub key: Vec<u8>,
    /// `true` if what was counted so far is forgotten first.
    pub begins_anew: bool,
    /// The counts to add.
    pub added: Counts,
}

/// The reason why a commit was not acknowledged.
#[derive(Clone, Debug)]
pub enum CommitError {
    /// Something that was read has changed, and nothing was written: the rows of such keys as they are now, if
    /// the database tells them. With no row the reads have to be fetched again.
    Conflict(Vec<(Vec<u8>, Option<Row>)>),
    /// The database refuses, and nothing was written.
    Refused(KvError),
    /// It is not known whether it happened: [`Database::settle`] has to find out.
    Unknown(KvError),
}

/// The outcome of a commit whose answer was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It happened.
    Committed,
    /// It did not happen, and will not.
    NotCommitted,
    /// It did not happen, and the commits of this worker after the one with the number `last` have been
    /// lost, though they were acknowledged.
    Lost {
        /// The number of the last commit that is left.
        last: u64,
    },
}
