//! [`Backup`]: the backup of a running server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use liteio_backup::writer::{Status, Stop, Writer, WriterOptions};
use liteio_backup::{Holder, Parent, Retention, Verification};
use liteio_store::Store;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::OpenedTarget;
use super::lease::LeaseKeeper;
use crate::config::BackupSettings;

/// Time to write the last changes when the server stops, before it is ended without them.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);
/// Time between two looks at the writer.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);
/// Time for the first look at the lease, before the server begins to answer without it.
const FIRST_LOOK: Duration = Duration::from_secs(2);

/// The backup of a store, on threads of its own. Dropping it stops the threads without waiting for them.
pub(crate) struct Backup {
    store: Store,
    stop: Arc<Stop>,
    /// Ends the thread that keeps the lease.
    lease: Arc<Stop>,
    is_lost: Arc<AtomicBool>,
    first_look: Mutex<Option<oneshot::Receiver<()>>>,
    status: Arc<Status>,
    thread: Mutex<Option<(JoinHandle<()>, oneshot::Receiver<()>)>>,
    watched: Mutex<Watched>,
}

/// The observed progress of the writer, and what of it was logged.
#[derive(Debug)]
struct Watched {
    /// Everything that was acknowledged before can be restored, in milliseconds since 1970; the
    /// start, before the first base.
    restorable_ms: u64,
    /// The time of the last base.
    base_ms: Option<u64>,
    /// The logged error; `None` once it was logged that the backup works again.
    error: Option<String>,
    /// The number of failures at the last look.
    failures: u64,
    /// The logged number of unreadable pairs and blobs.
    unreadable: u64,
}

/// The state of a backup.
#[derive(Clone, Debug)]
pub(crate) struct BackupState {
    /// Age of the newest moment that can be restored.
    pub(crate) behind: Duration,
    /// The time of the last complete base, in milliseconds since 1970.
    pub(crate) base_ms: Option<u64>,
    pub(crate) sent_bytes: u64,
    pub(crate) sent_objects: u64,
    pub(crate) failures: u64,
    pub(crate) unreadable: u64,
    /// The last verification, if there was one.
    pub(crate) verification: Option<Verification>,
    /// It fails at the moment.
    pub(crate) is_failing: bool,
}

/// The lease that a promoted standby has taken, and the state that it continues.
pub(crate) type Promoted = (Arc<Holder>, Parent);

impl Backup {
    /// Starts the threads, and a task of the current runtime that logs what they meet. `promoted` is
    /// of a standby that was promoted.
    ///
    /// # Errors
    /// One line: the system has no more threads, or no random bytes.
    pub(crate) fn start(
        store: Store,
        opened: OpenedTarget,
        settings: &BackupSettings,
        promoted: Option<Promoted>,
    ) -> Result<Arc<Backup>, String> {
        let failed = |error: &dyn std::fmt::Display| format!("cannot start a backup: {error}");
        let OpenedTarget { target, key } = opened;
        let shown = target.shown();
        let keep_ms = u64::try_from(settings.keep.as_millis()).unwrap_or(u64::MAX);
        let (holder, parent) = match promoted {
            Some((holder, parent)) => (holder, Some(parent)),
            None => {
                let holder = Holder::new(store.clone(), settings.fence);
                (Arc::new(holder.map_err(|error| failed(&error))?), None)
            }
        };
        if settings.fence.is_some() && parent.is_none() {
            // Until the first look nobody knows whose the lease is.
            store.lease(std::time::Instant::now(), Some(Duration::ZERO));
        }
        let options = WriterOptions {
            key,
            interval: settings.interval,
            base_every: settings.base_every,
            retention: Some(Retention { keep_ms, bases: settings.keep_bases }),
            bytes_per_second: settings.bytes_per_second,
            parallel: settings.uploads,
            parent,
            holder: Some(Arc::clone(&holder)),
        };
        let writer = Writer::new(store.clone(), Arc::clone(&target), options);
        let (stop, status) = (writer.stop(), writer.status());
        let (lease, writer_ended) = (Arc::<Stop>::default(), Arc::<Stop>::default());
        let is_lost = Arc::<AtomicBool>::default();
        let (looked, first_look) = oneshot::channel();
        let keeper = LeaseKeeper {
            store: store.clone(),
            target,
            key,
            holder,
            interval: settings.interval,
            fence: settings.fence,
            stop: Arc::clone(&lease),
            writer: Arc::clone(&stop),
            writer_ended: Arc::clone(&writer_ended),
            status: Arc::clone(&status),
            is_lost: Arc::clone(&is_lost),
        };
        let thread = thread::Builder::new().name("liteio-lease".to_owned());
        thread.spawn(move || keeper.run(looked)).map_err(|error| failed(&error))?;
        let (running, ended) = oneshot::channel();
        let thread = thread::Builder::new().name("liteio-backup".to_owned()).spawn(move || {
            // Dropped when the thread ends, however it does.
            let _running: (oneshot::Sender<()>, Ended) = (running, Ended(writer_ended));
            writer.run();
        });
        let thread = thread.map_err(|error| failed(&error))?;
        let encrypted = key.is_some();
        tracing::info!(location = shown, encrypted, "the backup begins");
        let watched = Watched::new(store.now_ms());
        let backup = Arc::new(Backup {
            store,
            stop,
            lease,
            is_lost,
            first_look: Mutex::new(Some(first_look)),
            status,
            thread: Mutex::new(Some((thread, ended))),
            watched: Mutex::new(watched),
        });
        tokio::spawn(watch(Arc::downgrade(&backup)));
        Ok(backup)
    }

    /// Waits until the lease was looked at, but not for long: the target may not answer. So a server
    /// that has lost its lease refuses its first write already.
    pub(crate) async fn first_look(&self) {
        let first_look = self.first_look.lock().take();
        if let Some(first_look) = first_look
            && timeout(FIRST_LOOK, first_look).await.is_err()
        {
            tracing::warn!("the lease at the backup could not be looked at yet");
        }
    }

    /// `true` while the store refuses writes, because the lease is lost or could not be looked at.
    pub(crate) fn is_suspended(&self) -> bool {
        self.store.suspended().is_some()
    }

    /// `true` once another server has the lease, or may take it: only a restart can bring it back.
    pub(crate) fn has_lost_the_lease(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    /// The state now.
    pub(crate) fn state(&self) -> BackupState {
        let (state, watched) = (self.status.state(), &mut *self.watched.lock());
        watched.note(&state);
        let behind_ms = self.store.now_ms().saturating_sub(watched.restorable_ms);
        BackupState {
            behind: Duration::from_millis(behind_ms),
            base_ms: watched.base_ms,
            sent_bytes: state.sent_bytes,
            sent_objects: state.sent_objects,
            failures: state.failures,
            unreadable: state.unreadable,
            verification: state.verification,
            is_failing: state.is_failing(),
        }
    }

    /// Writes the last changes and ends the threads. A target that does not answer is left behind.
    pub(crate) async fn stop(&self) {
        self.stop.stop();
        self.lease.stop();
        let Some((thread, ended)) = self.thread.lock().take() else { return };
        if timeout(STOP_TIMEOUT, ended).await.is_err() {
            let behind = self.state().behind.as_secs();
            tracing::warn!(behind, "the backup does not end: its last changes are left out");
        } else if thread.join().is_err() {
            tracing::error!("the thread of the backup has failed");
        }
        self.log();
    }

    /// Logs what has changed since the last call.
    fn log(&self) {
        let (state, watched) = (self.status.state(), &mut *self.watched.lock());
        watched.note(&state);
        let (failure, works_again) = watched.news(&state);
        if let Some(reason) = failure {
            tracing::warn!(reason, "the backup fails and is tried again");
        }
        if works_again {
            tracing::info!("the backup works again");
        }
        if state.unreadable > watched.unreadable {
            let unreadable = state.unreadable;
            tracing::warn!(
                unreadable,
                "damaged data cannot be backed up whole: run `liteio verify`"
            );
        }
        watched.unreadable = state.unreadable;
    }
}

impl Drop for Backup {
    fn drop(&mut self) {
        self.stop.stop();
        self.lease.stop();
    }
}

/// Tells the end of the writer's thread.
struct Ended(Arc<Stop>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Watched {
    /// Nothing was observed yet.
    fn new(restorable_ms: u64) -> Self {
        Self { restorable_ms, base_ms: None, error: None, failures: 0, unreadable: 0 }
    }

    /// The news for the log: the reason of a failure that is not logged yet, and whether the backup works again since. A
    /// failure that was over before this look counts, too.
    fn news(&mut self, state: &liteio_backup::writer::State) -> (Option<String>, bool) {
        let mut failure = None;
        if state.failures != self.failures && state.last_error != self.error {
            failure.clone_from(&state.last_error);
            self.error.clone_from(&state.last_error);
        }
        self.failures = state.failures;
        let works_again = !state.is_failing() && self.error.take().is_some();
        (failure, works_again)
    }

    /// A generation without a base restores nothing, so what was reached before it counts.
    fn note(&mut self, state: &liteio_backup::writer::State) {
        if let (Some(base_ms), Some(kept_ms)) = (state.base_ms, state.kept_ms) {
            self.base_ms = Some(base_ms);
            self.restorable_ms = self.restorable_ms.max(kept_ms);
        }
    }
}

async fn watch(backup: Weak<Backup>) {
    let mut ticks = interval(WATCH_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        match backup.upgrade() {
            Some(backup) => backup.log(),
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_logged_once_and_also_when_it_is_over() {
        let state =
            |failures, last: Option<&str>, error: Option<&str>| liteio_backup::writer::State {
                failures,
                last_error: last.map(str::to_owned),
                error: error.map(str::to_owned),
                ..Default::default()
            };
        let mut watched = Watched::new(0);
        let mut news = |failures, last, error| watched.news(&state(failures, last, error));
        let failed = |reason: &str| Some(reason.to_owned());
        assert_eq!(news(0, None, None), (None, false));
        assert_eq!(news(1, Some("full"), Some("full")), (failed("full"), false));
        assert_eq!(news(2, Some("full"), Some("full")), (None, false), "the same reason");
        assert_eq!(news(3, Some("gone"), Some("gone")), (failed("gone"), false));
        assert_eq!(news(3, Some("gone"), None), (None, true));
        assert_eq!(news(3, Some("gone"), None), (None, false));
        assert_eq!(news(4, Some("gone"), None), (failed("gone"), true), "between two looks");
        assert_eq!(news(4, Some("gone"), None), (None, false));
    }
}
