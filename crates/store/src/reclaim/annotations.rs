//! Removing the annotations of removed versions.
//!
//! The transaction that removes a version queues its set. The rows of the set go in bounded steps, the entry of the
//! queue with the last. A crash at any point leaves the entry.

use std::ops::Bound;
use std::sync::atomic::Ordering;
use std::time::Duration;

use liteio_kv::{Read as _, Transaction, Write};

use super::{GRACE_PAUSE_MAX, RETRY_AFTER, ReclaimReport};
use crate::error::StoreError;
use crate::limits::RECLAIM_BATCH;
use crate::meta::annotation::{SetDeletion, SetId};
use crate::meta::claim::Claim;
use crate::meta::{key, space};
use crate::pending::Committed;
use crate::store::{NEVER_MS, Store};

impl Store {
    /// Works off the queue of removed sets of annotations, and notes when the next one is due.
    pub(super) fn reclaim_annotations(&self, report: &mut ReclaimReport) -> Result<(), StoreError> {
        let mut position = Bound::Included(space::ALL_ANNOTATION_DELETIONS.to_vec());
        let mut next_ms = NEVER_MS;
        while let Some(due) = self.read_due_sets(&mut position, &mut next_ms)? {
            for set in due {
                self.check_term()?;
                while !self.take_set_apart(set, report)? {}
            }
        }
        self.inner.next_set_ms.store(next_ms, Ordering::Relaxed);
        Ok(())
    }

    /// Time until the next look at sets that wait for their copies; `None` if there were none at the last look.
    pub(super) fn until_next_set(&self) -> Option<Duration> {
        let next_ms = self.inner.next_set_ms.load(Ordering::Relaxed);
        let left = Duration::from_millis(next_ms.saturating_sub(self.now_ms()));
        // The clock may be set, so the longest wait is short.
        (next_ms != NEVER_MS).then(|| left.clamp(RETRY_AFTER, GRACE_PAUSE_MAX))
    }

    /// The sets that are due of the next entries of the queue; `None` at its end.
    fn read_due_sets(
        &self,
        position: &mut Bound<Vec<u8>>,
        next_ms: &mut u64,
    ) -> Result<Option<Vec<SetId>>, StoreError> {
        let now_ms = self.now_ms();
        let end = key::successor(space::ALL_ANNOTATION_DELETIONS).unwrap_or_default();
        let snapshot = self.snapshot()?;
        let (mut due, mut last) = (Vec::new(), None);
        {
            let lower = position.as_ref().map(Vec::as_slice);
            let mut cursor = snapshot.cursor(lower, Bound::Excluded(&end))?;
            let mut entries = 0;
            while entries < RECLAIM_BATCH
                && let Some((place, value)) = cursor.next()?
            {
                entries += 1;
                last = Some(place.to_vec());
                // A damaged entry stays for verify and repair, and does not stop the others.
                if let (Some(set), Ok(SetDeletion { after_ms })) =
                    (space::split_annotation_deletion(place), SetDeletion::decode(place, value))
                {
                    match after_ms <= now_ms {
                        true => due.push(set),
                        false => *next_ms = after_ms.min(*next_ms),
                    }
                }
            }
        }
        let Some(last) = last else { return Ok(None) };
        *position = Bound::Excluded(last);
        Ok(Some(due))
    }

    /// Removes a bounded number of annotations of a set; `true` once it is gone.
    fn take_set_apart(&self, set: SetId, report: &mut ReclaimReport) -> Result<bool, StoreError> {
        // The rest is left to the next start.
        if self.shared().work.is_stopped() {
            return Err(StoreError::Closed);
        }
        let step = self.update_freeing(move |write, _| take_apart(write, &set).map(Committed::new));
        let removed = step.wait()?;
        report.annotations += removed;
        Ok(removed == 0)
    }
}

/// Removes some annotations of a set; once none is left, its head and its entry in the queue. Returns the
/// number of removed annotations.
fn take_apart(write: &mut Transaction<'_>, set: &SetId) -> Result<u64, StoreError> {
    write.claim(Claim::Annotations(set))?;
    let Some(deletion) = SetDeletion::read(write, set)? else { return Ok(0) };
    let mut names = Vec::new();
    let mut cursor = space::within(write, &space::annotation(set, ""))?;
    while names.len() < RECLAIM_BATCH
        && let Some((place, _)) = cursor.next()?
    {
        let name = space::split_annotation(place).map(|(_, name)| name.to_owned());
        names.push(name.ok_or_else(|| StoreError::corrupt("the key of an annotation"))?);
    }
    drop(cursor);
    for name in &names {
        write.delete(&space::annotation(set, name))?;
        write.delete(&space::payload(set, name))?;
    }
    match names.is_empty() {
        true => {
            write.delete(&space::annotations(set))?;
            write.delete(&space::annotation_deletion(set))?;
        }
        // From now on no copy takes the set.
        false if deletion.after_ms > 0 => SetDeletion { after_ms: 0 }.write(write, set)?,
        false => {}
    }
    Ok(names.len() as u64)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use liteio_disk::SimulatedDisk;

    use super::*;
    use crate::{ManualClock, StoreConfig};

    const DAY_MS: u64 = 24 * 60 * 60 * 1000;

    /// Queues `number` sets without annotations, whose ids begin with `first`.
    fn queue(store: &Store, (first, number): (u8, u16), after_ms: u64) {
        let queued = store.update(move |write, _| {
            for it in 0..number {
                let [high, low] = it.to_be_bytes();
                let mut set = SetId::default();
                set[..3].copy_from_slice(&[first, high, low]);
                SetDeletion { after_ms }.write(write, &set)?;
            }
            Ok(Committed::new(()))
        });
        queued.wait().expect("queued");
    }

    fn queued(store: &Store) -> usize {
        let snapshot = store.snapshot().expect("a snapshot");
        let mut cursor =
            space::within(&snapshot, space::ALL_ANNOTATION_DELETIONS).expect("a cursor");
        let mut number = 0;
        while cursor.next().expect("read").is_some() {
            number += 1;
        }
        number
    }

    #[test]
    fn a_turn_removes_all_sets_that_are_due_and_knows_when_to_look_again() {
        let clock = Arc::new(ManualClock::new(DAY_MS));
        let memory = StoreConfig { reserve_bytes: 0, ..StoreConfig::memory() };
        let config = StoreConfig { clock: Arc::clone(&clock) as _, ..memory };
        // Without a thread of its own.
        let disk = Arc::new(SimulatedDisk::new(1));
        let store = Store::open_on(disk, config).expect("opens");
        // More than one step takes, also before those that are due.
        let many = u16::try_from(RECLAIM_BATCH).expect("a small number") + 1;
        queue(&store, (1, many), 2 * DAY_MS);
        queue(&store, (2, 2 * many), 0);
        store.reclaim().expect("reclaimed");
        assert_eq!(queued(&store), usize::from(many));
        assert_eq!(store.until_later_work(), Some(GRACE_PAUSE_MAX));
        clock.set_ms(2 * DAY_MS - 10);
        assert_eq!(store.until_later_work(), Some(RETRY_AFTER));
        clock.set_ms(2 * DAY_MS);
        store.reclaim().expect("reclaimed");
        assert_eq!((queued(&store), store.until_later_work()), (0, None));
    }
}
