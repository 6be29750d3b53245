//! Waking those who tell events.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use super::Shared;

/// A number that grows, and who waits for it to.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    state: Mutex<SignalState>,
}

#[derive(Debug, Default)]
struct SignalState {
    count: u64,
    waiting: Vec<Waker>,
}

impl Signal {
    pub(crate) fn count(&self) -> u64 {
        self.state.lock().count
    }

    fn raise(&self) {
        let waiting = {
            let mut state = self.state.lock();
            state.count += 1;
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Ready once the number is greater than `seen`.
    pub(crate) fn poll_past(&self, seen: u64, context: &Context<'_>) -> Poll<()> {
        let mut state = self.state.lock();
        if state.count > seen {
            return Poll::Ready(());
        }
        if !state.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            state.waiting.push(context.waker().clone());
        }
        Poll::Pending
    }
}

/// Wakes the senders of events when dropped, which must be after the commit that queued one.
#[derive(Debug)]
pub(crate) struct WakeSender {
    shared: Arc<Shared>,
}

impl WakeSender {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::clone(shared) }
    }
}

impl Drop for WakeSender {
    fn drop(&mut self) {
        self.shared.outbox.raise();
    }
}
