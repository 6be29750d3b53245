//! Queues on disk: rows that wait for a target, in the order in which they were queued.
//!
//! A row is written in the transaction of its change (a transactional outbox), so it exists exactly
//! if the change has happened. It is deleted once its target has taken it, so it arrives at least
//! once. Each queue has its own numbers and counts, which transactions add to: none of them waits
//! for a record that the events of all other targets change, too.

mod former;

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ops::Bound;

use liteio_kv::{CountChange, Counts, Cursor, Read, Transaction, Write as _};

use crate::error::StoreError;
use crate::meta::claim::Claim;
use crate::meta::key::successor;
use crate::meta::queue::{QueueRecord, lost};
use crate::meta::space::QueueKind;
use crate::meta::{QueueState, space};

pub(crate) use former::take_over;

/// Bits of a number below the milliseconds of the time at which it was assigned. Because numbers
/// start from the clock, they keep growing even if the record of the queue is lost.
const NUMBER_BITS: u32 = 16;

/// A row of a queue.
pub(crate) trait Row: Sized {
    /// The kind of its queue.
    const KIND: QueueKind;

    /// The bytes for the key `place`.
    fn encode(&self, place: &[u8]) -> Vec<u8>;

    /// The inverse of [`Row::encode`].
    fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError>;
}

/// A queued row.
#[derive(Debug)]
pub(crate) struct Queued<R> {
    /// The number; later rows have greater ones.
    pub(crate) number: u64,
    /// The row; [`StoreError::Corrupt`] if its record is damaged.
    pub(crate) row: Result<R, StoreError>,
}

/// The queue for a target.
#[derive(Debug)]
pub(crate) struct Queue<R> {
    counter: Vec<u8>,
    rows: Vec<u8>,
    of: PhantomData<fn() -> R>,
}

impl<R: Row> Queue<R> {
    pub(crate) fn of(target: &str) -> Self {
        let counter = space::queue_counter(R::KIND, target);
        Self { counter, rows: space::queue_rows(R::KIND, target), of: PhantomData }
    }

    /// Puts `row` at the end. Returns its number.
    pub(crate) fn push(
        &self,
        write: &mut Transaction<'_>,
        now_ms: u64,
        row: &R,
    ) -> Result<u64, StoreError> {
        self.state(write)?;
        self.append(write, now_ms, row)
    }

    /// Puts `row` at the end, unless `waiting_max` rows wait: then it is lost and counted.
    pub(crate) fn push_or_lose(
        &self,
        write: &mut Transaction<'_>,
        now_ms: u64,
        row: &R,
        waiting_max: u64,
    ) -> Result<(), StoreError> {
        let mut waiting = self.state(write)?.waiting;
        if waiting >= waiting_max {
            write.claim(Claim::QueueAlone(&self.counter))?;
        }
        if waiting >= waiting_max && self.is_empty(write)? {
            // The count includes damaged records that a repair has removed: an empty queue corrects
            // it.
            self.count(write, -of(waiting))?;
            waiting = 0;
        }
        match waiting >= waiting_max {
            true => self.count(write, lost(1)),
            false => self.append(write, now_ms, row).map(drop),
        }
    }

    /// The first `max` rows after the number `after`, in order.
    pub(crate) fn page(
        &self,
        from: &impl Read,
        after: Option<u64>,
        max: usize,
    ) -> Result<Vec<Queued<R>>, StoreError> {
        let after = after.map(|number| self.place(number));
        let mut cursor = self.rows(from, after.as_deref())?;
        let mut queued = Vec::new();
        while queued.len() < max
            && let Some((place, value)) = cursor.next()?
        {
            let number = self.number(place)?;
            queued.push(Queued { number, row: R::decode(place, value) });
        }
        Ok(queued)
    }

    /// The row with this number.
    pub(crate) fn get(
        &self,
        from: &impl Read,
        number: u64,
    ) -> Result<Option<Result<R, StoreError>>, StoreError> {
        let place = self.place(number);
        Ok(from.get(&place)?.map(|bytes| R::decode(&place, &bytes)))
    }

    /// Time at which the first row was queued, in milliseconds since 1970; `None` without rows.
    pub(crate) fn oldest_ms(&self, from: &impl Read) -> Result<Option<u64>, StoreError> {
        let mut cursor = self.rows(from, None)?;
        let first = cursor.next()?.map(|(place, _)| self.number(place)).transpose()?;
        Ok(first.map(|number| number >> NUMBER_BITS))
    }

    /// Deletes the rows with these numbers, as far as they are there.
    pub(crate) fn forget(
        &self,
        write: &mut Transaction<'_>,
        numbers: impl IntoIterator<Item = u64>,
    ) -> Result<(), StoreError> {
        write.claim(Claim::QueueAlone(&self.counter))?;
        let waiting = self.state(write)?.waiting;
        let mut forgotten = 0;
        let places: Vec<_> = numbers.into_iter().map(|number| self.place(number)).collect();
        write.fetch(&places)?;
        for place in places {
            if write.get(&place)?.is_some() {
                write.delete(&place)?;
                forgotten += 1;
            }
        }
        // Removed damaged records are not subtracted: an empty queue corrects the count. It is
        // corrected by the difference, so that a row that comes at the same time counts.
        let gone = if self.is_empty(write)? { waiting } else { forgotten };
        self.count(write, -of(gone))
    }

    /// Ends the queue of a target that no longer exists, if it is empty.
    pub(crate) fn end(&self, write: &mut Transaction<'_>) -> Result<(), StoreError> {
        write.claim(Claim::QueueAlone(&self.counter))?;
        if self.is_empty(write)? {
            write.end_counter(&self.counter)?;
        }
        Ok(())
    }

    /// The counts; of rows that are counted anew if their record is damaged or missing.
    fn state(&self, write: &mut Transaction<'_>) -> Result<QueueState, StoreError> {
        if let Some(counted) = write.counter::<QueueRecord>(&self.counter)? {
            return Ok(counted.counts.into());
        }
        write.claim(Claim::QueueAlone(&self.counter))?;
        let record = self.recount(write)?;
        write.set_counter(&self.counter, &record)?;
        Ok(record.state)
    }

    /// A record by the rows. Nothing tells how many were lost.
    fn recount(&self, from: &impl Read) -> Result<QueueRecord, StoreError> {
        let mut record = QueueRecord::default();
        let mut cursor = self.rows(from, None)?;
        while let Some((place, _)) = cursor.next()? {
            record.next = self.number(place)?.saturating_add(1);
            record.state.waiting += 1;
        }
        Ok(record)
    }

    fn append(&self, write: &mut Transaction<'_>, now_ms: u64, row: &R) -> Result<u64, StoreError> {
        write.claim(Claim::Queue(&self.counter))?;
        let queue = liteio_kv::Queue { counter: &self.counter, rows: &self.rows };
        write.append::<QueueRecord>(queue, now_ms << NUMBER_BITS, |place| row.encode(place))
    }

    fn count(&self, write: &mut Transaction<'_>, counts: Counts) -> Result<(), StoreError> {
        match counts {
            Counts::NONE => Ok(()),
            _ => write.add::<QueueRecord>(&self.counter, &[CountChange { at: &[], counts }]),
        }
    }

    fn is_empty(&self, from: &impl Read) -> Result<bool, StoreError> {
        Ok(self.rows(from, None)?.next()?.is_none())
    }

    fn place(&self, number: u64) -> Vec<u8> {
        liteio_kv::Queue { counter: &self.counter, rows: &self.rows }.key(number)
    }

    fn number(&self, place: &[u8]) -> Result<u64, StoreError> {
        let number = place.strip_prefix(&*self.rows).and_then(|number| number.try_into().ok());
        let number = number.ok_or_else(|| StoreError::corrupt("the key of a row of a queue"))?;
        Ok(u64::from_be_bytes(number))
    }

    /// The rows after the key `after`, if given.
    fn rows<'a>(
        &self,
        from: &'a impl Read,
        after: Option<&[u8]>,
    ) -> Result<Cursor<'a>, StoreError> {
        let end = successor(&self.rows);
        let upper = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        Ok(from.cursor(after.map_or(Bound::Included(&self.rows), Bound::Excluded), upper)?)
    }
}

/// The states of all queues of a kind, by their targets.
pub(crate) fn states(
    from: &impl Read,
    kind: QueueKind,
) -> Result<BTreeMap<String, QueueState>, StoreError> {
    let state = |(target, record): (String, QueueRecord)| {
        // With the changes that are kept beside the record.
        let counted = from.counter::<QueueRecord>(&space::queue_counter(kind, &target))?;
        let state = counted.map_or(record.state, |counted| counted.counts.into());
        Ok((target, state))
    };
    former::all(from, kind)?.into_iter().map(state).collect()
}

/// As many rows that wait.
fn of(waiting: u64) -> Counts {
    Counts([i64::try_from(waiting).unwrap_or(i64::MAX), 0, 0, 0])
}
