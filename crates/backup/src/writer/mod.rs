//! [`Writer`]: keeps the backup of a store in use up to date.
//!
//! | Module | Content |
//! |---|---|
//! | `run` | one generation: segments each interval, bases |
//! | `rhythm` | the moments at which a segment is due |
//! | `bandwidth` | the limit of the bytes that are sent in a second |
//! | `compression` | the limit of the time that compression takes |
//! | `packer` | blobs, packed into objects |
//! | `upload` | storing objects at a target that fails at times |
//! | `status` | how far it has come |
//!
//! The order of objects makes every prefix of them a backup: blobs before the segment or chunk that names them, segments
//! one after another, and the manifest of a base after its chunks and after the segments that complete it. Rows of the
//! store remember a place only once an object has it.

mod bandwidth;
mod compression;
#[cfg(test)]
mod kept_tests;
mod packer;
mod rhythm;
mod run;
#[cfg(test)]
mod standby_tests;
mod status;
#[cfg(test)]
mod tests;
mod upload;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use liteio_store::Store;
use parking_lot::{Condvar, Mutex};

use self::bandwidth::Bandwidth;
use self::rhythm::Rhythm;
use self::run::{Run, Sending};
pub use self::status::{State, Status};
pub use self::upload::Pace;
use crate::Error;
use crate::base::Parent;
use crate::lease::{Holder, Look};
use crate::limits::WAITING_BYTES;
use crate::prune::{Retention, prune};
use crate::repository::Repository;
use crate::target::Target;

/// Shortest and longest pause before a target is tried again.
const PAUSE_MIN: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// Attempts of a command beyond the first.
const ATTEMPTS: u32 = 3;
/// Difference between the clock and the time that has passed from which on the clock is not trusted to remove anything.
const CLOCK_DIFFERENCE_MS: u64 = 60 * 60 * 1000;

/// The settings of a [`Writer`].
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// The key that encrypts the backup.
    pub key: Option<[u8; 32]>,
    /// Time between two segments: about as much is lost with the directory.
    pub interval: Duration,
    /// Time between two bases.
    pub base_every: Duration,
    /// The retention; `None` keeps everything.
    pub retention: Option<Retention>,
    /// Most bytes that are sent in a second; `None` for no limit.
    pub bytes_per_second: Option<u64>,
    /// Packs of blobs that are sent at the same time, each in 8 MiB of memory: at least 1.
    pub parallel: usize,
    /// The state that a promoted standby continues.
    pub parent: Option<Parent>,
    /// The lease, without which no generation begins.
    pub holder: Option<Arc<Holder>>,
}

/// Keeps the backup of a store up to date, on the thread that calls [`Writer::run`].
#[derive(Debug)]
pub struct Writer {
    store: Store,
    target: Arc<dyn Target>,
    options: WriterOptions,
    stop: Arc<Stop>,
    status: Arc<Status>,
}

/// Ends a [`Writer`].
#[derive(Debug, Default)]
pub struct Stop {
    is_stopped: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Asks the writer to end: it writes what is left, unless the target does not answer, or the first base of the
    /// generation is not complete, without which nothing of it can be restored.
    pub fn stop(&self) {
        *self.is_stopped.lock() = true;
        self.changed.notify_all();
    }

    /// Waits for `duration`. `false` if the writer has to end.
    #[must_use]
    pub fn wait(&self, duration: Duration) -> bool {
        let mut is_stopped = self.is_stopped.lock();
        if !*is_stopped {
            self.changed.wait_for(&mut is_stopped, duration);
        }
        !*is_stopped
    }

    /// `true` once it was asked to end.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        *self.is_stopped.lock()
    }
}

impl Pace for Stop {
    fn pause(&self, attempt: u32) -> bool {
        self.wait(PAUSE_MIN.saturating_mul(1 << attempt.min(10)).min(PAUSE_MAX))
    }

    // What is left at the end is sent without a limit: it has little time.
    fn rest(&self, duration: Duration) {
        let _is_running = self.wait(duration);
    }
}

/// The patience of a command: some seconds.
struct Few<'a>(&'a Stop);

impl Pace for Few<'_> {
    fn pause(&self, attempt: u32) -> bool {
        attempt < ATTEMPTS && self.0.pause(attempt)
    }

    fn rest(&self, duration: Duration) {
        self.0.rest(duration);
    }
}

impl Writer {
    /// A writer that does not run yet.
    #[must_use]
    pub fn new(store: Store, target: Arc<dyn Target>, options: WriterOptions) -> Self {
        Self { store, target, options, stop: Arc::default(), status: Arc::default() }
    }

    /// Its progress.
    #[must_use]
    pub fn status(&self) -> Arc<Status> {
        Arc::clone(&self.status)
    }

    /// Ends it.
    #[must_use]
    pub fn stop(&self) -> Arc<Stop> {
        Arc::clone(&self.stop)
    }

    /// Backs the store up until it is stopped, whatever fails: the reason is in the status meanwhile. After a failure it
    /// begins a new generation.
    pub fn run(&self) {
        let mut failed = 0;
        while !self.stop.is_stopped() {
            let error = match self.generation_or_panic() {
                Ok(()) | Err(Error::Stopped | Error::Store(liteio_store::StoreError::Closed)) => {
                    return;
                }
                Err(error) => error,
            };
            // A generation that had a base was not the fault of the settings.
            failed = if self.status.state().base_ms.is_some() { 0 } else { failed + 1 };
            self.status.change(|state| state.fail(error.to_string()));
            self.stop.pause(failed);
        }
    }

    /// Backs up the state of the store, once: a generation with a base, and what was written meanwhile.
    ///
    /// # Errors
    /// The errors of the target and of the store. The same call again sends only the blobs that are missing.
    pub fn once(&self) -> Result<State, Error> {
        let repository = self.repository_with_lease()?;
        let feed = self.store.backup_feed(WAITING_BYTES)?;
        let pace = Few(&self.stop);
        let bandwidth = Bandwidth::new(self.options.bytes_per_second);
        let sending = self.sending(&bandwidth);
        let mut run = Run::begin(feed, &repository, &pace, &self.status, sending)?;
        run.write_base(&mut Run::tick)?;
        run.end()?;
        Ok(self.status.state())
    }

    /// Prunes; a failure, such as a missing right to delete, is told, and does not end the backup. Nothing is removed
    /// while the clock has jumped since the generation began, by a correction perhaps.
    fn prune(&self, repository: &Repository, begun: (Instant, u64)) {
        let Some(retention) = &self.options.retention else { return };
        let now_ms = self.store.now_ms();
        let passed_ms = u64::try_from(begun.0.elapsed().as_millis()).unwrap_or(u64::MAX);
        if now_ms.abs_diff(begun.1.saturating_add(passed_ms)) > CLOCK_DIFFERENCE_MS {
            return;
        }
        if let Err(error) = prune(repository, retention, now_ms) {
            let reason = format!("old moments were not removed: {error}");
            self.status.change(|state| state.fail(reason));
        }
    }

    fn sending<'a>(&self, bandwidth: &'a Bandwidth) -> Sending<'a> {
        Sending { bandwidth, parallel: self.options.parallel.max(1) }
    }

    /// Refuses to begin a generation without the lease.
    fn check_lease(&self, repository: &Repository) -> Result<(), Error> {
        let look = self.options.holder.as_ref().map(|holder| holder.look(repository));
        match look.transpose()? {
            Some(Look::Lost) => Err(Error::Refused(format!(
                "another server has the lease of the backup at {}: it is the primary now",
                repository.shown()
            ))),
            None | Some(Look::Held | Look::Claimed) => Ok(()),
        }
    }

    fn repository_with_lease(&self) -> Result<Repository, Error> {
        let (target, key) = (Arc::clone(&self.target), self.options.key.as_ref());
        let repository = Repository::of_store(target, key, &self.store)?;
        // First: with a fence the store takes no write before it has the lease.
        self.check_lease(&repository)?;
        let location = self.target.shown();
        if self.store.backup_at(&location)?.is_none() {
            self.store.remember_backup(&location, repository.id)?;
        }
        Ok(repository)
    }

    /// One generation, to its end. A panic is a failure of it, and told like any other.
    fn generation_or_panic(&self) -> Result<(), Error> {
        // Nothing of a generation is used after it.
        let ended = catch_unwind(AssertUnwindSafe(|| self.generation()));
        ended.unwrap_or_else(|_| {
            Err(Error::Refused("the writer has failed: see the log".to_owned()))
        })
    }

    /// One generation, to its end.
    fn generation(&self) -> Result<(), Error> {
        let Self { store, options, stop, status, .. } = self;
        status.change(|state| state.base_ms = None);
        let repository = self.repository_with_lease()?;
        let feed = store.backup_feed(WAITING_BYTES)?;
        let bandwidth = Bandwidth::new(options.bytes_per_second);
        let sending = self.sending(&bandwidth);
        let mut run = Run::begin(feed, &repository, &**stop, status, sending)?;
        run.parent = options.parent;
        status.change(|state| state.error = None);
        let every_ms = u64::try_from(options.base_every.as_millis()).unwrap_or(u64::MAX);
        let begun = (Instant::now(), store.now_ms());
        let mut rhythm = Rhythm::new(options.interval);
        loop {
            if run.is_base_due(every_ms) {
                let written = run.write_base(&mut |run| {
                    if stop.is_stopped() {
                        return Err(Error::Stopped);
                    }
                    let (newest, bytes) = (run.feed.newest(), run.feed.waiting_bytes());
                    if rhythm.is_due(Instant::now(), newest, bytes) {
                        run.tick_in(&mut rhythm)?;
                    }
                    Ok(())
                });
                match written {
                    // An earlier base leads to what is left.
                    Err(Error::Stopped) if run.base.is_some() => return run.end(),
                    written => written?,
                }
                status.change(|state| state.error = None);
                self.prune(&repository, begun);
            }
            if !rhythm.wait(stop, &run.feed) {
                return run.end();
            }
            run.tick_in(&mut rhythm)?;
        }
    }
}
