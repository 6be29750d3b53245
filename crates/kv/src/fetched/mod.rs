//! The second kind of transaction: over what was fetched, and nothing else.
//!
//! ```text
//!  run the closure ──► all of its reads are known ──► apply what it wrote
//!    ▲                    │ a read is not: NotFetched
//!    └──── fetch it ◄─────┘
//! ```
//! A key space of several processes runs closures in this way: a closure holds nothing between the
//! fetch and the commit, and runs again with more, or with what another process has changed since.
//! Here the fetches come from the key space itself ([`KvConfig::runs_in_pieces`]), so that tests find
//! closures that do not stand this, and count the fetches of each operation.
//!
//! [`KvConfig::runs_in_pieces`]: crate::KvConfig::runs_in_pieces

mod cursor;
mod known;
mod transaction;

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::KvError;
use crate::queue::Job;
use crate::transaction::Transaction;

pub(crate) use cursor::FetchedCursor;
use known::Known;
pub(crate) use transaction::FetchedTransaction;

/// Most fetches of one update: more than any closure needs that ends.
const FETCHES_MAX: usize = 20_000;

/// The fetches of one update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpdateFetches {
    /// Number of fetches: one for each first read.
    pub fetches: usize,
    /// Names of its claims, in order, each once; `true` for shared ones.
    pub claims: Vec<(Vec<u8>, bool)>,
}

/// The fetches in pieces, since the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetches {
    /// The updates, in order.
    pub updates: Vec<UpdateFetches>,
    /// Fetches of snapshots: each key that one reads first, each range that a cursor is opened over
    /// and each page of groups.
    pub snapshots: u64,
}

/// The fetches so far.
#[derive(Debug, Default)]
pub(crate) struct Fetching {
    updates: Mutex<Vec<UpdateFetches>>,
    snapshots: AtomicU64,
}

impl Fetching {
    pub(crate) fn of_snapshot(&self) {
        self.snapshots.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn take(&self) -> Fetches {
        let updates = std::mem::take(&mut *self.updates.lock());
        Fetches { updates, snapshots: self.snapshots.swap(0, Ordering::Relaxed) }
    }
}

/// Runs a job piece by piece. What it writes is applied to `transaction`, which has begun.
///
/// # Errors
/// The reason why the job fails, if it is not its own.
pub(crate) fn run(
    fetching: &Fetching,
    job: &mut dyn Job,
    transaction: &mut Transaction<'_>,
) -> Result<bool, KvError> {
    let mut fetches = 0;
    let mut known = Known::default();
    let mut last = None;
    loop {
        let mut piece = Transaction::fetched(FetchedTransaction::new(known));
        let keeps = job.run(&mut piece);
        let mut piece = piece.into_fetched();
        let wants = piece.take_wants();
        if wants.is_empty() {
            let (found, did) = piece.into_done();
            known = found;
            // Once more, as after the change of another process: it must do the same.
            let outline = (keeps, did.outline());
            match last.replace(outline.clone()) {
                None => continue,
                Some(last) if last != outline => {
                    return Err(KvError::Corrupt("a closure did something else again".into()));
                }
                Some(_) => {}
            }
            fetching.updates.lock().push(UpdateFetches { fetches, claims: did.claims() });
            if keeps {
                did.apply(transaction.local_mut())?;
            }
            return Ok(keeps);
        }
        fetches += 1;
        if fetches > FETCHES_MAX {
            return Err(KvError::Corrupt("a closure reads other keys in each run".into()));
        }
        known = piece.into_done().0;
        for want in wants {
            known.fetch(want, transaction)?;
        }
    }
}
