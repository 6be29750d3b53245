//! [`Backup`]: the backup of a running server.

use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use liteio_backup::writer::{Status, Stop, Writer, WriterOptions};
use liteio_backup::{Retention, Verification};
use liteio_store::Store;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::OpenedTarget;
use crate::config::BackupSettings;

/// Time to write the last changes when the server stops, before it is ended without them.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);
/// Time between two looks at the writer.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// The backup of a store, on a thread of its own. Dropping it stops the thread without waiting for it.
pub(crate) struct Backup {
    store: Store,
    stop: Arc<Stop>,
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
    /// The logged error.
    error: Option<String>,
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

impl Backup {
    /// Starts the thread, and a task of the current runtime that logs what it meets.
    ///
    /// # Errors
    /// The error of the system, which has no more threads.
    pub(crate) fn start(
        store: Store,
        opened: OpenedTarget,
        settings: &BackupSettings,
    ) -> std::io::Result<Arc<Backup>> {
        let OpenedTarget { target, key } = opened;
        let shown = target.shown();
        let keep_ms = u64::try_from(settings.keep.as_millis()).unwrap_or(u64::MAX);
        let options = WriterOptions {
            key,
            interval: settings.interval,
            base_every: settings.base_every,
            retention: Some(Retention { keep_ms, bases: settings.keep_bases }),
            bytes_per_second: settings.bytes_per_second,
            parallel: settings.uploads,
        };
        let writer = Writer::new(store.clone(), target, options);
        let (stop, status) = (writer.stop(), writer.status());
        let (running, ended) = oneshot::channel();
        let thread = thread::Builder::new().name("liteio-backup".to_owned()).spawn(move || {
            // Dropped when the thread ends, however it does.
            let _running: oneshot::Sender<()> = running;
            writer.run();
        })?;
        let encrypted = key.is_some();
        tracing::info!(location = shown, encrypted, "backing up continuously");
        let watched =
            Watched { restorable_ms: store.now_ms(), base_ms: None, error: None, unreadable: 0 };
        let backup = Arc::new(Backup {
            store,
            stop,
            status,
            thread: Mutex::new(Some((thread, ended))),
            watched: Mutex::new(watched),
        });
        tokio::spawn(watch(Arc::downgrade(&backup)));
        Ok(backup)
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
            is_failing: state.error.is_some(),
        }
    }

    /// Writes the last changes and ends the thread. A target that does not answer is left behind.
    pub(crate) async fn stop(&self) {
        self.stop.stop();
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
        if state.error != watched.error {
            match &state.error {
                Some(reason) => tracing::warn!(reason, "the backup fails and is tried again"),
                None => tracing::info!("the backup works again"),
            }
            watched.error = state.error;
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
    }
}

impl Watched {
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
