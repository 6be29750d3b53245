//! The second kind of transaction: over what was fetched, and nothing else.
//!
//! ```text
//!  run the closures of a group, in order ──► all of their reads are known ──► commit what they read and wrote
//!    ▲                    │ a read is not: NotFetched                              │
//!    └──── fetch it ◄─────┘                                                        │ what was read has changed
//!    ▲                                                                             │
//!    └─────────────────────────────────────────────────────────────────────────────┘
//! ```
//! A key space over a [`Database`](crate::database::Database) runs closures in this way: a closure
//! holds nothing between the fetch and the commit, and runs again with more, or with what another
//! process has changed since.
//!
//! In tests the fetches can come from the local engine ([`KvConfig::runs_in_pieces`]), so that every
//! suite finds closures that do not stand this, and counts the fetches of each operation.
//!
//! [`KvConfig::runs_in_pieces`]: crate::KvConfig::runs_in_pieces

mod changes;
mod cursor;
mod groups;
mod known;
mod ranges;
mod seen;
#[cfg(any(test, feature = "test-util"))]
mod steps;
mod transaction;

#[cfg(any(test, feature = "test-util"))]
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(any(test, feature = "test-util"))]
use parking_lot::Mutex;

pub(crate) use changes::Changes;
pub(crate) use cursor::{FetchedCursor, PAGE_MAX};
pub(crate) use groups::FetchedGroups;
pub(crate) use known::Known;
#[cfg(any(test, feature = "test-util"))]
pub(crate) use ranges::{behind, bounds};
pub(crate) use seen::Seen;
pub(crate) use transaction::{FetchedTransaction, Numbers, Place};

/// The fetches of one update.
#[cfg(any(test, feature = "test-util"))]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpdateFetches {
    /// Number of fetches: one for each first read.
    pub fetches: usize,
    /// Names of its claims, in order, each once; `true` for shared ones.
    pub claims: Vec<(Vec<u8>, bool)>,
}

/// The fetches in pieces, since the last look.
#[cfg(any(test, feature = "test-util"))]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetches {
    /// The updates, in order.
    pub updates: Vec<UpdateFetches>,
    /// Fetches of snapshots: each key that one reads first, each range that a cursor is opened over
    /// and each page of groups.
    pub snapshots: u64,
}

/// The fetches so far.
#[cfg(any(test, feature = "test-util"))]
#[derive(Debug, Default)]
pub(crate) struct Fetching {
    updates: Mutex<Vec<UpdateFetches>>,
    snapshots: AtomicU64,
}

#[cfg(any(test, feature = "test-util"))]
impl Fetching {
    pub(crate) fn of_update(&self, update: UpdateFetches) {
        self.updates.lock().push(update);
    }

    pub(crate) fn of_snapshot(&self) {
        self.snapshots.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn take(&self) -> Fetches {
        let updates = std::mem::take(&mut *self.updates.lock());
        Fetches { updates, snapshots: self.snapshots.swap(0, Ordering::Relaxed) }
    }
}
