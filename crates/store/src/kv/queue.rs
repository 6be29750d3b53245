//! The queue of updates for the committer; it is bounded, so that submitters feel back-pressure.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use super::{KvError, Transaction};

/// Updates that wait; more block in [`Queue::push`].
const WAITING_MAX: usize = 4096;

/// One update, its types erased.
pub(super) trait Job: Send {
    /// `true` for updates that may use the reserve of space.
    fn frees_space(&self) -> bool;

    /// Runs the closure; its result replaces that of an earlier run. `false` if its writes must be rolled
    /// back.
    fn run(&mut self, transaction: &mut Transaction<'_>) -> bool;

    /// Fails it without running it.
    fn refuse(&mut self, error: KvError);

    /// Answers: with its own result, or with the error that failed the whole group.
    fn acknowledge(self: Box<Self>, group: Result<(), KvError>);
}

/// An update of one closure.
pub(super) struct Update<F, T, E> {
    pub(super) closure: F,
    pub(super) result: Option<Result<T, E>>,
    pub(super) sender: oneshot::Sender<Result<T, E>>,
    pub(super) frees_space: bool,
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

    fn run(&mut self, transaction: &mut Transaction<'_>) -> bool {
        // A panic is this update's failure alone: its writes are taken back like those of an error,
        // and the transaction holds no other state of the closure.
        let result = catch_unwind(AssertUnwindSafe(|| (self.closure)(transaction)))
            .unwrap_or_else(|panic| Err(KvError::Panicked(panic_message(&*panic)).into()));
        let is_ok = result.is_ok();
        self.result = Some(result);
        is_ok
    }

    fn refuse(&mut self, error: KvError) {
        self.result = Some(Err(error.into()));
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
        // The closure's captures are dropped before the answer is sent.
        drop(closure);
        // Nobody waits for an update whose `Pending` was dropped.
        let _ = sender.send(result);
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("?").to_owned()
}

/// The outcome of [`Queue::pop`].
pub(super) enum Popped {
    Job(Box<dyn Job>),
    /// The deadline passed.
    TimedOut,
    /// The queue is closed and empty.
    Closed,
}

/// The queue between the updating threads and the committer.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    not_empty: Condvar,
    not_full: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Box<dyn Job>>,
    is_closed: bool,
    /// The committer waits: only then a push has to wake it.
    is_idle: bool,
    blocked: usize,
}

impl Queue {
    /// Adds a job; waits while the queue is full. Gives it back when the queue is closed.
    pub(super) fn push(&self, job: Box<dyn Job>) -> Result<(), Box<dyn Job>> {
        let mut state = self.state.lock();
        while state.jobs.len() >= WAITING_MAX && !state.is_closed {
            state.blocked += 1;
            self.not_full.wait(&mut state);
            state.blocked -= 1;
        }
        if state.is_closed {
            return Err(job);
        }
        state.jobs.push_back(job);
        let wake = std::mem::take(&mut state.is_idle);
        drop(state);
        if wake {
            self.not_empty.notify_one();
        }
        Ok(())
    }

    /// Waits for a job, until the deadline.
    pub(super) fn pop(&self, deadline: Option<Instant>) -> Popped {
        let mut state = self.state.lock();
        loop {
            if let Some(job) = self.take(&mut state) {
                return Popped::Job(job);
            }
            if state.is_closed {
                return Popped::Closed;
            }
            state.is_idle = true;
            match deadline {
                None => self.not_empty.wait(&mut state),
                Some(deadline) => {
                    let timed_out = self.not_empty.wait_until(&mut state, deadline).timed_out();
                    if timed_out && state.jobs.is_empty() && !state.is_closed {
                        state.is_idle = false;
                        return Popped::TimedOut;
                    }
                }
            }
        }
    }

    /// A job that already waits.
    pub(super) fn try_pop(&self) -> Option<Box<dyn Job>> {
        self.take(&mut self.state.lock())
    }

    fn take(&self, state: &mut State) -> Option<Box<dyn Job>> {
        let job = state.jobs.pop_front();
        if job.is_some() && state.blocked > 0 {
            self.not_full.notify_one();
        }
        job
    }

    /// Refuses further jobs. The committer finishes those that wait, and ends.
    pub(super) fn close(&self) {
        self.state.lock().is_closed = true;
        self.not_empty.notify_all();
        self.not_full.notify_all();
    }
}
