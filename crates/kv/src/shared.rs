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
    /// The thread of [`Shared::commit_all`].
    committing: OnceLock<ThreadId>,
    /// The holder writes: see [`Shared::committer`].
    committer: Mutex<Committer>,
    /// The holder drains.
    pub(super) drainer: Mutex<Drainer>,
    /// The layers that new snapshots read. An error while a tree that ran out of space could not be opened again, and at the end.
    layers: RwLock<Result<Arc<Layers>, KvError>>,
    /// Tables that the layers no longer have.
    pub(super) discarded: Discarded,
    /// The sequence up to which snapshots see.
    pub(super) published: AtomicU64,
    /// The reason why updates are refused, while they are.
    pub(super) refusal: RwLock<Option<KvError>>,
    pub(super) syncs: Syncs,
    pub(super) drains: Drains,
    pub(super) counters: Counters,
}

/// The lock of the one that writes. Updates may have come while it was held, and whose threads found it taken wait for
/// an answer: when it is given back, the thread is woken for them.
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
        // The look into the queue comes after the lock is free: see `try_committer`.
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
            counters,
        }
    }

    pub(super) fn snapshot(&self) -> Result<Snapshot, KvError> {
        // Before the layers: see `Snapshot::new`.
        let published = self.published.load(Ordering::Acquire);
        Ok(Snapshot::new(self.layers()?, published))
    }

    pub(super) fn layers(&self) -> Result<Arc<Layers>, KvError> {
        self.layers.read().clone()
    }

    /// The lock of the layers, for what must not meet a new snapshot.
    pub(super) fn layers_mut(
        &self,
    ) -> parking_lot::RwLockWriteGuard<'_, Result<Arc<Layers>, KvError>> {
        self.layers.write()
    }

    /// Changes the layers. `false` if there are none, or `change` leaves them.
    pub(super) fn change_layers(&self, change: impl FnOnce(&Layers) -> Option<Layers>) -> bool {
        let mut current = self.layers.write();
        let Ok(layers) = &*current else { return false };
        let Some(changed) = change(layers) else { return false };
        layers.tables_without(&changed).for_each(|table| self.discarded.add(Arc::clone(table)));
        let old = std::mem::replace(&mut *current, Ok(Arc::new(changed)));
        drop(current);
        // Not under the lock: it may be the last reference to pages of the tree.
        drop(old);
        if self.config.drains_inline() {
            self.discarded.free_unread();
        }
        true
    }

    /// Commits what waits, if nobody else does: the caller has put an update into the queue and wants its answer.
    pub(super) fn lead(&self) {
        self.unblock_inline();
        let Some(mut committer) = self.try_committer() else { return };
        let answers = self.queue.pop().map(|job| committer.group(self, job));
        drop(committer);
        if let Some(answers) = answers {
            answers.send();
        }
        self.drain_inline();
    }

    /// Takes the lock of the one that writes.
    pub(super) fn committer(&self) -> CommitterGuard<'_> {
        CommitterGuard { guard: Some(self.committer.lock()), queue: &self.queue }
    }

    /// The same if nobody has it. Whoever has it sees to what is in the queue.
    pub(super) fn try_committer(&self) -> Option<CommitterGuard<'_>> {
        // What this thread has put into the queue comes before its look at the lock.
        fence(Ordering::SeqCst);
        let guard = self.committer.try_lock()?;
        Some(CommitterGuard { guard: Some(guard), queue: &self.queue })
    }

    /// The same for a caller that must not wait long: where commits are synced, the thread does it.
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

    /// The thread that commits what nobody else does, until the queue is closed. Then it closes the key space.
    pub(super) fn commit_all(&self) {
        // Nobody else sets it.
        let _ = self.committing.set(thread::current().id());
        while self.queue.wait() {
            loop {
                self.unblock_inline();
                let Some(answers) = self.commit_next() else { break };
                answers.send();
                self.drain_inline();
            }
        }
        self.drains.stop();
        self.drainer.lock().close(self);
    }

    fn commit_next(&self) -> Option<Answers> {
        let mut committer = self.committer();
        let job = self.queue.pop()?;
        Some(committer.group(self, job))
    }

    /// Has what is in the queue committed for a drain that waits for it, on another thread than that of the drain: the
    /// answers may end the key space, which waits for the drain. The thread that commits does it itself, where it drains,
    /// and is never waited for by itself.
    pub(super) fn commit_for_drain(&self) {
        if self.committing.get() != Some(&thread::current().id()) {
            return self.queue.wake();
        }
        while let Some(answers) = self.commit_next() {
            answers.send();
        }
    }

    /// Tries a tree again that had no space, where no thread does.
    fn unblock_inline(&self) {
        if !self.config.drains_inline() || !self.drains.is_blocked() {
            return;
        }
        // Whoever has it may come to wait for an update that this thread is to commit.
        while !self.drains.is_carrying() {
            if let Some(mut drainer) = self.drainer.try_lock_for(Duration::from_millis(1)) {
                return drainer.step(self);
            }
        }
    }

    /// Drains on this thread, where a test has asked for it.
    pub(super) fn drain_inline(&self) {
        // Whoever has it may wait for an update that this thread is to commit.
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

    /// Refuses updates for want of space, or takes them again, unless writing has stopped.
    pub(super) fn set_refusal(&self, refusal: Option<KvError>) {
        // The shared lock is enough for a group that changes nothing.
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
            // The thread looks from time to time whether there is space again.
            self.drains.wake();
        }
    }
}
