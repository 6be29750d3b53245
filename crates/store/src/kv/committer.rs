//! The one thread that writes: groups, the log, checkpoints, and the return from a full disk.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::RwLock;

use super::commit::Shared;
use super::engine::{Checkpoint, Engine};
use super::home::{Home, open_engine};
use super::log::{Log, Record, new_nonce};
use super::queue::{Job, Popped, Queue};
use super::sync::Syncs;
use super::transaction::Undo;
use super::{Attachments, KvConfig, KvError, Transaction};
use crate::Durability;

/// Updates in one group.
const GROUP_UPDATES_MAX: usize = 512;
/// Bytes of log record after which a group takes no more updates.
const GROUP_BYTES_MAX: usize = 1 << 20;
/// Free space is asked for at most this often.
const SPACE_INTERVAL: Duration = Duration::from_millis(50);
/// A checkpoint that is due is put off for a sync of attachments until there is this many times as
/// much to replay.
const CHECKPOINT_DELAY_FACTOR_MAX: u64 = 4;
/// While a full disk refuses updates, it is looked at this often for space, also without an update:
/// whoever was told that the store is full may send none before it is told otherwise.
const REFUSED_INTERVAL: Duration = Duration::from_millis(500);
/// Of an engine without snapshots: the committer's and that of [`Shared`].
const OWN_REFERENCES: usize = 2;
/// How long snapshots are waited for before the database is opened again.
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
    pub(super) fn open(home: Home, config: KvConfig) -> Result<Self, KvError> {
        if !home.exists()? {
            home.create(&config)?;
        }
        let mut log = Log::open(&*home.disk, &home.log_path(), config.log_bytes)?;
        let engine = open_engine(&home, &mut log, &config, config.attachments.as_deref())?;
        if let Some(error) = engine.frozen() {
            return Err(error);
        }
        let durable = Durable { home, log, free_bytes: u64::MAX, space_asked: None };
        Ok(Self::new(engine, Some(durable), config))
    }

    pub(super) fn memory(config: KvConfig) -> Result<Self, KvError> {
        let engine = Engine::memory(config.engine, config.cache_bytes)?;
        engine.checkpoint(&Checkpoint { number: 0, nonce: [0; 16] })?;
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
        // A snapshot that outlives the key space closes redb, which writes, when the files may belong
        // to somebody else.
        if self.writes > 0 || Arc::strong_count(&engine) > OWN_REFERENCES {
            engine.close_without_checkpoint();
        }
    }

    /// When there is something to do without an update.
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
            // What is still wrong stands in the refusal.
            let _ = self.prepare_to_write();
        }
        if self.writes > 0 && self.shared.syncs.allow_checkpoint(self.config.attachments.as_deref())
        {
            self.checkpoint();
            self.extend_log();
        }
    }

    /// Writes the rest of the log in advance, while nobody waits: records in space that is already
    /// there are synced faster.
    fn extend_log(&mut self) {
        let Some(durable) = self.durable.as_mut().filter(|_| self.writes == 0) else { return };
        match durable.log.preallocate(self.config.log_bytes) {
            // Without the space the log goes on with what it has.
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
        // Syncing the attachments may take long, and is done beside the commits as long as it can.
        let allow = || self.shared.syncs.allow_checkpoint(self.config.attachments.as_deref());
        if is_over(CHECKPOINT_DELAY_FACTOR_MAX) || (is_over(1) && allow()) {
            self.checkpoint();
        }
    }

    /// Makes the log durable, with a mark: the attachments of all records up to `number` are.
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

    /// Returns to writing if that has become possible, and says whether so little is free that only
    /// updates that free space may run.
    fn prepare_to_write(&mut self) -> Result<bool, KvError> {
        self.return_to_writing()?;
        let is_tight = self.is_tight();
        self.set_refusal(is_tight.then_some(KvError::NoSpace));
        Ok(is_tight)
    }

    /// Runs `first` and what waits behind it, and makes it durable. `jobs` are all that ran; an
    /// error is the answer to every one of them.
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

    /// Leaves in `record` what was written.
    fn run_group(
        &mut self,
        engine: &Engine,
        first: Box<dyn Job>,
        jobs: &mut Vec<Box<dyn Job>>,
        is_tight: bool,
    ) -> Result<(), KvError> {
        jobs.push(first);
        let group = engine.begin()?;
        {
            let table = group.table()?;
            let mut transaction = Transaction::new(table, &mut self.record, &mut self.undo);
            loop {
                if let Some(job) = jobs.last_mut() {
                    run_job(&mut **job, &mut transaction, is_tight)?;
                }
                if jobs.len() >= GROUP_UPDATES_MAX || transaction.record_bytes() >= GROUP_BYTES_MAX
                {
                    break;
                }
                match self.shared.queue.try_pop() {
                    Some(job) => jobs.push(job),
                    None => break,
                }
            }
        }
        if let Some(error) = engine.frozen() {
            return Err(error);
        }
        if self.record.operations() == 0 {
            group.abort()?;
            return Ok(());
        }
        if let Some(durable) = &mut self.durable {
            let sync = self.config.durability == Durability::Fsync;
            durable.log.append(&mut self.record, sync)?;
            if !sync || self.record.notes() > 0 {
                let attachments = self.config.attachments.as_deref();
                self.shared.syncs.appended(durable.log.number(), attachments);
            }
        }
        group.commit().map_err(|error| {
            // The log has the group but its clients hear that it failed: only a restart may decide.
            // Whatever it was, it must not look like a failure that left nothing.
            let error = KvError::Poisoned { reason: error.to_string() };
            *self.shared.refusal.write() = Some(error.clone());
            error
        })
    }

    /// Decides what a failed group means for the next.
    fn assess(&mut self, engine: &Engine, error: &KvError) {
        match error {
            // The log took nothing and the tree is as it was: the next group may try again.
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
        // One look under the shared lock is all that a group costs when nothing changes.
        if self.shared.refusal.read().is_some() != refusal.is_some() {
            *self.shared.refusal.write() = refusal;
        }
    }

    /// Brings the tree up to date, so that the log can start again. A failure shows in the refusal.
    fn checkpoint(&mut self) {
        let Some(engine) = self.engine.clone() else { return };
        if self.writes == 0 || engine.frozen().is_some() || self.is_poisoned() {
            return;
        }
        let result = match &mut self.durable {
            None => engine.checkpoint(&Checkpoint { number: 0, nonce: [0; 16] }),
            Some(durable) => new_nonce().and_then(|nonce| {
                let number = durable.log.number();
                self.config.attachments.as_deref().map_or(Ok(()), Attachments::sync)?;
                engine.checkpoint(&Checkpoint { number, nonce })?;
                durable.log.start(nonce, number);
                self.shared.syncs.synced(number, Instant::now());
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

    /// Whether less than the reserve is free.
    fn is_tight(&mut self) -> bool {
        let Some(durable) = &mut self.durable else { return false };
        if durable.space_asked.is_none_or(|asked| asked.elapsed() >= SPACE_INTERVAL) {
            durable.space_asked = Some(Instant::now());
            // Not knowing is no reason to refuse: a write says it for certain.
            durable.free_bytes = durable.home.disk.free_bytes().unwrap_or(u64::MAX);
        }
        durable.free_bytes < self.config.reserve_bytes
    }

    /// Opens the database again if it is frozen for want of space and there is space now.
    fn return_to_writing(&mut self) -> Result<(), KvError> {
        if self.is_poisoned() {
            return self.shared.refusal.read().clone().map_or(Ok(()), Err);
        }
        if self.engine.as_ref().is_some_and(|engine| engine.frozen().is_none()) {
            return Ok(());
        }
        let health = self.durable.as_ref().and_then(|it| it.home.disk.health().reason());
        if let Some(reason) = health.map(str::to_owned) {
            // Reading what the device lost is for a restart; the frozen engine still has it.
            self.stop_writing(KvError::Poisoned { reason });
            return self.shared.refusal.read().clone().map_or(Ok(()), Err);
        }
        if self.is_tight() {
            return Err(KvError::NoSpace);
        }
        // Then those of the log are all there: there was no crash, and a sync that fails ends writing.
        if let Some(Err(error)) = self.config.attachments.as_deref().map(Attachments::sync) {
            self.stop_writing(error.into());
            return self.shared.refusal.read().clone().map_or(Ok(()), Err);
        }
        let Some(durable) = &mut self.durable else { return Err(KvError::Closed) };
        // No snapshot can begin while this is locked, and those that live must end first: the new
        // database writes where the frozen one still reads.
        let shared = Arc::clone(&self.shared);
        let mut current = shared.engine.write();
        if let Ok(engine) = &*current {
            self.engine = None;
            if !wait_for_snapshots(engine) {
                self.engine = Some(Arc::clone(engine));
                return Err(KvError::NoSpace);
            }
        }
        *current = Err(KvError::Closed);
        *current = open_engine(&durable.home, &mut durable.log, &self.config, None);
        match &*current {
            Ok(engine) => {
                self.engine = Some(Arc::clone(engine));
                self.writes = 0;
                engine.frozen().map_or(Ok(()), Err)
            }
            Err(error) => Err(error.clone()),
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
