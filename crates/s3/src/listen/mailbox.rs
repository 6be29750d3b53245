//! [`Mailbox`]: the lines that wait for one client.

use bytes::Bytes;
use liteio_store::{Event, EventObserver};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::record;
use super::wanted::{Scope, Wanted};

/// Bytes that wait for one client: some thousand events. One that is further behind is disconnected.
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

#[derive(Debug, Default)]
struct Waiting {
    lines: Vec<u8>,
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

    /// Waits for the next lines.
    pub(super) async fn next(&self) -> Heard {
        loop {
            if let Some(heard) = self.waiting.lock().take() {
                return heard;
            }
            self.changed.notified().await;
        }
    }
}

impl EventObserver for Mailbox {
    fn told(&self, event: &Event) {
        if self.includes(event) {
            self.waiting.lock().add(record::line(event, &self.region).as_bytes());
            // A permit is stored if the client is not waiting, so no wake-up is lost.
            self.changed.notify_one();
        }
    }
}

impl Waiting {
    fn add(&mut self, line: &[u8]) {
        if self.lines.len() + line.len() > WAITING_BYTES_MAX {
            *self = Waiting { lines: Vec::new(), is_lost: true };
        }
        if !self.is_lost {
            self.lines.extend_from_slice(line);
        }
    }

    fn take(&mut self) -> Option<Heard> {
        if self.is_lost {
            return Some(Heard::TooSlow);
        }
        if self.lines.len() <= BATCH_BYTES {
            let lines = std::mem::take(&mut self.lines);
            return (!lines.is_empty()).then(|| Heard::Lines(lines.into()));
        }
        // Whole lines only: a client that reads a batch reads documents.
        let end = self.lines[..BATCH_BYTES].iter().rposition(|byte| *byte == b'\n');
        let end = end.map_or(self.lines.len(), |end| end + 1);
        Some(Heard::Lines(self.lines.drain(..end).collect::<Vec<u8>>().into()))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use liteio_store::{Cause, EventKind};

    use super::*;
    use crate::query::Query;

    fn mailbox(bucket: Option<&str>) -> Mailbox {
        let scope = Scope { bucket: bucket.map(str::to_owned), owner: "owner".to_owned() };
        let query = "/b?events=s3:ObjectCreated:*&prefix=in/".parse().expect("a URI");
        let wanted = Wanted::of(&Query::of(&query)).expect("valid");
        Mailbox::new(scope, wanted, "us-east-1".to_owned())
    }

    fn event(bucket: &str, owner: &str, key: &str) -> Event {
        Event {
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
        }
    }

    fn heard(mailbox: &Mailbox) -> Option<Heard> {
        mailbox.next().now_or_never()
    }

    #[test]
    fn a_listener_hears_of_its_bucket_or_its_account() {
        let (of_bucket, of_all) = (mailbox(Some("a")), mailbox(None));
        let told = |event: &Event| {
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
            assert!(mailbox.waiting.lock().lines.len() <= WAITING_BYTES_MAX);
        }
        assert_eq!(heard(&mailbox), Some(Heard::TooSlow));
        mailbox.told(&event("a", "owner", "in/x"));
        assert_eq!(heard(&mailbox), Some(Heard::TooSlow));
    }
}
