//! [`Standby`]: a server that follows the backup of a primary.
//!
//! ```text
//! liteio standby ──► prepare: a base into the directory ──► the store ──► thread liteio-standby: step, step, …
//! liteio promote ──► control ──► promote: the lease, the store ──► Backup::start
//! ```

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use liteio_backup::writer::Stop;
use liteio_backup::{Claimant, Error, Follower, Repository};
use liteio_store::standby::{Applied, StandbyPosition};
use liteio_store::{Durability, Store, StoreConfig};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::control::{Control, Request};
use super::running::Backup;
use super::{BackupState, OpenedTarget};
use crate::config::{BackupSettings, Config, Storage};

/// Looks for the next segment in an interval of the primary: a segment that was just missed waits for the
/// next look. Each is a request to the target.
const LOOKS_IN_INTERVAL: u32 = 4;
/// Shortest and longest time between two looks for the next segment.
const LOOK_MIN: Duration = Duration::from_millis(100);
const LOOK_MAX: Duration = Duration::from_secs(1);

/// Longest time between two looks for a request to promote.
const CONTROL: Duration = Duration::from_millis(100);

/// Time to end what is being applied when the server stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);

/// Calls when entries about users have changed.
pub(crate) type UsersChanged = Box<dyn Fn(&Store) + Send>;

/// The backup of a server, and the standby that begins it with its promotion. Dropping it stops the
/// threads without waiting for them.
#[derive(Default)]
pub(crate) struct Pair {
    backup: OnceLock<Arc<Backup>>,
    standby: Option<Arc<Standby>>,
}

impl Pair {
    /// A primary, with its backup if it has one.
    pub(crate) fn primary(backup: Option<Arc<Backup>>) -> Arc<Pair> {
        let pair = Pair::default();
        if let Some(backup) = backup {
            let _ = pair.backup.set(backup);
        }
        Arc::new(pair)
    }

    /// `true` if answers tell of it: of a standby, and while writes are refused.
    pub(crate) fn is_told(&self) -> bool {
        match self.backup() {
            Some(backup) => backup.is_suspended(),
            None => self.standby.is_some(),
        }
    }

    /// The role in the pair, for balancers; `None` without a backup. A primary whose fence is closed is still one: it may
    /// have the lease, and its reads go on.
    pub(crate) fn role(&self) -> Option<&'static str> {
        match self.backup() {
            Some(backup) if backup.has_lost_the_lease() => Some("former"),
            Some(_) => Some("primary"),
            None => self.standby.is_some().then_some("standby"),
        }
    }

    /// The running backup.
    pub(crate) fn backup(&self) -> Option<&Arc<Backup>> {
        self.backup.get()
    }

    /// The state of the running backup.
    pub(crate) fn backup_state(&self) -> Option<BackupState> {
        self.backup().map(|backup| backup.state())
    }

    /// The state of the standby; `None` once it is promoted.
    pub(crate) fn standby_state(&self) -> Option<StandbyState> {
        let standby = self.standby.as_ref()?;
        self.backup.get().is_none().then(|| standby.state())
    }

    /// Ends the threads of both.
    pub(crate) async fn stop(&self) {
        if let Some(standby) = &self.standby {
            standby.stop.stop();
            let ended = standby.ended.lock().take();
            if let Some(ended) = ended
                && timeout(STOP_TIMEOUT, ended).await.is_err()
            {
                tracing::warn!(
                    "the standby does not end: it goes on where it was at its next start"
                );
            }
        }
        if let Some(backup) = self.backup() {
            backup.stop().await;
        }
    }
}

/// A standby, on a thread of its own.
pub(crate) struct Standby {
    stop: Arc<Stop>,
    status: Mutex<Status>,
    ended: Mutex<Option<oneshot::Receiver<()>>>,
}

#[derive(Debug)]
struct Status {
    /// The last time at which it had everything that the backup has.
    current: Instant,
    position: StandbyPosition,
    applied: u64,
    failures: u64,
    left_out: u64,
    error: Option<String>,
}

/// The state of a standby.
#[derive(Clone, Debug)]
pub(crate) struct StandbyState {
    /// Time since it last had everything that the backup has.
    pub(crate) behind: Duration,
    /// All that it has was written by this time, in milliseconds since 1970.
    pub(crate) applied_ms: u64,
    pub(crate) applied: u64,
    pub(crate) failures: u64,
    pub(crate) left_out: u64,
    pub(crate) is_failing: bool,
}

/// Makes the directory of a standby from the newest base, unless it is there. `false` if the
/// directory has been promoted: the server is a primary.
///
/// # Errors
/// One line.
pub(crate) async fn prepare(config: &Config, settings: &BackupSettings) -> Result<bool, String> {
    let Storage::Directory { path, durability } = config.storage.clone() else {
        return Err("a standby in memory has no directory".to_owned());
    };
    let opened = OpenedTarget::open(&settings.target)?;
    // A thread of its own: the process may end while it waits for the target.
    let (done, prepared) = oneshot::channel();
    let thread = thread::Builder::new().name("liteio-standby".to_owned()).spawn(move || {
        let _ = done.send(restore(opened, path, durability));
    });
    thread.map_err(|error| format!("cannot start threads: {error}"))?;
    let prepared = prepared.await;
    prepared
        .unwrap_or_else(|_| Err("the restore of the standby has failed: see the log".to_owned()))
}

fn restore(
    OpenedTarget { target, key }: OpenedTarget,
    path: std::path::PathBuf,
    durability: Durability,
) -> Result<bool, String> {
    let told = |error: Error| error.to_string();
    let config = StoreConfig { durability, ..StoreConfig::directory(path.clone()) };
    if path.join("format").exists() {
        if Store::is_standby(&config).map_err(|error| error.to_string())? {
            return mark(&path).map(|()| true);
        }
        // One that had the lease, or a copy of it, would take it from the primary.
        if !path.join(MARK).exists() {
            return Err(format!(
                "{} is the directory of a primary, or a copy of one, and no standby's: name a new directory, or start \
                 `liteio --backup` with it if it shall be the primary",
                path.display()
            ));
        }
        tracing::info!("this standby has been promoted: it starts as the primary");
        return Ok(false);
    }
    let repository = Repository::open(target, key.as_ref()).map_err(told)?;
    tracing::info!(location = repository.shown(), "restoring the newest base into a standby");
    let restored = repository.restore_standby(config, &mut |_| {}).map_err(told)?;
    mark(&path)?;
    for reason in &restored.reasons {
        tracing::warn!(reason, "left out");
    }
    let (blobs, bytes) = (restored.blobs, restored.blob_bytes);
    tracing::info!(
        generation = restored.generation,
        record = restored.number,
        blobs,
        bytes,
        "restored"
    );
    Ok(true)
}

/// The file in a directory that was made by a standby: only such a one may start as a primary here.
const MARK: &str = "made-by-standby";

/// Marks the directory of a standby, before it can be promoted.
fn mark(directory: &Path) -> Result<(), String> {
    let path = directory.join(MARK);
    if path.exists() {
        return Ok(());
    }
    let made = File::create(&path).and_then(|file| file.sync_all());
    let made = made.and_then(|()| File::open(directory)?.sync_all());
    made.map_err(|error| format!("cannot write {}: {error}", path.display()))
}

impl Standby {
    /// Starts to follow, and to wait for a promotion.
    ///
    /// # Errors
    /// One line.
    pub(crate) fn start(
        store: Store,
        opened: OpenedTarget,
        config: &Config,
        settings: &BackupSettings,
        users_changed: UsersChanged,
    ) -> Result<Arc<Pair>, String> {
        let Storage::Directory { path, .. } = &config.storage else {
            return Err("a standby in memory has no directory".to_owned());
        };
        let position = store.standby_position().map_err(|error| error.to_string())?;
        let standby = Arc::new(Standby {
            stop: Arc::default(),
            status: Mutex::new(Status {
                current: Instant::now(),
                position: position.unwrap_or_default(),
                applied: 0,
                failures: 0,
                left_out: 0,
                error: None,
            }),
            ended: Mutex::default(),
        });
        let (running, ended) = oneshot::channel();
        *standby.ended.lock() = Some(ended);
        let pair = Arc::new(Pair { backup: OnceLock::new(), standby: Some(Arc::clone(&standby)) });
        let run = Run {
            standby,
            pair: Arc::downgrade(&pair),
            store,
            opened,
            settings: settings.clone(),
            control: Control::of(path),
            users_changed,
            runtime: Handle::current(),
        };
        let thread = thread::Builder::new().name("liteio-standby".to_owned());
        thread
            .spawn(move || {
                let _running: oneshot::Sender<()> = running;
                run.run();
            })
            .map_err(|error| format!("cannot start threads: {error}"))?;
        Ok(pair)
    }

    fn state(&self) -> StandbyState {
        let status = self.status.lock();
        StandbyState {
            behind: status.current.elapsed(),
            applied_ms: status.position.time_ms,
            applied: status.applied,
            failures: status.failures,
            left_out: status.left_out,
            is_failing: status.error.is_some(),
        }
    }

    fn applied(&self, follower: &Follower) {
        let mut status = self.status.lock();
        status.position = follower.position();
        status.applied += 1;
        if follower.left_out() > status.left_out {
            status.left_out = follower.left_out();
            tracing::warn!(left_out = status.left_out, "the backup lacks blobs or vectors");
        }
    }

    /// Notes that it had everything at this time.
    fn is_current(&self, at: Option<Instant>) {
        let mut status = self.status.lock();
        status.current = at.map_or(status.current, |at| status.current.max(at));
        if status.error.take().is_some() {
            tracing::info!("the standby follows again");
        }
    }

    fn failed(&self, error: &Error) {
        let mut status = self.status.lock();
        status.failures += 1;
        let reason = error.to_string();
        if status.error.as_ref() != Some(&reason) {
            tracing::warn!(reason, "the standby cannot follow and tries again");
            status.error = Some(reason);
        }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        if let Some(standby) = &self.standby {
            standby.stop.stop();
        }
    }
}

/// The work of the thread.
struct Run {
    standby: Arc<Standby>,
    pair: std::sync::Weak<Pair>,
    store: Store,
    opened: OpenedTarget,
    settings: BackupSettings,
    control: Control,
    users_changed: UsersChanged,
    runtime: Handle,
}

impl Run {
    fn run(self) {
        let shown = self.opened.target.shown();
        tracing::info!(location = shown, "following as a standby");
        let mut follower = None;
        let mut next = Instant::now();
        loop {
            if let Some(request) = self.control.take() {
                match self.promote(&mut follower, &request) {
                    Ok(()) => {
                        self.control.answer(&request, &Ok(()));
                        return;
                    }
                    Err(reason) => {
                        tracing::error!(reason, "the standby was not promoted");
                        self.control.answer(&request, &Err(reason));
                    }
                }
            }
            if Instant::now() >= next {
                match self.follow(&mut follower) {
                    Ok(at) => self.standby.is_current(at),
                    Err(Error::Store(liteio_store::StoreError::Closed)) => return,
                    Err(error) => self.standby.failed(&error),
                }
                let every = self.settings.interval / LOOKS_IN_INTERVAL;
                next = Instant::now() + every.clamp(LOOK_MIN, LOOK_MAX);
            }
            let pause = next.saturating_duration_since(Instant::now()).min(CONTROL);
            if !self.standby.stop.wait(pause) {
                return;
            }
        }
    }

    /// Applies everything that is there. Returns the last time at which nothing was missing.
    fn follow(&self, opened: &mut Option<Follower>) -> Result<Option<Instant>, Error> {
        let follower = self.follower(opened)?;
        while let Some(applied) = follower.step()? {
            self.standby.applied(follower);
            self.tell(applied);
            if self.standby.stop.is_stopped() || self.control.is_asked() {
                break;
            }
        }
        Ok(follower.current())
    }

    fn follower<'f>(&self, opened: &'f mut Option<Follower>) -> Result<&'f mut Follower, Error> {
        match opened {
            Some(follower) => Ok(follower),
            none => {
                let OpenedTarget { target, key } = &self.opened;
                let repository = Repository::open(Arc::clone(target), key.as_ref())?;
                Ok(none.insert(Follower::new(repository, self.store.clone())?))
            }
        }
    }

    fn tell(&self, applied: Applied) {
        if applied.identities {
            (self.users_changed)(&self.store);
        }
    }

    fn promote(&self, opened: &mut Option<Follower>, request: &Request) -> Result<(), String> {
        let told = |error: Error| error.to_string();
        tracing::warn!("promoting this standby");
        let begun = Instant::now();
        let follower = self.follower(opened).map_err(told)?;
        let claimant = Claimant::new(self.settings.fence, request.primary_is_dead);
        let promoted = claimant.and_then(|claimant| claimant.promote(follower));
        let (holder, parent) = promoted.map_err(told)?;
        // What was applied meanwhile.
        self.standby.applied(follower);
        (self.users_changed)(&self.store);
        let milliseconds = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::warn!(milliseconds, "this server is the primary now");
        let _runtime = self.runtime.enter();
        let opened = self.opened.clone();
        let promoted = Some((Arc::new(holder), parent));
        let backup = Backup::start(self.store.clone(), opened, &self.settings, promoted)?;
        if let Some(pair) = self.pair.upgrade() {
            let _ = pair.backup.set(backup);
        }
        Ok(())
    }
}
