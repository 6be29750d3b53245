//! Unused slots: no record references them any more, but they may not be overwritten yet.
//!
//! ```text
//!         commit                    commit durable, no reader left,
//!         replaces or deletes       no backup needs it          put
//!  in use ────────────────► unused ────────────────────► free ─────► in use, with another vector
//! ```
//! A slot may get another vector only when no crash can bring back a record that references it. At
//! [`Durability::Os`](crate::Durability::Os) that takes until the next sync. A running backup must
//! have read it, too. The next put or delete of vectors of the index frees the slots for which both
//! holds by then.

use std::collections::VecDeque;

use liteio_kv::Position;
use liteio_vector::Slot;
use parking_lot::Mutex;

/// The conditions under which slots are free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Until {
    /// The updates up to here must be durable.
    pub(crate) synced: Option<Position>,
    /// The records up to this number must be backed up.
    pub(crate) kept: Option<u64>,
}

impl Until {
    /// `true` if there is nothing to wait for.
    pub(crate) fn is_now(self) -> bool {
        self == Self::default()
    }
}

/// Unused slots in groups, each with what it waits for, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Unused(pub(crate) Mutex<VecDeque<(Until, Vec<Slot>)>>);

impl Unused {
    /// Unused slots that all wait for the same.
    pub(crate) fn waiting(until: Until, slots: Vec<Slot>) -> Self {
        Self(Mutex::new(VecDeque::from([(until, slots)])))
    }
}
