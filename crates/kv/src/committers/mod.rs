//! [`Committers`]: the threads that commit the updates of a key space over a database.
//!
//! ```text
//!  update ─┐             ┌─ run the closures ─► commit ─► answers
//!  update ─┼─► queue ──►─┤
//!  update ─┘             └─ run the closures ─► commit ─► answers
//! ```
//! Each thread takes the updates that wait, up to a group. Threads work at the same time, so updates
//! that wait at the same time commit in any order. While others work, a thread waits a moment for more.

mod committer;
mod numbers;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use self::committer::Committer;
use crate::database::{
    Ahead, Answer, CountedDatabase, Database, DatabaseConfig, DatabaseSnapshot, Moment, Want,
    Worker, nonsense,
};
use crate::queue::Queue;
use crate::{KvError, KvStats};

/// The state shared by the handles and the threads.
pub(crate) struct Committers {
    pub(crate) database: Arc<dyn Database>,
    pub(super) config: DatabaseConfig,
    pub(crate) queue: Queue,
    pub(super) counters: Counters,
    /// Held by the one that commits anew after a conflict: the others would meet it again.
    pub(super) anew: Mutex<()>,
    commits: AtomicU64,
    fetches: Arc<AtomicU64>,
    workers: AtomicU32,
    threads: Mutex<Vec<JoinHandle<()>>>,
    #[cfg(any(test, feature = "test-util"))]
    pub(crate) fetching: Arc<crate::fetched::Fetching>,
}

/// Activity since the key space was opened.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) groups: AtomicU64,
    pub(super) updates: AtomicU64,
    pub(super) conflicts: AtomicU64,
    pub(super) settled: AtomicU64,
    pub(super) unsettled: AtomicU64,
    pub(super) lost: AtomicU64,
}

impl Committers {
    pub(crate) fn start(
        database: Arc<dyn Database>,
        config: DatabaseConfig,
    ) -> Result<Arc<Self>, KvError> {
        let fetches = Arc::default();
        let database = CountedDatabase { database, fetches: Arc::clone(&fetches) };
        let committers = Arc::new(Self {
            database: Arc::new(database),
            fetches,
            queue: Queue::default(),
            counters: Counters::default(),
            anew: Mutex::new(()),
            commits: AtomicU64::new(0),
            workers: AtomicU32::new(0),
            threads: Mutex::default(),
            #[cfg(any(test, feature = "test-util"))]
            fetching: Arc::default(),
            config,
        });
        let mut threads = Vec::new();
        for _ in 0..committers.config.committers.max(1) {
            let there = Arc::clone(&committers);
            let thread = thread::Builder::new().name("liteio-commit".into());
            match thread.spawn(move || there.commit_all()) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    *committers.threads.lock() = threads;
                    committers.close();
                    return Err(error.into());
                }
            }
        }
        *committers.threads.lock() = threads;
        Ok(committers)
    }

    /// Body of a thread: commits until the queue is closed and empty.
    fn commit_all(&self) {
        let mut committer = Committer::new(self);
        while let Some(mut jobs) = self.queue.begin_group(self.config.group_updates_max.max(1)) {
            while !jobs.is_empty() {
                let group = std::mem::take(&mut jobs);
                // A panic of the database is a fault of its, and drops the updates: their answer is that
                // the store is closed. It is open what became of the commit.
                match catch_unwind(AssertUnwindSafe(|| committer.group(group))) {
                    Ok(rest) => jobs = rest,
                    Err(_) => committer.begin_anew(),
                }
            }
            self.queue.end_group();
        }
    }

    /// Finishes what was submitted, and ends the threads.
    pub(crate) fn close(&self) {
        self.queue.close();
        let threads = std::mem::take(&mut *self.threads.lock());
        // If a closure holds the last handle, this runs on one of the threads, which cannot join itself.
        for thread in threads.into_iter().filter(|it| it.thread().id() != thread::current().id()) {
            // The panic hook has printed a panic.
            let _ = thread.join();
        }
    }

    pub(crate) fn snapshot(&self) -> Result<DatabaseSnapshot, KvError> {
        let snapshot = self.unopened();
        snapshot.open()?;
        Ok(snapshot)
    }

    /// Fetches rows for a request.
    pub(crate) async fn fetch_ahead(&self, keys: Vec<Vec<u8>>) -> Result<Ahead, KvError> {
        let wants = keys.iter().cloned().map(Want::Key).collect();
        let fetched = self.database.fetch_later(wants).await?;
        let moment = Moment { now_ms: fetched.now_ms, epochs: fetched.epochs };
        let rows = keys.into_iter().zip(fetched.answers).map(|(key, answer)| match answer {
            Answer::Row(row) => Ok((key, row)),
            _ => Err(nonsense()),
        });
        Ok(Ahead::new(moment, rows.collect::<Result<_, _>>()?))
    }

    /// A snapshot that begins with rows that were fetched ahead.
    pub(crate) fn snapshot_of(&self, ahead: &Ahead) -> DatabaseSnapshot {
        let snapshot = self.unopened();
        snapshot.begin_with(ahead);
        snapshot
    }

    fn unopened(&self) -> DatabaseSnapshot {
        DatabaseSnapshot::new(
            Arc::clone(&self.database),
            #[cfg(any(test, feature = "test-util"))]
            Arc::clone(&self.fetching),
        )
    }

    /// A version that no other commit has.
    pub(super) fn next_version(&self) -> u64 {
        let number = self.commits.fetch_add(1, Ordering::Relaxed) + 1;
        u64::from(self.database.run()) << 40 | number
    }

    /// A worker that has not committed yet.
    pub(super) fn next_worker(&self) -> Worker {
        let index = self.workers.fetch_add(1, Ordering::Relaxed);
        Worker { run: self.database.run(), index }
    }

    /// Waits.
    pub(super) fn pause(&self, time: Duration) {
        // Nobody wakes it.
        Condvar::new().wait_for(&mut Mutex::new(()).lock(), time);
    }

    pub(crate) fn stats(&self) -> KvStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        KvStats {
            groups: read(&self.counters.groups),
            updates: read(&self.counters.updates),
            conflicts: read(&self.counters.conflicts),
            settled: read(&self.counters.settled),
            unsettled: read(&self.counters.unsettled),
            commits_lost: read(&self.counters.lost),
            fetches: read(&self.fetches),
            ..KvStats::default()
        }
    }
}
