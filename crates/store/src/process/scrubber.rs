//! Calling and stopping the thread that scrubs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use serde::{Deserialize, Serialize};

use crate::error::StoreError;

/// How far the scrub is, and what it has found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScrubState {
    /// Begin of the scrub that is under way, in milliseconds since 1970.
    pub begun_ms: Option<u64>,
    /// End of the last one that came to its end.
    pub ended_ms: Option<u64>,
    /// Records that the one under way has read, or the last one.
    pub records: u64,
    /// Damage that it has found.
    pub damaged: u64,
    /// The first damage that it has found, in words.
    pub first_damage: Option<String>,
    /// The last record that was read.
    pub(crate) position: Vec<u8>,
}

/// The calls to the scrubbing thread.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    state: Mutex<CallState>,
    changed: Condvar,
    is_asked: AtomicBool,
}

#[derive(Debug, Default)]
struct CallState {
    is_stopped: bool,
    shown: ScrubState,
}

impl Calls {
    /// Waits for `duration`, or until there is a call. `false` when the thread is to stop.
    pub(crate) fn wait(&self, duration: Duration) -> bool {
        let mut state = self.state.lock();
        let is_idle =
            |state: &mut CallState| !state.is_stopped && !self.is_asked.load(Ordering::Relaxed);
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
    pub(crate) fn show(&self, state: &ScrubState) {
        self.state.lock().shown.clone_from(state);
    }

    pub(crate) fn shown(&self) -> ScrubState {
        self.state.lock().shown.clone()
    }

    /// Asks for a scrub.
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

/// The thread that scrubs.
#[derive(Debug)]
pub(crate) struct Scrubber {
    calls: Arc<Calls>,
    thread: JoinHandle<()>,
}

impl Scrubber {
    pub(crate) fn new(calls: Arc<Calls>, thread: JoinHandle<()>) -> Self {
        Self { calls, thread }
    }

    pub(crate) fn calls(&self) -> &Calls {
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
