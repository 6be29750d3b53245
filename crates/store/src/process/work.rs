//! Waking and stopping the reclaimer.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::{Guard, Shared, Sleeper};

/// The wake-ups of the reclaimer.
#[derive(Debug, Default)]
pub(crate) struct Work {
    state: Mutex<WorkState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct WorkState {
    is_wanted: bool,
    is_stopped: bool,
    /// `true` if an entry of the queue is pinned, so that the end of a pin is work.
    is_waiting: bool,
}

impl Work {
    /// Wakes the reclaimer: its queue has an entry.
    pub(crate) fn wake(&self) {
        // Under the lock, so that no wake-up is lost between the reclaimer's look and its wait.
        self.state.lock().is_wanted = true;
        self.changed.notify_one();
    }

    /// Wakes the reclaimer if it waits for the end of a pin.
    pub(crate) fn wake_if_waiting(&self) {
        let mut state = self.state.lock();
        if state.is_waiting {
            state.is_wanted = true;
            self.changed.notify_one();
        }
    }

    pub(crate) fn set_waiting(&self, is_waiting: bool) {
        self.state.lock().is_waiting = is_waiting;
    }

    fn stop(&self) {
        self.state.lock().is_stopped = true;
        self.changed.notify_all();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.state.lock().is_stopped
    }

    /// Waits for `duration`, or until the reclaimer must stop.
    pub(crate) fn pause(&self, duration: Duration) {
        let mut state = self.state.lock();
        self.changed.wait_while_for(&mut state, |state| !state.is_stopped, duration);
    }

    /// Waits until there is work, at most for `timeout` if given. `false` if the reclaimer must
    /// stop.
    pub(crate) fn wait(&self, timeout: Option<Duration>) -> bool {
        let is_idle = |state: &mut WorkState| !state.is_wanted && !state.is_stopped;
        let mut state = self.state.lock();
        if let Some(timeout) = timeout {
            self.changed.wait_while_for(&mut state, is_idle, timeout);
        } else {
            self.changed.wait_while(&mut state, is_idle);
        }
        // Cleared before the work, so that an entry queued during it causes another turn.
        state.is_wanted = false;
        !state.is_stopped
    }
}

/// The reclaimer's thread.
#[derive(Debug)]
pub(crate) struct Worker {
    thread: JoinHandle<()>,
}

impl Worker {
    pub(crate) fn new(thread: JoinHandle<()>) -> Self {
        Self { thread }
    }

    /// Stops the thread and waits for its end.
    pub(crate) fn stop(self, work: &Work) {
        work.stop();
        let Self { thread } = self;
        // The thread itself may hold the last handle of the store, and must not join itself.
        if thread.thread().id() != thread::current().id() {
            // The panic hook has reported a panic of the thread already.
            let _ = thread.join();
        }
    }
}

/// Wakes the reclaimer when dropped, which must be after the commit that filled its queue.
///
/// The transaction returns it with its result. Dropped without a commit, it causes a spurious
/// wake-up, which is harmless: the reclaimer reads the queue.
#[derive(Debug)]
pub(crate) struct WakeReclaimer {
    shared: Option<Arc<Shared>>,
}

impl WakeReclaimer {
    /// For a transaction that has queued content for deletion.
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self::if_queued(true, shared)
    }

    /// For a transaction that may have queued content for deletion.
    pub(crate) fn if_queued(is_queued: bool, shared: &Arc<Shared>) -> Self {
        Self { shared: is_queued.then(|| Arc::clone(shared)) }
    }
}

impl Guard for WakeReclaimer {}

impl Drop for WakeReclaimer {
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            shared.cluster.wake(Sleeper::Reclaimer);
        }
    }
}
