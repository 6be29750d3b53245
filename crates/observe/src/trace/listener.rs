//! [`Listener`]: a subscriber of the trace, and its queue of entries.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{Entry, Tracer};

/// Bytes of entries queued for one listener, some thousand entries. Beyond them, the oldest are
/// dropped.
const WAITING_BYTES_MAX: usize = 4 << 20;

/// An item of a listener's stream.
#[derive(Clone, Debug)]
pub enum Heard {
    /// A request has finished.
    Request(Arc<Entry>),
    /// This many entries were dropped, because the listener is too slow.
    Lost(u64),
}

/// A subscription, until it is dropped.
pub struct Listener {
    mailbox: Arc<Mailbox>,
    tracer: Arc<Tracer>,
}

/// The part of an entry that a listener may see; `None` for nothing.
type View = Box<dyn Fn(&Arc<Entry>) -> Option<Arc<Entry>> + Send + Sync>;

/// The queue of entries for a listener.
pub(super) struct Mailbox {
    /// The entry as the listener may see it; `None` if it does not want it.
    view: View,
    waiting: Mutex<Waiting>,
    changed: Notify,
}

#[derive(Default)]
struct Waiting {
    entries: VecDeque<Arc<Entry>>,
    bytes: usize,
    /// Entries dropped since the listener was last told.
    lost: u64,
    is_closed: bool,
}

impl Listener {
    pub(super) fn new(mailbox: Arc<Mailbox>, tracer: Arc<Tracer>) -> Listener {
        Listener { mailbox, tracer }
    }

    /// The next item; `None` at the end of the server.
    pub async fn next(&mut self) -> Option<Heard> {
        loop {
            {
                let mut waiting = self.mailbox.waiting.lock();
                let heard = waiting.take();
                if heard.is_some() || waiting.is_closed {
                    return heard;
                }
            }
            self.mailbox.changed.notified().await;
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.tracer.forget(&self.mailbox);
    }
}

impl Mailbox {
    pub(super) fn new(
        view: impl Fn(&Arc<Entry>) -> Option<Arc<Entry>> + Send + Sync + 'static,
    ) -> Mailbox {
        Mailbox { view: Box::new(view), waiting: Mutex::default(), changed: Notify::new() }
    }

    /// Queues an entry if the listener wants it. Unwanted entries do not wake the listener.
    pub(super) fn put(&self, entry: &Arc<Entry>) {
        if let Some(seen) = (self.view)(entry) {
            self.waiting.lock().put(&seen);
            // `notify_one` stores a permit if the listener is not waiting yet, so no wake-up is
            // lost.
            self.changed.notify_one();
        }
    }

    /// Ends the stream after the queued entries.
    pub(super) fn close(&self) {
        self.waiting.lock().is_closed = true;
        self.changed.notify_one();
    }
}

impl Waiting {
    fn put(&mut self, entry: &Arc<Entry>) {
        self.bytes += entry.bytes();
        self.entries.push_back(Arc::clone(entry));
        while self.bytes > WAITING_BYTES_MAX
            && let Some(oldest) = self.entries.pop_front()
        {
            self.bytes -= oldest.bytes();
            self.lost += 1;
        }
    }

    fn take(&mut self) -> Option<Heard> {
        if self.lost > 0 {
            return Some(Heard::Lost(std::mem::take(&mut self.lost)));
        }
        let entry = self.entries.pop_front()?;
        self.bytes -= entry.bytes();
        Some(Heard::Request(entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: usize, header_bytes: usize) -> Arc<Entry> {
        let request_headers = vec![("x-large".to_owned(), "x".repeat(header_bytes))];
        Arc::new(Entry { id: id.to_string(), request_headers, ..Entry::default() })
    }

    /// A listener that unwanted entries woke would not send its keep-alive.
    #[tokio::test]
    async fn a_listener_hears_what_it_wants_and_is_not_woken_for_the_rest() {
        let tracer = Arc::new(Tracer::default());
        let mut listener = tracer.listen(|entry| (entry.id == "1").then(|| Arc::clone(entry)));
        listener.mailbox.put(&entry(0, 1));
        let woken = std::future::poll_fn(|context| {
            let notified = std::pin::pin!(listener.mailbox.changed.notified());
            std::task::Poll::Ready(notified.poll(context).is_ready())
        });
        assert!(!woken.await);
        listener.mailbox.put(&entry(1, 1));
        assert!(matches!(listener.next().await, Some(Heard::Request(entry)) if entry.id == "1"));
        tracer.stop();
        assert!(listener.next().await.is_none());
        assert!(
            tracer.listen(|entry| Some(Arc::clone(entry))).next().await.is_none(),
            "it has ended before"
        );
        drop(listener);
        assert_eq!(tracer.count.load(std::sync::atomic::Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn requests_with_large_heads_wait_in_few_bytes_and_the_oldest_are_lost() {
        const HEAD_BYTES: usize = 32 << 10;
        let tracer = Arc::new(Tracer::default());
        let mut listener = tracer.listen(|entry| Some(Arc::clone(entry)));
        (0..1_000).for_each(|id| listener.mailbox.put(&entry(id, HEAD_BYTES)));
        let waiting = listener.mailbox.waiting.lock().entries.len();
        assert!((1..=WAITING_BYTES_MAX / HEAD_BYTES).contains(&waiting), "{waiting} wait");
        let lost = 1_000 - waiting as u64;
        assert!(matches!(listener.next().await, Some(Heard::Lost(count)) if count == lost));
        for id in lost..1_000 {
            let Some(Heard::Request(entry)) = listener.next().await else { panic!("no {id}") };
            assert_eq!(entry.id, id.to_string());
        }
        assert_eq!(listener.mailbox.waiting.lock().bytes, 0);
    }
}
