//! [`FetchedTransaction`]: what a closure reads and writes in one of its runs.

use std::cell::{OnceCell, RefCell};
use std::fmt;
use std::ops::Bound;

use super::changes::{Changes, Mark};
use super::cursor::{FetchedCursor, RunSource};
use super::known::Known;
use super::seen::Seen;
#[cfg(any(test, feature = "test-util"))]
use super::steps::Steps;
use crate::database::Want;
use crate::{Claim, CountChange, Counted, CounterRow, Counts, KvError, Queue, QueueRow};

/// Most bytes of a key with its value over a database: beyond what any closure writes, and far below the
/// limits of databases.
const PAIR_BYTES_MAX: usize = 64 << 20;

/// The numbers for rows of queues.
pub(crate) trait Numbers {
    /// A number, at least `floor`.
    fn take(&self, floor: u64) -> Result<u64, KvError>;
}

/// The place where runs happen.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) known: &'a Known,
    pub(crate) numbers: &'a dyn Numbers,
    /// Rows to fetch where a cursor comes to what is not known.
    pub(crate) page: usize,
}

/// One run of a closure over what is known.
pub(crate) struct FetchedTransaction<'a> {
    place: Place<'a>,
    changes: &'a mut Changes,
    begin: Mark,
    seen: RefCell<Seen>,
    /// The error that fails the update even if its closure ignores it.
    failure: OnceCell<KvError>,
    /// The steps of the run, to be repeated on the local engine.
    #[cfg(any(test, feature = "test-util"))]
    steps: Option<Steps>,
}

/// A run that has ended.
pub(crate) struct Ran {
    pub(crate) seen: Seen,
    pub(crate) failure: Option<KvError>,
    pub(crate) begin: Mark,
    #[cfg(any(test, feature = "test-util"))]
    pub(crate) steps: Option<Steps>,
}

impl<'a> FetchedTransaction<'a> {
    pub(crate) fn new(place: Place<'a>, changes: &'a mut Changes) -> Self {
        Self {
            place,
            begin: changes.mark(),
            changes,
            seen: RefCell::default(),
            failure: OnceCell::new(),
            #[cfg(any(test, feature = "test-util"))]
            steps: None,
        }
    }

    /// A run whose steps are noted.
    #[cfg(any(test, feature = "test-util"))]
    pub(crate) fn in_steps(self) -> Self {
        Self { steps: Some(Steps::default()), ..self }
    }

    pub(crate) fn end(self) -> Ran {
        Ran {
            seen: self.seen.into_inner(),
            failure: self.failure.into_inner(),
            begin: self.begin,
            #[cfg(any(test, feature = "test-util"))]
            steps: self.steps,
        }
    }

    /// `true` if something that was read is not known.
    pub(crate) fn misses(&self) -> bool {
        !self.seen.borrow().wants.is_empty()
    }

    pub(crate) fn note(&mut self, attachment: &[u8], contents: &[u8]) {
        #[cfg(any(test, feature = "test-util"))]
        if let Some(steps) = &mut self.steps {
            return steps.note(attachment, contents);
        }
        let _ = (attachment, contents);
        let what = "an attachment was noted, which a key space over a database cannot keep";
        let _ = self.failure.set(KvError::Corrupt(what.into()));
    }

    pub(crate) fn carry(&mut self, key: &[u8]) {
        #[cfg(any(test, feature = "test-util"))]
        if let Some(steps) = &mut self.steps {
            return steps.carry(key);
        }
        unreachable!("a key space over a database has no tables, to drain {key:?}");
    }

    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<&[u8]>, KvError> {
        if let Some(value) = self.changes.writes.get(key) {
            return Ok(value.as_deref());
        }
        let mut seen = self.seen.borrow_mut();
        match self.place.known.get(key) {
            Some(row) => {
                seen.keys.insert(key.to_vec());
                Ok(row.map(|row| row.value.as_slice()))
            }
            None => {
                seen.want(Want::Key(key.to_vec()));
                Err(KvError::NotFetched)
            }
        }
    }

    pub(crate) fn fetch<K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<(), KvError> {
        let mut seen = self.seen.borrow_mut();
        for key in keys {
            let key = key.as_ref();
            if !self.changes.writes.contains_key(key) && self.place.known.get(key).is_none() {
                seen.want(Want::Key(key.to_vec()));
            }
        }
        drop(seen);
        if self.misses() { Err(KvError::NotFetched) } else { Ok(()) }
    }

    pub(crate) fn cursor(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> FetchedCursor<'_> {
        let Place { known, page, .. } = self.place;
        let run = RunSource { known, writes: &self.changes.writes, seen: &self.seen, page };
        FetchedCursor::of_run(run, lower, upper)
    }

    pub(crate) fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), KvError> {
        #[cfg(any(test, feature = "test-util"))]
        if let Some(steps) = &mut self.steps {
            steps.put(key, value);
        }
        self.set(key, value)
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<(), KvError> {
        let bytes = key.len().saturating_add(value.len());
        if bytes > PAIR_BYTES_MAX {
            return Err(KvError::TooLarge { bytes, bytes_max: PAIR_BYTES_MAX });
        }
        self.changes.write(key, Some(value));
        Ok(())
    }

    pub(crate) fn delete(&mut self, key: &[u8]) {
        #[cfg(any(test, feature = "test-util"))]
        if let Some(steps) = &mut self.steps {
            steps.delete(key);
        }
        self.changes.write(key, None);
    }

    /// The row of a counter; without the changes that are kept beside it.
    fn row<R: CounterRow>(&self, key: &[u8]) -> Result<Option<R>, R::Error> {
        match self.get(key)? {
            Some(bytes) => R::decode(key, bytes),
            None => Ok(None),
        }
    }

    pub(crate) fn counter<R: CounterRow>(&self, key: &[u8]) -> Result<Option<Counted>, R::Error> {
        let own = self.changes.counter(key);
        let mut sum = own.map(|own| own.added).unwrap_or_default();
        // In steps the row has everything that was counted before.
        if !self.is_in_steps() && !own.is_some_and(|own| own.begins_anew) {
            let mut seen = self.seen.borrow_mut();
            match self.place.known.counter(key) {
                Some(counts) => {
                    sum += counts;
                    seen.counters.insert(key.to_vec());
                }
                None => seen.want(Want::Counter(key.to_vec())),
            }
        }
        let Some(row) = self.row::<R>(key)? else { return Ok(None) };
        #[cfg(any(test, feature = "test-util"))]
        let row = decided(row, own);
        let Counted { counts, is_complete } = row.counted();
        Ok(Some(Counted { counts: counts + sum, is_complete }))
    }

    fn is_in_steps(&self) -> bool {
        #[cfg(any(test, feature = "test-util"))]
        return self.steps.is_some();
        #[cfg(not(any(test, feature = "test-util")))]
        false
    }

    pub(crate) fn add<R: CounterRow>(
        &mut self,
        key: &[u8],
        changes: &[CountChange<'_>],
    ) -> Result<(), R::Error> {
        #[cfg(any(test, feature = "test-util"))]
        if let Some(steps) = &mut self.steps {
            steps.add::<R>(key, changes);
            let changes = changes.iter().map(|change| (change.at.to_vec(), change.counts));
            self.changes.counter_mut(key).undecided.extend(changes);
            return Ok(());
        }
        let row = self.row::<R>(key);
        if row.is_err() && self.misses() {
            // The closure goes on, so that what it reads behind this is fetched together with it. It
            // runs again anyway.
            return Ok(());
        }
        let Some(mut row) = row? else { return Ok(()) };
        let changes = changes.iter().filter(|change| row.change(change));
        let added = changes.fold(Counts::NONE, |sum, change| sum + change.counts);
        if added != Counts::NONE {
            self.changes.counter_mut(key).added += added;
        }
        Ok(())
    }

    pub(crate) fn set_counter<R: CounterRow>(
        &mut self,
        key: &[u8],
        row: &R,
    ) -> Result<(), KvError> {
        let bytes = row.encode(key);
        #[cfg(any(test, feature = "test-util"))]
        if let Some(steps) = &mut self.steps {
            steps.put(key, &bytes);
        }
        self.set(key, &bytes)?;
        self.begin_anew(key);
        Ok(())
    }

    pub(crate) fn end_counter(&mut self, key: &[u8]) {
        #[cfg(any(test, feature = "test-util"))]
        if let Some(steps) = &mut self.steps {
            steps.end_counter(key);
        }
        self.changes.write(key, None);
        self.begin_anew(key);
    }

    fn begin_anew(&mut self, key: &[u8]) {
        let counter = self.changes.counter_mut(key);
        counter.begins_anew = true;
        counter.added = Counts::NONE;
        #[cfg(any(test, feature = "test-util"))]
        counter.undecided.clear();
    }

    pub(crate) fn append<R: QueueRow>(
        &mut self,
        queue: Queue<'_>,
        floor: u64,
        value: impl FnOnce(&[u8]) -> Vec<u8>,
    ) -> Result<u64, R::Error> {
        let (mut row, is_new) = match self.row::<R>(queue.counter)? {
            Some(row) => (row, false),
            None => (R::default(), true),
        };
        let next = self.changes.counter(queue.counter).map_or(0, |own| own.next);
        // The row of a key space that was in a directory knows numbers that were given there.
        let least = row.take_number(floor.max(next));
        let taken = self.place.numbers.take(least);
        let number = taken.inspect_err(|error| _ = self.failure.set(error.clone()))?;
        let key = queue.key(number);
        let value = value(&key);
        #[cfg(any(test, feature = "test-util"))]
        if let Some(steps) = &mut self.steps {
            steps.append::<R>(queue, floor, number, &value);
        }
        if is_new && !self.is_in_steps() {
            self.set(queue.counter, &R::default().encode(queue.counter))?;
            self.begin_anew(queue.counter);
        }
        self.set(&key, &value)?;
        let is_counted = row.change(&CountChange { at: &key, counts: Counts::ONE });
        let is_in_steps = self.is_in_steps();
        let counter = self.changes.counter_mut(queue.counter);
        counter.next = number.saturating_add(1);
        #[cfg(any(test, feature = "test-util"))]
        if is_in_steps {
            counter.undecided.push((key, Counts::ONE));
        }
        if is_counted && !is_in_steps {
            counter.added += Counts::ONE;
        }
        Ok(number)
    }

    pub(crate) fn claim(&mut self, claim: impl Claim) {
        let mut name = Vec::new();
        claim.append_name(&mut name);
        #[cfg(any(test, feature = "test-util"))]
        if let Some(steps) = &mut self.steps {
            steps.claim(&name, claim.is_shared());
        }
        self.seen.borrow_mut().claim(name, claim.is_shared());
    }
}

/// The row of a counter with the changes of this run.
#[cfg(any(test, feature = "test-util"))]
fn decided<R: CounterRow>(mut row: R, own: Option<&super::changes::CounterChange>) -> R {
    for (at, counts) in own.into_iter().flat_map(|own| &own.undecided) {
        row.change(&CountChange { at, counts: *counts });
    }
    row
}

impl fmt::Debug for FetchedTransaction<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FetchedTransaction").finish_non_exhaustive()
    }
}
