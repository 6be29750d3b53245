//! [`Drains`]: the progress of the drain, shared by the committer and the drain thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::layers::Layers;
use crate::log::LOG_FILES;
use crate::shared::Shared;
use crate::{KvConfig, KvError};

/// Interval of the attempts on a tree without space, even without updates: clients stop writing
/// once they see `full`.
const REFUSED_INTERVAL: Duration = Duration::from_millis(500);

/// Multiple of the idle wait after which everything is drained although a few updates still come.
const TRICKLE_FACTOR: u32 = 25;

/// A frozen table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frozen {
    /// Number of its last log record.
    pub(super) number: u64,
    /// Durable sizes of the log files.
    pub(super) log_bytes: [u64; LOG_FILES],
    /// Sequence of its last write.
    pub(super) sequence: u64,
}

/// The progress of the drain.
#[derive(Debug, Default)]
pub(super) struct Drains {
    pub(super) thread: Mutex<Option<JoinHandle<()>>>,
    state: Mutex<State>,
    /// Signalled when there is work.
    work: Condvar,
    /// Signalled when a table was drained, or will not be.
    done: Condvar,
    /// Number of committed groups.
    written: AtomicU64,
    /// The tree has no space.
    is_blocked: AtomicBool,
    /// The drain waits for an update of its own, or for a mark in the log.
    is_carrying: AtomicBool,
    /// The drain thread sleeps until the next write.
    is_asleep: AtomicBool,
    progress: Mutex<Progress>,
    /// The progress of the merge of runs.
    merge: Mutex<Progress>,
}

/// The work that writers may have to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backlog {
    /// The drain of a table.
    Table,
    /// The merge of runs.
    Runs,
}

/// The progress of one drain or merge.
#[derive(Debug, Default)]
struct Progress {
    /// Start of the current one.
    begun: Option<Instant>,
    /// The fraction done, up to 1.
    done: f64,
    /// Duration of the last one that was large enough to measure.
    last: Duration,
}

impl Progress {
    /// An estimate of the remaining time: extrapolated from the fraction done, or, before the first
    /// progress, from the duration of the last one. If that is exceeded, the elapsed time is
    /// expected once more.
    fn time_left(&self, now: Instant) -> Duration {
        let Some(begun) = self.begun else { return self.last };
        let elapsed = now.saturating_duration_since(begun);
        if self.done > 0.0 {
            return elapsed.mul_f64((1.0 - self.done) / self.done);
        }
        self.last.checked_sub(elapsed).unwrap_or(elapsed)
    }
}

#[derive(Debug, Default)]
struct State {
    /// The table that is being drained, or waits for it.
    frozen: Option<Frozen>,
    /// Number of groups when it was frozen.
    frozen_at: u64,
    /// Number of groups when the thread last found the key space idle.
    idle_at: Option<u64>,
    is_wanted: bool,
    is_stopped: bool,
    /// Runs are to be merged.
    is_merging: bool,
}

/// The reason to wake up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wake {
    /// A table waits, or the tree may have space again.
    Work,
    /// There are tables without readers.
    Discarded,
    /// No write for a while.
    Idle,
    /// Few writes for a while.
    Trickle,
    Stop,
}

impl Drains {
    /// Notes that a group was committed.
    pub(super) fn written(&self) {
        self.written.fetch_add(1, Ordering::SeqCst);
        // Checked after the count is increased. The thread sets `is_asleep` and then reads the
        // count; both are `SeqCst`, so one of the two sees the other and no wake-up is lost.
        if self.is_asleep.load(Ordering::SeqCst) {
            // Taking the lock ensures that the thread is already waiting, not about to wait.
            let _state = self.state.lock();
            self.work.notify_one();
        }
    }

    /// Number of groups committed so far.
    pub(super) fn groups(&self) -> u64 {
        self.written.load(Ordering::SeqCst)
    }

    /// `true` if the active table, which has `log_bytes` of log, should be frozen.
    pub(super) fn is_due(&self, layers: &Layers, log_bytes: u64, shared: &Shared) -> bool {
        let config = &shared.config;
        let bytes = layers.active().bytes();
        (log_bytes >= config.log_bytes || bytes >= config.memory_bytes / 2)
            && layers.draining().is_none()
            && !layers.active().is_empty()
    }

    /// Notes that a table was frozen.
    pub(super) fn begin(&self, frozen: Frozen) {
        let mut state = self.state.lock();
        state.frozen = Some(frozen);
        state.frozen_at = self.groups();
        drop(state);
        self.work.notify_one();
    }

    /// The frozen table, if any.
    pub(super) fn frozen(&self) -> Option<Frozen> {
        self.state.lock().frozen
    }

    /// Notes that the drain of a table begins.
    pub(super) fn begin_draining(&self) {
        let mut progress = self.progress.lock();
        (progress.begun, progress.done) = (Some(Instant::now()), 0.0);
    }

    /// Notes that the fraction `part` of the table has been drained.
    pub(super) fn drained(&self, part: f64) {
        self.progress.lock().done = part;
    }

    /// Notes that the fraction `part` of a merge is done. Drains of tables between its parts count
    /// as its time.
    pub(super) fn merged(&self, part: f64) {
        let mut merge = self.merge.lock();
        merge.done = part;
        if part < 1.0 {
            merge.begun.get_or_insert_with(Instant::now);
        } else if let Some(begun) = merge.begun.take() {
            merge.last = begun.elapsed();
        }
    }

    /// An estimate of the time until the work is done.
    pub(super) fn time_left(&self, of: Backlog, now: Instant) -> Duration {
        match of {
            Backlog::Table => self.progress.lock().time_left(now),
            Backlog::Runs => self.merge.lock().time_left(now),
        }
    }

    /// Notes that the table `drained` of `bytes` bytes has been drained.
    pub(super) fn end(&self, drained: Frozen, bytes: usize) {
        self.is_blocked.store(false, Ordering::Release);
        let mut progress = self.progress.lock();
        let took = progress.begun.take().map(|begun| begun.elapsed());
        // Drains of small tables say nothing about the speed of large ones.
        progress.last = took.filter(|_| bytes > 1 << 20).unwrap_or(progress.last);
        drop(progress);
        let mut state = self.state.lock();
        // The layers were changed before this call, so the next table may have been frozen
        // meanwhile.
        if state.frozen.is_some_and(|frozen| frozen.sequence == drained.sequence) {
            state.frozen = None;
        }
        drop(state);
        self.done.notify_all();
    }

    /// Notes that the tree has no space, or has space again.
    pub(super) fn set_blocked(&self, is_blocked: bool) {
        self.is_blocked.store(is_blocked, Ordering::Release);
        if is_blocked {
            // A blocked drain has no end to estimate: updates that free space do not wait for it.
            self.progress.lock().begun = None;
        }
        self.done.notify_all();
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.is_blocked.load(Ordering::Acquire)
    }

    /// `true` if a table waits or the thread should stop: long work gives up.
    pub(super) fn is_pressing(&self) -> bool {
        let state = self.state.lock();
        state.frozen.is_some() || state.is_stopped
    }

    /// Notes whether runs should be merged.
    pub(super) fn set_merging(&self, is_merging: bool) {
        self.state.lock().is_merging = is_merging;
        if !is_merging {
            self.done.notify_all();
        }
    }

    /// Notes that the drain waits for an update of its own, or for a mark in the log. Writers must
    /// not be held up meanwhile.
    pub(super) fn set_carrying(&self, is_carrying: bool) {
        // Changed under the lock of the waiters, so that none misses the notification.
        let state = self.state.lock();
        self.is_carrying.store(is_carrying, Ordering::Release);
        drop(state);
        self.done.notify_all();
    }

    /// `true` while the drain waits for an update of its own, or for a mark in the log.
    pub(super) fn is_carrying(&self) -> bool {
        self.is_carrying.load(Ordering::Acquire)
    }

    /// Waits until the work is done, at most for `wait`.
    pub(super) fn wait_for_end(&self, of: Backlog, wait: Duration) {
        let mut state = self.state.lock();
        let is_over = |state: &State| {
            let is_done = match of {
                Backlog::Table => state.frozen.is_none(),
                Backlog::Runs => !state.is_merging,
            };
            is_done || state.is_stopped || self.is_blocked() || self.is_carrying()
        };
        if let Some(end) = Instant::now().checked_add(wait) {
            while !is_over(&state) && !self.done.wait_until(&mut state, end).timed_out() {}
        }
    }

    /// Waits until the undrained tables take at most `bytes`.
    pub(super) fn wait_for_room(&self, shared: &Shared, bytes: usize) -> Result<(), KvError> {
        loop {
            if self.is_blocked() {
                return Err(KvError::NoSpace);
            }
            // The drain waits for this very committer: proceed above the limit rather than
            // deadlock.
            if self.is_carrying() {
                return Ok(());
            }
            if let Some(error) = shared.poisoned() {
                return Err(error);
            }
            let layers = shared.layers()?;
            if layers.undrained_bytes() <= bytes || layers.draining().is_none() {
                return Ok(());
            }
            drop(layers);
            let mut state = self.state.lock();
            if state.frozen.is_some() && !state.is_stopped && !shared.config.drains_inline() {
                // A timeout as well, because a poisoned store does not signal `done`.
                self.done.wait_for(&mut state, Duration::from_millis(10));
            } else {
                return Ok(());
            }
        }
    }

    /// Wakes the thread to free tables that have no readers.
    pub(super) fn discarded(&self) {
        let _state = self.state.lock();
        self.work.notify_one();
    }

    /// Wakes the thread to look for work.
    pub(super) fn wake(&self) {
        let mut state = self.state.lock();
        if !state.is_wanted {
            state.is_wanted = true;
            drop(state);
            self.work.notify_one();
        }
    }

    /// Stops the thread and waits for it.
    pub(super) fn stop(&self) {
        self.state.lock().is_stopped = true;
        self.work.notify_all();
        self.done.notify_all();
        let thread = self.thread.lock().take();
        // The panic hook has printed a panic.
        let _ = thread.map(JoinHandle::join);
    }

    /// Waits for work.
    fn wait(&self, shared: &Shared) -> Wake {
        let mut state = self.state.lock();
        let mut groups = self.groups();
        let mut waits = 0;
        loop {
            if state.is_stopped {
                return Wake::Stop;
            }
            if shared.discarded.has_unread() {
                return Wake::Discarded;
            }
            // Nothing is drained after writing has stopped.
            let is_waiting = (state.frozen.is_some() || state.is_merging)
                && !self.is_blocked()
                && shared.poisoned().is_none();
            if is_waiting && !shared.config.drains_inline() || std::mem::take(&mut state.is_wanted)
            {
                return Wake::Work;
            }
            let is_refusing = shared.refusal.read().is_some();
            if !is_refusing && state.idle_at == Some(self.groups()) {
                self.is_asleep.store(true, Ordering::SeqCst);
                // Read the count once more: a write before the store above may not have seen
                // `is_asleep`.
                let is_idle = state.idle_at == Some(self.groups());
                if is_idle && shared.discarded.is_empty() {
                    self.work.wait(&mut state);
                } else if is_idle {
                    // Readers of discarded tables do not signal when they end, so look again later.
                    self.work.wait_for(&mut state, shared.config.idle);
                }
                self.is_asleep.store(false, Ordering::SeqCst);
                continue;
            }
            let wait = if is_refusing { REFUSED_INTERVAL } else { shared.config.idle };
            if self.work.wait_for(&mut state, wait).timed_out() {
                if is_refusing {
                    return Wake::Work;
                }
                let now = self.groups();
                waits += 1;
                if std::mem::replace(&mut groups, now) == now {
                    state.idle_at = Some(now);
                    return Wake::Idle;
                }
                if waits == TRICKLE_FACTOR {
                    return Wake::Trickle;
                }
            }
        }
    }

    /// Has the thread look for work again, although nothing is written.
    fn look_again(&self) {
        self.state.lock().idle_at = None;
    }

    /// `true` if a test wants the commit thread to drain the table now.
    pub(super) fn is_due_inline(&self, config: &KvConfig) -> bool {
        let Some(after) = config.drain_after_groups() else { return false };
        let mut state = self.state.lock();
        let is_due = state.is_merging
            || state.frozen.is_some() && self.groups() >= state.frozen_at.saturating_add(after);
        std::mem::take(&mut state.is_wanted) || is_due
    }
}

/// Body of the drain thread: runs until the key space is closed.
pub(super) fn run(shared: &Arc<Shared>) {
    loop {
        match shared.drains.wait(shared) {
            Wake::Stop => return,
            Wake::Work => shared.drainer.lock().step(shared),
            Wake::Discarded => shared.discarded.free_unread(),
            Wake::Trickle => shared.drainer.lock().trickle(shared),
            Wake::Idle => {
                if !shared.drainer.lock().idle(shared) {
                    shared.drains.look_again();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frozen(sequence: u64) -> Frozen {
        Frozen { number: sequence, log_bytes: Default::default(), sequence }
    }

    #[test]
    fn a_table_that_is_frozen_while_a_drain_ends_waits_for_its_own() {
        let drains = Drains::default();
        drains.begin(frozen(1));
        drains.begin_draining();
        drains.begin(frozen(2));
        drains.end(frozen(1), 2 << 20);
        assert_eq!(drains.frozen().map(|it| it.sequence), Some(2));
        drains.begin_draining();
        drains.end(frozen(2), 2 << 20);
        assert!(drains.frozen().is_none());
    }

    #[test]
    fn a_drain_takes_as_long_as_it_takes_for_what_is_done() {
        let begun = Instant::now();
        let seconds = Duration::from_secs;
        let left = |done, elapsed| {
            let progress = Progress { begun: Some(begun), done, last: seconds(5) };
            progress.time_left(begun + elapsed)
        };
        assert_eq!(left(0.0, seconds(2)), seconds(3));
        assert_eq!(left(0.0, seconds(6)), seconds(6), "longer than the last one");
        assert_eq!(left(0.25, seconds(2)), seconds(6));
        assert_eq!(left(1.0, seconds(2)), seconds(0));
        assert_eq!(Progress::default().time_left(begun), seconds(0));
    }
}
