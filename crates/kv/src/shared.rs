//! State shared by the threads of a key space.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, OnceLock};
use std::thread::{self, ThreadId};
use std::time::Duration;

use liteio_disk::Durability;
use parking_lot::{Mutex, MutexGuard, RwLock};

use crate::committer::{Answers, Committer};
use crate::discarded::Discarded;
use crate::drain::Drains;
use crate::drainer::Drainer;
#[cfg(any(test, feature = "test-util"))]
use crate::fetched::Fetching;
use crate::follow::Followers;
use crate::home::Home;
use crate::layers::Layers;
use crate::queue::Queue;
use crate::stats::Counters;
use crate::syncs::Syncs;
use crate::tree_file::TreeFile;
use crate::{KvConfig, KvError, Snapshot, pace};

/// State shared by the handles and the threads.
pub(super) struct Shared {
    pub(super) config: KvConfig,
    /// `None` in memory.
    pub(super) home: Option<Home>,
    /// `None` in memory.
    pub(super) tree_file: Option<Arc<TreeFile>>,
    pub(super) queue: Queue,
    /// The thread that runs [`Shared::commit_all`].
    committing: OnceLock<ThreadId>,
    /// The holder is the only writer: see [`Shared::committer`].
    committer: Mutex<Committer>,
    /// The holder drains. Taken before `committer` where both are held.
    pub(super) drainer: Mutex<Drainer>,
    /// The layers that new snapshots read. An error while a tree that ran out of space could not be
    /// reopened, and after closing.
    layers: RwLock<Result<Arc<Layers>, KvError>>,
    /// Tables that no layers reference any more.
    pub(super) discarded: Discarded,
    /// The sequence up to which snapshots see writes.
    pub(super) published: AtomicU64,
    /// The reason why updates are refused, if they are.
    pub(super) refusal: RwLock<Option<KvError>>,
    pub(super) syncs: Syncs,
    pub(super) drains: Drains,
    pub(super) followers: Followers,
    pub(super) counters: Counters,
    /// The fetches, with [`KvConfig::runs_in_pieces`].
    #[cfg(any(test, feature = "test-util"))]
    pub(super) fetching: Option<Arc<Fetching>>,
}

/// Guard of the committer lock. Threads that found the lock taken wait for an answer to updates
/// queued meanwhile, so dropping the guard wakes the commit thread for them.
pub(super) struct CommitterGuard<'s> {
    guard: Option<MutexGuard<'s, Committer>>,
    queue: &'s Queue,
}

impl Deref for CommitterGuard<'_> {
    type Target = Committer;

    fn deref(&self) -> &Committer {
        self.guard.as_ref().expect("only the end takes it")
    }
}

impl DerefMut for CommitterGuard<'_> {
    fn deref_mut(&mut self) -> &mut Committer {
        self.guard.as_mut().expect("only the end takes it")
    }
}

impl Drop for CommitterGuard<'_> {
    fn drop(&mut self) {
        self.guard = None;
        // Unlock, then look into the queue. A submitter does the reverse: it queues, then tries the
        // lock. With a `SeqCst` fence on both sides at least one of them sees the other, so no
        // update is left behind.
        fence(Ordering::SeqCst);
        self.queue.wake();
    }
}

impl Shared {
    pub(super) fn new(
        config: KvConfig,
        home: Option<Home>,
        committer: Committer,
        drainer: Drainer,
        layers: Layers,
        published: u64,
    ) -> Self {
        let file = |home: &Home| TreeFile::new(Arc::clone(&home.disk), home.path.clone());
        let tree_file = home.as_ref().map(file).map(Arc::new);
        tree_file.iter().for_each(|files| files.set_runs(drainer.runs()));
        let counters = Counters::default();
        drainer.count_tree(&counters);
        #[cfg(any(test, feature = "test-util"))]
        let fetching = config.runs_in_pieces.then(Arc::default);
        Self {
            config,
            home,
            tree_file,
            queue: Queue::default(),
            committing: OnceLock::new(),
            committer: Mutex::new(committer),
            drainer: Mutex::new(drainer),
            layers: RwLock::new(Ok(Arc::new(layers))),
            discarded: Discarded::default(),
            published: AtomicU64::new(published),
            refusal: RwLock::new(None),
            syncs: Syncs::default(),
            drains: Drains::default(),
            followers: Followers::default(),
            counters,
            #[cfg(any(test, feature = "test-util"))]
            fetching,
        }
    }

    pub(super) fn snapshot(&self) -> Result<Snapshot, KvError> {
        // `published` is read before the layers: see `Snapshot::new`.
        let published = self.published.load(Ordering::Acquire);
        let snapshot = Snapshot::new(self.layers()?, published);
        #[cfg(any(test, feature = "test-util"))]
        let snapshot = snapshot.counted(self.fetching.as_ref());
        Ok(snapshot)
    }

    pub(super) fn layers(&self) -> Result<Arc<Layers>, KvError> {
        self.layers.read().clone()
    }

    /// The write lock of the layers, for changes during which no snapshot may begin.
    pub(super) fn layers_mut(
        &self,
    ) -> parking_lot::RwLockWriteGuard<'_, Result<Arc<Layers>, KvError>> {
        self.layers.write()
    }

    /// Replaces the layers by the result of `change`. `false` if there are no layers, or `change`
    /// returns `None`.
    pub(super) fn change_layers(&self, change: impl FnOnce(&Layers) -> Option<Layers>) -> bool {
        let mut current = self.layers.write();
        let Ok(layers) = &*current else { return false };
        let Some(changed) = change(layers) else { return false };
        layers.tables_without(&changed).for_each(|table| self.discarded.add(Arc::clone(table)));
        let old = std::mem::replace(&mut *current, Ok(Arc::new(changed)));
        drop(current);
        // Dropped after the unlock: it may be the last reference to pages of the tree, whose
        // release takes long.
        drop(old);
        if self.config.drains_inline() {
            self.discarded.free_unread();
        }
        true
    }

    /// Commits the queued updates if no other thread does: called by a thread that has queued an
    /// update and wants its answer.
    pub(super) fn lead(&self) {
        self.unblock_inline();
        let Some(mut committer) = self.try_committer() else { return };
        let answers = self.queue.pop().map(|job| committer.group(self, job));
        // Answer without the lock: callbacks and dropped closures may submit updates or close the
        // key space.
        drop(committer);
        if let Some(answers) = answers {
            answers.send();
        }
        self.drain_inline();
    }

    /// Takes the committer lock.
    pub(super) fn committer(&self) -> CommitterGuard<'_> {
        CommitterGuard { guard: Some(self.committer.lock()), queue: &self.queue }
    }

    /// Takes the committer lock if it is free. Otherwise its holder wakes the commit thread when it
    /// unlocks.
    pub(super) fn try_committer(&self) -> Option<CommitterGuard<'_>> {
        // The push into the queue is ordered before the look at the lock; see the fence in
        // `CommitterGuard::drop`.
        fence(Ordering::SeqCst);
        let guard = self.committer.try_lock()?;
        Some(CommitterGuard { guard: Some(guard), queue: &self.queue })
    }

    /// As [`Shared::lead`], for an async caller that must not block: where commits are synced or
    /// writers are slowed down, the commit thread does the work.
    pub(super) fn lead_or_wake(&self) {
        let is_synced = self.config.durability == Durability::Fsync && self.home.is_some();
        let has_room = || {
            let free = pace::free_bytes(&self.config);
            self.layers().is_ok_and(|layers| layers.undrained_bytes() < free)
        };
        if !is_synced && has_room() {
            self.lead();
        } else {
            self.queue.wake();
        }
    }

    /// Body of the commit thread: commits until the queue is closed, then closes the key space.
    pub(super) fn commit_all(&self) {
        // This thread alone sets it, so it cannot be set yet.
        let _ = self.committing.set(thread::current().id());
        while self.queue.wait() {
            loop {
                self.unblock_inline();
                let Some(answers) = self.commit_next() else { break };
                answers.send();
                self.drain_inline();
            }
        }
        // The drain thread ends before the drainer is locked for the last drain.
        self.drains.stop();
        self.drainer.lock().close(self);
    }

    fn commit_next(&self) -> Option<Answers> {
        let mut committer = self.committer();
        let job = self.queue.pop()?;
        Some(committer.group(self, job))
    }

    /// Gets the queue committed for a drain that waits for an update. The drain's own thread must
    /// not do it: the answers may close the key space, which waits for the drain. The commit thread
    /// does it itself where it drains inline, because nobody else would.
    pub(super) fn commit_for_drain(&self) {
        if self.committing.get() != Some(&thread::current().id()) {
            return self.queue.wake();
        }
        while let Some(answers) = self.commit_next() {
            answers.send();
        }
    }

    /// Retries a tree that ran out of space, where no drain thread exists.
    fn unblock_inline(&self) {
        if !self.config.drains_inline() || !self.drains.is_blocked() {
            return;
        }
        // The holder of the drainer may wait for an update that this thread has to commit, so this
        // must not block.
        while !self.drains.is_carrying() {
            if let Some(mut drainer) = self.drainer.try_lock_for(Duration::from_millis(1)) {
                return drainer.step(self);
            }
        }
    }

    /// Drains on this thread, as tests request.
    pub(super) fn drain_inline(&self) {
        // The holder of the drainer may wait for an update that this thread has to commit, so this
        // must not block.
        if self.drains.is_due_inline(&self.config)
            && let Some(mut drainer) = self.drainer.try_lock()
        {
            drainer.step(self);
        }
    }

    /// The error of a store that has stopped writing.
    pub(super) fn poisoned(&self) -> Option<KvError> {
        self.refusal.read().clone().filter(|it| matches!(it, KvError::Poisoned { .. }))
    }

    /// Refuses updates until the store is opened again.
    pub(super) fn stop_writing(&self, error: &KvError) {
        let mut current = self.refusal.write();
        if !matches!(&*current, Some(KvError::Poisoned { .. })) {
            *current = Some(error.clone().into_poisoned());
        }
    }

    /// Refuses updates for lack of space, or accepts them again, unless writing has stopped.
    pub(super) fn set_refusal(&self, refusal: Option<KvError>) {
        // Fast path under the shared lock: most groups change nothing.
        if self.refusal.read().is_some() == refusal.is_some() {
            return;
        }
        let is_refusing = refusal.is_some();
        {
            let mut current = self.refusal.write();
            if !matches!(&*current, Some(KvError::Poisoned { .. })) {
                *current = refusal;
            }
        }
        if is_refusing {
            // The drain thread polls for free space while updates are refused.
            self.drains.wake();
        }
    }
}
