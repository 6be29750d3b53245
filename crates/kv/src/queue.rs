//! The queue of updates for the committer. It is bounded, so that submitters feel back-pressure.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::database::Ahead;
use crate::{KvError, Transaction};

/// Maximum number of queued updates; beyond it [`Queue::push`] blocks.
const WAITING_MAX: usize = 4096;

/// Longest wait of an update over a database for others to be committed with.
const GROUP_WAIT: Duration = Duration::from_millis(2);

/// One update, its types erased.
pub(super) trait Job: Send {
    /// `true` for updates that may use the reserve of space.
    fn frees_space(&self) -> bool;

    /// Rows that were fetched for it ahead.
    fn ahead(&mut self) -> Option<Ahead>;

    /// Runs the closure; its result replaces the result of an earlier run. `false` if its writes
    /// must be rolled back.
    fn run(&mut self, transaction: &mut Transaction<'_>) -> bool;

    /// Fails the update without running it.
    fn refuse(&mut self, error: KvError);

    /// Passes the result, unless it is an error, to the callback: the writes are now as durable as
    /// the key space promises.
    fn committed(&self);

    /// Answers with the update's own result, or with the error that failed the whole group.
    fn acknowledge(self: Box<Self>, group: Result<(), KvError>);
}

/// An update of one closure.
pub(super) struct Update<F, T, E> {
    pub(super) closure: F,
    pub(super) result: Option<Result<T, E>>,
    pub(super) sender: oneshot::Sender<Result<T, E>>,
    pub(super) frees_space: bool,
    /// Called with the result once the writes are committed, before the answer.
    pub(super) then: fn(&T),
    pub(super) ahead: Option<Ahead>,
}

impl<F, T, E> Job for Update<F, T, E>
where
    F: Fn(&mut Transaction<'_>) -> Result<T, E> + Send,
    T: Send,
    E: From<KvError> + Send,
{
    fn frees_space(&self) -> bool {
        self.frees_space
    }

    fn ahead(&mut self) -> Option<Ahead> {
        self.ahead.take()
    }

    fn run(&mut self, transaction: &mut Transaction<'_>) -> bool {
        // A panic fails this update alone: its writes are rolled back as on an error, and the
        // transaction holds no other state of the closure.
        let result = catch_unwind(AssertUnwindSafe(|| (self.closure)(transaction)))
            .unwrap_or_else(|panic| Err(KvError::Panicked(panic_message(&*panic)).into()));
        let is_ok = result.is_ok();
        self.result = Some(result);
        is_ok
    }

    fn refuse(&mut self, error: KvError) {
        self.result = Some(Err(error.into()));
    }

    fn committed(&self) {
        if let Some(Ok(result)) = &self.result {
            (self.then)(result);
        }
    }

    fn acknowledge(self: Box<Self>, group: Result<(), KvError>) {
        let Self { closure, result, sender, .. } = *self;
        let result = match group {
            Ok(()) => result.unwrap_or_else(|| Err(KvError::Closed.into())),
            Err(error) => {
                drop(result);
                Err(error.into())
            }
        };
        // Part of the contract of `Kv::update`: the captures are dropped before the answer is sent.
        drop(closure);
        // The receiver is gone if the `Pending` was dropped; then nobody needs the answer.
        let _ = sender.send(result);
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("?").to_owned()
}

/// The queue between the updating threads and the committer.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    work: Condvar,
    not_full: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Box<dyn Job>>,
    is_closed: bool,
    /// The commit thread has to take the jobs, because no waiting caller leads.
    is_wanted: bool,
    // Threads blocked in `push`.
    blocked: usize,
    /// Groups that are being committed over a database.
    groups: usize,
    /// `true` while a thread waits with a watch for more updates, over a database.
    is_timed: bool,
}

impl State {
    /// `true` if another group is worth a commit of its own. Each costs the database more than its updates do, so
    /// the more groups there are, the more updates wait for the next one, which begins with the end of
    /// another one at the latest.
    fn is_group(&self) -> bool {
        let enough = 1 << self.groups.saturating_sub(1).min(12);
        self.jobs.len() >= if self.is_closed { 1 } else { enough }
    }
}

impl Queue {
    /// Adds a job; waits while the queue is full. Returns the job when the queue is closed. The
    /// caller must commit it or [`wake`](Self::wake) the commit thread.
    pub(super) fn push(&self, job: Box<dyn Job>) -> Result<(), Box<dyn Job>> {
        let mut state = self.state.lock();
        while state.jobs.len() >= WAITING_MAX && !state.is_closed {
            state.blocked += 1;
            // A full queue must be drained by the commit thread: every submitter may be blocked
            // here, so none may lead.
            state.is_wanted = true;
            self.work.notify_one();
            self.not_full.wait(&mut state);
            state.blocked -= 1;
        }
        if state.is_closed {
            return Err(job);
        }
        state.jobs.push_back(job);
        Ok(())
    }

    /// Takes the oldest job.
    pub(super) fn pop(&self) -> Option<Box<dyn Job>> {
        let mut state = self.state.lock();
        let job = state.jobs.pop_front();
        if job.is_some() && state.blocked > 0 {
            self.not_full.notify_one();
        }
        job
    }

    /// Wakes the commit thread if there are jobs.
    pub(super) fn wake(&self) {
        let mut state = self.state.lock();
        if !state.is_wanted && !state.jobs.is_empty() {
            state.is_wanted = true;
            drop(state);
            self.work.notify_one();
        }
    }

    /// Waits until the commit thread is wanted. `false` when the queue is closed and empty.
    pub(super) fn wait(&self) -> bool {
        let mut state = self.state.lock();
        loop {
            if state.is_closed {
                return !state.jobs.is_empty();
            }
            if std::mem::take(&mut state.is_wanted) && !state.jobs.is_empty() {
                return true;
            }
            self.work.wait(&mut state);
        }
    }

    /// Wakes a thread for another group of updates over a database, or for the wait for more of them.
    pub(super) fn wake_group(&self) {
        let state = self.state.lock();
        let is_wanted = state.is_group() || (!state.jobs.is_empty() && !state.is_timed);
        drop(state);
        if is_wanted {
            self.work.notify_one();
        }
    }

    /// Waits for a group of at most `max` updates over a database. `None` when the queue is closed and empty. The
    /// caller calls [`Queue::end_group`] once it is committed.
    pub(super) fn begin_group(&self, max: usize) -> Option<Vec<Box<dyn Job>>> {
        let mut state = self.state.lock();
        while !state.is_group() {
            if state.is_closed {
                return None;
            }
            if state.jobs.is_empty() || state.is_timed {
                self.work.wait(&mut state);
                continue;
            }
            // The groups under way may take long: for the answer of a database that does not come, or for a
            // claim of another process.
            state.is_timed = true;
            let waited = self.work.wait_for(&mut state, GROUP_WAIT);
            state.is_timed = false;
            if waited.timed_out() && !state.jobs.is_empty() {
                break;
            }
        }
        state.groups += 1;
        let count = state.jobs.len().min(max);
        let jobs = state.jobs.drain(..count).collect();
        if state.blocked > 0 {
            self.not_full.notify_all();
        }
        if state.is_group() {
            self.work.notify_one();
        }
        Some(jobs)
    }

    /// Notes that a group is committed.
    pub(super) fn end_group(&self) {
        self.state.lock().groups -= 1;
    }

    /// Refuses further jobs. The commit thread finishes the queued ones, and ends.
    pub(super) fn close(&self) {
        self.state.lock().is_closed = true;
        self.work.notify_all();
        self.not_full.notify_all();
    }
}
