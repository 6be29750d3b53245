//! Content that a backup still needs, although no record references it any more.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use liteio_kv::Follower;
use parking_lot::Mutex;

use crate::meta::content::ContentId;
use crate::name::IndexId;

/// The hold of the running backup.
///
/// ```text
///  queued for deletion before the backup began ───────────────────────────────────► let go
///  queued since: needed by records before ──► Holds::let_go, once these are backed up ──► let go
/// ```
/// The reclaimer deletes, and a vector gets the slot of, only what was let go.
#[derive(Debug, Default)]
pub(crate) struct Holds {
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    follower: Arc<Follower>,
    /// Content that no record needs which is not backed up.
    let_go: HashSet<ContentId>,
    /// Its part that is deleted by now.
    deleted: Vec<ContentId>,
    /// Number of the newest record that is backed up with its content.
    kept: u64,
    /// Deleted indexes, each with the number of the newest record when that was found.
    indexes: HashMap<IndexId, u64>,
}

impl Holds {
    /// Begins to hold what is queued for deletion after `queued`, of the moment at which `follower`
    /// starts. `false` if a backup runs already.
    pub(crate) fn begin(&self, follower: Arc<Follower>, queued: HashSet<ContentId>) -> bool {
        let mut running = self.running.lock();
        if running.is_some() {
            return false;
        }
        let kept = follower.start();
        let (deleted, indexes) = (Vec::new(), HashMap::new());
        *running = Some(Running { follower, let_go: queued, deleted, kept, indexes });
        true
    }

    /// `true` while a backup runs.
    pub(crate) fn is_held(&self) -> bool {
        self.running.lock().is_some()
    }

    /// Ends the hold of a backup.
    pub(crate) fn end(&self) {
        *self.running.lock() = None;
    }

    /// `true` if the content must not be deleted yet.
    pub(crate) fn holds(&self, id: &ContentId) -> bool {
        self.running.lock().as_ref().is_some_and(|running| !running.let_go.contains(id))
    }

    /// Everything up to the record `kept` is backed up: lets go what these records have `queued`
    /// for deletion. `deleted` has left the queue.
    pub(crate) fn let_go(&self, kept: u64, queued: &[ContentId], deleted: &[ContentId]) {
        if let Some(running) = &mut *self.running.lock() {
            running.kept = kept;
            running.let_go.extend(queued);
            running.deleted.extend(deleted);
        }
    }

    /// Forgets what is deleted: no page that names it will be backed up any more.
    pub(crate) fn forget_deleted(&self) {
        if let Some(Running { let_go, deleted, .. }) = &mut *self.running.lock() {
            deleted.drain(..).for_each(|id| _ = let_go.remove(&id));
        }
    }

    /// `true` if the files of a deleted index must not be removed yet: earlier records may need its
    /// vectors.
    pub(crate) fn holds_index(&self, id: IndexId) -> bool {
        let mut running = self.running.lock();
        let Some(Running { follower, kept, indexes, .. }) = &mut *running else { return false };
        let found = *indexes.entry(id).or_insert_with(|| follower.newest());
        let is_held = *kept < found;
        if !is_held {
            indexes.remove(&id);
        }
        is_held
    }

    /// The number of the newest record, up to which a backup has to come before it lets go what is
    /// removed now; `None` without a backup.
    pub(crate) fn newest(&self) -> Option<u64> {
        self.running.lock().as_ref().map(|running| running.follower.newest())
    }

    /// `true` if no backup needs what the records up to `number` have removed.
    pub(crate) fn is_kept(&self, number: u64) -> bool {
        self.running.lock().as_ref().is_none_or(|running| running.kept >= number)
    }
}
