//! Calling and stopping a thread that works in the background, and what it shows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::error::StoreError;

/// The calls to a thread, and the state that it shows.
#[derive(Debug, Default)]
pub(crate) struct Calls<S> {
    state: Mutex<CallState<S>>,
    changed: Condvar,
    is_asked: AtomicBool,
}

#[derive(Debug, Default)]
struct CallState<S> {
    is_stopped: bool,
    shown: S,
}

impl<S: Clone> Calls<S> {
    /// Waits for `duration`, or until there is a call. `false` when the thread is to stop.
    pub(crate) fn wait(&self, duration: Duration) -> bool {
        let mut state = self.state.lock();
        let is_idle =
            |state: &mut CallState<S>| !state.is_stopped && !self.is_asked.load(Ordering::Relaxed);
        self.changed.wait_while_for(&mut state, is_idle, duration);
        !state.is_stopped
    }

    /// Waits for `duration`; ends when the thread is to stop.
    pub(crate) fn pause(&self, duration: Duration) -> Result<(), StoreError> {
        let mut state = self.state.lock();
        self.changed.wait_while_for(&mut state, |state| !state.is_stopped, duration);
        if state.is_stopped { Err(StoreError::Closed) } else { Ok(()) }
    }

    /// Shows the state to whoever asks.
    pub(crate) fn show(&self, state: &S) {
        self.state.lock().shown.clone_from(state);
    }

    pub(crate) fn shown(&self) -> S {
        self.state.lock().shown.clone()
    }

    /// Asks for work.
    pub(crate) fn ask(&self) {
        self.is_asked.store(true, Ordering::Relaxed);
        // Not between the thread's look at the call and its wait for it.
        drop(self.state.lock());
        self.changed.notify_all();
    }

    /// `true` once for a call.
    pub(crate) fn take_call(&self) -> bool {
        self.is_asked.swap(false, Ordering::Relaxed)
    }
}

/// The thread.
#[derive(Debug)]
pub(crate) struct Background<S> {
    calls: Arc<Calls<S>>,
    thread: JoinHandle<()>,
}

impl<S: Clone> Background<S> {
    pub(crate) fn new(calls: Arc<Calls<S>>, thread: JoinHandle<()>) -> Self {
        Self { calls, thread }
    }

    pub(crate) fn calls(&self) -> &Calls<S> {
        &self.calls
    }

    /// Stops the thread and waits for it.
    pub(crate) fn stop(self) {
        self.calls.state.lock().is_stopped = true;
        self.calls.changed.notify_all();
        // The thread itself may have held the last handle of the store.
        if self.thread.thread().id() != thread::current().id() {
            // A panic there has been printed by the hook.
            let _ = self.thread.join();
        }
    }
}
