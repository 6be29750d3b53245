//! Waking the senders of events.

use std::collections::HashMap;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use super::{Guard, Shared, Sleeper};
use crate::meta::event::{Event, EventObserver};

/// A growing counter per name, with the tasks that wait for it to grow.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    by_name: Mutex<HashMap<String, Signal>>,
}

#[derive(Debug, Default)]
struct Signal {
    count: u64,
    waiting: Vec<Waker>,
}

impl Signals {
    pub(crate) fn count(&self, name: &str) -> u64 {
        self.by_name.lock().get(name).map_or(0, |signal| signal.count)
    }

    pub(super) fn raise(&self, name: &str) {
        let waiting = {
            let mut by_name = self.by_name.lock();
            let signal = match by_name.get_mut(name) {
                Some(signal) => signal,
                None => by_name.entry(name.to_owned()).or_default(),
            };
            signal.count += 1;
            std::mem::take(&mut signal.waiting)
        };
        // Outside of the lock: a waker may run arbitrary code.
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Raises all names that somebody has waited for.
    pub(super) fn raise_all(&self) {
        let names: Vec<_> = self.by_name.lock().keys().cloned().collect();
        names.iter().for_each(|name| self.raise(name));
    }

    /// Ready once the counter is greater than `seen`.
    pub(crate) fn poll_past(&self, name: &str, seen: u64, context: &Context<'_>) -> Poll<()> {
        let mut by_name = self.by_name.lock();
        let signal = by_name.entry(name.to_owned()).or_default();
        // Checked under the lock that `raise` takes, so no increment is lost between check and
        // registration.
        if signal.count > seen {
            return Poll::Ready(());
        }
        if !signal.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            signal.waiting.push(context.waker().clone());
        }
        Poll::Pending
    }
}

/// Wakes the sender of events to a target when dropped, which must be after the commit that queued
/// an event.
#[derive(Debug)]
pub(crate) struct WakeSender {
    shared: Arc<Shared>,
    target: String,
}

impl WakeSender {
    pub(crate) fn new(shared: &Arc<Shared>, target: &str) -> Self {
        Self { shared: Arc::clone(shared), target: target.to_owned() }
    }
}

impl Guard for WakeSender {}

impl Drop for WakeSender {
    fn drop(&mut self) {
        self.shared.cluster.wake(Sleeper::Queue(&self.target));
    }
}

/// Tells an event to observers, if the transaction that made it commits.
#[derive(Debug)]
pub(crate) struct TellObservers {
    observers: Vec<Arc<dyn EventObserver>>,
    event: Arc<Event>,
}

impl TellObservers {
    pub(crate) fn new(observers: Vec<Arc<dyn EventObserver>>, event: Event) -> Self {
        Self { observers, event: Arc::new(event) }
    }
}

impl Guard for TellObservers {
    fn committed(&self) {
        self.observers.iter().for_each(|observer| observer.told(&self.event));
    }
}
