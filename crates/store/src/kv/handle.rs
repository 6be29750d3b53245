//! [`Kv`]: the handle of a key space.

use std::fmt;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use liteio_disk::Disk;
use parking_lot::Mutex;

use super::committer::Committer;
use super::home::{Home, Recovery};
use super::queue::Update;
use super::shared::Shared;
use super::syncer;
use super::{Attachments, KvConfig, KvError, Pending, Snapshot, Transaction};
use crate::Durability;

/// The key space. Clones are handles of the same one; the last to go writes a checkpoint and closes
/// it, which may take some milliseconds.
///
/// Snapshots that outlive the last handle keep the file open.
#[derive(Clone)]
pub struct Kv {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    attachments: Option<Arc<dyn Attachments>>,
    recovery: Recovery,
    committer: Mutex<Option<JoinHandle<()>>>,
    /// The thread of [`syncer::run`], where syncs come later than acknowledgements: at
    /// [`Durability::Os`], and with attachments.
    syncer: Mutex<Option<JoinHandle<()>>>,
}

/// A position in the order of updates: the number of a log record. See [`Kv::unsynced`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(u64);

impl Kv {
    /// Opens the key space in the files `path` and `path.log` of `disk`, creating them if they are
    /// missing, and replays what the last run left in the log. Their directory must exist.
    ///
    /// # Errors
    /// [`KvError::Corrupt`] if a file is damaged or not of a key space, [`KvError::NoSpace`],
    /// [`KvError::Io`].
    pub fn open(disk: Arc<dyn Disk>, path: &str, config: KvConfig) -> Result<Self, KvError> {
        let home = Home { disk, path: path.to_owned() };
        let (committer, recovery) = Committer::open(home, config.clone())?;
        let kv = Self::start(committer, config.attachments.clone(), recovery)?;
        if config.durability == Durability::Os || config.attachments.is_some() {
            let shared = Arc::clone(&kv.inner.shared);
            let thread = thread::Builder::new().name("liteio-sync".into());
            let run = move || syncer::run(&shared, config.attachments, config.sync_interval);
            *kv.inner.syncer.lock() = Some(thread.spawn(run)?);
        }
        Ok(kv)
    }

    /// Creates a key space in memory; it ends with its last handle. Of `config` only
    /// `cache_bytes` and `log_writes` matter.
    ///
    /// # Errors
    /// [`KvError::Io`] if the engine or the thread of the committer cannot be started.
    pub fn memory(config: KvConfig) -> Result<Self, KvError> {
        Self::start(Committer::memory(config)?, None, Recovery::default())
    }

    fn start(
        committer: Committer,
        attachments: Option<Arc<dyn Attachments>>,
        recovery: Recovery,
    ) -> Result<Self, KvError> {
        let shared = committer.shared();
        let thread = thread::Builder::new().name("liteio-commit".into());
        let thread = thread.spawn(move || committer.run())?;
        let committer = Mutex::new(Some(thread));
        let syncer = Mutex::new(None);
        Ok(Self { inner: Arc::new(Inner { shared, attachments, recovery, committer, syncer }) })
    }

    /// A view of everything acknowledged so far.
    ///
    /// # Errors
    /// [`KvError::Io`] or [`KvError::Corrupt`] if the engine cannot read.
    pub fn snapshot(&self) -> Result<Snapshot, KvError> {
        match &*self.inner.shared.engine.read() {
            Ok(engine) => Snapshot::new(engine),
            Err(error) => Err(error.clone()),
        }
    }

    /// Runs `closure` in a transaction, alone, after every update submitted before it by this
    /// thread. All of its writes become visible and durable together, or none.
    ///
    /// The closure may run several times, and only its last run counts, so that an engine with optimistic
    /// concurrency control can retry. So it borrows its captures, and its effects are its writes and its
    /// result; the result of an earlier run is dropped. It runs on the committer's thread: it must not
    /// block, and must not wait for another update. A panic in it is [`KvError::Panicked`], for this
    /// update only. Its captures are dropped after the commit and before the answer. Submitting blocks
    /// while thousands of updates are queued (back-pressure).
    pub fn update<T, E, F>(&self, closure: F) -> Pending<T, E>
    where
        F: Fn(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<KvError> + Send + 'static,
    {
        self.submit(closure, false)
    }

    /// Like [`Kv::update`], for updates that give space back, such as deletes: they may use the
    /// reserve of space.
    pub fn update_freeing<T, E, F>(&self, closure: F) -> Pending<T, E>
    where
        F: Fn(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<KvError> + Send + 'static,
    {
        self.submit(closure, true)
    }

    fn submit<T, E, F>(&self, closure: F, frees_space: bool) -> Pending<T, E>
    where
        F: Fn(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<KvError> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let update = Update { closure, result: None, sender, frees_space };
        if let Err(job) = self.inner.shared.queue.push(Box::new(update)) {
            job.acknowledge(Err(KvError::Closed));
        }
        Pending::new(receiver)
    }

    /// Makes all updates durable that were acknowledged before the call, with their attachments. The
    /// syncer does the same every [`KvConfig::sync_interval`]. At [`Durability::Fsync`] updates and the
    /// contents in their notes are durable already, and only attachments are left to sync. `false` if
    /// there was nothing to sync.
    ///
    /// # Errors
    /// [`KvError::NoSpace`] if the log cannot take the mark; [`KvError::Io`] or [`KvError::Poisoned`] if
    /// the disk fails; [`KvError::Closed`].
    pub fn sync(&self) -> Result<bool, KvError> {
        if self.inner.syncer.lock().is_none() {
            return Ok(false);
        }
        syncer::sync(&self.inner.shared, self.inner.attachments.as_deref())
    }

    /// The position of the newest update that is not durable yet with its attachments; `None` when all
    /// of them are.
    #[must_use]
    pub fn unsynced(&self) -> Option<Position> {
        self.inner.syncer.lock().as_ref()?;
        self.inner.shared.syncs.newest_unsynced().map(Position)
    }

    /// `true` when everything up to `position` is durable.
    #[must_use]
    pub fn is_synced(&self, position: Position) -> bool {
        self.inner.shared.syncs.is_synced(position.0)
    }

    /// The findings of opening the key space.
    #[must_use]
    pub fn recovery(&self) -> &Recovery {
        &self.inner.recovery
    }

    /// The reason why updates are refused at the moment, for health. [`KvError::NoSpace`] goes away by
    /// itself when there is space again, anything else with reopening only.
    #[must_use]
    pub fn refusal(&self) -> Option<KvError> {
        self.inner.shared.refusal.read().clone()
    }
}

impl fmt::Debug for Kv {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Kv").finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.syncs.stop();
        let syncer = self.syncer.lock().take();
        self.shared.queue.close();
        let committer = self.committer.lock().take();
        // A closure may hold the last handle: then this is the committer's own thread, which cannot join
        // itself.
        if let Some(committer) = committer.filter(|it| it.thread().id() != thread::current().id()) {
            // A panic has been printed by the hook.
            let _ = committer.join();
            syncer.map(JoinHandle::join);
        }
    }
}
