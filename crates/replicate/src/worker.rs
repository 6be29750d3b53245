//! The task of one target.
//!
//! It reads its queue in order and works on several rows at a time, but on one at a time of each
//! key: the versions of a key arrive in order. A failed row is passed over with all later rows of
//! its key; at the end of the queue, the task starts again at its front, after exponentially growing
//! waits. So a version that a target always refuses does not block the others. As long as nothing
//! succeeds, the target may be down: then it gets one row at a time, with pauses.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use liteio_access::remote::{RemoteFigures, RemoteTarget};
use liteio_access::state::App;
use liteio_store::{
    Job, QueuedReplication, ReplicationOutcome, ReplicationResult, ReplicationRow, Store,
    StoreError,
};
use tokio::time::{Instant, sleep, sleep_until};

use crate::copy::{Copy, Outcome};
use crate::limits::{
    AT_A_TIME, DOUBTFUL, FAILED_KEY_BITS, PAUSE_MAX, READ_AHEAD, SUSPENDED, WAIT_MAX, WAIT_MIN,
};
use crate::remote::Remote;

/// A finished row.
struct Finished {
    number: u64,
    key: u64,
    outcome: Outcome,
}

/// A row that was read, with the hash of its bucket and key.
struct Read {
    number: u64,
    key: u64,
    row: ReplicationRow,
}

pub(crate) struct Worker {
    app: Arc<App>,
    target: Arc<RemoteTarget>,
    remote: Arc<Remote>,
    figures: Arc<RemoteFigures>,
    hashes: RandomState,
    /// Rows that were read and not begun.
    read: VecDeque<Read>,
    /// Keys of the rows in flight.
    busy: HashSet<u64>,
    /// Keys of which a row has failed since the front of the queue.
    failed: FailedKeys,
    on_the_way: FuturesUnordered<BoxFuture<'static, Finished>>,
    /// The number of the last row read since the front of the queue.
    position: Option<u64>,
    /// The queue's counter of additions when its end was read.
    end_seen: Option<u64>,
    /// The time to start again at the front, for rows that were passed over.
    retry: Option<Instant>,
    /// The wait before the next retry.
    wait: Duration,
    failures_in_a_row: usize,
    /// The number of the last damaged row that was logged.
    damaged: Option<u64>,
}

impl Worker {
    /// # Errors
    /// One line about a target that cannot be used.
    pub(crate) fn new(
        app: Arc<App>,
        target: Arc<RemoteTarget>,
        figures: Arc<RemoteFigures>,
    ) -> Result<Worker, String> {
        let remote = Arc::new(Remote::new(&target)?);
        Ok(Worker {
            app,
            target,
            remote,
            figures,
            hashes: RandomState::new(),
            read: VecDeque::new(),
            busy: HashSet::new(),
            failed: FailedKeys::default(),
            on_the_way: FuturesUnordered::new(),
            position: None,
            end_seen: None,
            retry: None,
            wait: WAIT_MIN,
            failures_in_a_row: 0,
            damaged: None,
        })
    }

    pub(crate) async fn run(mut self) {
        loop {
            match self.step().await {
                Ok(()) => {}
                Err(StoreError::Closed) => return,
                // Another server has taken over.
                Err(StoreError::Suspended { .. }) => sleep(SUSPENDED).await,
                Err(error) => {
                    tracing::error!(target = self.target.arn, %error, "a queue of replication fails");
                    sleep(WAIT_MAX).await;
                }
            }
        }
    }

    /// Begins rows while there is room, then waits for the next thing to happen.
    async fn step(&mut self) -> Result<(), StoreError> {
        let job = Job::Replication(self.target.arn.clone());
        let Some(store) = self.app.store.for_job(job)? else {
            // Another server copies them: this one could not delete the rows of what it has copied.
            self.read.clear();
            self.busy.clear();
            self.on_the_way.clear();
            self.start_again();
            sleep(SUSPENDED).await;
            return Ok(());
        };
        let goes_back = self.read.is_empty()
            && self.end_seen.is_some()
            && self.retry.is_some_and(|at| at <= Instant::now());
        match (goes_back, self.on_the_way.is_empty()) {
            (false, _) => self.begin_some().await?,
            (true, true) => self.start_again(),
            // Rows in flight must not be read a second time.
            (true, false) => {}
        }
        if !self.on_the_way.is_empty() {
            let finished = self.on_the_way.next().await;
            return self.settle(&store, finished).await;
        }
        let Some(seen) = self.end_seen.filter(|_| self.read.is_empty()) else { return Ok(()) };
        let queued = self.app.store.wait_for_replication(&self.target.arn, seen);
        match self.retry {
            Some(at) => tokio::select! {
                () = queued => self.end_seen = None,
                () = sleep_until(at) => {}
            },
            None => {
                self.recovered();
                queued.await;
                self.start_again();
            }
        }
        Ok(())
    }

    async fn begin_some(&mut self) -> Result<(), StoreError> {
        let is_doubtful = self.failures_in_a_row >= DOUBTFUL;
        let room = if is_doubtful { 1 } else { AT_A_TIME };
        while self.on_the_way.len() < room {
            let next = match self.next() {
                Some(next) => next,
                None if self.read.len() < READ_AHEAD && self.read_page().await? => continue,
                None => return Ok(()),
            };
            if is_doubtful {
                sleep(spread(self.wait.min(PAUSE_MAX))).await;
            }
            self.begin(next);
        }
        Ok(())
    }

    /// The first row whose key has no row in flight, and none before it.
    fn next(&mut self) -> Option<Read> {
        let mut passed = HashSet::new();
        let mut place = 0;
        while let Some(row) = self.read.get(place) {
            if self.failed.has(row.key) {
                // It is read again after the next start at the front.
                self.read.remove(place);
                self.retry_later();
                continue;
            }
            if !self.busy.contains(&row.key) && passed.insert(row.key) {
                return self.read.remove(place);
            }
            passed.insert(row.key);
            place += 1;
        }
        None
    }

    /// Reads the next page; `false` at the end of the queue.
    async fn read_page(&mut self) -> Result<bool, StoreError> {
        let arn = self.target.arn.clone();
        let queued = self.app.store.replication_queued(&arn);
        if self.end_seen.is_some_and(|seen| seen >= queued) {
            return Ok(false);
        }
        let (position, room) = (self.position, READ_AHEAD - self.read.len());
        let read = move |store: &Store| store.replication_rows(&arn, position, room);
        let page = self.app.blocking(read).await?;
        self.position = page.last().map(|row| row.number).or(self.position);
        self.end_seen = page.is_empty().then_some(queued);
        let is_end = page.is_empty();
        for QueuedReplication { number, row } in page {
            match row {
                Ok(row) => {
                    let key = self.hashes.hash_one((row.bucket_number(), &row.key));
                    self.read.push_back(Read { number, key, row });
                }
                // It stays in the queue for verify and repair, and does not block the others.
                Err(error) if self.damaged.is_none_or(|last| number > last) => {
                    self.damaged = Some(number);
                    let target = &self.target.arn;
                    tracing::error!(target, number, %error, "a row of replication is damaged");
                }
                Err(_) => {}
            }
        }
        Ok(!is_end)
    }

    fn begin(&mut self, Read { number, key, row }: Read) {
        self.busy.insert(key);
        let (app, target) = (Arc::clone(&self.app), Arc::clone(&self.target));
        let remote = Arc::clone(&self.remote);
        self.on_the_way.push(
            async move {
                let copy = Copy { app: &app, target: &target, remote: &remote, row: &row };
                Finished { number, key, outcome: copy.run().await }
            }
            .boxed(),
        );
    }

    /// Ends `first` and all other rows that have finished.
    async fn settle(&mut self, store: &Store, first: Option<Finished>) -> Result<(), StoreError> {
        let mut outcomes = Vec::new();
        let mut next = first;
        while let Some(Finished { number, key, outcome }) = next {
            self.busy.remove(&key);
            let result = match outcome {
                Outcome::Done { version, bytes } => {
                    self.failures_in_a_row = 0;
                    self.figures.note_copy(bytes);
                    Some(ReplicationResult::Done { version })
                }
                Outcome::Gone => Some(ReplicationResult::Gone),
                Outcome::LeftOut => Some(ReplicationResult::LeftOut),
                Outcome::Refused(line) => {
                    self.passed_over(key, &line, store.now_ms());
                    Some(ReplicationResult::Refused)
                }
                Outcome::Down(line) => {
                    self.passed_over(key, &line, store.now_ms());
                    None
                }
            };
            outcomes.extend(result.map(|result| ReplicationOutcome { number, result }));
            next = self.on_the_way.next().now_or_never().flatten();
        }
        if outcomes.is_empty() {
            return Ok(());
        }
        let settled = store.settle_replication(&self.target.arn, outcomes).await;
        if settled.is_err() {
            // These rows are still in the queue, and are worked on again.
            self.retry = self.retry.or(Some(Instant::now() + WAIT_MAX));
        }
        settled
    }

    fn passed_over(&mut self, key: u64, line: &str, now_ms: u64) {
        self.failures_in_a_row += 1;
        self.failed.add(key);
        self.figures.note_failure(line);
        self.retry_later();
        if !self.figures.is_failing.load(Ordering::Relaxed) {
            // Who sees that it fails sees since when.
            self.figures.failing_since_ms.store(now_ms, Ordering::Relaxed);
            self.figures.is_failing.store(true, Ordering::Release);
            let target = &self.target.arn;
            tracing::warn!(target, reason = line, "a target does not take a version; it waits");
        }
    }

    fn retry_later(&mut self) {
        if self.retry.is_none() {
            self.retry = Some(Instant::now() + spread(self.wait));
            self.wait = (self.wait * 2).min(WAIT_MAX);
        }
    }

    /// Resets the backoff: the target has all that was queued.
    fn recovered(&mut self) {
        self.wait = WAIT_MIN;
        if self.figures.is_failing.swap(false, Ordering::Relaxed) {
            tracing::info!(target = self.target.arn, "the target has all versions again");
        }
    }

    fn start_again(&mut self) {
        (self.position, self.end_seen, self.retry) = (None, None, None);
        self.failures_in_a_row = 0;
        self.failed.clear();
    }
}

/// A time between half of `whole` and all of it, so that many targets of one server spread.
fn spread(whole: Duration) -> Duration {
    let chance = f64::from(getrandom::u32().unwrap_or(u32::MAX)) / f64::from(u32::MAX);
    whole.mul_f64(0.5 + chance / 2.0)
}

/// A set of keys in constant memory, which may have keys that were not added.
struct FailedKeys {
    bits: Box<[u64]>,
    is_empty: bool,
}

impl Default for FailedKeys {
    fn default() -> FailedKeys {
        FailedKeys { bits: vec![0; FAILED_KEY_BITS / 64].into(), is_empty: true }
    }
}

impl FailedKeys {
    fn place(key: u64) -> (usize, u64) {
        let bit = key as usize % FAILED_KEY_BITS;
        (bit / 64, 1 << (bit % 64))
    }

    fn has(&self, key: u64) -> bool {
        let (word, bit) = FailedKeys::place(key);
        !self.is_empty && self.bits[word] & bit != 0
    }

    fn add(&mut self, key: u64) {
        let (word, bit) = FailedKeys::place(key);
        self.bits[word] |= bit;
        self.is_empty = false;
    }

    fn clear(&mut self) {
        if !std::mem::replace(&mut self.is_empty, true) {
            self.bits.fill(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_keys_are_known_until_the_queue_begins_again() {
        let mut failed = FailedKeys::default();
        assert!(!failed.has(7));
        failed.add(7);
        failed.add(u64::MAX);
        assert!(failed.has(7) && failed.has(u64::MAX) && !failed.has(8));
        failed.clear();
        assert!(!failed.has(7) && !failed.has(u64::MAX));
    }
}
