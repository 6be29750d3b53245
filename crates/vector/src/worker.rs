//! The background thread that makes codes: one for all indexes of the process.
//!
//! An index with work is in the queue once. The thread does one step of the first index, some
//! milliseconds long, and requeues it behind the others while it has more work. It ends after some
//! idle time, and is started again by the next work. It holds an index only during a step (the
//! queue has weak references), so dropping an index closes it: the owner waits for the end of that
//! step only.
//!
//! ```text
//! begin ──► queue ──► step ──► more work: back of the queue
//!             ▲         │
//!             └─────────┘      none, or the index was dropped: forgotten
//! ```

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Idle time after which the thread ends.
const IDLE: Duration = Duration::from_secs(2);

/// Work that is done step by step.
pub(crate) trait Work: Send + Sync + 'static {
    /// Does a part of the work; `false` if none is left for now.
    fn step(&self) -> bool;
}

struct Worker {
    state: Mutex<State>,
    /// Notified when work is queued, and when a step ends.
    changed: Condvar,
}

struct State {
    queue: VecDeque<Weak<dyn Work>>,
    /// Address of the index whose step is running.
    current: Option<usize>,
    is_running: bool,
}

static WORKER: Worker = Worker {
    state: Mutex::new(State { queue: VecDeque::new(), current: None, is_running: false }),
    changed: Condvar::new(),
};

/// Queues `work` until its step returns `false`.
pub(crate) fn begin<W: Work>(work: &Arc<W>) {
    let work: Arc<dyn Work> = Arc::clone(work) as Arc<dyn Work>;
    let mut state = WORKER.state.lock();
    if state.queue.iter().any(|queued| queued.as_ptr().addr() == address(&work)) {
        return;
    }
    state.queue.push_back(Arc::downgrade(&work));
    if !state.is_running {
        let thread = std::thread::Builder::new().name("vector-codes".to_owned());
        // Without the thread searches are slower; the next call tries again.
        state.is_running = thread.spawn(|| WORKER.run()).is_ok();
    }
    drop(state);
    WORKER.changed.notify_all();
}

/// Removes `work` from the queue, and waits for the end of its running step.
pub(crate) fn end<W: Work>(work: &Arc<W>) {
    let address = Arc::as_ptr(work).addr();
    let mut state = WORKER.state.lock();
    state.queue.retain(|queued| queued.as_ptr().addr() != address);
    while state.current == Some(address) {
        WORKER.changed.wait(&mut state);
        // The step may have requeued itself in the meantime.
        state.queue.retain(|queued| queued.as_ptr().addr() != address);
    }
}

/// `true` while `work` is queued, or a step of it is running.
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
            // A panic in one index must not stop the thread for the others.
            let step = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work.step()));
            // Dropped before `current` is cleared: the owner that waits in `end` must be the last
            // holder.
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
