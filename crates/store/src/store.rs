//! [`Store`]: the handle, with snapshots, updates, health and close. Operations are `impl Store`
//! blocks in the modules above.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use liteio_blob::BlobStore;
use liteio_blob::lost::LostBlobs;
use liteio_disk::{DirectoryLock, Disk, OpenMode};
use liteio_kv::{Follower, Kv, KvError, Position, Snapshot, Transaction};
use parking_lot::{Mutex, RwLock};

use crate::config::{Role, StoreConfig};
use crate::directory;
use crate::error::StoreError;
use crate::indexes::Vectors;
use crate::indexes::mirrors::Mirrors;
use crate::keyed_answer::KeyedAnswer;
use crate::meta::ScrubState;
use crate::name::BucketName;
use crate::pending::{Committed, Pending};
use crate::process::{
    Background, DatabaseClock, Job, Member, OF_STANDBY, ServersConfig, StagedBlob, Term, Worker,
};
use crate::stats::StoreStats;
use crate::watch::Watch;
use liteio_disk::Clock;

pub(crate) use crate::process::Shared;

/// An open store. Clones are handles of the same store; dropping the last one closes it.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) inner: Arc<Inner>,
    /// The term of the job that this handle is for; `None` for one that is for no job.
    term: Option<Arc<Term>>,
    /// The answer that is written with each change by this handle, of which there may be one.
    answer: Option<Arc<KeyedAnswer>>,
}

/// The value of [`Inner::next_set_ms`] while no set waits for its removal.
pub(crate) const NEVER_MS: u64 = u64::MAX;

/// State shared by all handles.
#[derive(Debug)]
pub(crate) struct Inner {
    /// `None` once the store is closed.
    pub(crate) kv: RwLock<Option<Kv>>,
    pub(crate) shared: Arc<Shared>,
    /// `None` in memory.
    pub(crate) disk: Option<Arc<dyn Disk>>,
    /// The thread that watches the names of the data directory.
    watch: Mutex<Option<Watch>>,
    pub(crate) vectors: Vectors,
    /// The mirrors of indexes whose vectors are in logs; `None` if they are in slots of this store.
    pub(crate) mirrors: Option<MirrorStore>,
    /// The thread that reclaims and sweeps.
    pub(crate) worker: Mutex<Option<Worker>>,
    /// The thread that scrubs.
    pub(crate) scrubber: Mutex<Option<Background<ScrubState>>>,
    /// The thread that executes lifecycle rules.
    pub(crate) lifecycle: Mutex<Option<Background<()>>>,
    /// The thread that counts the usage of buckets without counts, while it runs.
    pub(crate) usage: Mutex<Option<Background<()>>>,
    /// Held during a reclaim, of which only one runs at a time.
    pub(crate) reclaim_lock: Mutex<()>,
    /// Held during a sweep: a second one would count the blobs that the first one moves.
    pub(crate) sweep_lock: Mutex<()>,
    /// `true` if every blob on the disk is known to be referenced by a record.
    pub(crate) is_swept: AtomicBool,
    /// `true` if space of deleted blobs is given back later.
    pub(crate) is_settling: AtomicBool,
    /// Bytes above the reserve that a write was refused for; 0 once there is room for them.
    pub(crate) refused_bytes: AtomicU64,
    /// Time at which the next set of annotations that waits for its copy is removed, in milliseconds since 1970.
    pub(crate) next_set_ms: AtomicU64,
    /// The failure that ended the sweep for good.
    pub(crate) sweep_failure: Mutex<Option<StoreError>>,
    /// Content of a standby that is deleted once nobody reads it.
    pub(crate) unlinked: Mutex<Vec<[u8; 16]>>,
    /// Directories (by first byte) from which blobs were deleted. Deletions are not synced at once,
    /// since a file that a crash brings back is only an orphan. An orderly close syncs these
    /// directories.
    pub(crate) removed_from: Mutex<BTreeSet<u8>>,
    /// `false` if a part of the log was dropped: an apparent orphan may be the remains of an
    /// object.
    pub(crate) may_sweep: bool,
    pub(crate) log_end: Option<String>,
    /// Orphans found by former sweeps.
    pub(crate) lost: Mutex<LostBlobs>,
    /// Held until all files are closed.
    directory_lock: Mutex<Option<DirectoryLock>>,
    /// `true` for one of several servers.
    pub(crate) is_member: bool,
    /// Its part among them.
    pub(crate) member: Mutex<Option<Member>>,
}

/// The mirrors of indexes, and the store in which they are.
#[derive(Debug)]
pub(crate) struct MirrorStore {
    pub(crate) mirrors: Mirrors,
    /// `None` until the first use.
    pub(crate) store: Mutex<Option<Store>>,
    /// `true` if the next one is to be made anew.
    pub(crate) is_damaged: AtomicBool,
    /// The thread that writes snapshots.
    pub(crate) thread: Mutex<Option<Background<()>>>,
}

/// The parts of a store, opened.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) config: StoreConfig,
    pub(crate) kv: Kv,
    pub(crate) blobs: Arc<dyn BlobStore>,
    pub(crate) disk: Option<Arc<dyn Disk>>,
    pub(crate) directory_lock: Option<DirectoryLock>,
    /// `true` if the last run ended in order.
    pub(crate) was_clean: bool,
    /// `false` if a part of the log was dropped. Then this run does not sweep.
    pub(crate) may_sweep: bool,
    /// The place and reason of the log's end, if it did not end in order.
    pub(crate) log_end: Option<String>,
    /// `true` if the vectors of indexes are in logs.
    pub(crate) logs_vectors: bool,
    /// The part among several servers, and the clock that is set to the time of the database.
    pub(crate) servers: Option<(ServersConfig, Arc<DatabaseClock>)>,
}

/// The health of a store: whether it accepts writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreHealth {
    /// It accepts writes.
    Ready,
    /// A sync or write failed: no writes until the store is opened again.
    ReadOnly {
        /// The failure.
        reason: String,
    },
    /// The device is full: it is down to the reserve, or has refused a write that it still has no room for. Only
    /// deletions, and perhaps smaller writes, work until there is space.
    Full,
}

impl Store {
    pub(crate) fn from_opened(opened: Opened) -> Self {
        let Some((servers, clock)) = opened.servers.clone() else {
            return Self::assembled(opened, Shared::new);
        };
        let mut own = None;
        let store = Self::assembled(opened, |config, blobs| {
            let (shared, servers) = Shared::one_of(config, blobs, servers);
            own = Some(servers);
            shared
        });
        *store.inner.member.lock() = own.map(|servers| Member::new(servers, clock));
        store
    }

    /// The store of these parts, with the shared state that `share` makes.
    pub(crate) fn assembled(
        opened: Opened,
        share: impl FnOnce(StoreConfig, Arc<dyn BlobStore>) -> Shared,
    ) -> Self {
        let shared = share(opened.config, opened.blobs);
        if shared.config.role == Role::Standby {
            shared.gate.close(OF_STANDBY);
        }
        let cache = &shared.config.vector_cache;
        let mirrors = opened.logs_vectors.then(|| MirrorStore {
            mirrors: Mirrors::new(cache.bytes_max, cache.snapshot_changes),
            store: Mutex::new(None),
            is_damaged: AtomicBool::new(false),
            thread: Mutex::new(None),
        });
        let inner = Inner {
            mirrors,
            kv: RwLock::new(Some(opened.kv)),
            shared: Arc::new(shared),
            vectors: Vectors::new(opened.disk.is_some()),
            watch: Mutex::new(None),
            disk: opened.disk,
            worker: Mutex::new(None),
            scrubber: Mutex::new(None),
            lifecycle: Mutex::new(None),
            usage: Mutex::new(None),
            reclaim_lock: Mutex::new(()),
            sweep_lock: Mutex::new(()),
            is_swept: AtomicBool::new(opened.was_clean),
            is_settling: AtomicBool::new(false),
            refused_bytes: AtomicU64::new(0),
            next_set_ms: AtomicU64::new(NEVER_MS),
            sweep_failure: Mutex::new(None),
            unlinked: Mutex::default(),
            removed_from: Mutex::new(BTreeSet::new()),
            may_sweep: opened.may_sweep,
            log_end: opened.log_end,
            lost: Mutex::default(),
            directory_lock: Mutex::new(opened.directory_lock),
            is_member: opened.servers.is_some(),
            member: Mutex::new(None),
        };
        Self::of(Arc::new(inner))
    }

    /// A handle for no job.
    pub(crate) fn of(inner: Arc<Inner>) -> Self {
        Self { inner, term: None, answer: None }
    }

    /// A handle for a job in the background, which one server does at a time. Updates by it are
    /// refused with [`StoreError::Suspended`] once another server has taken over; then ask again.
    /// `None` while another one does it, or while updates are suspended.
    ///
    /// # Errors
    /// The errors of asking the other servers.
    pub fn for_job(&self, job: Job) -> Result<Option<Self>, StoreError> {
        self.clone().into_job(job)
    }

    /// A handle for the change that a request with a key is about: its answer is written with it. The change fails with
    /// [`CatalogError::Answered`](crate::tables::CatalogError::Answered) if the key has an answer.
    #[must_use]
    pub fn answering(&self, answer: Arc<KeyedAnswer>) -> Self {
        Self { answer: Some(answer), ..self.clone() }
    }

    /// [`Store::for_job`], in the place of this handle.
    pub(crate) fn into_job(self, job: Job) -> Result<Option<Self>, StoreError> {
        let term = self.shared().cluster.lease(&job)?;
        Ok(term.map(|term| Self { term: Some(Arc::new(term)), ..self }))
    }

    /// [`Store::for_job`], for a caller that does not wait for its turn.
    ///
    /// # Errors
    /// [`StoreError::Suspended`] in the place of `None`.
    pub(crate) fn must_do(&self, job: Job) -> Result<Self, StoreError> {
        let handle = self.for_job(job)?;
        self.shared().cluster.standing()?;
        handle.ok_or_else(Term::over)
    }

    /// Checks that the job of this handle is still this server's, before an effect that is no
    /// update.
    ///
    /// # Errors
    /// [`StoreError::Suspended`] if it is not; the errors of asking the other servers.
    pub(crate) fn check_term(&self) -> Result<(), StoreError> {
        let Some(term) = &self.term else { return Ok(()) };
        match self.shared().cluster.lease(term.job())? {
            Some(now) if now == **term => Ok(()),
            _ => Err(Term::over()),
        }
    }

    /// Finishes submitted updates, stops the threads and closes the files. Later calls fail with
    /// [`StoreError::Closed`], as does an open reader of a multipart object when it reaches the
    /// next part.
    pub fn close(&self) {
        self.inner.close();
    }

    /// The place and reason of the log's end, if it did not end in order at opening: a crash cut a
    /// write off, or a record is damaged. Report it to the operator.
    #[must_use]
    pub fn log_end(&self) -> Option<&str> {
        self.inner.log_end.as_deref()
    }

    /// Empty directories with bucket names in the data directory that are not the store's own; a
    /// store of another kind keeps one per bucket. None in memory.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn empty_directories(&self) -> Result<Vec<BucketName>, StoreError> {
        match &self.inner.disk {
            Some(disk) => directory::empty_directories(&**disk),
            None => Ok(Vec::new()),
        }
    }

    /// Runs `replace`, which replaces a file of the data directory that is watched.
    pub(crate) fn replace_watched<T>(&self, name: &str, replace: impl FnOnce() -> T) -> T {
        match &*self.inner.watch.lock() {
            Some(watch) => watch.replace(name, replace),
            None => replace(),
        }
    }

    /// Starts the thread that watches the files of the data directory.
    pub(crate) fn start_watch(&self) -> Result<(), StoreError> {
        if let Some(disk) = &self.inner.disk {
            let tree = self.inner.kv.read().as_ref().and_then(Kv::tree_file);
            let blobs = Arc::clone(&self.shared().blobs);
            *self.inner.watch.lock() = Some(Watch::start(Arc::clone(disk), tree, blobs)?);
        }
        Ok(())
    }

    /// Free bytes and capacity of the device; `None` in memory.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn space(&self) -> Result<Option<(u64, u64)>, StoreError> {
        let Some(disk) = &self.inner.disk else { return Ok(None) };
        let Some(capacity) = disk.capacity_bytes()? else { return Ok(None) };
        Ok(Some((disk.free_bytes()?, capacity)))
    }

    /// `false` once the path of the data directory leads elsewhere than to the open one: it was renamed, or a file system was
    /// unmounted, or mounted over it. The store goes on in the open one, but the next start would not find it.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        self.inner.disk.as_ref().is_none_or(|disk| disk.is_in_place())
    }

    /// The error of a file that this process has no right to read, as the newest read that failed by it has told; `None` once
    /// the file can be opened.
    #[must_use]
    pub fn denied_read(&self) -> Option<String> {
        let mut denied = self.inner.shared.counters.denied_read.lock();
        let path = denied.as_ref()?.strip_prefix("open ").and_then(|it| it.split_once(": "));
        let (Some(disk), Some((path, _))) = (&self.inner.disk, path) else {
            // Nothing tells when it ends, so it is told once.
            return denied.take();
        };
        let refusal = disk.open(path, OpenMode::Read).err();
        // A file that is missing by now is told by the reads that need it.
        if refusal.is_none_or(|error| error.kind() != ErrorKind::PermissionDenied) {
            *denied = None;
        }
        denied.clone()
    }

    /// The health of the store.
    #[must_use]
    pub fn health(&self) -> StoreHealth {
        if let Some(watch) = &*self.inner.watch.lock() {
            watch.check();
        }
        let refusal = match &*self.inner.kv.read() {
            Some(kv) => kv.refusal(),
            None => Some(KvError::Closed),
        };
        if let Some(disk) = &self.inner.disk
            && let Some(reason) = disk.health().reason()
        {
            return StoreHealth::ReadOnly { reason: reason.to_owned() };
        }
        match refusal {
            Some(KvError::NoSpace) => StoreHealth::Full,
            Some(KvError::Poisoned { reason }) => StoreHealth::ReadOnly { reason },
            Some(error) => StoreHealth::ReadOnly { reason: error.to_string() },
            None if self.inner.is_full() => StoreHealth::Full,
            None => StoreHealth::Ready,
        }
    }

    /// The reason why orphaned blobs stay on the disk until the store is opened again: a record is
    /// unreadable, so the blobs that it references are unknown. [`Store::verify`] finds the record.
    #[must_use]
    pub fn sweep_failure(&self) -> Option<String> {
        self.inner.sweep_failure.lock().as_ref().map(ToString::to_string)
    }

    /// Makes every write durable that was acknowledged before the call, so that it survives a power
    /// cut. With [`Durability::Fsync`](crate::Durability::Fsync) writes are durable already; with
    /// [`Durability::Os`](crate::Durability::Os) a background thread does the same about once a
    /// second.
    ///
    /// # Errors
    /// [`StoreError::NoSpace`] if the log is full, [`StoreError::Io`] or [`StoreError::Poisoned`]
    /// if the disk fails, [`StoreError::Closed`].
    pub fn sync(&self) -> Result<(), StoreError> {
        self.sync_rest().map(drop)
    }

    /// [`Store::sync`]; `false` if nothing was left to sync.
    pub(crate) fn sync_rest(&self) -> Result<bool, StoreError> {
        match &*self.inner.kv.read() {
            Some(kv) => Ok(kv.sync()?),
            None => Err(StoreError::Closed),
        }
    }

    /// The position of the newest update that is not durable together with its blob; `None` if all
    /// are.
    pub(crate) fn unsynced(&self) -> Result<Option<Position>, StoreError> {
        match &*self.inner.kv.read() {
            Some(kv) => Ok(kv.unsynced()),
            None => Err(StoreError::Closed),
        }
    }

    /// Follows the updates from now on.
    pub(crate) fn follow(&self, bytes_max: usize) -> Result<Follower, StoreError> {
        match &*self.inner.kv.read() {
            Some(kv) => Ok(kv.follow(bytes_max)?),
            None => Err(StoreError::Closed),
        }
    }

    /// `true` if everything up to `position` is durable.
    pub(crate) fn is_synced(&self, position: Position) -> Result<bool, StoreError> {
        match &*self.inner.kv.read() {
            Some(kv) => Ok(kv.is_synced(position)),
            None => Err(StoreError::Closed),
        }
    }

    /// The time by the store's clock, in milliseconds since 1970.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.shared().config.clock.now_ms()
    }

    /// The store's clock.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared().config.clock
    }

    /// Counters since the store was opened.
    #[must_use]
    pub fn stats(&self) -> StoreStats {
        let kv = self.inner.kv.read().as_ref().map(Kv::stats);
        self.inner.shared.counters.snapshot(kv.unwrap_or_default())
    }

    /// What was fetched since the last call, with
    /// [`StoreConfig::runs_in_pieces`](crate::StoreConfig::runs_in_pieces).
    #[cfg(any(test, feature = "test-util"))]
    #[must_use]
    pub fn fetches(&self) -> liteio_kv::Fetches {
        self.inner.kv.read().as_ref().map(Kv::fetches).unwrap_or_default()
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.inner.shared
    }

    pub(crate) fn snapshot(&self) -> Result<Snapshot, StoreError> {
        self.shared().cluster.serving()?;
        match &*self.inner.kv.read() {
            Some(kv) => Ok(kv.snapshot()?),
            None => Err(StoreError::Closed),
        }
    }

    /// A snapshot with the rows that were fetched ahead for the request.
    pub(crate) fn snapshot_ahead(&self) -> Result<Snapshot, StoreError> {
        self.shared().cluster.serving()?;
        match &*self.inner.kv.read() {
            Some(kv) => Ok(kv.snapshot_ahead()?),
            None => Err(StoreError::Closed),
        }
    }

    /// Makes the next snapshots of the request new. `true` if they were not.
    pub(crate) fn forget_ahead(&self) -> bool {
        self.inner.kv.read().as_ref().is_some_and(Kv::forget_ahead)
    }

    /// Submits a write. The closure may run several times, see [`Kv::update`].
    pub(crate) fn update<T, F>(&self, closure: F) -> Pending<T>
    where
        F: Fn(&mut Transaction<'_>, &Arc<Shared>) -> Result<Committed<T>, StoreError>
            + Send
            + 'static,
        T: Send + 'static,
    {
        self.submit(closure, |kv, closure| kv.update_then(closure, Committed::committed))
    }

    /// Submits a write that publishes `blob`, if any: its closure writes a record that references
    /// it. The blob is handed over to the last run of the closure, after that has succeeded.
    pub(crate) fn update_with_blob<T, F>(&self, blob: Option<StagedBlob>, closure: F) -> Pending<T>
    where
        F: Fn(&mut Transaction<'_>, &Arc<Shared>) -> Result<Committed<T>, StoreError>
            + Send
            + 'static,
        T: Send + 'static,
    {
        self.update_with_blobs(blob.into_iter().collect(), closure)
    }

    /// [`Store::update_with_blob`] for a write that publishes all of `blobs`.
    pub(crate) fn update_with_blobs<T, F>(&self, blobs: Vec<StagedBlob>, closure: F) -> Pending<T>
    where
        F: Fn(&mut Transaction<'_>, &Arc<Shared>) -> Result<Committed<T>, StoreError>
            + Send
            + 'static,
        T: Send + 'static,
    {
        let staged = blobs.clone();
        let pending = self.update(move |write, shared| {
            // An earlier run may have handed the blobs over, and this run may fail before it does.
            blobs.iter().for_each(StagedBlob::take_back);
            let committed = closure(write, shared)?;
            for blob in &blobs {
                blob.hand_over(write);
            }
            Ok(committed)
        });
        pending.with_blobs(staged)
    }

    /// Submits a write that frees space, which is accepted also when the disk is full.
    pub(crate) fn update_freeing<T, F>(&self, closure: F) -> Pending<T>
    where
        F: Fn(&mut Transaction<'_>, &Arc<Shared>) -> Result<Committed<T>, StoreError>
            + Send
            + 'static,
        T: Send + 'static,
    {
        self.submit(closure, |kv, closure| kv.update_freeing_then(closure, Committed::committed))
    }

    /// Submits a write of the standby itself, which the gate does not stop.
    pub(crate) fn update_suspended<T, F>(&self, closure: F) -> Result<T, StoreError>
    where
        F: Fn(&mut Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
        T: Send + 'static,
    {
        let pending = match &*self.inner.kv.read() {
            Some(kv) => kv.update(closure),
            None => return Err(StoreError::Closed),
        };
        pending.wait()
    }

    fn submit<T, F>(
        &self,
        closure: F,
        submit: impl FnOnce(
            &Kv,
            Box<dyn Fn(&mut Transaction<'_>) -> Result<Committed<T>, StoreError> + Send>,
        ) -> liteio_kv::Pending<Committed<T>, StoreError>,
    ) -> Pending<T>
    where
        F: Fn(&mut Transaction<'_>, &Arc<Shared>) -> Result<Committed<T>, StoreError>
            + Send
            + 'static,
        T: Send + 'static,
    {
        let (shared, term) = (Arc::clone(self.shared()), self.term.clone());
        let answer = self.answer.clone();
        if let Err(refused) = shared.cluster.standing() {
            return Pending::ready(Err(refused));
        }
        let admitted = move |write: &mut Transaction<'_>| {
            shared.cluster.admit(term.as_deref(), write)?;
            if let Some(answer) = &answer {
                answer.write(write, shared.config.clock.now_ms())?;
            }
            closure(write, &shared)
        };
        match &*self.inner.kv.read() {
            Some(kv) => Pending::submitted(submit(kv, Box::new(admitted))),
            None => Pending::ready(Err(StoreError::Closed)),
        }
    }
}

impl MirrorStore {
    fn close(&self) {
        let thread = self.thread.lock().take();
        thread.into_iter().for_each(Background::stop);
        // A request may hold it still.
        if let Some(store) = self.store.lock().take() {
            store.close();
        }
    }
}

impl Inner {
    pub(crate) fn check_open(&self) -> Result<(), StoreError> {
        if self.kv.read().is_some() { Ok(()) } else { Err(StoreError::Closed) }
    }

    /// Checks that the disk has room for `bytes` above the reserve. A refusal is remembered, for the health.
    pub(crate) fn check_space(&self, bytes: u64) -> Result<(), StoreError> {
        if self.has_room(bytes)? {
            return Ok(());
        }
        // One that is larger than the reserve may be refused by a device that has room for most others.
        let remembered = bytes.min(self.shared.config.reserve_bytes);
        self.refused_bytes.fetch_max(remembered, Ordering::Relaxed);
        Err(StoreError::NoSpace)
    }

    /// As [`Inner::check_space`] for a write of `bytes` to files that may have room for a part of them: `growth` tells how much they
    /// grow, and is asked only if that matters.
    pub(crate) fn check_growth(
        &self,
        bytes: u64,
        growth: impl FnOnce() -> u64,
    ) -> Result<(), StoreError> {
        if self.has_room(bytes)? { Ok(()) } else { self.check_space(growth()) }
    }

    /// `true` while the reserve is used, or a write that was refused for space would be refused again.
    fn is_full(&self) -> bool {
        let refused = self.refused_bytes.load(Ordering::Relaxed);
        // Unknown space counts as none.
        let is_full = !self.has_room(refused).unwrap_or(false);
        if !is_full && refused > 0 {
            // A larger one that was refused meanwhile stays.
            let _ = self.refused_bytes.compare_exchange(
                refused,
                0,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
        }
        is_full
    }

    fn has_room(&self, bytes: u64) -> Result<bool, StoreError> {
        let Some(disk) = &self.disk else { return Ok(true) };
        Ok(disk.free_bytes()? >= self.shared.config.reserve_bytes.saturating_add(bytes))
    }

    fn close(&self) {
        // Order: stop the threads that read and write, then the indexes, then the key space, then
        // write the marker, and release the lock last.
        drop(self.watch.lock().take());
        let scrubber = self.scrubber.lock().take();
        scrubber.into_iter().for_each(Background::stop);
        let lifecycle = self.lifecycle.lock().take();
        lifecycle.into_iter().for_each(Background::stop);
        let usage = self.usage.lock().take();
        usage.into_iter().for_each(Background::stop);
        let worker = self.worker.lock().take();
        if let Some(worker) = worker {
            worker.stop(&self.shared.work);
        }
        self.vectors.close();
        if let Some(mirrors) = &self.mirrors {
            mirrors.close();
        }
        // Taking the write lock waits for updates that are being submitted; dropping the key space
        // finishes the queued ones.
        let Some(kv) = self.kv.write().take() else { return };
        if let Some(mut member) = self.member.lock().take() {
            member.leave(&kv);
        }
        drop(kv);
        // After an error the next start sweeps, which only costs time.
        let _ = self.delete_discarded();
        let is_final = self.shared.blobs.close().unwrap_or(false);
        let is_clean =
            is_final && self.is_swept.load(Ordering::Acquire) && self.shared.staging.is_settled();
        if let Some(disk) = &self.disk
            && is_clean
        {
            // An error is ignored: without the marker the next start sweeps, which only costs time.
            let _ = directory::mark_clean(&**disk, &self.removed_from.lock());
        }
        // Last: from here on another process may open the directory.
        *self.directory_lock.lock() = None;
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}
