//! Content that a backup or a copy still needs, although no record references it any more.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use liteio_kv::Follower;
use parking_lot::Mutex;

use crate::meta::content::ContentId;
use crate::name::IndexId;

/// The reader of a feed. There is one of each kind at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// The continuous backup.
    Backup,
    /// A copy into another directory.
    Copy,
}

/// The holds of the running backup and of the running copy.
///
/// ```text
///  queued for deletion before the feed began ─────────────────────────────────────► let go
///  queued since: needed by records before ──► Holds::let_go, once these are backed up ──► let go
/// ```
/// The reclaimer deletes, and a vector gets the slot of, only what both let go.
#[derive(Debug, Default)]
pub(crate) struct Holds {
    /// By the number of the [`Holder`].
    running: Mutex<[Option<Running>; 2]>,
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

impl Running {
    fn holds(&self, id: &ContentId) -> bool {
        !self.let_go.contains(id)
    }

    fn holds_index(&mut self, id: IndexId) -> bool {
        let Self { follower, kept, indexes, .. } = self;
        let found = *indexes.entry(id).or_insert_with(|| follower.newest());
        let is_held = *kept < found;
        if !is_held {
            indexes.remove(&id);
        }
        is_held
    }
}

impl Holds {
    /// Begins to hold what is queued for deletion after `queued`, of the moment at which `follower`
    /// starts. `false` if there is a hold of this kind already.
    pub(crate) fn begin(
        &self,
        holder: Holder,
        follower: Arc<Follower>,
        queued: HashSet<ContentId>,
    ) -> bool {
        let running = &mut self.running.lock()[holder as usize];
        if running.is_some() {
            return false;
        }
        let kept = follower.start();
        let (deleted, indexes) = (Vec::new(), HashMap::new());
        *running = Some(Running { follower, let_go: queued, deleted, kept, indexes });
        true
    }

    /// `true` while a backup or a copy runs.
    pub(crate) fn is_held(&self) -> bool {
        self.running.lock().iter().any(Option::is_some)
    }

    /// Ends a hold.
    pub(crate) fn end(&self, holder: Holder) {
        self.running.lock()[holder as usize] = None;
    }

    /// `true` if the content must not be deleted yet.
    pub(crate) fn holds(&self, id: &ContentId) -> bool {
        self.running.lock().iter().flatten().any(|running| running.holds(id))
    }

    /// `true` if this holder has not let the content go.
    pub(crate) fn is_held_by(&self, holder: Holder, id: &ContentId) -> bool {
        self.running.lock()[holder as usize].as_ref().is_some_and(|running| running.holds(id))
    }

    /// Everything up to the record `kept` is backed up: lets go what these records have `queued`
    /// for deletion. `deleted` has left the queue.
    pub(crate) fn let_go(
        &self,
        holder: Holder,
        kept: u64,
        queued: &[ContentId],
        deleted: &[ContentId],
    ) {
        if let Some(running) = &mut self.running.lock()[holder as usize] {
            running.kept = kept;
            running.let_go.extend(queued);
            running.deleted.extend(deleted);
        }
    }

    /// Forgets what is deleted: no page that names it will be backed up any more.
    pub(crate) fn forget_deleted(&self, holder: Holder) {
        if let Some(Running { let_go, deleted, .. }) = &mut self.running.lock()[holder as usize] {
            deleted.drain(..).for_each(|id| _ = let_go.remove(&id));
        }
    }

    /// `true` if the files of a deleted index must not be removed yet: earlier records may need its
    /// vectors.
    pub(crate) fn holds_index(&self, id: IndexId) -> bool {
        let mut running = self.running.lock();
        // All of them are asked, since each notes the index.
        running.iter_mut().flatten().filter_map(|it| it.holds_index(id).then_some(())).count() > 0
    }

    /// The number of the newest record, up to which a backup has to come before it lets go what is
    /// removed now; `None` without a backup and a copy.
    pub(crate) fn newest(&self) -> Option<u64> {
        self.running.lock().iter().flatten().map(|running| running.follower.newest()).max()
    }

    /// `true` if no backup and no copy needs what the records up to `number` have removed.
    pub(crate) fn is_kept(&self, number: u64) -> bool {
        self.running.lock().iter().flatten().all(|running| running.kept >= number)
    }
}
