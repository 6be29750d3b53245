//! Moves of all data between a directory and the database and blobs of several servers.
//!
//! ```text
//!  directory ─► pairs in key order ─┬─ blobs of what differs ─► blob store ─┐
//!                                   └─ what differs ────────────────────────┴─► database
//! ```
//! Nobody uses either side meanwhile. The pairs stay as they are, and blobs keep their ids. Into a cluster only what differs
//! from what is there is written, and blobs come before the records that name them: so a record that is there has its
//! blobs, and the same call goes on where an earlier one was interrupted. Until the end the cluster has a row that
//! keeps servers from starting, and no record of a store. A directory is made by a [`Restore`](crate::backup::Restore).
//!
//! The rows of a directory alone (its place in a backup, the lease there) and of servers alone are left out. Counters are
//! in one row in a directory, and the changes of servers to them in others beside it: a move out adds them up.
//! Vectors, which are in slots here and in logs there, are a part of their own.
//! At the end both sides are read again, and what they count and sum up to is compared.

mod into;
mod out;
mod pairs;
mod vectors;

use crate::error::StoreError;
pub use into::MoveSource;
pub use out::move_out;

/// Reasons that are told.
const REASONS_MAX: usize = 20;

/// The result of a move.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Number of pairs of the key space that both sides have now, bodies of small objects included; meanwhile
    /// of those that were looked at.
    pub pairs: u64,
    /// Their bytes.
    pub pair_bytes: u64,
    /// Number of pairs that this call has written. The others were there from an earlier call.
    pub written: u64,
    /// Number of pairs that were read again so far, of both sides, to compare them.
    pub compared: u64,
    /// Number of blobs that this call has written.
    pub blobs: u64,
    /// Their bytes.
    pub blob_bytes: u64,
    /// Number of blobs that are missing or damaged at the source, which the target lacks.
    pub left_out: u64,
    /// The first reasons.
    pub reasons: Vec<String>,
}

impl Moved {
    fn leave_out(&mut self, error: &StoreError) {
        self.left_out += 1;
        if self.reasons.len() < REASONS_MAX {
            self.reasons.push(error.to_string());
        }
    }
}

fn refused(message: impl Into<String>) -> StoreError {
    StoreError::InvalidRequest { message: message.into() }
}

/// The error of a damaged blob; others are not of one blob alone.
fn is_of_one_blob(error: &StoreError) -> bool {
    matches!(error, StoreError::Corrupt { .. } | StoreError::FormatTooNew { .. })
}
