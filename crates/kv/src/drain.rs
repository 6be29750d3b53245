//! [`Drains`]: the progress of the drain, shared by the committer and the thread that drains.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::layers::Layers;
use crate::log::LOG_FILES;
use crate::shared::Shared;
use crate::{KvConfig, KvError};

/// The tree is tried again this often while it has no space, also without an update: clients stop
/// writing once they see `full`.
const REFUSED_INTERVAL: Duration = Duration::from_millis(500);

/// Everything is drained after so many times the wait of an idle key space, also while some updates come.
const TRICKLE_FACTOR: u32 = 25;

/// A table that was frozen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frozen {
    /// Number of the last record in it.
    pub(super) number: u64,
    /// Bytes that the files of the log have for certain.
    pub(super) log_bytes: [u64; LOG_FILES],
    /// The sequence of the last write in it.
    pub(super) sequence: u64,
}

/// The progress of the drain.
#[derive(Debug, Default)]
pub(super) struct Drains {
    pub(super) thread: Mutex<Option<JoinHandle<()>>>,
    state: Mutex<State>,
    /// Something is to be done.
    work: Condvar,
    /// Something was drained, or nothing will be.
    done: Condvar,
    /// Counts groups.
    written: AtomicU64,
    /// The tree has no space.
    is_blocked: AtomicBool,
    /// The drain waits for an update of its own, or for a mark in the log.
    is_carrying: AtomicBool,
    /// The thread waits for nothing but the next write.
    is_asleep: AtomicBool,
    progress: Mutex<Progress>,
    /// That of a merge of runs.
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

/// The progress of one drain, or merge.
#[derive(Debug, Default)]
struct Progress {
    /// The beginning of the one under way.
    begun: Option<Instant>,
    /// The part of its table that has been drained.
    done: f64,
    /// Duration of the last one of a table that is worth measuring.
    last: Duration,
}

impl Progress {
    /// The time that the drain still takes: as long for the rest as for what is done, and before anything is,
    /// as long as the last one. One that takes longer than that takes as long again.
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
    /// The table that drains, or waits for it.
    frozen: Option<Frozen>,
    /// Groups when it was frozen.
    frozen_at: u64,
    /// Groups when the thread last found that nothing was written.
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
    /// There are tables that nobody reads any more.
    Discarded,
    /// Nothing was written for a while.
    Idle,
    /// Not much was written for a while.
    Trickle,
    Stop,
}

impl Drains {
    /// Notes that a group was committed.
    pub(super) fn written(&self) {
        self.written.fetch_add(1, Ordering::SeqCst);
        if self.is_asleep.load(Ordering::SeqCst) {
            let _state = self.state.lock();
            self.work.notify_one();
        }
    }

    /// Groups so far.
    pub(super) fn groups(&self) -> u64 {
        self.written.load(Ordering::SeqCst)
    }

    /// `true` if the active table, which has `log_bytes` of log, is to be frozen.
    pub(super) fn is_due(&self, layers: &Layers, log_bytes: u64, shared: &Shared) -> bool {
        let config = &shared.config;
        let bytes = layers.active().bytes();
        (log_bytes >= config.log_bytes || bytes >= config.memory_bytes / 2)
            && layers.draining().is_none()
            && !layers.active().is_empty()
    }

    /// A table was frozen.
    pub(super) fn begin(&self, frozen: Frozen) {
        let mut state = self.state.lock();
        state.frozen = Some(frozen);
        state.frozen_at = self.groups();
        drop(state);
        self.work.notify_one();
    }

    /// The table that waits.
    pub(super) fn frozen(&self) -> Option<Frozen> {
        self.state.lock().frozen
    }

    /// The drain of a table begins now.
    pub(super) fn begin_draining(&self) {
        let mut progress = self.progress.lock();
        (progress.begun, progress.done) = (Some(Instant::now()), 0.0);
    }

    /// This part of the table, up to 1, has been drained.
    pub(super) fn drained(&self, part: f64) {
        self.progress.lock().done = part;
    }

    /// This part of a merge, up to 1, has been done. The drains of tables between its parts are part of its time.
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

    /// The table `drained` has been drained. It had so many bytes.
    pub(super) fn end(&self, drained: Frozen, bytes: usize) {
        self.is_blocked.store(false, Ordering::Release);
        let mut progress = self.progress.lock();
        let took = progress.begun.take().map(|begun| begun.elapsed());
        progress.last = took.filter(|_| bytes > 1 << 20).unwrap_or(progress.last);
        drop(progress);
        let mut state = self.state.lock();
        // Since the layers know that it has been drained, the next one may have been frozen.
        if state.frozen.is_some_and(|frozen| frozen.sequence == drained.sequence) {
            state.frozen = None;
        }
        drop(state);
        self.done.notify_all();
    }

    /// The tree has no space, or has some again.
    pub(super) fn set_blocked(&self, is_blocked: bool) {
        self.is_blocked.store(is_blocked, Ordering::Release);
        if is_blocked {
            // However long that lasts: nobody who frees space waits for it.
            self.progress.lock().begun = None;
        }
        self.done.notify_all();
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.is_blocked.load(Ordering::Acquire)
    }

    /// `true` if a table waits, or the thread is to end: what takes long gives up.
    pub(super) fn is_pressing(&self) -> bool {
        let state = self.state.lock();
        state.frozen.is_some() || state.is_stopped
    }

    /// Runs are to be merged, or no more.
    pub(super) fn set_merging(&self, is_merging: bool) {
        self.state.lock().is_merging = is_merging;
        if !is_merging {
            self.done.notify_all();
        }
    }

    /// The drain waits for an update of its own, or for a mark in the log, which nothing may hold up.
    pub(super) fn set_carrying(&self, is_carrying: bool) {
        let state = self.state.lock();
        self.is_carrying.store(is_carrying, Ordering::Release);
        drop(state);
        self.done.notify_all();
    }

    /// `true` while the drain waits for an update of its own, or for a mark in the log.
    pub(super) fn is_carrying(&self) -> bool {
        self.is_carrying.load(Ordering::Acquire)
    }

    /// Waits until the work is done, or for so long.
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

    /// Waits until the tables that wait take no more than `bytes`.
    pub(super) fn wait_for_room(&self, shared: &Shared, bytes: usize) -> Result<(), KvError> {
        loop {
            if self.is_blocked() {
                return Err(KvError::NoSpace);
            }
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
                self.done.wait_for(&mut state, Duration::from_millis(10));
            } else {
                return Ok(());
            }
        }
    }

    /// Lets the thread free tables that nobody reads any more.
    pub(super) fn discarded(&self) {
        let _state = self.state.lock();
        self.work.notify_one();
    }

    /// Lets the thread look whether there is something to do.
    pub(super) fn wake(&self) {
        let mut state = self.state.lock();
        if !state.is_wanted {
            state.is_wanted = true;
            drop(state);
            self.work.notify_one();
        }
    }

    /// Ends the thread.
    pub(super) fn stop(&self) {
        self.state.lock().is_stopped = true;
        self.work.notify_all();
        self.done.notify_all();
        let thread = self.thread.lock().take();
        // A panic has been printed by the hook.
        let _ = thread.map(JoinHandle::join);
    }

    /// Waits for something to do.
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
            // After writing has stopped nothing is drained either.
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
                // Once more: a write that came meanwhile may not have seen it.
                let is_idle = state.idle_at == Some(self.groups());
                if is_idle && shared.discarded.is_empty() {
                    self.work.wait(&mut state);
                } else if is_idle {
                    // Somebody still reads them, and does not tell when that ends.
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

    /// There is still something to do, although nothing is written.
    fn look_again(&self) {
        self.state.lock().idle_at = None;
    }

    /// `true` if a test wants the table to be drained now by the thread that commits.
    pub(super) fn is_due_inline(&self, config: &KvConfig) -> bool {
        let Some(after) = config.drain_after_groups() else { return false };
        let mut state = self.state.lock();
        let is_due = state.is_merging
            || state.frozen.is_some() && self.groups() >= state.frozen_at.saturating_add(after);
        std::mem::take(&mut state.is_wanted) || is_due
    }
}

/// Drains until the key space is closed.
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
