//! Maintenance of tables: snapshots expire, and files that no snapshot names are deleted, once a day.
//!
//! ```text
//! 1 expire     each table ──► Policy ──► an ordinary commit without the old snapshots
//! 2 survey     all tables and views ──► their places, and files that they name in places of others
//! 3 sweep      each table: objects below its location − named ──► noted ──► noted for long enough: deleted
//! 4 tidy       notes of files that are gone, or in no table's place
//! ```
//!
//! Each minute answers to requests with an `Idempotency-Key` expire, and purges go on that their requests did not end.
//!
//! Nothing is kept between the steps but what the survey has found, so a pass that is cut off is begun again. A file is
//! deleted if no pass has found a name for it for the days of the configuration, during which a server was there to look
//! ([`Sighting`](liteio_store::tables::Sighting)), and the last one has looked at every table of its account. What cannot be
//! read counts as naming everything: then nothing of the account is deleted. All else goes on. A table whose current metadata
//! an earlier pass has read counts as naming what that pass has found.
//!
//! A table that changes after the survey may name a file that the survey has found unnamed. So the catalogs are watched from
//! before the survey until the last delete: a delete succeeds only if each change until then was looked at, too. The proof is
//! in `liteio_store::tables`, beside [`Store::delete_unreferenced`](liteio_store::Store::delete_unreferenced).
//!
//! | Module | Content |
//! |---|---|
//! | `config`, `runs` | Configurations; results of runs |
//! | `walk`, `pass` | A pass: its walks over all buckets, its steps |
//! | `expire` | Step 1 |
//! | `survey` | Step 2 |
//! | `surveyed` | The findings about a table, kept for the passes that cannot read it |
//! | `sweep` | Steps 3 and 4 |
//! | `purges` | Files of dropped tables |
//! | `files` | Files of metadata, read within limits |

mod config;
mod expire;
mod files;
mod pass;
mod purges;
mod runs;
mod survey;
mod surveyed;
mod sweep;
mod walk;

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use liteio_access::state::App;
use liteio_store::{ClockTrust, Job as StoreJob, Store, StoreError};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

pub(crate) use self::config::{BucketMaintenance, Job, TableMaintenance};
pub(crate) use self::runs::Runs;
pub(crate) use self::sweep::refusal as sweep_refusal;
use self::walk::Pass;
use crate::limits::{ANSWER_KEPT_MS, PURGE_TRIED_MS};

/// Interval at which the time of day is checked. It is not slept through, because the clock may jump.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// Time to end what is being done when the server stops.
const END: Duration = Duration::from_secs(5);

/// The maintenance of the tables of a space. The task ends when this is dropped.
pub struct Maintenance {
    worker: Arc<Worker>,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// Counts since the start of the server.
#[derive(Debug, Default)]
struct Counts {
    snapshots_expired: AtomicU64,
    files_deleted: AtomicU64,
    bytes_deleted: AtomicU64,
    failures: AtomicU64,
}

/// The work of maintenance since the start of the server, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MaintenanceFigures {
    /// Snapshots that have expired.
    pub snapshots_expired: u64,
    /// Files that were deleted, since no table named them.
    pub files_deleted: u64,
    /// Bytes of these files.
    pub bytes_deleted: u64,
    /// Jobs on tables that failed, and records that could not be read.
    pub failures: u64,
}

struct Worker {
    app: Arc<App>,
    counts: Counts,
    /// Held during a pass, of which only one is at a time.
    alone: tokio::sync::Mutex<()>,
    stop: Notify,
    is_stopping: AtomicBool,
}

impl Maintenance {
    /// Starts the task.
    #[must_use]
    pub fn start(app: &Arc<App>) -> Maintenance {
        let worker = Arc::new(Worker {
            app: Arc::clone(app),
            counts: Counts::default(),
            alone: tokio::sync::Mutex::default(),
            stop: Notify::new(),
            is_stopping: AtomicBool::default(),
        });
        let task = tokio::spawn(Arc::clone(&worker).run());
        Maintenance { worker, task: Mutex::new(Some(task)) }
    }

    /// Does what is due by now, for tests that move the clock.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn run_now(&self) -> Result<(), StoreError> {
        self.worker.pass().await
    }

    /// The work that was done.
    #[must_use]
    pub fn figures(&self) -> MaintenanceFigures {
        let Counts { snapshots_expired, files_deleted, bytes_deleted, failures } =
            &self.worker.counts;
        let [snapshots_expired, files_deleted, bytes_deleted, failures] =
            [snapshots_expired, files_deleted, bytes_deleted, failures]
                .map(|it| it.load(Ordering::Relaxed));
        MaintenanceFigures { snapshots_expired, files_deleted, bytes_deleted, failures }
    }

    /// Stops the task, after the page that it works on, or after a time-out.
    pub async fn close(&self) {
        self.worker.is_stopping.store(true, Ordering::Relaxed);
        self.worker.stop.notify_one();
        let task = self.task.lock().take();
        if let Some(task) = task {
            let _ = tokio::time::timeout(END, task).await;
        }
    }
}

impl Drop for Maintenance {
    fn drop(&mut self) {
        self.worker.is_stopping.store(true, Ordering::Relaxed);
        if let Some(task) = &*self.task.lock() {
            task.abort();
        }
    }
}

impl Worker {
    /// Makes a pass each day, until it is stopped.
    async fn run(self: Arc<Self>) {
        let day_ms = self.app.store.lifecycle_day_ms().max(1);
        let look_every = LOOK_EVERY.min(Duration::from_millis(day_ms) / 4);
        let (mut trust, mut done) = (ClockTrust::default(), None);
        loop {
            // The first look waits, too: the clock of a machine that has just booted may be set in the meantime.
            tokio::select! {
                () = self.stop.notified() => return,
                () = tokio::time::sleep(look_every) => {}
            }
            let now_ms = self.app.store.now_ms();
            let today = now_ms / day_ms;
            // A wrong clock would expire snapshots that are new.
            if !trust.look(Instant::now(), now_ms) {
                continue;
            }
            let due = match done == Some(today) {
                true => self.look().await,
                false => self.pass().await,
            };
            match due {
                Ok(()) => done = Some(today),
                Err(StoreError::Closed) => return,
                // Another server does it, until this one takes over.
                Err(StoreError::Suspended { .. }) => {}
                Err(error) => {
                    self.counts.failures.fetch_add(1, Ordering::Relaxed);
                    tracing::warn!(%error, "the maintenance of tables failed; it is tried again");
                }
            }
        }
    }

    /// Removes answers to requests whose clients may not use their keys any more, and ends purges.
    async fn look(self: &Arc<Self>) -> Result<(), StoreError> {
        let _alone = self.alone.lock().await;
        let Some(store) = self.app.store.for_job(StoreJob::Tables)? else { return Ok(()) };
        let worker = Arc::clone(self);
        let look = move |_: &_| {
            store.remove_answers(kept_answers(&store))?;
            let Worker { app, counts, is_stopping, .. } = &*worker;
            let since_ms = store.now_ms().saturating_sub(PURGE_TRIED_MS);
            Pass::new(app, &store, counts, is_stopping).end_purges(since_ms)
        };
        self.app.blocking(look).await
    }

    async fn pass(self: &Arc<Self>) -> Result<(), StoreError> {
        let _alone = self.alone.lock().await;
        let job = self.app.store.for_job(StoreJob::Tables)?;
        let reason = || "Another server maintains the tables.".to_owned();
        let store = job.ok_or_else(|| StoreError::Suspended { reason: reason() })?;
        let worker = Arc::clone(self);
        let pass = move |_: &_| {
            store.remove_answers(kept_answers(&store))?;
            store.sweep_answers(kept_answers(&store))?;
            let Worker { app, counts, is_stopping, .. } = &*worker;
            let pass = Pass::new(app, &store, counts, is_stopping);
            pass.end_purges(0)?;
            pass.run()
        };
        self.app.blocking(pass).await
    }
}

/// The times of answers that are kept, in milliseconds since 1970. Clocks of servers differ.
fn kept_answers(store: &Store) -> RangeInclusive<u64> {
    let now_ms = store.now_ms();
    now_ms.saturating_sub(ANSWER_KEPT_MS)..=now_ms.saturating_add(ANSWER_KEPT_MS)
}
