//! The live trace of requests, streamed by `/_liteio/trace`: one JSON line per finished request.
//!
//! Nothing is recorded without listeners. Every [`Listener`] has a queue bounded in bytes; a slow
//! listener loses the oldest entries and is told how many.

mod audience;
mod entry;
mod listener;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

pub use self::audience::Audience;
pub use self::entry::{
    Entry, HIDDEN, address_without_secrets, headers_without_secrets, query_without_secrets,
};
use self::listener::Mailbox;
pub use self::listener::{Heard, Listener};
use liteio_wire::front::{Finished, Observer};

/// Distributes finished requests to the listeners.
#[derive(Default)]
pub struct Tracer {
    listeners: Mutex<Listeners>,
    /// Number of listeners, readable without the lock, because every request reads it.
    count: AtomicUsize,
}

#[derive(Default)]
struct Listeners {
    mailboxes: Vec<Arc<Mailbox>>,
    /// The server is stopping.
    is_stopped: bool,
}

impl Tracer {
    /// Subscribes to requests that start from now on, as `view` shows them.
    fn listen(
        self: &Arc<Tracer>,
        view: impl Fn(&Arc<Entry>) -> Option<Arc<Entry>> + Send + Sync + 'static,
    ) -> Listener {
        let mailbox = Arc::new(Mailbox::new(view));
        let mut listeners = self.listeners.lock();
        if listeners.is_stopped {
            mailbox.close();
        }
        listeners.mailboxes.push(Arc::clone(&mailbox));
        self.count.store(listeners.mailboxes.len(), Ordering::Relaxed);
        Listener::new(mailbox, Arc::clone(self))
    }

    fn forget(&self, mailbox: &Arc<Mailbox>) {
        let mut listeners = self.listeners.lock();
        listeners.mailboxes.retain(|it| !Arc::ptr_eq(it, mailbox));
        self.count.store(listeners.mailboxes.len(), Ordering::Relaxed);
    }

    /// Ends all streams: the stopping server waits for responses in flight, and these would not end
    /// by themselves.
    pub fn stop(&self) {
        let mut listeners = self.listeners.lock();
        listeners.is_stopped = true;
        listeners.mailboxes.iter().for_each(|mailbox| mailbox.close());
    }
}

impl Observer for Tracer {
    fn wants_heads(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    fn finished(&self, finished: &Finished<'_>) {
        // A request without recorded heads started before the first listener.
        let Some(heads) = finished.heads else { return };
        if self.wants_heads() {
            let entry = Arc::new(Entry::new(finished, heads));
            self.listeners.lock().mailboxes.iter().for_each(|mailbox| mailbox.put(&entry));
        }
    }
}
