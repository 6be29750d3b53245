//! [`Several`]: other processes, which tests play.

use std::collections::HashMap;
use std::sync::Arc;

use liteio_blob::BlobId;
use liteio_kv::database::PrimaryId;
use liteio_kv::{Read as _, Transaction};
use parking_lot::Mutex;

use super::alone::Alone;
use super::cluster::{Cluster, Job, Kept, Opened, Reading, Sleeper, Term};
use crate::error::StoreError;
use crate::meta::content::{Content, ContentId};

/// The first byte of the rows that end terms, which no record has.
const TAKEN: u8 = 0xf7;

/// The other processes of a test: they take over a job, between two updates of it or in the middle
/// of a page, and give it back. Clones are the same processes.
#[derive(Clone, Debug, Default)]
pub struct Several {
    jobs: Arc<Mutex<HashMap<Job, State>>>,
}

#[derive(Debug, Default)]
struct State {
    /// `true` while another process does it.
    is_taken: bool,
    /// Number of the newest term.
    number: u64,
    /// Updates that this process commits before another one takes over.
    left: Option<usize>,
    /// Terms that were asked for.
    asked: usize,
    /// Updates that were refused because their term was over.
    refused: usize,
}

impl Several {
    /// Another process does `job` from now on.
    pub fn take(&self, job: Job) {
        self.jobs.lock().entry(job).or_default().end();
    }

    /// Another process does `job` behind the next `updates` updates of the term that is running, or
    /// begins next.
    pub fn take_after(&self, job: Job, updates: usize) {
        self.jobs.lock().entry(job).or_default().left = Some(updates);
    }

    /// The other process does not do `job` any more, so this one may.
    pub fn give(&self, job: Job) {
        self.jobs.lock().entry(job).or_default().is_taken = false;
    }

    /// The number of times that a term of `job` was asked for, and of updates that were refused
    /// because it was over.
    #[must_use]
    pub fn seen(&self, job: &Job) -> (usize, usize) {
        self.jobs.lock().get(job).map_or((0, 0), |state| (state.asked, state.refused))
    }

    /// The row that ends the term of `job` for updates behind it, although nobody has told this
    /// process.
    #[cfg(test)]
    pub(crate) fn row(job: &Job) -> Vec<u8> {
        [&[TAKEN], format!("{job:?}").as_bytes()].concat()
    }

    pub(super) fn with(&self, alone: Alone) -> OneOfSeveral {
        OneOfSeveral { alone, several: self.clone() }
    }
}

impl State {
    fn end(&mut self) {
        (self.is_taken, self.left) = (true, None);
        self.number += 1;
    }
}

/// The decisions of a process beside [`Several`] others.
#[derive(Debug)]
pub(super) struct OneOfSeveral {
    alone: Alone,
    several: Several,
}

impl Cluster for OneOfSeveral {
    fn standing(&self) -> Result<(), StoreError> {
        self.alone.standing()
    }

    fn lease(&self, job: &Job) -> Result<Option<Term>, StoreError> {
        let mut jobs = self.several.jobs.lock();
        let state = jobs.entry(job.clone()).or_default();
        state.asked += 1;
        let term = self.alone.lease(job)?;
        Ok(term.filter(|_| !state.is_taken).map(|term| Term { number: state.number, ..term }))
    }

    fn admit(&self, term: Option<&Term>, write: &mut Transaction<'_>) -> Result<(), StoreError> {
        self.alone.admit(term, write)?;
        let Some(term) = term else { return Ok(()) };
        let is_taken = write.get(&[&[TAKEN], format!("{:?}", term.job).as_bytes()].concat())?;
        let mut jobs = self.several.jobs.lock();
        let state = jobs.entry(term.job.clone()).or_default();
        if state.left == Some(0) || is_taken.is_some() {
            state.end();
        }
        if state.number != term.number {
            state.refused += 1;
            return Err(Term::over());
        }
        state.left = state.left.map(|left| left - 1);
        Ok(())
    }

    fn reading(&self) -> Reading<'_> {
        self.alone.reading()
    }

    fn keep(&self, content: &Content, opened: Opened) -> Kept {
        self.alone.keep(content, opened)
    }

    fn may_delete(
        &self,
        queued: &mut Vec<ContentId>,
        at: Option<PrimaryId>,
    ) -> Result<(), StoreError> {
        self.alone.may_delete(queued, at)
    }

    fn may_delete_in_tier(
        &self,
        body: &[u8; 16],
        at: Option<PrimaryId>,
    ) -> Result<bool, StoreError> {
        self.alone.may_delete_in_tier(body, at)
    }

    fn in_flight(&self, blob: &BlobId) -> Result<bool, StoreError> {
        self.alone.in_flight(blob)
    }

    fn wake(&self, sleeper: Sleeper<'_>) {
        self.alone.wake(sleeper);
    }
}
