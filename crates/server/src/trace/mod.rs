//! The live trace of requests: what `/_liteio/trace` sends, a line of JSON for each request that ends.
//!
//! Nothing is kept while nobody listens. Every listener has the last [`ENTRIES_MAX`] requests waiting for it; one that
//! is slower loses the oldest and is told how many.

mod entry;
mod routes;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

pub(crate) use self::entry::{Entry, HIDDEN, headers_without_secrets, query_without_secrets};
pub(crate) use self::routes::routes;
use crate::front::{Finished, Observer};

/// Requests that wait for a listener.
const ENTRIES_MAX: usize = 1024;

/// Hands requests that have ended to those who listen.
#[derive(Debug)]
pub(crate) struct Tracer {
    /// Nothing at the end of the server.
    sender: broadcast::Sender<Option<Arc<Entry>>>,
    listeners: AtomicUsize,
}

/// What a listener hears.
#[derive(Clone, Debug)]
pub(crate) enum Heard {
    /// A request has ended.
    Request(Arc<Entry>),
    /// So many requests were lost: the listener is too slow.
    Lost(u64),
}

/// One who listens, until it is dropped.
#[derive(Debug)]
pub(crate) struct Listener {
    receiver: broadcast::Receiver<Option<Arc<Entry>>>,
    tracer: Arc<Tracer>,
}

impl Tracer {
    pub(crate) fn new() -> Tracer {
        Tracer { sender: broadcast::Sender::new(ENTRIES_MAX), listeners: AtomicUsize::new(0) }
    }

    /// Hears of every request that begins from now on.
    pub(crate) fn listen(self: &Arc<Tracer>) -> Listener {
        let receiver = self.sender.subscribe();
        self.listeners.fetch_add(1, Ordering::Relaxed);
        Listener { receiver, tracer: Arc::clone(self) }
    }

    /// Ends what listeners hear: the server stops, and waits for answers that are under way.
    pub(crate) fn stop(&self) {
        // An error says that nobody listens.
        let _ = self.sender.send(None);
    }
}

impl Listener {
    /// The next that is heard; `None` at the end of the server.
    pub(crate) async fn next(&mut self) -> Option<Heard> {
        match self.receiver.recv().await {
            Ok(entry) => entry.map(Heard::Request),
            Err(RecvError::Lagged(lost)) => Some(Heard::Lost(lost)),
            Err(RecvError::Closed) => None,
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.tracer.listeners.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Observer for Tracer {
    fn wants_heads(&self) -> bool {
        self.listeners.load(Ordering::Relaxed) > 0
    }

    fn finished(&self, finished: &Finished<'_>) {
        // Without heads the request began before anybody listened.
        if let Some(heads) = finished.heads {
            // An error says that the last listener has gone.
            let _ = self.sender.send(Some(Arc::new(Entry::new(finished, heads))));
        }
    }
}
