//! The live trace of requests: what `/_liteio/trace` sends, a line of JSON for each request that ends.
//!
//! Nothing is kept while nobody listens. Every [`Listener`] has requests waiting for it, up to some bytes; one that is
//! slower loses the oldest and is told how many.

mod audience;
mod entry;
mod listener;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

pub use self::audience::Audience;
pub use self::entry::{Entry, HIDDEN, headers_without_secrets, query_without_secrets};
use self::listener::Mailbox;
pub use self::listener::{Heard, Listener};
use liteio_wire::front::{Finished, Observer};

/// Hands requests that have ended to those who listen.
#[derive(Default)]
pub struct Tracer {
    listeners: Mutex<Listeners>,
    /// Their number, without the lock: every request asks for it.
    count: AtomicUsize,
}

#[derive(Default)]
struct Listeners {
    mailboxes: Vec<Arc<Mailbox>>,
    /// The server stops.
    is_stopped: bool,
}

impl Tracer {
    /// Listens to every request that begins from now on and for which `wants` holds.
    fn listen(
        self: &Arc<Tracer>,
        wants: impl Fn(&Entry) -> bool + Send + Sync + 'static,
    ) -> Listener {
        let mailbox = Arc::new(Mailbox::new(wants));
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

    /// Ends what listeners hear: the server stops, and waits for answers that are under way.
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
        // Without heads the request began before anybody listened.
        let Some(heads) = finished.heads else { return };
        if self.wants_heads() {
            let entry = Arc::new(Entry::new(finished, heads));
            self.listeners.lock().mailboxes.iter().for_each(|mailbox| mailbox.put(&entry));
        }
    }
}
