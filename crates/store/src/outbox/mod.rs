//! The outbox: [queues](crate::queue) of events, one for each target.
//!
//! A sender reads the queue in order, delivers the events and deletes the accepted ones: every event
//! is delivered at least once. A queue has a limit. Events beyond it are lost and counted; no write
//! fails or waits because a target is down.

use std::future::Future;
use std::sync::Arc;

use liteio_kv::Transaction;

use crate::error::StoreError;
use crate::meta::event::{Event, EventObserver, OutboxState};
use crate::meta::space::QueueKind;
use crate::pending::{Committed, Pending};
use crate::process::{Observing, WakeSender};
use crate::queue::{self, Queue, Queued, Row};
use crate::store::{Shared, Store};

/// A queued event.
#[derive(Debug)]
pub struct QueuedEvent {
    /// The number; later events have greater ones.
    pub number: u64,
    /// The event; [`StoreError::Corrupt`] if its record is damaged.
    pub event: Result<Event, StoreError>,
}

/// Events deleted per transaction.
const DROPPED_AT_ONCE: usize = 1000;

/// Queues `event` for `target`. The guard must live until the commit.
pub(crate) fn note(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    target: &str,
    event: &Event,
) -> Result<WakeSender, StoreError> {
    let waiting_max = shared.config.events_waiting_max;
    let now_ms = shared.config.clock.now_ms();
    Queue::of(target).push_or_lose(write, now_ms, event, waiting_max)?;
    Ok(WakeSender::new(shared, target))
}

impl Row for Event {
    const KIND: QueueKind = QueueKind::Events;

    fn encode(&self, place: &[u8]) -> Vec<u8> {
        Self::encode(self, place)
    }

    fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        Self::decode(place, bytes)
    }
}

impl Store {
    /// Tells `observer` of every event of this process until the value is dropped, see [`EventObserver`].
    /// Changes that have begun may still be told afterwards, or not yet at the start.
    #[must_use]
    pub fn observe_events(&self, observer: Arc<dyn EventObserver>) -> Observing {
        Observing::begin(self.shared(), observer)
    }

    /// `true` while there is an observer of [`observe_events`](Self::observe_events).
    #[must_use]
    pub fn is_observed(&self) -> bool {
        self.shared().observers.is_there()
    }

    /// Most events queued for one target.
    #[must_use]
    pub fn events_waiting_max(&self) -> u64 {
        self.shared().config.events_waiting_max
    }

    /// The first `max` events for `target` after the number `after`, in order.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if the queue cannot be read.
    pub fn queued_events(
        &self,
        target: &str,
        after: Option<u64>,
        max: usize,
    ) -> Result<Vec<QueuedEvent>, StoreError> {
        let page = Queue::<Event>::of(target).page(&self.snapshot()?, after, max)?;
        let event = |Queued { number, row }| QueuedEvent { number, event: row };
        Ok(page.into_iter().map(event).collect())
    }

    /// Deletes the events with these numbers, which were delivered.
    ///
    /// Fails with the errors of the disk.
    pub fn forget_events(&self, target: &str, numbers: Vec<u64>) -> Pending<()> {
        let queue = Queue::<Event>::of(target);
        self.update_freeing(move |write, _| {
            queue.forget(write, numbers.iter().copied())?;
            Ok(Committed::new(()))
        })
    }

    /// Deletes all events queued for a target that no longer exists, and its queue's state. Returns
    /// their number.
    ///
    /// # Errors
    /// The errors of the disk.
    pub fn drop_events(&self, target: &str) -> Result<u64, StoreError> {
        let mut dropped = 0;
        loop {
            let page = self.queued_events(target, None, DROPPED_AT_ONCE)?;
            if page.is_empty() {
                break;
            }
            dropped += page.len() as u64;
            self.forget_events(target, page.iter().map(|event| event.number).collect()).wait()?;
        }
        let queue = Queue::<Event>::of(target);
        let forgotten = self.update_freeing(move |write, _| {
            queue.end(write)?;
            Ok(Committed::new(()))
        });
        forgotten.wait().map(|()| dropped)
    }

    /// The state of the queues of events.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if metadata cannot be read.
    pub fn outbox_state(&self) -> Result<OutboxState, StoreError> {
        let queues = queue::states(&self.snapshot()?, QueueKind::Events)?;
        Ok(OutboxState { queues })
    }

    /// The number of full queues in a state of the outbox.
    #[must_use]
    pub fn full_event_queues(&self, outbox: &OutboxState) -> usize {
        let max = self.shared().config.events_waiting_max;
        outbox.queues.values().filter(|queue| queue.waiting >= max).count()
    }

    /// Number of times that events for `target` were queued since the store was opened.
    #[must_use]
    pub fn events_queued(&self, target: &str) -> u64 {
        self.shared().outbox.count(target)
    }

    /// Waits until events for `target` are queued after [`Store::events_queued`] returned `seen`.
    pub fn wait_for_events(
        &self,
        target: &str,
        seen: u64,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (shared, target) = (Arc::clone(self.shared()), target.to_owned());
        std::future::poll_fn(move |context| shared.outbox.poll_past(&target, seen, context))
    }
}

#[cfg(test)]
mod tests {
    use liteio_kv::{Read as _, Write as _};

    use super::*;
    use crate::config::StoreConfig;
    use crate::meta::EventKind;
    use crate::meta::event::Cause;
    use crate::meta::space;

    fn event(key: &str) -> Event {
        Event {
            kind: EventKind::CreatedPut,
            time_ms: 1,
            bucket: "bucket".to_owned(),
            bucket_owner_id: "owner".to_owned(),
            rule: "rule".to_owned(),
            cause: Cause::Lifecycle,
            key: key.to_owned(),
            version: None,
            bytes: Some(1),
            etag: None,
            restore: None,
            annotation: None,
            metadata: None,
        }
    }

    fn queue(store: &Store, key: &'static str) {
        let queued = store.update(move |write, shared| {
            Ok(Committed::with_guard((), note(write, shared, "target", &event(key))?))
        });
        queued.wait().expect("queued");
    }

    fn damage(store: &Store, place: Vec<u8>) {
        let damaged = store.update(move |write, _| {
            let mut bytes = write.get(&place)?.expect("a record").to_vec();
            bytes[3] ^= 1;
            write.put(&place, &bytes)?;
            Ok(Committed::new(()))
        });
        damaged.wait().expect("damaged");
    }

    #[test]
    fn a_damaged_record_of_the_outbox_is_counted_anew() {
        let store = Store::open(StoreConfig::memory()).expect("memory");
        queue(&store, "a");
        queue(&store, "b");
        damage(&store, space::queue_counter(QueueKind::Events, "target"));
        store.outbox_state().expect_err("damaged");
        queue(&store, "c");
        assert_eq!(store.outbox_state().expect("whole").queues["target"].waiting, 3);
        let events = store.queued_events("target", None, 10).expect("a queue");
        let keys: Vec<_> =
            events.iter().map(|it| &*it.event.as_ref().expect("whole").key).collect();
        assert_eq!(keys, ["a", "b", "c"]);
        assert!(events.is_sorted_by(|one, next| one.number < next.number));
    }

    #[test]
    fn a_damaged_event_is_told_and_keeps_nobody_from_the_others() {
        let store = Store::open(StoreConfig::memory()).expect("memory");
        queue(&store, "a");
        queue(&store, "b");
        let events = store.queued_events("target", None, 10).expect("a queue");
        let rows = space::queue_rows(QueueKind::Events, "target");
        damage(&store, [&rows[..], &events[0].number.to_be_bytes()].concat());
        let events = store.queued_events("target", None, 10).expect("a queue");
        assert!(matches!(events[0].event, Err(StoreError::Corrupt { .. })));
        assert_eq!(events[1].event.as_ref().expect("whole").key, "b");
        let report = store.verify(&mut |_| {}).expect("verified");
        assert_eq!(report.damaged.len(), 1, "{report:?}");
    }
}
