//! [`Listener`]: one who listens to the trace, and the requests that wait for it.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{Entry, Tracer};

/// Bytes of requests that wait for one listener: some thousand. Beyond them it loses the oldest.
const WAITING_BYTES_MAX: usize = 4 << 20;

/// What a listener hears.
#[derive(Clone, Debug)]
pub enum Heard {
    /// A request has ended.
    Request(Arc<Entry>),
    /// So many requests were lost: the listener is too slow.
    Lost(u64),
}

/// One who listens, until it is dropped.
pub struct Listener {
    mailbox: Arc<Mailbox>,
    tracer: Arc<Tracer>,
}

/// The requests that wait for a listener.
pub(super) struct Mailbox {
    wants: Box<dyn Fn(&Entry) -> bool + Send + Sync>,
    waiting: Mutex<Waiting>,
    changed: Notify,
}

#[derive(Default)]
struct Waiting {
    entries: VecDeque<Arc<Entry>>,
    bytes: usize,
    /// Requests that were lost since the listener heard of it last.
    lost: u64,
    is_closed: bool,
}

impl Listener {
    pub(super) fn new(mailbox: Arc<Mailbox>, tracer: Arc<Tracer>) -> Listener {
        Listener { mailbox, tracer }
    }

    /// The next that is heard; `None` at the end of the server.
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
    pub(super) fn new(wants: impl Fn(&Entry) -> bool + Send + Sync + 'static) -> Mailbox {
        Mailbox { wants: Box::new(wants), waiting: Mutex::default(), changed: Notify::new() }
    }

    /// Adds a request, if the listener wants it. What it does not want does not wake it.
    pub(super) fn put(&self, entry: &Arc<Entry>) {
        if (self.wants)(entry) {
            self.waiting.lock().put(entry);
            // Remembered for a listener that does not wait yet.
            self.changed.notify_one();
        }
    }

    /// Nothing is heard any more, after what waits.
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

    /// One that is woken for what it does not want would not send its pulse.
    #[tokio::test]
    async fn a_listener_hears_what_it_wants_and_is_not_woken_for_the_rest() {
        let tracer = Arc::new(Tracer::default());
        let mut listener = tracer.listen(|entry| entry.id == "1");
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
        assert!(tracer.listen(|_| true).next().await.is_none(), "it has ended before");
        drop(listener);
        assert_eq!(tracer.count.load(std::sync::atomic::Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn requests_with_large_heads_wait_in_few_bytes_and_the_oldest_are_lost() {
        const HEAD_BYTES: usize = 32 << 10;
        let tracer = Arc::new(Tracer::default());
        let mut listener = tracer.listen(|_| true);
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
