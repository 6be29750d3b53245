//! The [`Committer`]: group commit, freezing of tables, and refusals on a full disk. The thread
//! that holds its lock is the only writer.
//!
//! # The states of an update
//! ```text
//!            update()        run jobs         append()         sync_data()       publish
//!  closure ───────────► queued ──────────► staged ──────────► logged ──────────► durable ──────► visible
//!                                            │                  │       (at os: later,              │
//!                             Err or panic   │                  │        with a mark)          acknowledged
//!                             of the closure ▼                  ▼ fails
//!                                        taken back         the whole group fails
//! ```
//! *Staged* writes are in the active table, with sequences that no snapshot sees, and in the record
//! of the group, together with the attachments that they *note*. Nothing is acknowledged or visible
//! before the log has the record: a crash leaves the whole group or none of it. An update that
//! meets a damaged page of the tree fails alone.
//!
//! # The states of writing
//! ```text
//!              free space < reserve                      the tree found no space
//!   writing ◄──────────────────────► refusing: NoSpace ◄──────────────────────── writing
//!      │            space again        (freeing updates    space again, snapshots ended:
//!      │                                still run)         tree reopened, drained again
//!      │ any other failure of log or tree
//!      ▼
//!   poisoned: reads go on, no update runs until the store is opened again
//! ```
//! `Shared::refusal` holds the state: `None`, `NoSpace` or `Poisoned`.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use liteio_disk::Durability;

use crate::drain::Frozen;
use crate::follow::Follower;
use crate::layers::Layers;
use crate::local::Stage;
use crate::log::{Log, ToSync};
use crate::pace::Pace;
use crate::queue::Job;
use crate::shared::Shared;
use crate::transaction::Transaction;
use crate::{Attachments, KvError};

/// Updates in one group. They share one record and one sync.
const GROUP_UPDATES_MAX: usize = 512;
/// Bytes of log record after which a group takes no more updates.
const GROUP_BYTES_MAX: usize = 1 << 20;
/// Minimum interval between two polls of the free space, each of which is a system call.
const SPACE_INTERVAL: Duration = Duration::from_millis(50);

/// The state of the writer.
#[derive(Debug)]
pub(super) struct Committer {
    /// The write-ahead log; `None` in memory.
    pub(super) log: Option<Log>,
    stage: Stage,
    pace: Pace,
    free_bytes: u64,
    space_asked: Option<Instant>,
}

/// Updates that have run, to be answered once the lock is free: dropping a closure may drop the
/// last handle and so close the key space.
pub(super) struct Answers {
    first: Box<dyn Job>,
    others: Vec<Box<dyn Job>>,
    result: Result<(), KvError>,
}

impl Answers {
    pub(super) fn send(self) {
        let Self { first, others, result } = self;
        if result.is_ok() {
            // Called in the order of the writes of this group. Calling them under the lock would
            // keep the order of groups, too, but a callback that updates would deadlock.
            first.committed();
            others.iter().for_each(|job| job.committed());
        }
        for job in others {
            job.acknowledge(result.clone());
        }
        first.acknowledge(result);
    }
}

impl Committer {
    /// A committer whose next write follows `sequence`; everything up to `sequence` is published.
    pub(super) fn new(log: Option<Log>, sequence: u64, durability: Durability) -> Self {
        let (stage, pace) = (Stage::new(sequence, durability), Pace::default());
        Self { log, stage, pace, free_bytes: u64::MAX, space_asked: None }
    }

    /// Group commit: runs `first` and the updates queued behind it, and makes them durable together.
    pub(super) fn group(&mut self, shared: &Shared, first: Box<dyn Job>) -> Answers {
        let mut answers = Answers { first, others: Vec::new(), result: Ok(()) };
        answers.result = self.try_group(shared, &mut answers);
        answers
    }

    fn try_group(&mut self, shared: &Shared, answers: &mut Answers) -> Result<(), KvError> {
        let is_tight = self.prepare_to_write(shared)?;
        let mut layers = shared.layers()?;
        // Freeze before staging: the writes of one group must lie in one table and one log file.
        if shared.drains.is_due(&layers, self.log.as_ref().map_or(0, Log::bytes), shared) {
            self.freeze(shared, u64::MAX);
            layers = shared.layers()?;
        }
        // The active table has grown since the last drain, so tables kept as a cache may have to
        // go.
        let memory_bytes = shared.config.memory_bytes;
        if layers.memory() > memory_bytes
            && shared.change_layers(|layers| layers.trimmed(memory_bytes))
        {
            layers = shared.layers()?;
            shared.drains.discarded();
        }
        // Waiting with the lock held is the back-pressure: updates queue up behind it, then
        // `Queue::push` blocks.
        self.pace.wait_for_room(shared, &layers)?;
        let before = layers.active().bytes();
        self.stage(shared, &layers, answers, is_tight);
        if self.stage.record.operations() == 0 {
            return Ok(());
        }
        // Attachments first: the record must not become durable without them. After an error nothing
        // of the group is in the log, and what is wrong with the disk is the disk's to remember.
        let attachments = shared.config.attachments.as_deref();
        let written = attachments.map_or(Ok(()), |it| self.stage.write_attachments(it));
        if let Err(error) = written {
            self.stage.take_back(&layers);
            return Err(match error {
                KvError::Io(error) => KvError::Attachment(error),
                other => other,
            });
        }
        // Log: at `fsync` the record is durable afterwards. A failed append leaves no whole record.
        // After a failed sync a restart may still find the record.
        if let Err(error) = self.append(shared) {
            self.stage.take_back(&layers);
            // `NoSpace` means that the append failed as a whole and may be retried. After any other
            // error the state of the file is unknown, so writing stops.
            if !matches!(error, KvError::NoSpace) {
                shared.stop_writing(&error);
            }
            return Err(error);
        }
        // Publish: `Release` pairs with the `Acquire` in `Shared::snapshot`, so a reader that sees
        // the sequence sees the entries. Publishing before the append would show writes that a
        // crash undoes.
        shared.published.store(self.stage.sequence, Ordering::Release);
        self.stage.learner.look(&layers, self.stage.sequence);
        shared.drains.written();
        shared.counters.committed(answers.others.len() + 1);
        self.pace.grown(layers.active().bytes() - before);
        Ok(())
    }

    fn append(&mut self, shared: &Shared) -> Result<(), KvError> {
        let Some(log) = &mut self.log else { return Ok(()) };
        let is_synced = shared.config.durability == Durability::Fsync;
        let sync = log.append(&mut self.stage.record, is_synced)?;
        shared.counters.appended(log.bytes(), sync);
        shared.followers.appended(log.number(), &self.stage.record);
        // The syncer owes a sync for a record that is not durable itself, or whose attachments are
        // not.
        if !is_synced || self.stage.record.notes() > 0 {
            shared.syncs.appended(log.number(), shared.config.attachments.as_deref());
        }
        Ok(())
    }

    /// Runs the first update, then the updates queued behind it, up to the limits of a group.
    fn stage(&mut self, shared: &Shared, layers: &Layers, answers: &mut Answers, is_tight: bool) {
        self.stage.clear();
        let mut transaction = Transaction::new(layers, &mut self.stage);
        run_job(shared, &mut *answers.first, &mut transaction, is_tight);
        while answers.others.len() + 1 < GROUP_UPDATES_MAX
            && transaction.record_bytes() < GROUP_BYTES_MAX
        {
            let Some(mut job) = shared.queue.pop() else { break };
            run_job(shared, &mut *job, &mut transaction, is_tight);
            answers.others.push(job);
        }
    }

    /// Freezes the active table: a new one is placed on top, and the frozen one is handed to the
    /// drain. No table may be draining. The log files may be truncated to `log_bytes` afterwards.
    pub(super) fn freeze(&mut self, shared: &Shared, log_bytes: u64) {
        // Changes the current layers rather than a copy taken earlier: a merge may just have
        // replaced them.
        if !shared.change_layers(|layers| Some(layers.frozen())) {
            return;
        }
        let (number, log_bytes) = match &mut self.log {
            Some(log) => {
                // The durable size of the old file is read before the switch; the drain stores it
                // in the checkpoint, so recovery can tell a truncated file.
                let durable_bytes = log.durable_bytes().map(|bytes| bytes.min(log_bytes));
                log.switch();
                (log.number(), durable_bytes)
            }
            None => (0, Default::default()),
        };
        shared.drains.begin(Frozen { number, log_bytes, sequence: self.stage.sequence });
    }

    /// Appends the watermark `number`: the attachments of all records up to it are durable. Returns
    /// the files to sync, so that the caller can sync them without the lock.
    pub(super) fn mark(&mut self, shared: &Shared, number: u64) -> Result<ToSync, KvError> {
        if let Some(error) = shared.poisoned() {
            return Err(error);
        }
        let Some(log) = &mut self.log else {
            return Ok(ToSync { files: Vec::new(), number });
        };
        self.stage.record.clear();
        self.stage.record.mark(number);
        match log.append(&mut self.stage.record, false) {
            Ok(_) => {
                shared.followers.passed(log.number());
                Ok(log.take_unsynced())
            }
            Err(error) => {
                if !matches!(error, KvError::NoSpace) {
                    shared.stop_writing(&error);
                }
                Err(error)
            }
        }
    }

    /// Starts following behind the newest record; `None` in memory, where records have no numbers.
    pub(super) fn follow(&self, shared: &Shared, bytes_max: usize) -> Option<Follower> {
        Some(shared.followers.add(self.log.as_ref()?.number(), bytes_max))
    }

    /// `true` when less than the reserve is free, so that only updates that free space may run.
    ///
    /// # Errors
    /// The error with which all updates are refused.
    pub(super) fn prepare_to_write(&mut self, shared: &Shared) -> Result<bool, KvError> {
        if let Some(error) = shared.poisoned() {
            return Err(error);
        }
        let is_blocked = shared.drains.is_blocked();
        if is_blocked {
            // The tree ran out of space: let the drain thread check whether there is space again.
            shared.drains.wake();
        }
        let is_tight = is_blocked || self.free_bytes(shared) < shared.config.reserve_bytes;
        shared.set_refusal(is_tight.then_some(KvError::NoSpace));
        Ok(is_tight)
    }

    /// Free bytes of the device, at most `SPACE_INTERVAL` old.
    pub(super) fn free_bytes(&mut self, shared: &Shared) -> u64 {
        let Some(home) = &shared.home else { return u64::MAX };
        if self.space_asked.is_none_or(|asked| asked.elapsed() >= SPACE_INTERVAL) {
            self.space_asked = Some(Instant::now());
            // If the free space is unknown, do not refuse: the write itself fails if there is none.
            self.free_bytes = home.disk.free_bytes().unwrap_or(u64::MAX);
        }
        self.free_bytes
    }
}

fn run_job(shared: &Shared, job: &mut dyn Job, transaction: &mut Transaction<'_>, is_tight: bool) {
    if is_tight && !job.frees_space() {
        job.refuse(KvError::NoSpace);
        return;
    }
    // Runs the closure once and rolls its writes back, to reveal closures that must not run twice.
    #[cfg(any(test, feature = "test-util"))]
    if shared.config.runs_twice {
        let savepoint = transaction.begin();
        job.run(transaction);
        transaction.roll_back(savepoint);
    }
    let savepoint = transaction.begin();
    let keeps = match run(shared, job, transaction) {
        Ok(keeps) => keeps,
        Err(error) => {
            job.refuse(error);
            false
        }
    };
    // A failed read or write fails the update even if its closure returned `Ok`: it may have acted
    // on wrong data.
    if let Some(error) = transaction.failure().cloned() {
        job.refuse(error);
        transaction.roll_back(savepoint);
    } else if !keeps {
        transaction.roll_back(savepoint);
    }
}

/// Runs the closure of a job. `false` if its writes must be rolled back.
#[cfg(not(any(test, feature = "test-util")))]
#[inline]
fn run(_: &Shared, job: &mut dyn Job, on: &mut Transaction<'_>) -> Result<bool, KvError> {
    Ok(job.run(on))
}

/// Runs the closure of a job, in pieces if a test wants that.
#[cfg(any(test, feature = "test-util"))]
fn run(shared: &Shared, job: &mut dyn Job, on: &mut Transaction<'_>) -> Result<bool, KvError> {
    match &shared.fetching {
        None => Ok(job.run(on)),
        Some(fetching) => crate::replay::run(fetching, job, on),
    }
}

/// Makes durable the attachments of all records so far.
pub(super) fn sync_attachments(attachments: Option<&Arc<dyn Attachments>>) -> Result<(), KvError> {
    attachments.map_or(Ok(()), |attachments| attachments.sync()).map_err(KvError::from)
}
