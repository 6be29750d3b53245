//! An ordered, transactional key space: a write-ahead log and memtables in front of a B-tree
//! (redb).
//!
//! Keys and values of a [`Kv`] are bytes; keys are ordered byte by byte. A key space lives on a
//! [`Disk`](liteio_disk::Disk) or in memory. Sorted files, the *runs*, may stand between the
//! memtables and the tree.
//!
//! ```
//! use std::ops::Bound;
//! use std::sync::Arc;
//!
//! use liteio_disk::RealDisk;
//! use liteio_kv::{Kv, KvConfig, KvError, Read, Write};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! let disk = Arc::new(RealDisk::open(directory.path())?);
//! let kv = Kv::open(disk, "keys", KvConfig::default())?;
//!
//! // Durable when `wait` returns.
//! let counted = kv.update(|transaction| {
//!     transaction.put(b"fruit/apple", b"3")?;
//!     transaction.put(b"fruit/pear", b"5")?;
//!     transaction.put(b"nut/hazel", b"8")?;
//!     Ok::<_, KvError>(transaction.get(b"fruit/pear")?.map(|value| value.len()))
//! });
//! assert_eq!(counted.wait()?, Some(1));
//!
//! // Later updates do not change a snapshot.
//! let snapshot = kv.snapshot()?;
//! kv.update(|transaction| transaction.delete(b"fruit/apple")).wait()?;
//! assert_eq!(snapshot.get(b"fruit/apple")?.as_deref(), Some(&b"3"[..]));
//!
//! // The keys that begin with `fruit/`: `0` follows `/`.
//! let snapshot = kv.snapshot()?;
//! let mut fruits = snapshot.cursor(Bound::Included(b"fruit/"), Bound::Excluded(b"fruit0"))?;
//! assert_eq!(fruits.next()?, Some((&b"fruit/pear"[..], &b"5"[..])));
//! assert_eq!(fruits.next()?, None);
//! # Ok(())
//! # }
//! ```
//!
//! # The contract
//! - [`Kv::snapshot`] sees every update acknowledged before it began, and no later one. It is cheap
//!   and must be short-lived: an old snapshot keeps alive every page and every table that it sees.
//! - [`Kv::update`] runs a closure in a transaction. The closure reads its own writes and the
//!   writes of every earlier update. If it returns `Ok`, all of its writes commit; if it returns
//!   `Err` (or panics), none do. Updates are serial: nothing runs between a closure's reads and its
//!   writes. A closure may run again, and only its last run counts.
//! - An update is acknowledged when [`Pending`] resolves to `Ok`: then it is as durable as the
//!   configured [`Durability`](liteio_disk::Durability) says. Updates of several threads share one
//!   commit. The commit begins at the latest when [`Pending`] is polled, waited for or dropped.
//! - After a failed sync or write, all later writes are refused ([`KvError::Poisoned`]); reads
//!   continue.
//!
//! The suite `contract` (feature `test-util`) checks this contract on every disk and engine.
//!
//! # From an update to the tree
//! ```text
//!  update ─┐            ┌────────── a thread with the lock, one at a time ──────────┐
//!  update ─┼─► queue ──►│ stage in the active table ─► log: append, sync ─► publish │──► answers
//!  update ─┘            └───────────────────────────────────────────────────────────┘
//!                          each closure in            one record for       snapshots see
//!                          turn, alone                the whole group      all of it
//!
//!  active table ──► frozen, after some megabytes or when the store is idle ──► drained into the tree by a thread
//!                                                                          └──► or made a run, where the tree is
//!                                                                               much larger: it takes many together
//! ```
//! Group commit: one sync serves any number of updates. The first caller that waits for its answer
//! takes the lock and commits for all. The log has two files that alternate with the tables: once a
//! table has reached the tree or a run, the records in its log file are obsolete. Opening replays
//! the remaining records into tables.
//!
//! A redb transaction for each group would take half of the time of an update and write thirty
//! bytes to the tree for each byte of pairs. A drain applies some hundred thousand pairs at a time
//! in key order. A merge of runs applies about as many pairs as the tree has, and writes fewer than
//! five bytes for each byte.
//!
//! # The parts
//! From the top to the bottom:
//!
//! | Module | Content |
//! |---|---|
//! | `handle`, `config`, `error`, `stats` | [`Kv`] and its settings, errors and counters |
//! | `pending`, `transaction`, `view`, `cursor`, `grouped`, `groups` | the caller's side: [`Pending`], [`Transaction`], [`Snapshot`] and [`Value`], [`Cursor`], [`Grouped`] and its range |
//! | `local`, `fetched/` | the kinds of transactions: over the layers; over what was fetched |
//! | `database/`, `committers/`, `replay/` | key spaces over a [`Database`](database::Database): its trait, snapshots and a simulated one for tests; the threads that commit; closures that run again |
//! | `counter`, `claim` | what updates of several processes could share without waiting for each other: [`Counts`], [`Queue`], [`Claim`] |
//! | `queue`, `committer`, `pace` | group commit: the queue of updates, the states of a group, the delay of writers that outrun the drain |
//! | `home` | the files of a key space: creating them, and opening them with recovery from the log |
//! | `syncer`, `syncs`, `attachments` | syncs that come later than acknowledgements; data outside that updates depend on |
//! | `follow` | the updates in order, for a copy elsewhere: [`Follower`] |
//! | `drain`, `drainer/` | the thread that drains frozen tables into the tree (`table`) or into runs (`spill`), merges runs into the tree (`merge`) and compacts the tree (`compact`) |
//! | `layers`, `merge/` | the tables, runs and tree that a snapshot reads; their pairs in one order of keys |
//! | `dead`, `learner` | ranges without a living key, which cursors pass at once; the writer that looks for them |
//! | `log/` | the write-ahead log: its records, its two files, its end after a crash |
//! | `memtable/` | a table in memory: one writer, any number of readers |
//! | `run/` | a run: blocks, their index, a filter of keys |
//! | `engine/` | the ordered map beneath: `on_redb`, with a checksum of every page (`sums`), and `on_map` for tests |
//! | `tree_file`, `discarded`, `shared` | the identity of the open files; memory freed in the background; the state shared by all threads |
//!
//! # Limits of its knowledge
//! This crate does not know buckets, objects, records or blobs: [`Attachments`] is its only view of
//! files of other crates. It accesses files through `liteio-disk` only, and no module but
//! `engine::on_redb` names redb.

mod attachments;
mod claim;
mod committer;
mod committers;
mod config;
#[cfg(any(test, feature = "test-util"))]
pub mod contract;
mod counter;
mod cursor;
pub mod database;
mod dead;
mod discarded;
mod drain;
mod drainer;
mod engine;
mod error;
mod fetched;
mod follow;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod grouped;
mod groups;
mod handle;
mod home;
mod layers;
mod learner;
mod local;
mod log;
mod memtable;
mod merge;
mod noted;
mod pace;
mod pending;
mod queue;
mod replay;
mod run;
mod shared;
mod stats;
mod syncer;
mod syncs;
#[cfg(test)]
mod tests;
mod transaction;
mod tree_file;
mod view;

use std::ops::Bound;

pub use attachments::Attachments;
pub use claim::Claim;
pub use config::{Compacting, KvConfig, Spilling};
pub use counter::{COUNTS, CountChange, Counted, CounterRow, Counts, Queue, QueueRow};
pub use cursor::Cursor;
pub use database::{Ahead, Around};
pub use engine::{EngineKind, check_tree, silence_panics_of_damage};
pub use error::KvError;
#[cfg(any(test, feature = "test-util"))]
pub use fetched::{Fetches, UpdateFetches};
pub use follow::{Behind, Change, Followed, FollowedRecord, Follower, append_change, changes};
pub use grouped::Grouped;
pub use groups::{GroupedEntry, GroupedRange};
pub use handle::{Kv, Position};
pub use home::Recovery;
pub use log::DroppedTail;
pub use pending::Pending;
pub use stats::KvStats;
pub use transaction::Transaction;
pub use tree_file::TreeFile;
pub use view::{Snapshot, Value};

/// A key and its value, borrowed without a copy.
pub type Pair<'a> = (&'a [u8], &'a [u8]);

/// Reading, the same from a [`Snapshot`] and inside a [`Transaction`].
pub trait Read {
    /// The value of `key`.
    ///
    /// # Errors
    /// [`KvError::Io`] or [`KvError::Corrupt`] if the engine cannot read.
    fn get(&self, key: &[u8]) -> Result<Option<Value<'_>>, KvError>;

    /// Fetches rows together that are read next, over a database. Otherwise each first read is a fetch of
    /// its own, of which an update may have a few dozen. Where rows are at hand, nobody looks at `keys`.
    ///
    /// # Errors
    /// [`KvError::Io`] or [`KvError::Corrupt`] if the engine cannot read.
    fn fetch<K: AsRef<[u8]>>(&self, keys: impl IntoIterator<Item = K>) -> Result<(), KvError>;

    /// A cursor over the keys within the bounds, in both directions, seekable.
    ///
    /// # Errors
    /// [`KvError::Io`] or [`KvError::Corrupt`] if the engine cannot read.
    fn cursor(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<Cursor<'_>, KvError>;

    /// The keys of a range, those with a common prefix as one entry.
    ///
    /// # Errors
    /// [`KvError::Io`] or [`KvError::Corrupt`] if the engine cannot read.
    fn grouped(&self, range: &GroupedRange<'_>) -> Result<Grouped<'_>, KvError>;

    /// The counter `key`; `None` if nothing counts it, or its row is damaged.
    ///
    /// An update that reads a counter does not keep others from changing it before it commits: it
    /// may decide by about the value only.
    ///
    /// # Errors
    /// [`KvError::Io`] or [`KvError::Corrupt`] if the engine cannot read; those of [`CounterRow`].
    fn counter<R: CounterRow>(&self, key: &[u8]) -> Result<Option<Counted>, R::Error>;
}

/// Writing, inside [`Kv::update`] only.
pub trait Write: Read {
    /// Sets `key` to `value`.
    ///
    /// # Errors
    /// [`KvError::TooLarge`], which leaves everything as it was. Any other error is the engine's: it fails
    /// every update of the group, even if the closure ignores it.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), KvError>;

    /// Removes `key`, if it exists.
    ///
    /// # Errors
    /// Errors of the engine. They fail every update of the group, even if the closure ignores them.
    fn delete(&mut self, key: &[u8]) -> Result<(), KvError>;

    /// Adds to the counter `key`. A counter that does not exist, or is damaged, stays as it is.
    ///
    /// # Errors
    /// Those of [`Write::put`] and [`CounterRow`].
    fn add<R: CounterRow>(
        &mut self,
        key: &[u8],
        changes: &[CountChange<'_>],
    ) -> Result<(), R::Error>;

    /// Begins the counter `key` anew with this state.
    ///
    /// # Errors
    /// Those of [`Write::put`].
    fn set_counter<R: CounterRow>(&mut self, key: &[u8], row: &R) -> Result<(), KvError>;

    /// Ends the counter `key`.
    ///
    /// # Errors
    /// Those of [`Write::delete`].
    fn end_counter(&mut self, key: &[u8]) -> Result<(), KvError>;

    /// Puts a row at the end of a queue, counts it in the queue's counter ([`Counts::ONE`]), and
    /// returns its number: at least `floor`, and greater than the numbers of all rows that updates
    /// with one of the same claims have appended; over a database those that have also written a row
    /// which this update reads. `value` makes the value for the key of the row.
    ///
    /// # Errors
    /// Those of [`Write::put`] and [`CounterRow`].
    fn append<R: QueueRow>(
        &mut self,
        queue: Queue<'_>,
        floor: u64,
        value: impl FnOnce(&[u8]) -> Vec<u8>,
    ) -> Result<u64, R::Error>;

    /// Claims a thing until the update commits.
    ///
    /// # Errors
    /// Errors of the engine.
    fn claim(&mut self, claim: impl Claim) -> Result<(), KvError>;
}
