//! State shared by the threads of a key space.

use std::sync::Arc;

use parking_lot::RwLock;

use super::KvError;
use super::engine::Engine;
use super::queue::Queue;
use super::syncs::Syncs;

/// State shared by the handles, the committer and the syncer.
pub(super) struct Shared {
    pub(super) queue: Queue,
    /// The engine that snapshots read. It changes only when a store that ran out of space returns.
    pub(super) engine: RwLock<Result<Arc<Engine>, KvError>>,
    /// The reason why updates are refused, while they are.
    pub(super) refusal: RwLock<Option<KvError>>,
    pub(super) syncs: Syncs,
}
