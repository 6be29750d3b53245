//! [`FetchedTransaction`]: what a closure reads and writes in one of its runs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;

use super::cursor::{FetchedCursor, Writes};
use super::known::{Known, Want};
use crate::cursor::Cursor;
use crate::local::LocalTransaction;
use crate::view::Value;
use crate::{
    Claim, CountChange, Counted, CounterRow, Counts, Grouped, GroupedRange, KvError, Queue,
    QueueRow, Write as _,
};

/// One run of a closure over what is known.
pub(crate) struct FetchedTransaction {
    known: Known,
    wants: RefCell<Vec<Want>>,
    writes: Writes,
    counters: BTreeMap<Vec<u8>, Counter>,
    did: Did,
}

/// The changes of a run to a counter.
#[derive(Default)]
struct Counter {
    /// The row that it has set, or removed.
    set: Option<Option<Vec<u8>>>,
    /// Its changes since.
    added: Vec<(Vec<u8>, Counts)>,
    /// The next number that it may take.
    next: u64,
}

/// The steps of a run, in order.
#[derive(Default)]
pub(super) struct Did {
    steps: Vec<Step>,
    claims: Vec<(Vec<u8>, bool)>,
}

/// One thing that a run has done: its kind, and the first byte of its key.
struct Step {
    outline: (&'static str, u8),
    apply: Box<dyn FnOnce(&mut LocalTransaction<'_>) -> Result<(), KvError>>,
}

impl Did {
    /// The part that is the same in another run of the closure: keys and values may have other ids and times.
    pub(super) fn outline(&self) -> Vec<(&'static str, u8)> {
        self.steps.iter().map(|step| step.outline).collect()
    }

    pub(super) fn claims(&self) -> Vec<(Vec<u8>, bool)> {
        self.claims.clone()
    }

    pub(super) fn apply(self, to: &mut LocalTransaction<'_>) -> Result<(), KvError> {
        self.steps.into_iter().try_for_each(|step| (step.apply)(to))
    }
}

impl FetchedTransaction {
    pub(super) fn new(known: Known) -> Self {
        Self {
            known,
            wants: RefCell::default(),
            writes: Writes::default(),
            counters: BTreeMap::new(),
            did: Did::default(),
        }
    }

    pub(super) fn take_wants(&mut self) -> Vec<Want> {
        std::mem::take(self.wants.get_mut())
    }

    pub(super) fn into_done(self) -> (Known, Did) {
        (self.known, self.did)
    }

    fn step(
        &mut self,
        kind: &'static str,
        key: &[u8],
        apply: impl FnOnce(&mut LocalTransaction<'_>) -> Result<(), KvError> + 'static,
    ) {
        let outline = (kind, key.first().copied().unwrap_or_default());
        self.did.steps.push(Step { outline, apply: Box::new(apply) });
    }

    pub(crate) fn note(&mut self, attachment: &[u8], contents: &[u8]) {
        let (attachment, contents) = (attachment.to_vec(), contents.to_vec());
        self.step("note", &[], move |to| {
            to.note(&attachment, &contents);
            Ok(())
        });
    }

    pub(crate) fn carry(&mut self, key: &[u8]) {
        let owned = key.to_vec();
        self.step("carry", key, move |to| to.carry(&owned));
    }

    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Value<'_>>, KvError> {
        let value = match self.writes.get(key) {
            Some(value) => value.as_deref(),
            None => self.fetched(key)?,
        };
        Ok(value.map(Value::in_memory))
    }

    /// The value of a key before this transaction.
    fn fetched(&self, key: &[u8]) -> Result<Option<&[u8]>, KvError> {
        self.known.get(key).ok_or_else(|| {
            self.wants.borrow_mut().push(Want::Key(key.to_vec()));
            KvError::NotFetched
        })
    }

    pub(crate) fn cursor(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Cursor<'_> {
        let of = (&self.known, &self.writes, &self.wants);
        Cursor::fetched(FetchedCursor::new(of, lower, upper))
    }

    pub(crate) fn grouped(&self, range: &GroupedRange<'_>) -> Grouped<'_> {
        let (lower, upper) = (Bound::Included(range.lower), Bound::Excluded(range.upper));
        Grouped::new(self.cursor(lower, upper), range)
    }

    pub(crate) fn put(&mut self, key: &[u8], value: &[u8]) {
        self.writes.insert(key.to_vec(), Some(value.to_vec()));
        let (owned, value) = (key.to_vec(), value.to_vec());
        self.step("put", key, move |to| to.put(&owned, &value));
    }

    pub(crate) fn delete(&mut self, key: &[u8]) {
        self.writes.insert(key.to_vec(), None);
        let owned = key.to_vec();
        self.step("delete", key, move |to| to.delete(&owned));
    }

    /// The row of a counter with what this run has done to it.
    fn row<R: CounterRow>(&self, key: &[u8]) -> Result<Option<R>, R::Error> {
        let own = self.counters.get(key);
        let bytes = match own.and_then(|own| own.set.as_ref()) {
            Some(set) => set.as_deref(),
            None => self.fetched(key)?,
        };
        let Some(mut row) = bytes.map(|bytes| R::decode(key, bytes)).transpose()?.flatten() else {
            return Ok(None);
        };
        for (at, counts) in own.into_iter().flat_map(|own| &own.added) {
            row.change(&CountChange { at, counts: *counts });
        }
        Ok(Some(row))
    }

    pub(crate) fn counter<R: CounterRow>(&self, key: &[u8]) -> Result<Option<Counted>, R::Error> {
        Ok(self.row::<R>(key)?.map(|row| row.counted()))
    }

    pub(crate) fn add<R: CounterRow>(&mut self, key: &[u8], changes: &[CountChange<'_>]) {
        let changes: Vec<_> =
            changes.iter().map(|change| (change.at.to_vec(), change.counts)).collect();
        self.counters.entry(key.to_vec()).or_default().added.extend(changes.iter().cloned());
        let owned = key.to_vec();
        self.step("add", key, move |to| {
            let changes: Vec<_> =
                changes.iter().map(|(at, counts)| CountChange { at, counts: *counts }).collect();
            to.add::<R>(&owned, &changes).map_err(failure::<R>)
        });
    }

    pub(crate) fn set_counter<R: CounterRow>(&mut self, key: &[u8], row: &R) {
        let bytes = row.encode(key);
        let counter = Counter { set: Some(Some(bytes.clone())), ..Counter::default() };
        self.counters.insert(key.to_vec(), counter);
        let owned = key.to_vec();
        self.step("count", key, move |to| to.put(&owned, &bytes));
    }

    pub(crate) fn end_counter(&mut self, key: &[u8]) {
        let counter = Counter { set: Some(None), ..Counter::default() };
        self.counters.insert(key.to_vec(), counter);
        let owned = key.to_vec();
        self.step("uncount", key, move |to| to.end_counter(&owned));
    }

    pub(crate) fn append<R: QueueRow>(
        &mut self,
        queue: Queue<'_>,
        floor: u64,
        value: impl FnOnce(&[u8]) -> Vec<u8>,
    ) -> Result<u64, R::Error> {
        let mut row = self.row::<R>(queue.counter)?.unwrap_or_default();
        let counter = self.counters.entry(queue.counter.to_vec()).or_default();
        let number = row.take_number(floor.max(counter.next));
        counter.next = number + 1;
        let key = queue.key(number);
        counter.added.push((key.clone(), Counts::ONE));
        let value = value(&key);
        self.writes.insert(key.clone(), Some(value.clone()));
        let (counter, rows) = (queue.counter.to_vec(), queue.rows.to_vec());
        self.step("append", queue.counter, move |to| {
            let queue = Queue { counter: &counter, rows: &rows };
            let given = to.append::<R>(queue, floor, |_| value).map_err(failure::<R>)?;
            match given == number {
                true => Ok(()),
                false => Err(KvError::Corrupt(format!("row {number} of a queue became {given}"))),
            }
        });
        Ok(number)
    }

    pub(crate) fn claim(&mut self, claim: impl Claim) {
        let mut name = Vec::new();
        claim.append_name(&mut name);
        let claim = (name, claim.is_shared());
        if !self.did.claims.contains(&claim) {
            self.did.claims.push(claim);
        }
    }
}

impl fmt::Debug for FetchedTransaction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FetchedTransaction").finish_non_exhaustive()
    }
}

/// The error of a counter's row, which the closure has not seen.
fn failure<R: CounterRow>(error: R::Error) -> KvError {
    KvError::Corrupt(error.to_string())
}
