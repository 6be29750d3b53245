//! One ordered, transactional key space.
//!
//! Everything but the bytes of large objects stands on [`Kv`]: keys and values are bytes, keys are
//! ordered byte by byte. A write-ahead log and a table in memory stand in front of a tree (redb) that keeps the
//! pairs, and runs, which are sorted files, between them; on a [`Disk`](liteio_disk::Disk) or in memory.
//!
//! # From an update to the tree
//! ```text
//!  update ─┐            ┌──────────── whoever holds the lock, one at a time ────────────┐
//!  update ─┼─► queue ──►│ stage in the active table ─► log: append, sync ─► publish │──► answers
//!  update ─┘            └────────────────────────────────────────────────────────────┘
//!                          each closure in            one record for       snapshots see
//!                          turn, alone                the whole group      all of it
//!
//!  active table ──► frozen, after some megabytes or when the store is idle ──► drained into the tree by a thread
//!                                                                          └──► or made a run, where the tree is
//!                                                                               much larger: it takes many together
//! ```
//! One sync serves any number of updates, and the lock is held by the first caller that waits for its answer. The
//! log has two files that take turns with the tables: when a table is in the tree or a run, the records of its file count no
//! more. Opening replays the others into tables. The states are drawn in `committer.rs`, the layers in `layers.rs`, the
//! drain in `drainer/`.
//!
//! A transaction of redb for each group would be half of the time of an update, and write thirty bytes to the tree for
//! each byte of pairs. Some hundred thousand pairs at a time, in order of their keys, and together as many as the tree
//! has, it writes fewer than five.
//!
//! # The contract
//! - [`Kv::snapshot`] sees all that was acknowledged before it began, and nothing later. It is cheap,
//!   and must be short-lived: an old snapshot keeps every page and every table alive that it sees.
//! - [`Kv::update`] runs a closure in a transaction. The closure reads its own writes and those of
//!   every earlier update. If it returns `Ok`, all of its writes commit; if it returns `Err` (or
//!   panics), none do. Updates are serial: nothing runs between a closure's reads and its writes. A
//!   closure may run again, and only its last run counts.
//! - An update is acknowledged when [`Pending`] resolves to `Ok`: then it is as durable as the
//!   configured [`Durability`](crate::Durability) says. Updates of several threads share one commit.
//!   It begins at the latest when [`Pending`] is polled, waited for or dropped.
//! - After a failed sync or write nothing is written any more ([`KvError::Poisoned`]); reads go on.

mod attachments;
mod committer;
mod config;
#[cfg(any(test, feature = "test-util"))]
pub mod contract;
mod cursor;
mod discarded;
mod drain;
mod drainer;
mod engine;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod handle;
mod home;
mod layers;
mod log;
mod memtable;
mod merge;
mod pace;
mod pending;
mod queue;
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
pub use config::{Compacting, KvConfig, Spilling};
pub use cursor::{Cursor, Pair};
pub use engine::EngineKind;
pub use error::KvError;
pub use handle::{Kv, Position};
pub use home::Recovery;
pub use log::DroppedTail;
pub use pending::Pending;
pub use stats::KvStats;
pub use transaction::Transaction;
pub use tree_file::TreeFile;
pub use view::{Snapshot, Value};

/// Reading, the same from a [`Snapshot`] and inside a [`Transaction`].
pub trait Read {
    /// The value of `key`.
    ///
    /// # Errors
    /// [`KvError::Io`] or [`KvError::Corrupt`] if the engine cannot read.
    fn get(&self, key: &[u8]) -> Result<Option<Value<'_>>, KvError>;

    /// A cursor over the keys within the bounds, in both directions, seekable.
    ///
    /// # Errors
    /// [`KvError::Io`] or [`KvError::Corrupt`] if the engine cannot read.
    fn cursor(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<Cursor<'_>, KvError>;
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
    /// Those of the engine: they fail every update of the group, even if the closure ignores them.
    fn delete(&mut self, key: &[u8]) -> Result<(), KvError>;
}
