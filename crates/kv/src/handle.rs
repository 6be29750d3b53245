//! [`Kv`]: the handle of a key space.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use liteio_disk::{Disk, Durability};
use parking_lot::Mutex;

use crate::committer::Committer;
use crate::committers::Committers;
use crate::database::Ahead;
use crate::database::{Database, DatabaseConfig, Moment, PrimaryId};
use crate::drainer::Drainer;
use crate::engine::{Checkpoint, Engine};
use crate::follow::Follower;
use crate::home::{Home, Recovery, open};
use crate::layers::{Layers, OpenTree};
use crate::memtable::Memtable;
use crate::pending::Committing;
use crate::queue::Update;
use crate::shared::Shared;
use crate::tree_file::TreeFile;
use crate::{KvConfig, KvError, KvStats, Pending, Snapshot, Transaction};
use crate::{drain, syncer};

/// The key space. Clones are handles of the same key space; dropping the last one drains and closes
/// it, which may take some milliseconds.
///
/// Snapshots that outlive the last handle keep the file open.
#[derive(Clone)]
pub struct Kv(Kind);

/// The kinds of key spaces.
#[derive(Clone)]
enum Kind {
    Local(Arc<Local>),
    Database(Arc<OverDatabase>),
}

struct Local {
    shared: Arc<Shared>,
    recovery: Recovery,
    committer: Mutex<Option<JoinHandle<()>>>,
    /// The thread of [`syncer::run`], where syncs come later than acknowledgements: at
    /// [`Durability::Os`], and with attachments.
    syncer: Mutex<Option<JoinHandle<()>>>,
}

struct OverDatabase {
    committers: Arc<Committers>,
    /// Nothing: the database recovers itself.
    recovery: Recovery,
}

/// A position in the order of updates: the number of a log record. See [`Kv::unsynced`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(u64);

impl Kv {
    /// Opens the key space in the file `path` of `disk` and the files beside it whose names begin
    /// with `path`. Creates missing files, and replays the log of the last run. The directory must
    /// exist.
    ///
    /// # Errors
    /// [`KvError::Corrupt`] if a file is damaged or not of a key space, [`KvError::NoSpace`],
    /// [`KvError::Io`].
    pub fn open(disk: Arc<dyn Disk>, path: &str, config: KvConfig) -> Result<Self, KvError> {
        let home = Home { disk, path: path.to_owned() };
        let opened = open(&home, &config)?;
        let needs_syncer = config.durability == Durability::Os || config.attachments.is_some();
        let sequence = opened.sequence;
        let committer = Committer::new(Some(opened.log), sequence, config.durability);
        let (drainer, layers) = (opened.drainer, opened.layers);
        let shared = Shared::new(config, Some(home), committer, drainer, layers, sequence);
        if let Some(frozen) = opened.frozen {
            shared.drains.begin(frozen);
        }
        if let Some(number) = opened.unmarked {
            shared.syncs.appended(number, None);
        }
        let local = Self::start(shared, opened.recovery)?;
        if needs_syncer {
            let shared = Arc::clone(&local.shared);
            let thread = thread::Builder::new().name("liteio-sync".into());
            *local.syncer.lock() = Some(thread.spawn(move || syncer::run(&shared))?);
        }
        Ok(Self(Kind::Local(Arc::new(local))))
    }

    /// Creates a key space in memory; it ends with its last handle. Only the memory sizes of
    /// `config` apply.
    ///
    /// # Errors
    /// [`KvError::Io`] if the engine or a thread cannot be started.
    pub fn memory(config: KvConfig) -> Result<Self, KvError> {
        let engine = Engine::memory(config.engine, config.cache_bytes)?;
        let tables = vec![Arc::new(Memtable::new())];
        let layers = Layers::new(OpenTree::new(&engine)?, Vec::new(), tables, 0);
        let drainer = Drainer::new(engine, Checkpoint::without_log());
        let committer = Committer::new(None, 0, config.durability);
        let shared = Shared::new(config, None, committer, drainer, layers, 0);
        Ok(Self(Kind::Local(Arc::new(Self::start(shared, Recovery::default())?))))
    }

    /// A key space over a database, which other processes may share.
    ///
    /// Updates that wait at the same time may commit in any order: await one before the next if their
    /// order matters. They commit on threads of this key space, so that polling a [`Pending`] never
    /// blocks.
    ///
    /// # Errors
    /// [`KvError::Io`] if a thread cannot be started.
    pub fn over(database: Arc<dyn Database>, config: DatabaseConfig) -> Result<Self, KvError> {
        let committers = Committers::start(database, config)?;
        let over = OverDatabase { committers, recovery: Recovery::default() };
        Ok(Self(Kind::Database(Arc::new(over))))
    }

    fn start(shared: Shared, recovery: Recovery) -> Result<Local, KvError> {
        let shared = Arc::new(shared);
        let thread = |name: &str| thread::Builder::new().name(name.into());
        if !shared.config.drains_inline() {
            let shared_there = Arc::clone(&shared);
            let drain = thread("liteio-drain").spawn(move || drain::run(&shared_there))?;
            *shared.drains.thread.lock() = Some(drain);
        }
        let shared_there = Arc::clone(&shared);
        let committer = thread("liteio-commit").spawn(move || shared_there.commit_all())?;
        let (committer, syncer) = (Mutex::new(Some(committer)), Mutex::new(None));
        Ok(Local { shared, recovery, committer, syncer })
    }

    /// The shared state, for tests that inspect the threads or do their work.
    #[cfg(test)]
    pub(super) fn shared(&self) -> &Shared {
        match &self.0 {
            Kind::Local(local) => &local.shared,
            Kind::Database(_) => panic!("a key space over a database has no layers"),
        }
    }

    /// A view of everything acknowledged so far.
    ///
    /// # Errors
    /// [`KvError::Io`] or [`KvError::Corrupt`] if the engine cannot read.
    #[inline]
    pub fn snapshot(&self) -> Result<Snapshot, KvError> {
        match &self.0 {
            Kind::Local(local) => local.shared.snapshot(),
            Kind::Database(over) => Ok(Snapshot::of_database(over.committers.snapshot()?)),
        }
    }

    /// Fetches rows for a request, with the moment that they are of, by one fetch; `None` for a key space of
    /// one process, which has them at hand.
    ///
    /// # Errors
    /// [`KvError::Io`] if the database does not answer.
    pub async fn fetch_ahead(&self, keys: Vec<Vec<u8>>) -> Result<Option<Ahead>, KvError> {
        match &self.0 {
            Kind::Local(_) => Ok(None),
            Kind::Database(over) => over.committers.fetch_ahead(keys).await.map(Some),
        }
    }

    /// A snapshot that begins with rows that were fetched ahead: reads of no others need no more. `None` is
    /// [`Kv::snapshot`].
    ///
    /// # Errors
    /// [`KvError::Io`] or [`KvError::Corrupt`] if the engine cannot read. A read of another key is
    /// [`KvError::Changed`] if one of the rows has changed meanwhile.
    #[inline]
    pub fn snapshot_of(&self, ahead: Option<&Ahead>) -> Result<Snapshot, KvError> {
        match (&self.0, ahead) {
            (Kind::Database(over), Some(ahead)) => {
                Ok(Snapshot::of_database(over.committers.snapshot_of(ahead)))
            }
            _ => self.snapshot(),
        }
    }

    /// A snapshot with the rows that were fetched ahead for the request that this thread answers, if there are
    /// some: see [`Kv::snapshot_of`]. After [`KvError::Changed`], [`Kv::forget_ahead`] makes the next one new.
    ///
    /// # Errors
    /// [`KvError::Io`] or [`KvError::Corrupt`] if the engine cannot read.
    #[inline]
    pub fn snapshot_ahead(&self) -> Result<Snapshot, KvError> {
        match &self.0 {
            Kind::Local(_) => self.snapshot(),
            Kind::Database(_) => self.snapshot_of(Ahead::of_request().as_ref()),
        }
    }

    /// The request that this thread answers uses no rows any more that were fetched ahead. `true` if there were
    /// some.
    pub fn forget_ahead(&self) -> bool {
        matches!(self.0, Kind::Database(_)) && Ahead::take().is_some()
    }

    /// The moment of now, as the database tells it; `None` for a key space of one process.
    ///
    /// # Errors
    /// [`KvError::Io`] if the database does not answer.
    pub fn moment(&self) -> Result<Option<Moment>, KvError> {
        let Kind::Database(over) = &self.0 else { return Ok(None) };
        let fetched = over.committers.database.fetch(&[])?;
        Ok(Some(Moment { now_ms: fetched.now_ms, epochs: fetched.epochs }))
    }

    /// The primary that the database has now: see [`Database::primary`]. `None` for a key space of one process.
    #[inline]
    #[must_use]
    pub fn primary(&self) -> Option<PrimaryId> {
        match &self.0 {
            Kind::Local(_) => None,
            Kind::Database(over) => over.committers.database.primary(),
        }
    }

    /// Follows the updates from now on. The follower holds up to `bytes_max` bytes of them between
    /// two calls of [`Follower::take`]; beyond that it falls behind, and no update waits for it.
    ///
    /// # Errors
    /// [`KvError::Io`] (`Unsupported`) in memory, where records have no numbers, and over a database,
    /// which is copied by its own means.
    pub fn follow(&self, bytes_max: usize) -> Result<Follower, KvError> {
        let follower = match &self.0 {
            Kind::Local(local) => local.shared.committer().follow(&local.shared, bytes_max),
            Kind::Database(_) => None,
        };
        follower.ok_or_else(|| KvError::from(io::Error::from(io::ErrorKind::Unsupported)))
    }

    /// Runs `closure` in a transaction, alone, after every update submitted before it by this
    /// thread (over a database: acknowledged before it was submitted). All of its writes become visible
    /// and durable together, or none.
    ///
    /// The closure may run several times, and only its last run counts, so that an engine with
    /// optimistic concurrency control can retry. Therefore it borrows its captures, and its only
    /// effects are its writes and its result; the result of an earlier run is dropped. It runs on
    /// any thread that commits: it must not block, and must not wait for another update. A panic in
    /// it is [`KvError::Panicked`], for this update only. Its captures are dropped after the commit
    /// and before the answer. Submitting blocks while thousands of updates are queued
    /// (back-pressure).
    pub fn update<T, E, F>(&self, closure: F) -> Pending<T, E>
    where
        F: Fn(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<KvError> + Send + 'static,
    {
        self.update_then(closure, |_| {})
    }

    /// Like [`Kv::update`]. Once the writes of the closure are committed, and before the answer,
    /// `then` is called with its result, even if nobody waits for the answer. Concurrent updates
    /// may be called back in another order than the order of their writes: the next group commits
    /// meanwhile.
    pub fn update_then<T, E, F>(&self, closure: F, then: fn(&T)) -> Pending<T, E>
    where
        F: Fn(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<KvError> + Send + 'static,
    {
        self.submit(closure, false, then)
    }

    /// Like [`Kv::update`], for updates that free space, such as deletes: they may use the reserve.
    #[cfg(any(test, feature = "test-util"))]
    pub fn update_freeing<T, E, F>(&self, closure: F) -> Pending<T, E>
    where
        F: Fn(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<KvError> + Send + 'static,
    {
        self.update_freeing_then(closure, |_| {})
    }

    /// Like [`Kv::update_then`], for updates that free space, such as deletes: they may use the
    /// reserve.
    pub fn update_freeing_then<T, E, F>(&self, closure: F, then: fn(&T)) -> Pending<T, E>
    where
        F: Fn(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<KvError> + Send + 'static,
    {
        self.submit(closure, true, then)
    }

    fn submit<T, E, F>(&self, closure: F, frees_space: bool, then: fn(&T)) -> Pending<T, E>
    where
        F: Fn(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<KvError> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let (queue, committing, ahead) = match &self.0 {
            Kind::Local(local) => {
                (&local.shared.queue, Committing::Local(Arc::clone(&local.shared)), None)
            }
            Kind::Database(over) => {
                let committing = Committing::Database(Arc::clone(&over.committers));
                (&over.committers.queue, committing, Ahead::take())
            }
        };
        let update = Update { closure, result: None, sender, frees_space, then, ahead };
        if let Err(job) = queue.push(Box::new(update)) {
            job.acknowledge(Err(KvError::Closed));
        }
        Pending::new(receiver, committing)
    }

    /// Makes durable all updates acknowledged before the call, with their attachments. The syncer
    /// does the same every [`KvConfig::sync_interval`]. At [`Durability::Fsync`] updates and the
    /// contents in their notes are durable already, and only attachments are left to sync. `false`
    /// if there was nothing to sync: always over a database, which acknowledges nothing before it is as
    /// durable as the database is set up for.
    ///
    /// # Errors
    /// [`KvError::NoSpace`] if the log cannot take the mark; [`KvError::Io`] or [`KvError::Poisoned`] if
    /// the disk fails; [`KvError::Closed`].
    pub fn sync(&self) -> Result<bool, KvError> {
        match &self.0 {
            Kind::Local(local) if local.syncer.lock().is_some() => {
                syncer::sync(&local.shared, local.shared.config.attachments.as_deref())
            }
            _ => Ok(false),
        }
    }

    /// The position of the newest update that is not durable yet with its attachments; `None` when all
    /// of them are, as always over a database.
    #[must_use]
    pub fn unsynced(&self) -> Option<Position> {
        let Kind::Local(local) = &self.0 else { return None };
        local.syncer.lock().as_ref()?;
        local.shared.syncs.newest_unsynced().map(Position)
    }

    /// `true` when everything up to `position` is durable.
    #[must_use]
    pub fn is_synced(&self, position: Position) -> bool {
        match &self.0 {
            Kind::Local(local) => local.shared.syncs.is_synced(position.0),
            Kind::Database(_) => true,
        }
    }

    /// The file of the tree; `None` in memory and over a database.
    #[must_use]
    pub fn tree_file(&self) -> Option<Arc<TreeFile>> {
        match &self.0 {
            Kind::Local(local) => local.shared.tree_file.clone(),
            Kind::Database(_) => None,
        }
    }

    /// Counters since the key space was opened, and current sizes.
    #[must_use]
    pub fn stats(&self) -> KvStats {
        match &self.0 {
            Kind::Local(local) => {
                let layers = local.shared.layers().ok();
                local.shared.counters.snapshot(layers.as_deref())
            }
            Kind::Database(over) => over.committers.stats(),
        }
    }

    /// The fetches since the last call, with
    /// [`KvConfig::runs_in_pieces`](super::KvConfig::runs_in_pieces) or over a database.
    #[cfg(any(test, feature = "test-util"))]
    #[must_use]
    pub fn fetches(&self) -> crate::Fetches {
        match &self.0 {
            Kind::Local(local) => {
                local.shared.fetching.as_ref().map(|it| it.take()).unwrap_or_default()
            }
            Kind::Database(over) => over.committers.fetching.take(),
        }
    }

    /// The findings of opening the key space.
    #[must_use]
    pub fn recovery(&self) -> &Recovery {
        match &self.0 {
            Kind::Local(local) => &local.recovery,
            Kind::Database(over) => &over.recovery,
        }
    }

    /// The reason why updates are refused at the moment, for health checks. [`KvError::NoSpace`]
    /// ends by itself once there is space; any other reason lasts until the key space is reopened.
    ///
    /// Always `None` over a database: each update asks it anew. [`KvStats::commits_lost`] tells of what it
    /// has lost.
    #[must_use]
    pub fn refusal(&self) -> Option<KvError> {
        match &self.0 {
            Kind::Local(local) => local.shared.refusal.read().clone(),
            Kind::Database(_) => None,
        }
    }
}

impl fmt::Debug for Kv {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Kv").finish_non_exhaustive()
    }
}

impl Drop for OverDatabase {
    fn drop(&mut self) {
        self.committers.close();
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.shared.syncs.stop();
        let syncer = self.syncer.lock().take();
        self.shared.queue.close();
        let committer = self.committer.lock().take();
        // If a closure holds the last handle, this runs on the commit thread itself, which cannot
        // join itself.
        if let Some(committer) = committer.filter(|it| it.thread().id() != thread::current().id()) {
            // The panic hook has printed a panic.
            let _ = committer.join();
            syncer.map(JoinHandle::join);
        }
    }
}
