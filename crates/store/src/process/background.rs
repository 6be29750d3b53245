//! Calling and stopping a background thread, and the state that it shows.

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
    /// Waits for `duration`, or until there is a call. `false` if the thread must stop.
    pub(crate) fn wait(&self, duration: Duration) -> bool {
        let mut state = self.state.lock();
        let is_idle =
            |state: &mut CallState<S>| !state.is_stopped && !self.is_asked.load(Ordering::Relaxed);
        self.changed.wait_while_for(&mut state, is_idle, duration);
        !state.is_stopped
    }

    /// Waits for `duration`. Ends early, with an error, if the thread must stop.
    pub(crate) fn pause(&self, duration: Duration) -> Result<(), StoreError> {
        let mut state = self.state.lock();
        self.changed.wait_while_for(&mut state, |state| !state.is_stopped, duration);
        if state.is_stopped { Err(StoreError::Closed) } else { Ok(()) }
    }

    /// Publishes the state of the thread.
    pub(crate) fn show(&self, state: &S) {
        self.state.lock().shown.clone_from(state);
    }

    pub(crate) fn shown(&self) -> S {
        self.state.lock().shown.clone()
    }

    /// Requests work.
    pub(crate) fn ask(&self) {
        self.is_asked.store(true, Ordering::Relaxed);
        // Taking the lock orders this call against the waiter: it either sees the flag, or waits
        // already and gets the notification. Otherwise the call could fall between its check and
        // its wait, and be lost.
        drop(self.state.lock());
        self.changed.notify_all();
    }

    /// Stops the thread, without waiting for its end.
    pub(crate) fn stop(&self) {
        self.state.lock().is_stopped = true;
        self.changed.notify_all();
    }

    /// `true` once per request, however many calls there were.
    pub(crate) fn take_call(&self) -> bool {
        self.is_asked.swap(false, Ordering::Relaxed)
    }
}

/// The thread and its calls.
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

    /// Stops the thread and waits for its end.
    pub(crate) fn stop(self) {
        self.calls.stop();
        // The thread itself may hold the last handle of the store, and must not join itself.
        if self.thread.thread().id() != thread::current().id() {
            // The panic hook has reported a panic of the thread already.
            let _ = self.thread.join();
        }
    }
}
