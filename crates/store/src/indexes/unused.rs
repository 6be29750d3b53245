//! Unused slots: no record references them any more, but they may not be overwritten yet.
//!
//! ```text
//!         commit                    commit durable,
//!         replaces or deletes       no reader left          put
//!  in use ────────────────► unused ────────────────► free ─────► in use, with another vector
//! ```
//! A slot may get another vector only when no crash can bring back a record that references it. At
//! [`Durability::Os`](crate::Durability::Os) that takes until the next sync. The next put or delete
//! of vectors of the index frees the slots whose updates are durable by then.

use std::collections::VecDeque;

use liteio_kv::Position;
use liteio_vector::Slot;
use parking_lot::Mutex;

/// Unused slots, each group with the position in the order of updates that must be durable before.
#[derive(Debug, Default)]
pub(crate) struct Unused(pub(crate) Mutex<VecDeque<(Position, Vec<Slot>)>>);

impl Unused {
    /// Unused slots that all wait for `position`.
    pub(crate) fn waiting(position: Position, slots: Vec<Slot>) -> Self {
        Self(Mutex::new(VecDeque::from([(position, slots)])))
    }
}
