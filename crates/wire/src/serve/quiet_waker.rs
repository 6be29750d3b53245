//! A waker that does not schedule the task that is being polled.
//!
//! `h2` wakes the task of its connection for each answer. Where that task itself gives the answers, and polls the
//! connection once more before it returns, such a wake-up is worth nothing and costs a pass through the scheduler, with
//! another thread that is woken to look for work: 1.2 calls of `futex` and 1.4 of `epoll_wait` for each GET.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Wake, Waker};

use parking_lot::Mutex;

/// Between polls, where a wake-up schedules the task.
const IDLE: u8 = 0;
/// In a round of polls.
const POLLING: u8 = 1;
/// In a round of polls, and woken since it began.
const WOKEN: u8 = 2;

/// The state of a task, and its own waker.
pub(super) struct QuietWaker {
    state: AtomicU8,
    task: Mutex<Waker>,
}

impl QuietWaker {
    pub(super) fn new() -> Arc<QuietWaker> {
        Arc::new(QuietWaker { state: AtomicU8::new(IDLE), task: Mutex::new(Waker::noop().clone()) })
    }

    /// Keeps the waker of the task. Call it when a poll of the task begins, before the first round.
    pub(super) fn keep(&self, context: &Context<'_>) {
        let mut task = self.task.lock();
        if !task.will_wake(context.waker()) {
            task.clone_from(context.waker());
        }
    }

    /// Begins a round: everything that the task waits for is polled after this.
    pub(super) fn begin(&self) {
        // Swapped, not stored: the polls must see what was written before a wake-up that is forgotten here.
        self.state.swap(POLLING, Ordering::SeqCst);
    }

    /// Ends the last round of a poll. If the task was woken since the round began, it is scheduled.
    pub(super) fn end(&self) {
        if self.state.swap(IDLE, Ordering::SeqCst) == WOKEN {
            self.task.lock().wake_by_ref();
        }
    }
}

impl Wake for QuietWaker {
    fn wake(self: Arc<QuietWaker>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<QuietWaker>) {
        let noted = self.state.compare_exchange(POLLING, WOKEN, Ordering::SeqCst, Ordering::SeqCst);
        if noted == Err(IDLE) {
            self.task.lock().wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[derive(Default)]
    struct Counter(AtomicU32);

    impl Wake for Counter {
        fn wake(self: Arc<Counter>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_wake_up_is_lost_only_before_a_round_that_polls_everything() {
        let task = Arc::new(Counter::default());
        let count = || task.0.load(Ordering::SeqCst);
        let quiet = QuietWaker::new();
        let waker = Waker::from(Arc::clone(&quiet));
        quiet.keep(&Context::from_waker(&Waker::from(Arc::clone(&task))));

        quiet.begin();
        waker.wake_by_ref();
        quiet.begin();
        assert_eq!(count(), 0, "the second round sees what woke the task");
        quiet.end();
        assert_eq!(count(), 0);

        quiet.begin();
        waker.wake_by_ref();
        waker.wake_by_ref();
        assert_eq!(count(), 0, "the task is running");
        quiet.end();
        assert_eq!(count(), 1, "after its last round");

        waker.wake_by_ref();
        assert_eq!(count(), 2, "nobody polls");
    }
}
