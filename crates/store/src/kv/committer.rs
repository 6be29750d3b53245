//! The one thread that writes: group commit, checkpoints, and the return from a full disk.
//!
//! # The states of an update
//! ```text
//!            update()        run_group()          append()         sync_data()       commit()
//!  closure ───────────► queued ──────────► staged ──────────► logged ──────────► durable ──────► visible
//!                                            │                  │       (at os: later,              │
//!                             Err or panic   │                  │        with a mark)          acknowledged
//!                             of the closure ▼                  ▼ fails
//!                                        rolled back         the whole group fails
//! ```
//! An update that meets a damaged page of the tree fails alone: the batch is taken back, and the others of its
//! group run again.
//!
//! *Staged* writes are in the engine's batch, where only later updates of the group see them, and in the
//! record of the group, with the attachments that they *note*. Nothing is answered and nothing is visible
//! before the log has the record: a crash leaves the whole group or none of it.
//!
//! # The states of the committer
//! ```text
//!              free space < reserve                      the tree found no space
//!   writing ◄──────────────────────► refusing: NoSpace ◄──────────────────────── writing
//!      │            space again        (freeing updates    space again, snapshots ended:
//!      │                                still run)         engine reopened, log replayed
//!      │ any other failure of log or tree
//!      ▼
//!   poisoned: reads go on, no update runs until the store is opened again
//! ```
//! `Shared::refusal` has the state: `None`, `NoSpace` or `Poisoned`.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::RwLock;

use super::engine::{Checkpoint, Engine, Table};
use super::home::{Home, Occasion, Recovery, open_engine};
use super::log::{Log, Record, Round};
use super::queue::{Job, Popped, Queue};
use super::shared::Shared;
use super::syncs::Syncs;
use super::transaction::Undo;
use super::{Attachments, KvConfig, KvError, Transaction};
use crate::Durability;

/// Updates in one group: they share one record, one sync and one batch.
const GROUP_UPDATES_MAX: usize = 512;
/// Bytes of log record after which a group takes no more updates.
const GROUP_BYTES_MAX: usize = 1 << 20;
/// Free space is polled at most this often.
const SPACE_INTERVAL: Duration = Duration::from_millis(50);
/// A checkpoint that waits for a sync of attachments waits no longer once the log has this many times
/// its usual length.
const CHECKPOINT_DELAY_FACTOR_MAX: u64 = 4;
/// Free space is polled this often while updates are refused, also without an update: clients stop
/// writing once they see `full`.
const REFUSED_INTERVAL: Duration = Duration::from_millis(500);
/// References to an engine without snapshots: the committer's and that of [`Shared`].
const OWN_REFERENCES: usize = 2;
/// Longest wait for snapshots to end before the engine is opened again.
const SNAPSHOTS_WAIT: Duration = Duration::from_millis(50);

/// A key space on a disk.
struct Durable {
    home: Home,
    log: Log,
    free_bytes: u64,
    space_asked: Option<Instant>,
}

pub(super) struct Committer {
    shared: Arc<Shared>,
    config: KvConfig,
    /// `None` while an engine that broke could not be opened again.
    engine: Option<Arc<Engine>>,
    durable: Option<Durable>,
    record: Record,
    undo: Undo,
    /// Puts and deletes since the last checkpoint.
    writes: u64,
}

impl Committer {
    pub(super) fn open(home: Home, config: KvConfig) -> Result<(Self, Recovery), KvError> {
        if !home.exists()? {
            home.create(&config)?;
        }
        let mut log = Log::open(&*home.disk, &home.log_path(), config.log_bytes)?;
        let (engine, recovery) = open_engine(&home, &mut log, &config, Occasion::Start)?;
        if let Some(error) = engine.frozen() {
            return Err(error);
        }
        let durable = Durable { home, log, free_bytes: u64::MAX, space_asked: None };
        Ok((Self::new(engine, Some(durable), config), recovery))
    }

    pub(super) fn memory(config: KvConfig) -> Result<Self, KvError> {
        let engine = Engine::memory(config.engine, config.cache_bytes)?;
        engine.checkpoint(&Checkpoint::without_log())?;
        Ok(Self::new(engine, None, config))
    }

    fn new(engine: Arc<Engine>, durable: Option<Durable>, config: KvConfig) -> Self {
        let shared = Arc::new(Shared {
            queue: Queue::default(),
            engine: RwLock::new(Ok(Arc::clone(&engine))),
            refusal: RwLock::new(None),
            syncs: Syncs::default(),
        });
        Self {
            shared,
            config,
            engine: Some(engine),
            durable,
            record: Record::new(),
            undo: Undo::default(),
            writes: 0,
        }
    }

    pub(super) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Works until the queue is closed and empty.
    pub(super) fn run(mut self) {
        let mut jobs = Vec::new();
        loop {
            match self.shared.queue.pop(self.deadline()) {
                Popped::Job(first) => {
                    let result = self.group(first, &mut jobs);
                    for job in jobs.drain(..) {
                        job.acknowledge(result.clone());
                    }
                    self.after_group();
                }
                Popped::TimedOut => self.housekeep(),
                Popped::Closed => break,
            }
        }
        self.checkpoint();
        let Some(engine) = self.engine else { return };
        // The engine may write while it closes. It must not after a checkpoint that failed, nor where a
        // snapshot outlives the key space and closes it: by then the files may belong to another one.
        if self.writes > 0 || Arc::strong_count(&engine) > OWN_REFERENCES {
            engine.close_without_checkpoint();
        }
    }

    /// The time of the next work that no update triggers: a checkpoint, or a poll of free space.
    fn deadline(&self) -> Option<Instant> {
        let is_frozen = self.engine.as_ref().is_none_or(|engine| engine.frozen().is_some());
        if self.is_poisoned() {
            return None;
        }
        let checkpoint = (self.writes > 0 && !is_frozen).then_some(self.config.checkpoint_idle);
        let refused = self.is_refusing_for_space().then_some(REFUSED_INTERVAL);
        let wait = checkpoint.into_iter().chain(refused).min()?;
        Some(Instant::now() + wait)
    }

    fn housekeep(&mut self) {
        if self.is_refusing_for_space() {
            // An error is in the refusal already.
            let _ = self.prepare_to_write();
        }
        if self.writes > 0 && self.shared.syncs.allow_checkpoint(self.config.attachments.as_deref())
        {
            self.checkpoint();
            self.extend_log();
        }
    }

    /// Preallocates the log with zeros while no update waits. A record within the file's length changes
    /// no metadata of the file system, and its sync is twice as fast.
    fn extend_log(&mut self) {
        let Some(durable) = self.durable.as_mut().filter(|_| self.writes == 0) else { return };
        match durable.log.preallocate(self.config.log_bytes) {
            // Without the space the log grows as it is used.
            Ok(()) | Err(KvError::NoSpace) => {}
            Err(error) => self.stop_writing(error),
        }
    }

    fn after_group(&mut self) {
        if let Some(number) = self.shared.syncs.take_mark() {
            let result = self.write_mark(number);
            self.shared.syncs.marked(result);
        }
        let bytes = self.durable.as_ref().map_or(0, |durable| durable.log.bytes());
        let is_over = |factor| {
            bytes >= self.config.log_bytes.saturating_mul(factor)
                || self.writes >= self.config.log_writes.saturating_mul(factor)
        };
        // A checkpoint syncs the attachments first. If that would take long, the syncer does it while
        // commits go on, and the checkpoint follows; past the delay factor it no longer waits.
        let allow = || self.shared.syncs.allow_checkpoint(self.config.attachments.as_deref());
        if is_over(CHECKPOINT_DELAY_FACTOR_MAX) || (is_over(1) && allow()) {
            self.checkpoint();
        }
    }

    /// Appends the watermark `number` (the attachments of all records up to it are durable) and syncs
    /// the log.
    fn write_mark(&mut self, number: u64) -> Result<(), KvError> {
        if self.is_poisoned() {
            return self.shared.refusal.read().clone().map_or(Ok(()), Err);
        }
        let Some(durable) = &mut self.durable else { return Ok(()) };
        self.record.clear();
        self.record.mark(number);
        let result = durable.log.append(&mut self.record, true);
        if let Err(error) = &result
            && !matches!(error, KvError::NoSpace)
        {
            self.stop_writing(error.clone());
        }
        result
    }

    /// Returns to writing if that has become possible. `true` when less than the reserve is free, so
    /// that only updates that free space may run.
    fn prepare_to_write(&mut self) -> Result<bool, KvError> {
        self.return_to_writing()?;
        let is_tight = self.is_tight();
        self.set_refusal(is_tight.then_some(KvError::NoSpace));
        Ok(is_tight)
    }

    /// Group commit: runs `first` and the updates queued behind it, and makes them durable together.
    /// `jobs` are those that ran; an error is the answer to every one of them.
    fn group(&mut self, first: Box<dyn Job>, jobs: &mut Vec<Box<dyn Job>>) -> Result<(), KvError> {
        let is_tight = match self.prepare_to_write() {
            Ok(is_tight) => is_tight,
            Err(error) => {
                jobs.push(first);
                return Err(error);
            }
        };
        self.record.clear();
        let Some(engine) = self.engine.clone() else {
            jobs.push(first);
            return Err(KvError::Closed);
        };
        let result = self.run_group(&engine, first, jobs, is_tight);
        match result {
            Ok(()) => self.writes += self.record.operations(),
            Err(error) => {
                self.assess(&engine, &error);
                return Err(error);
            }
        }
        Ok(())
    }

    /// The steps of a group, in the order of the first picture above: stage every update, append the
    /// record to the log, sync the log (at `fsync`), commit the batch. `record` has the writes after it.
    fn run_group(
        &mut self,
        engine: &Engine,
        first: Box<dyn Job>,
        jobs: &mut Vec<Box<dyn Job>>,
        is_tight: bool,
    ) -> Result<(), KvError> {
        jobs.push(first);
        let mut takes_more = true;
        // Staged: the batch is private to this thread.
        let group = loop {
            let group = engine.begin()?;
            let staged = self.stage(group.table()?, jobs, is_tight, takes_more);
            let Err((at, error)) = staged else { break group };
            // Damage that an update meets is its own failure, so that one page does not stop all writes. What
            // the others wrote is in the same batch: it is taken back, and they run again.
            if !matches!(error, KvError::Corrupt(_)) || engine.frozen().is_some() {
                return Err(error);
            }
            group.abort()?;
            self.record.clear();
            jobs.remove(at).acknowledge(Err(error));
            takes_more = false;
        };
        // A frozen engine has the writes in memory only; the log must not run ahead of its file.
        if let Some(error) = engine.frozen() {
            return Err(error);
        }
        if self.record.operations() == 0 {
            group.abort()?;
            return Ok(());
        }
        // Logged, and at `fsync` durable. A failure up to here leaves nothing, except that of the sync.
        if let Some(durable) = &mut self.durable {
            let sync = self.config.durability == Durability::Fsync;
            durable.log.append(&mut self.record, sync)?;
            if !sync || self.record.notes() > 0 {
                let attachments = self.config.attachments.as_deref();
                self.shared.syncs.appended(durable.log.number(), attachments);
            }
        }
        // Visible. Before the log had the record, a reader could have seen a write that a crash undoes.
        group.commit().map_err(|error| {
            // The log has the record, but the updates fail: a restart replays them. The error must say
            // that the outcome is open. `NoSpace` would promise that nothing was kept.
            let error = KvError::Poisoned { reason: error.to_string() };
            *self.shared.refusal.write() = Some(error.clone());
            error
        })
    }

    /// Runs `jobs`, and if it takes more, those that are queued behind them. Fails with the position of the job
    /// that the engine failed.
    fn stage(
        &mut self,
        table: Table<'_>,
        jobs: &mut Vec<Box<dyn Job>>,
        is_tight: bool,
        takes_more: bool,
    ) -> Result<(), (usize, KvError)> {
        let mut transaction = Transaction::new(table, &mut self.record, &mut self.undo);
        let mut done = 0;
        loop {
            while let Some(job) = jobs.get_mut(done) {
                #[cfg(any(test, feature = "test-util"))]
                if self.config.runs_twice {
                    run_in_vain(&mut **job, &mut transaction, is_tight)
                        .map_err(|error| (done, error))?;
                }
                run_job(&mut **job, &mut transaction, is_tight).map_err(|error| (done, error))?;
                done += 1;
            }
            let is_full =
                done >= GROUP_UPDATES_MAX || transaction.record_bytes() >= GROUP_BYTES_MAX;
            if is_full || !takes_more {
                return Ok(());
            }
            match self.shared.queue.try_pop() {
                Some(job) => jobs.push(job),
                None => return Ok(()),
            }
        }
    }

    /// Stops writing unless the failure left log and tree as they were.
    fn assess(&mut self, engine: &Engine, error: &KvError) {
        match error {
            // The append failed as a whole and the batch was dropped: the next group may try again.
            KvError::NoSpace if engine.frozen().is_none() => {}
            _ => self.stop_writing(error.clone()),
        }
    }

    /// Refuses updates from now on. [`Committer::return_to_writing`] may end it.
    fn stop_writing(&mut self, error: KvError) {
        let refusal = match error {
            KvError::NoSpace => KvError::NoSpace,
            KvError::Poisoned { reason } => KvError::Poisoned { reason },
            other => KvError::Poisoned { reason: other.to_string() },
        };
        let mut current = self.shared.refusal.write();
        if !matches!(&*current, Some(KvError::Poisoned { .. })) {
            *current = Some(refusal);
        }
    }

    fn set_refusal(&self, refusal: Option<KvError>) {
        // The shared lock is enough for a group that changes nothing.
        if self.shared.refusal.read().is_some() != refusal.is_some() {
            *self.shared.refusal.write() = refusal;
        }
    }

    /// Makes the tree durable up to the newest record, after which the log starts again at its first
    /// byte. A failure shows in the refusal.
    ///
    /// The order: attachments, tree with the new nonce, log. Records of the old round do not verify
    /// under the new nonce, so the log needs no sync to begin again.
    fn checkpoint(&mut self) {
        let Some(engine) = self.engine.clone() else { return };
        if self.writes == 0 || engine.frozen().is_some() || self.is_poisoned() {
            return;
        }
        let result = match &mut self.durable {
            None => engine.checkpoint(&Checkpoint::without_log()),
            Some(durable) => Round::new(durable.log.number()).and_then(|round| {
                self.config.attachments.as_deref().map_or(Ok(()), Attachments::sync)?;
                engine.checkpoint(&Checkpoint { round, log_bytes: durable.log.durable_bytes() })?;
                durable.log.start(&round);
                self.shared.syncs.synced(round.number, Instant::now());
                Ok(())
            }),
        };
        match result {
            Ok(()) => {
                self.writes = 0;
            }
            Err(error) => self.stop_writing(error),
        }
    }

    fn is_poisoned(&self) -> bool {
        matches!(&*self.shared.refusal.read(), Some(KvError::Poisoned { .. }))
    }

    fn is_refusing_for_space(&self) -> bool {
        matches!(&*self.shared.refusal.read(), Some(KvError::NoSpace))
    }

    /// `true` when less than the reserve is free.
    fn is_tight(&mut self) -> bool {
        let Some(durable) = &mut self.durable else { return false };
        if durable.space_asked.is_none_or(|asked| asked.elapsed() >= SPACE_INTERVAL) {
            durable.space_asked = Some(Instant::now());
            // If the free space is unknown, do not refuse: the write itself fails if there is none.
            durable.free_bytes = durable.home.disk.free_bytes().unwrap_or(u64::MAX);
        }
        durable.free_bytes < self.config.reserve_bytes
    }

    /// Reopens the engine if it froze on a full disk and there is space now.
    fn return_to_writing(&mut self) -> Result<(), KvError> {
        if self.is_poisoned() {
            return self.shared.refusal.read().clone().map_or(Ok(()), Err);
        }
        if self.engine.as_ref().is_some_and(|engine| engine.frozen().is_none()) {
            return Ok(());
        }
        let health = self.durable.as_ref().and_then(|it| it.home.disk.health().reason());
        if let Some(reason) = health.map(str::to_owned) {
            // Poisoned by a failed sync: the frozen engine has pages in memory that the device lost.
            // Reopening would read the device and lose acknowledged updates.
            self.stop_writing(KvError::Poisoned { reason });
            return self.shared.refusal.read().clone().map_or(Ok(()), Err);
        }
        if self.is_tight() {
            return Err(KvError::NoSpace);
        }
        // With all attachments synced the replay need not check them: there was no crash, so none is
        // missing.
        if let Some(Err(error)) = self.config.attachments.as_deref().map(Attachments::sync) {
            self.stop_writing(error.into());
            return self.shared.refusal.read().clone().map_or(Ok(()), Err);
        }
        let Some(durable) = &mut self.durable else { return Err(KvError::Closed) };
        // The lock keeps new snapshots from beginning. Live ones must end first: the new engine overwrites
        // pages that the frozen one still reads.
        let shared = Arc::clone(&self.shared);
        let mut current = shared.engine.write();
        if let Ok(engine) = &*current {
            self.engine = None;
            if !wait_for_snapshots(engine) {
                self.engine = Some(Arc::clone(engine));
                return Err(KvError::NoSpace);
            }
            // While the frozen engine can still be read: it has in memory what the log must have.
            if let Err(error) = durable.log.reread(&durable.home.log_path()) {
                self.engine = Some(Arc::clone(engine));
                drop(current);
                self.stop_writing(error.clone());
                return Err(error);
            }
        }
        *current = Err(KvError::Closed);
        let occasion = Occasion::Return { number: durable.log.number() };
        let opened = open_engine(&durable.home, &mut durable.log, &self.config, occasion);
        *current = opened.map(|(engine, _)| engine);
        match &*current {
            Ok(engine) => {
                self.engine = Some(Arc::clone(engine));
                self.writes = 0;
                engine.frozen().map_or(Ok(()), Err)
            }
            Err(error) => {
                let error = error.clone();
                drop(current);
                // Where the log was read to is all that another attempt would expect of it.
                if !matches!(error, KvError::NoSpace) {
                    self.stop_writing(error.clone());
                }
                Err(error)
            }
        }
    }
}

fn wait_for_snapshots(engine: &Arc<Engine>) -> bool {
    let start = Instant::now();
    while Arc::strong_count(engine) > 1 {
        if start.elapsed() >= SNAPSHOTS_WAIT {
            return false;
        }
        thread::park_timeout(Duration::from_millis(1));
    }
    true
}

fn run_job(
    job: &mut dyn Job,
    transaction: &mut Transaction<'_>,
    is_tight: bool,
) -> Result<(), KvError> {
    if is_tight && !job.frees_space() {
        job.refuse(KvError::NoSpace);
        return Ok(());
    }
    let mark = transaction.begin();
    let keep = job.run(transaction);
    if let Some(error) = transaction.failure() {
        return Err(error.clone());
    }
    if keep { Ok(()) } else { transaction.roll_back(mark) }
}

/// Runs the closure and takes its writes back, whatever its result.
#[cfg(any(test, feature = "test-util"))]
fn run_in_vain(
    job: &mut dyn Job,
    transaction: &mut Transaction<'_>,
    is_tight: bool,
) -> Result<(), KvError> {
    if is_tight && !job.frees_space() {
        return Ok(());
    }
    let mark = transaction.begin();
    job.run(transaction);
    transaction.failure().cloned().map_or(Ok(()), Err)?;
    transaction.roll_back(mark)
}
