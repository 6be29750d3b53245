//! [`Steps`]: what a run has done, to be done to the local engine.

use crate::local::LocalTransaction;
use crate::{CountChange, CounterRow, Counts, KvError, Queue, QueueRow, Write as _};

/// The steps of a run, in order.
#[derive(Default)]
pub(crate) struct Steps {
    steps: Vec<Step>,
    claims: Vec<(Vec<u8>, bool)>,
}

/// One thing that a run has done: its kind, and the first byte of its key.
struct Step {
    outline: (&'static str, u8),
    apply: Box<dyn FnOnce(&mut LocalTransaction<'_>) -> Result<(), KvError>>,
}

impl Steps {
    /// The part that is the same in another run of the closure: keys and values may have other ids and times.
    pub(crate) fn outline(&self) -> Vec<(&'static str, u8)> {
        self.steps.iter().map(|step| step.outline).collect()
    }

    /// The claims, in order, each once.
    pub(crate) fn claims(&self) -> Vec<(Vec<u8>, bool)> {
        self.claims.clone()
    }

    pub(crate) fn apply(self, to: &mut LocalTransaction<'_>) -> Result<(), KvError> {
        self.steps.into_iter().try_for_each(|step| (step.apply)(to))
    }

    fn step(
        &mut self,
        kind: &'static str,
        key: &[u8],
        apply: impl FnOnce(&mut LocalTransaction<'_>) -> Result<(), KvError> + 'static,
    ) {
        let outline = (kind, key.first().copied().unwrap_or_default());
        self.steps.push(Step { outline, apply: Box::new(apply) });
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

    pub(crate) fn put(&mut self, key: &[u8], value: &[u8]) {
        let (owned, value) = (key.to_vec(), value.to_vec());
        self.step("put", key, move |to| to.put(&owned, &value));
    }

    pub(crate) fn delete(&mut self, key: &[u8]) {
        let owned = key.to_vec();
        self.step("delete", key, move |to| to.delete(&owned));
    }

    pub(crate) fn end_counter(&mut self, key: &[u8]) {
        let owned = key.to_vec();
        self.step("uncount", key, move |to| to.end_counter(&owned));
    }

    pub(crate) fn add<R: CounterRow>(&mut self, key: &[u8], changes: &[CountChange<'_>]) {
        let owned = key.to_vec();
        let changes = changes.iter().map(|change| (change.at.to_vec(), change.counts));
        let changes: Vec<(Vec<u8>, Counts)> = changes.collect();
        self.step("add", key, move |to| {
            let changes = changes.iter().map(|(at, counts)| CountChange { at, counts: *counts });
            to.add::<R>(&owned, &changes.collect::<Vec<_>>()).map_err(failure::<R>)
        });
    }

    pub(crate) fn append<R: QueueRow>(
        &mut self,
        queue: Queue<'_>,
        floor: u64,
        number: u64,
        value: &[u8],
    ) {
        let (counter, rows) = (queue.counter.to_vec(), queue.rows.to_vec());
        let value = value.to_vec();
        self.step("append", queue.counter, move |to| {
            let queue = Queue { counter: &counter, rows: &rows };
            let given = to.append::<R>(queue, floor, |_| value).map_err(failure::<R>)?;
            match given == number {
                true => Ok(()),
                false => Err(KvError::Corrupt(format!("row {number} of a queue became {given}"))),
            }
        });
    }

    pub(crate) fn claim(&mut self, name: &[u8], is_shared: bool) {
        let claim = (name.to_vec(), is_shared);
        if !self.claims.contains(&claim) {
            self.claims.push(claim);
        }
    }
}

/// The error of a counter's row, which the closure has not seen.
fn failure<R: CounterRow>(error: R::Error) -> KvError {
    KvError::Corrupt(error.to_string())
}
