//! The background thread that makes codes: one for all indexes of the process.
//!
//! An index that has work is in the queue once. The thread does one step of the first, some milliseconds long,
//! and puts it back behind the others while there is more. It ends when there has been nothing to do for a
//! while, and begins again with the next work. It holds an index only during a step, so that an index is
//! closed when its owner drops it: the owner waits for the end of that step.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// The time without work after which the thread ends.
const IDLE: Duration = Duration::from_secs(2);

/// Work that is done step by step.
pub(crate) trait Work: Send + Sync + 'static {
    /// Does a part of the work; `false` when there is none left for now.
    fn step(&self) -> bool;
}

struct Worker {
    state: Mutex<State>,
    /// Notified when there is work, and when a step has ended.
    changed: Condvar,
}

struct State {
    queue: VecDeque<Weak<dyn Work>>,
    /// The address of the work whose step is being done.
    current: Option<usize>,
    is_running: bool,
}

static WORKER: Worker = Worker {
    state: Mutex::new(State { queue: VecDeque::new(), current: None, is_running: false }),
    changed: Condvar::new(),
};

/// Lets the thread do `work` until its step returns `false`.
pub(crate) fn begin<W: Work>(work: &Arc<W>) {
    let work: Arc<dyn Work> = Arc::clone(work) as Arc<dyn Work>;
    let mut state = WORKER.state.lock();
    if state.queue.iter().any(|queued| queued.as_ptr().addr() == address(&work)) {
        return;
    }
    state.queue.push_back(Arc::downgrade(&work));
    if !state.is_running {
        let thread = std::thread::Builder::new().name("vector-codes".to_owned());
        // Without the thread searches take longer; the next work tries again.
        state.is_running = thread.spawn(|| WORKER.run()).is_ok();
    }
    drop(state);
    WORKER.changed.notify_all();
}

/// Takes `work` from the queue, and waits for the end of its step if one is being done.
pub(crate) fn end<W: Work>(work: &Arc<W>) {
    let address = Arc::as_ptr(work).addr();
    let mut state = WORKER.state.lock();
    state.queue.retain(|queued| queued.as_ptr().addr() != address);
    while state.current == Some(address) {
        WORKER.changed.wait(&mut state);
        state.queue.retain(|queued| queued.as_ptr().addr() != address);
    }
}

/// `true` while `work` is in the queue, or a step of it is being done.
pub(crate) fn is_busy<W: Work>(work: &Arc<W>) -> bool {
    let address = Arc::as_ptr(work).addr();
    let state = WORKER.state.lock();
    state.current == Some(address)
        || state.queue.iter().any(|queued| queued.as_ptr().addr() == address)
}

fn address(work: &Arc<dyn Work>) -> usize {
    Arc::as_ptr(work).addr()
}

impl Worker {
    fn run(&self) {
        let mut state = self.state.lock();
        loop {
            let Some(first) = state.queue.pop_front() else {
                let waited = self.changed.wait_for(&mut state, IDLE);
                if waited.timed_out() && state.queue.is_empty() {
                    state.is_running = false;
                    return;
                }
                continue;
            };
            let Some(work) = first.upgrade() else { continue };
            state.current = Some(address(&work));
            drop(state);
            let step = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work.step()));
            // Before the owner may go on.
            drop(work);
            state = self.state.lock();
            state.current = None;
            let is_queued = state.queue.iter().any(|queued| Weak::ptr_eq(queued, &first));
            if matches!(step, Ok(true)) && !is_queued {
                state.queue.push_back(first);
            }
            self.changed.notify_all();
        }
    }
}
