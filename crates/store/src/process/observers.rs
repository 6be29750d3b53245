//! Observers of events that come and go while the store is open.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::Shared;
use crate::meta::event::EventObserver;

/// The observers of a process.
#[derive(Debug, Default)]
pub(crate) struct Observers {
    all: Mutex<Vec<Arc<dyn EventObserver>>>,
    /// Number of observers, readable without the lock, because every change of an object reads it.
    count: AtomicUsize,
}

impl Observers {
    /// The observers that are told of a change that is made now, with the one of the configuration.
    pub(crate) fn now(
        &self,
        configured: Option<&Arc<dyn EventObserver>>,
    ) -> Vec<Arc<dyn EventObserver>> {
        let mut now: Vec<_> = configured.cloned().into_iter().collect();
        if self.is_there() {
            now.extend(self.all.lock().iter().cloned());
        }
        now
    }

    /// `true` if there is any besides the one of the configuration.
    pub(crate) fn is_there(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    fn add(&self, observer: &Arc<dyn EventObserver>) {
        let mut all = self.all.lock();
        all.push(Arc::clone(observer));
        self.count.store(all.len(), Ordering::Relaxed);
    }

    fn remove(&self, observer: &Arc<dyn EventObserver>) {
        let mut all = self.all.lock();
        all.retain(|other| !Arc::ptr_eq(other, observer));
        self.count.store(all.len(), Ordering::Relaxed);
    }
}

/// The presence of an observer, until it is dropped.
#[derive(Debug)]
pub struct Observing {
    shared: Arc<Shared>,
    observer: Arc<dyn EventObserver>,
}

impl Observing {
    pub(crate) fn begin(shared: &Arc<Shared>, observer: Arc<dyn EventObserver>) -> Self {
        shared.observers.add(&observer);
        Self { shared: Arc::clone(shared), observer }
    }
}

impl Drop for Observing {
    fn drop(&mut self) {
        self.shared.observers.remove(&self.observer);
    }
}
