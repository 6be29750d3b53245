//! [`Mailbox`]: the events that wait for one client.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use liteio_store::{Cause, Event, EventObserver, MetadataFacts, Requester};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::wanted::{Scope, Wanted};
use liteio_access::minio_event;

/// Memory of the events that wait for one client: some thousand. One that is further behind is disconnected.
const WAITING_BYTES_MAX: usize = 2 << 20;
/// Bytes that are sent at once.
const BATCH_BYTES: usize = 64 << 10;

/// The observer for one client, with its queue.
#[derive(Debug)]
pub(super) struct Mailbox {
    scope: Scope,
    wanted: Wanted,
    region: String,
    waiting: Mutex<Waiting>,
    changed: Notify,
}

/// Events as the store tells them to all observers: a change waits for `told`, so the lines are made where the client
/// takes them.
#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<Arc<Event>>,
    bytes: usize,
    /// Events did not fit. Nothing is queued any more.
    is_lost: bool,
}

/// The next of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// One or several whole lines.
    Lines(Bytes),
    /// Events were lost.
    TooSlow,
}

impl Mailbox {
    pub(super) fn new(scope: Scope, wanted: Wanted, region: String) -> Mailbox {
        let (waiting, changed) = Default::default();
        Mailbox { scope, wanted, region, waiting, changed }
    }

    fn includes(&self, event: &Event) -> bool {
        event.bucket_owner_id == self.scope.owner
            && self.scope.bucket.as_ref().is_none_or(|bucket| *bucket == event.bucket)
            && self.wanted.includes(event.kind.name(), &event.key)
    }

    /// Waits for the next lines. One task waits at a time.
    pub(super) async fn next(&self) -> Heard {
        loop {
            if let Some(heard) = self.take() {
                return heard;
            }
            self.changed.notified().await;
        }
    }

    fn take(&self) -> Option<Heard> {
        if self.waiting.lock().is_lost {
            return Some(Heard::TooSlow);
        }
        // Whole lines only: a client that reads a batch reads documents.
        let mut lines = String::new();
        while let Some(event) = self.first() {
            // Outside of the lock, for which changes wait.
            let line = minio_event::line(&event, &self.region);
            if !lines.is_empty() && lines.len() + line.len() > BATCH_BYTES {
                break;
            }
            lines.push_str(&line);
            self.waiting.lock().remove_first();
        }
        (!lines.is_empty()).then(|| Heard::Lines(lines.into()))
    }

    fn first(&self) -> Option<Arc<Event>> {
        self.waiting.lock().events.front().cloned()
    }
}

impl EventObserver for Mailbox {
    fn told(&self, event: &Arc<Event>) {
        if self.includes(event) && self.waiting.lock().add(event) {
            // A permit is stored if the client is not waiting, so no wake-up is lost.
            self.changed.notify_one();
        }
    }
}

impl Waiting {
    /// `true` if there is something new to take.
    fn add(&mut self, event: &Arc<Event>) -> bool {
        if self.is_lost {
            return false;
        }
        self.bytes += bytes(event);
        match self.bytes > WAITING_BYTES_MAX {
            true => *self = Waiting { is_lost: true, ..Waiting::default() },
            false => self.events.push_back(Arc::clone(event)),
        }
        true
    }

    fn remove_first(&mut self) {
        // None, if events were lost meanwhile.
        if let Some(event) = self.events.pop_front() {
            self.bytes -= bytes(&event);
        }
    }
}

/// The memory of an event, with its place in a queue, which has up to as many places free.
fn bytes(event: &Event) -> usize {
    const FIXED: usize = size_of::<Event>() + 2 * size_of::<Arc<Event>>();
    let mut texts = vec![&event.bucket, &event.bucket_owner_id, &event.rule, &event.key];
    texts.extend(&event.version);
    texts.extend(event.annotation.iter().map(|annotation| &annotation.name));
    let mut boxed = 0;
    if let Cause::Request(requester) = &event.cause {
        boxed += size_of::<Requester>();
        let Requester { principal_id, source_address, request_id, host_id, user_agent } =
            &**requester;
        texts.extend([principal_id, source_address, request_id, host_id, user_agent]);
    }
    if let Some(metadata) = &event.metadata {
        let MetadataFacts { content_type, storage_class, user } = &**metadata;
        boxed += size_of::<MetadataFacts>() + user.len() * size_of::<(String, String)>();
        texts.extend(content_type.iter().chain(storage_class));
        texts.extend(user.iter().flat_map(|(name, value)| [name, value]));
    }
    FIXED + boxed + texts.iter().map(|text| text.len()).sum::<usize>()
}

#[cfg(test)]
pub(super) mod tests {
    use futures_util::FutureExt as _;
    use liteio_store::{Cause, EventKind};

    use super::*;
    use crate::query::Query;

    pub(in super::super) fn mailbox(bucket: Option<&str>) -> Mailbox {
        let scope = Scope { bucket: bucket.map(str::to_owned), owner: "owner".to_owned() };
        let query = "/b?events=s3:ObjectCreated:*&prefix=in/".parse().expect("a URI");
        let wanted = Wanted::of(&Query::of(&query)).expect("valid");
        Mailbox::new(scope, wanted, "us-east-1".to_owned())
    }

    pub(in super::super) fn event(bucket: &str, owner: &str, key: &str) -> Arc<Event> {
        Arc::new(Event {
            kind: EventKind::CreatedPut,
            time_ms: 1,
            bucket: bucket.to_owned(),
            bucket_owner_id: owner.to_owned(),
            rule: String::new(),
            cause: Cause::Unknown,
            key: key.to_owned(),
            version: None,
            bytes: Some(1),
            etag: None,
            restore: None,
            annotation: None,
            metadata: None,
        })
    }

    fn heard(mailbox: &Mailbox) -> Option<Heard> {
        mailbox.next().now_or_never()
    }

    #[test]
    fn a_listener_hears_of_its_bucket_or_its_account() {
        let (of_bucket, of_all) = (mailbox(Some("a")), mailbox(None));
        let told = |event: &Arc<Event>| {
            [&of_bucket, &of_all].map(|mailbox| {
                mailbox.told(event);
                heard(mailbox).is_some()
            })
        };
        assert_eq!(told(&event("a", "owner", "in/x")), [true, true]);
        assert_eq!(told(&event("b", "owner", "in/x")), [false, true]);
        assert_eq!(told(&event("a", "another", "in/x")), [false, false]);
        assert_eq!(told(&event("a", "owner", "out/x")), [false, false]);
    }

    #[test]
    fn a_slow_client_costs_bounded_memory_and_is_told_of_the_loss() {
        let mailbox = mailbox(None);
        for number in 0..1000 {
            mailbox.told(&event("a", "owner", &format!("in/{number}")));
        }
        let mut lines = 0;
        while let Some(Heard::Lines(batch)) = heard(&mailbox) {
            assert!(batch.len() <= BATCH_BYTES && batch.ends_with(b"\n"));
            lines += batch.iter().filter(|byte| **byte == b'\n').count();
        }
        assert_eq!(lines, 1000);
        let long = format!("in/{}", "x".repeat(1000));
        for _ in 0..WAITING_BYTES_MAX / 1000 {
            mailbox.told(&event("a", "owner", &long));
            assert!(mailbox.waiting.lock().bytes <= WAITING_BYTES_MAX);
        }
        assert_eq!(heard(&mailbox), Some(Heard::TooSlow));
        mailbox.told(&event("a", "owner", "in/x"));
        assert_eq!(heard(&mailbox), Some(Heard::TooSlow));
    }

    #[test]
    fn a_change_does_not_wait_for_lines_and_a_lost_client_holds_nothing() {
        let (mailbox, first) = (mailbox(None), event("a", "owner", "in/x"));
        mailbox.told(&first);
        assert_eq!(Arc::strong_count(&first), 2, "the event is shared as it is");
        assert!(matches!(heard(&mailbox), Some(Heard::Lines(_))));
        let waiting = || (Arc::strong_count(&first), mailbox.waiting.lock().bytes);
        assert_eq!(waiting(), (1, 0));
        for _ in 0..=WAITING_BYTES_MAX / bytes(&first) {
            mailbox.told(&first);
        }
        mailbox.told(&first);
        assert_eq!(waiting(), (1, 0));
        assert_eq!(heard(&mailbox), Some(Heard::TooSlow));
    }
}
