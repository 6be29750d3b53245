//! The outbox: events queued for delivery.
//!
//! An event is written in the transaction of its change (a transactional outbox), so it exists
//! exactly if the change has happened. A sender reads the queue in order, delivers the events and
//! deletes the accepted ones: every event is delivered at least once. A queue has a limit. Events
//! beyond it are lost and counted; no write fails or waits because a target is down.

use std::future::Future;
use std::ops::Bound;
use std::sync::Arc;

use liteio_kv::{Cursor, Read, Transaction, Write as _};

use crate::error::StoreError;
use crate::meta::event::{Event, OutboxState};
use crate::meta::key::successor;
use crate::meta::space;
use crate::pending::{Committed, Pending};
use crate::process::WakeSender;
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

/// Bits of a number below the milliseconds of the time at which it was assigned. Because numbers
/// start from the clock, they keep growing even if the record of the outbox is lost.
const NUMBER_BITS: u32 = 16;

/// Queues `event` for `target`. The guard must live until the commit.
pub(crate) fn note(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    target: &str,
    event: &Event,
) -> Result<WakeSender, StoreError> {
    let mut state = read_or_count(write)?;
    let queue = state.queues.entry(target.to_owned()).or_default();
    let waiting_max = shared.config.events_waiting_max;
    if queue.waiting >= waiting_max && is_empty(write, target)? {
        // The count includes damaged records that a repair has removed: an empty queue corrects it.
        queue.waiting = 0;
    }
    if queue.waiting >= waiting_max {
        queue.lost += 1;
    } else {
        queue.waiting += 1;
        let number = state.next.max(shared.config.clock.now_ms() << NUMBER_BITS);
        state.next = number + 1;
        let place = space::event(target, number);
        write.put(&place, &event.encode(&place))?;
    }
    state.write(write)?;
    Ok(WakeSender::new(shared, target))
}

/// The state of the outbox; recomputed from the events if its record is damaged or missing.
fn read_or_count(write: &Transaction<'_>) -> Result<OutboxState, StoreError> {
    match OutboxState::read(write) {
        Ok(None) | Err(StoreError::Corrupt { .. }) => {}
        Ok(Some(state)) => return Ok(state),
        Err(error) => return Err(error),
    }
    let mut state = OutboxState::default();
    let mut cursor = events(write, space::ALL_EVENTS, None)?;
    while let Some((place, _)) = cursor.next()? {
        let Some((target, number)) = space::split_event(place) else { continue };
        state.next = state.next.max(number + 1);
        state.queues.entry(target).or_default().waiting += 1;
    }
    Ok(state)
}

impl Store {
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
        let prefix = space::events_of(target);
        let after = after.map(|number| space::event(target, number));
        let snapshot = self.snapshot()?;
        let mut cursor = events(&snapshot, &prefix, after.as_deref())?;
        let mut queued = Vec::new();
        while queued.len() < max
            && let Some((place, value)) = cursor.next()?
        {
            let (_, number) = space::split_event(place)
                .ok_or_else(|| StoreError::corrupt("the key of an event"))?;
            queued.push(QueuedEvent { number, event: Event::decode(place, value) });
        }
        Ok(queued)
    }

    /// Deletes the events with these numbers, which were delivered.
    ///
    /// Fails with the errors of the disk.
    pub fn forget_events(&self, target: &str, numbers: Vec<u64>) -> Pending<()> {
        let target = target.to_owned();
        self.update_freeing(move |write, _| {
            let mut state = read_or_count(write)?;
            let mut forgotten = 0;
            for number in &numbers {
                let place = space::event(&target, *number);
                if write.get(&place)?.is_some() {
                    write.delete(&place)?;
                    forgotten += 1;
                }
            }
            let is_empty = is_empty(write, &target)?;
            if let Some(queue) = state.queues.get_mut(&target) {
                // Removed damaged records are not subtracted: an empty queue corrects the count.
                let left = queue.waiting.saturating_sub(forgotten);
                queue.waiting = if is_empty { 0 } else { left };
            }
            state.write(write)?;
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
        let target = target.to_owned();
        let forgotten = self.update_freeing(move |write, _| {
            let mut state = read_or_count(write)?;
            if is_empty(write, &target)? && state.queues.remove(&target).is_some() {
                state.write(write)?;
            }
            Ok(Committed::new(()))
        });
        forgotten.wait().map(|()| dropped)
    }

    /// The state of the queues of events.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if metadata cannot be read.
    pub fn outbox_state(&self) -> Result<OutboxState, StoreError> {
        OutboxState::read(&self.snapshot()?).map(Option::unwrap_or_default)
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

fn is_empty(write: &Transaction<'_>, target: &str) -> Result<bool, StoreError> {
    Ok(events(write, &space::events_of(target), None)?.next()?.is_none())
}

/// The records with the key prefix `prefix`, after the key `after` if given.
fn events<'a>(
    from: &'a impl Read,
    prefix: &[u8],
    after: Option<&[u8]>,
) -> Result<Cursor<'a>, StoreError> {
    let end = successor(prefix);
    let upper = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    Ok(from.cursor(after.map_or(Bound::Included(prefix), Bound::Excluded), upper)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::StoreConfig;
    use crate::meta::EventKind;
    use crate::meta::event::Cause;

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
        damage(&store, space::OUTBOX_KEY.to_vec());
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
        damage(&store, space::event("target", events[0].number));
        let events = store.queued_events("target", None, 10).expect("a queue");
        assert!(matches!(events[0].event, Err(StoreError::Corrupt { .. })));
        assert_eq!(events[1].event.as_ref().expect("whole").key, "b");
        let report = store.verify(&mut |_| {}).expect("verified");
        assert_eq!(report.damaged.len(), 1, "{report:?}");
    }
}
