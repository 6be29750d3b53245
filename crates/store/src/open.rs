//! Opening: the order in which the files of a directory are checked and created.
//!
//! ```text
//! foreign content? ─► lock ─► format ─► blobs without a key space, or a key space without blobs?
//!   ─► key space: replay the log
//!   ─► take the `clean` marker ─► delete temporary files ─► the store's own record ─► threads
//! ```
//! Everything that may refuse the directory comes before the first change.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use liteio_blob::{BlobStore as _, FileBlobStore, Lengths, MemoryBlobStore};
use liteio_disk::{DirectoryLock, Disk, OverlayDisk, RealDisk};
#[cfg(any(test, feature = "test-util"))]
use liteio_kv::Spilling;
use liteio_kv::database::DatabaseConfig;
use liteio_kv::{DroppedTail, Kv, KvConfig, Read as _};

use crate::attachment::BlobAttachments;
use crate::backend::ClusterBackend;
use crate::config::{Backend, DirectoryUse, Role, StoreConfig};
use crate::directory;
pub(crate) use crate::directory::KEY_SPACE_FILE;
use crate::error::StoreError;
use crate::lazy;
use crate::meta::bucket::{FORMAT, StoreRecord};
use crate::meta::moving::MovingRecord;
use crate::meta::space::{self, QueueKind};
use crate::meta::standby::StandbyPosition;
#[cfg(any(test, feature = "test-util"))]
use crate::process::Shared;
use crate::process::{DatabaseClock, ServersConfig};
use crate::queue;
use crate::store::{Opened, Store};

/// Number of blobs that a standby syncs by one sync of the file system.
const STANDBY_SYNCED_AT_ONCE: usize = 16;
/// Largest body in the database: larger ones cost its log and its backups more than a request to the blobs.
const CLUSTER_INLINE_BYTES_MAX: usize = 4 << 10;

impl Store {
    /// Opens the store that `config` describes. Its threads delete unreferenced content, and after
    /// an unclean shutdown sweep orphaned blobs.
    ///
    /// # Errors
    /// [`StoreError::InUse`], [`StoreError::NotADataDirectory`], [`StoreError::FormatTooNew`],
    /// [`StoreError::NoSpace`], or the reason why the disk or its content cannot be used.
    pub fn open(config: StoreConfig) -> Result<Self, StoreError> {
        let store = Self::from_opened(open(config)?);
        store.join()?;
        store.start()?;
        Ok(store)
    }

    /// Opens the store over a database that `config` describes as its only server: all decisions are those
    /// of a process that is alone.
    ///
    /// # Errors
    /// The errors of [`Store::open`].
    #[cfg(any(test, feature = "test-util"))]
    pub fn open_as_only_server(config: StoreConfig) -> Result<Self, StoreError> {
        let store = Self::open_at_rest(config)?;
        store.start()?;
        Ok(store)
    }

    /// The same without threads that act by themselves: what the caller does not ask for is not fetched.
    ///
    /// # Errors
    /// The errors of [`Store::open`].
    #[cfg(any(test, feature = "test-util"))]
    pub fn open_at_rest(config: StoreConfig) -> Result<Self, StoreError> {
        Ok(Self::from_opened(Opened { servers: None, ..open(config)? }))
    }

    /// Opens the store over a database that `config` describes as one of several servers, without threads that act
    /// by themselves: the caller runs [`Store::beat`], [`Store::tidy`] and all other jobs. One thread commits, which
    /// waits for nothing but the database.
    ///
    /// # Errors
    /// The errors of [`Store::open`].
    #[cfg(any(test, feature = "test-util"))]
    pub fn open_in_steps(config: StoreConfig) -> Result<Self, StoreError> {
        let Backend::Cluster(backend) = config.backend.clone() else { return Self::open(config) };
        let (committers, settle_time, pause) = (1, Duration::ZERO, Duration::ZERO);
        let database = DatabaseConfig { committers, settle_time, pause, ..database_config() };
        let store = Self::from_opened(open_cluster(config, &backend, database)?);
        store.join()?;
        Ok(store)
    }

    /// Opens the store that `config` describes as one server of [`Several`](crate::Several).
    ///
    /// # Errors
    /// The errors of [`Store::open`].
    #[cfg(any(test, feature = "test-util"))]
    pub fn open_among(config: StoreConfig, several: &crate::Several) -> Result<Self, StoreError> {
        let share = |config, blobs| Shared::among(config, blobs, several);
        let store = Self::assembled(open(config)?, share);
        store.start()?;
        Ok(store)
    }

    /// Opens the store on `disk` as one server of [`Several`](crate::Several), without threads, as
    /// [`Store::open_on`].
    ///
    /// # Errors
    /// The errors of [`Store::open`].
    #[cfg(any(test, feature = "test-util"))]
    pub fn open_on_among(
        disk: Arc<dyn Disk>,
        config: StoreConfig,
        several: &crate::Several,
    ) -> Result<Self, StoreError> {
        let share = |config, blobs| Shared::among(config, blobs, several);
        Ok(Self::assembled(open_on(disk, config)?, share))
    }

    /// Opens the store that `config` describes without its work in the background, to read it: as one of
    /// several servers, where there are others.
    ///
    /// # Errors
    /// The errors of [`Store::open`].
    pub fn open_to_read(config: StoreConfig) -> Result<Self, StoreError> {
        let store = Self::from_opened(open(config)?);
        store.join()?;
        store.start_beats()?;
        Ok(store)
    }

    /// Opens the store that `config` describes, as [`Store::open`], but creates none.
    ///
    /// # Errors
    /// [`StoreError::NotADataDirectory`] for a directory without a store, [`StoreError::Corrupt`]
    /// for one whose key space is missing; the errors of [`Store::open`].
    pub fn open_existing(config: StoreConfig) -> Result<Self, StoreError> {
        if let Backend::Directory(path) = &config.backend {
            let disk = RealDisk::open_existing(path)?;
            if checked_format(&disk)?.is_none() {
                return Err(directory::without_format(&disk, path.display().to_string()));
            }
            refuse_without_key_space(&disk)?;
        }
        Self::open(config)
    }

    /// `true` if the directory of `config` is that of a standby. Nothing in it is changed.
    ///
    /// # Errors
    /// The errors of [`Store::open_existing`].
    pub fn is_standby(config: &StoreConfig) -> Result<bool, StoreError> {
        let opened = open_to_look(config.clone())?;
        Ok(StandbyPosition::read(&opened.kv.snapshot()?)?.is_some())
    }

    /// The current user of the data directory at `path`. Nothing in it is changed.
    ///
    /// # Errors
    /// The errors of reading it; [`StoreError::NotADataDirectory`].
    pub fn use_of(path: &Path) -> Result<DirectoryUse, StoreError> {
        let disk = RealDisk::open_existing(path)?;
        let Some(format) = checked_format(&disk)? else {
            return Err(directory::without_format(&disk, path.display().to_string()));
        };
        match DirectoryLock::share(path).map_err(refusal_of_lock) {
            Ok(Some(_)) => Ok(DirectoryUse::Nobody),
            Ok(None) => Ok(DirectoryUse::Unknown),
            Err(StoreError::InUse { .. }) => Ok(DirectoryUse::Writer(directory::role_of(format))),
            Err(error) => Err(error),
        }
    }

    /// Opens the store of the mirrors of vectors that `config` describes, without threads that write by
    /// themselves. A directory that cannot be read is made anew, and so is one that `is_damaged`: all in it is
    /// in the logs, too.
    ///
    /// # Errors
    /// [`StoreError::InUse`]; the errors of the disk.
    pub(crate) fn open_mirrors(config: StoreConfig, is_damaged: bool) -> Result<Self, StoreError> {
        let Backend::Directory(path) = &config.backend else {
            let store = Self::from_opened(open(config)?);
            store.start_columns();
            return Ok(store);
        };
        let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(path)?);
        let lock = DirectoryLock::acquire(path).map_err(refusal_of_lock)?;
        let opened = match is_damaged {
            true => Err(StoreError::corrupt("the mirrors of vectors")),
            false => open_on(Arc::clone(&disk), config.clone()),
        };
        let opened = match opened {
            Err(
                StoreError::Corrupt { .. }
                | StoreError::FormatTooNew { .. }
                | StoreError::NotADataDirectory { .. }
                | StoreError::Io(_),
            ) => {
                directory::remove_files(&*disk, "")?;
                directory::write_format(&*disk, directory::format_of(&config))?;
                open_on(disk, config)
            }
            opened => opened,
        };
        let store = Self::from_opened(Opened { directory_lock: Some(lock), ..opened? });
        store.start_columns();
        Ok(store)
    }

    /// Starts the threads of an open store.
    pub(crate) fn start(&self) -> Result<(), StoreError> {
        self.start_columns();
        self.start_watch()?;
        self.start_beats()?;
        match self.shared().config.role {
            Role::Primary => self.start_writers(),
            // They begin with its promotion.
            Role::Standby => Ok(()),
        }
    }

    /// Starts the threads that write by themselves.
    pub(crate) fn start_writers(&self) -> Result<(), StoreError> {
        self.start_reclaimer()?;
        if self.inner.disk.is_some() {
            self.start_scrubber()?;
        }
        self.start_lifecycle()?;
        self.start_snapshots()?;
        self.start_usage()
    }

    /// Opens the store on `disk`, without threads: the caller runs [`Store::reclaim`] and
    /// [`Store::sweep`]. The backend in `config` is ignored.
    ///
    /// # Errors
    /// The errors of [`Store::open`].
    pub fn open_on(disk: Arc<dyn Disk>, config: StoreConfig) -> Result<Self, StoreError> {
        Ok(Self::from_opened(open_on(disk, config)?))
    }
}

fn open(config: StoreConfig) -> Result<Opened, StoreError> {
    match config.backend.clone() {
        Backend::Memory => open_memory(config),
        Backend::Cluster(backend) => open_cluster(config, &backend, database_config()),
        Backend::Directory(path) => {
            let disk = RealDisk::open(&path)?;
            let shown = path.display().to_string();
            // The foreign check comes before the lock: it creates nothing, while the lock creates a
            // file.
            directory::refuse_foreign(&disk, &shown, config.takes_empty_directories)?;
            let lock = DirectoryLock::acquire(&path).map_err(refusal_of_lock)?;
            let opened = open_on(Arc::new(disk), config)?;
            Ok(Opened { directory_lock: Some(lock), ..opened })
        }
    }
}

/// Opens an existing store read-only, in the state that a start would find. The log is replayed in
/// memory, and no file or directory changes. The lock is shared with other readers; without a
/// readable lock file nothing excludes a writer.
pub(crate) fn open_to_look(config: StoreConfig) -> Result<Opened, StoreError> {
    open_existing(config, true, Damaged::Refuse)
}

/// [`open_to_look`] on `disk`.
pub(crate) fn open_to_look_on(
    disk: Arc<dyn Disk>,
    config: StoreConfig,
) -> Result<Opened, StoreError> {
    open_existing_on(Arc::new(OverlayDisk::new(disk)), config, Damaged::Refuse)
}

/// Opens an existing store whose log may be damaged. With `only_look` no file changes.
pub(crate) fn open_to_repair(config: StoreConfig, only_look: bool) -> Result<Opened, StoreError> {
    open_existing(config, only_look, Damaged::PassOver)
}

/// [`open_to_repair`] on `disk`.
pub(crate) fn open_to_repair_on(
    disk: Arc<dyn Disk>,
    config: StoreConfig,
) -> Result<Opened, StoreError> {
    open_existing_on(disk, config, Damaged::PassOver)
}

fn open_existing(
    config: StoreConfig,
    only_look: bool,
    damaged: Damaged,
) -> Result<Opened, StoreError> {
    match config.backend.clone() {
        Backend::Memory => open_memory(config),
        Backend::Cluster(backend) => open_cluster(config, &backend, database_config()),
        Backend::Directory(path) => {
            let disk: Arc<dyn Disk> = Arc::new(RealDisk::open_existing(&path)?);
            let shown = path.display().to_string();
            directory::refuse_foreign(&*disk, &shown, false)?;
            // Before the lock, which would create its file.
            if checked_format(&*disk)?.is_none() {
                return Err(StoreError::NotADataDirectory { path: shown });
            }
            let (lock, disk): (_, Arc<dyn Disk>) = match only_look {
                true => (DirectoryLock::share(&path), Arc::new(OverlayDisk::new(disk))),
                false => (DirectoryLock::acquire(&path).map(Some), disk),
            };
            let directory_lock = lock.map_err(refusal_of_lock)?;
            let opened = open_existing_on(disk, config, damaged)?;
            Ok(Opened { directory_lock, ..opened })
        }
    }
}

fn open_existing_on(
    disk: Arc<dyn Disk>,
    config: StoreConfig,
    damaged: Damaged,
) -> Result<Opened, StoreError> {
    if checked_format(&*disk)?.is_none() {
        let path = "the data directory".to_owned();
        return Err(StoreError::NotADataDirectory { path });
    }
    refuse_without_key_space(&*disk)?;
    // No merging or compaction: for a look it would have to hold everything in memory.
    let idle = Duration::MAX;
    let salvage = damaged == Damaged::PassOver;
    let kv_config = KvConfig { salvage, idle, ..kv_config(&config) };
    open_parts(disk, config, kv_config)
}

pub(crate) fn refusal_of_lock(error: io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::ResourceBusy => StoreError::InUse { message: error.to_string() },
        _ => error.into(),
    }
}

fn open_memory(config: StoreConfig) -> Result<Opened, StoreError> {
    open_memory_with(config, MemoryBlobStore::new(), |_| Ok(()))
}

/// A store in memory with these blobs, and with the records that `fill` writes.
pub(crate) fn open_memory_with(
    config: StoreConfig,
    blobs: MemoryBlobStore,
    fill: impl FnOnce(&Kv) -> Result<(), StoreError>,
) -> Result<Opened, StoreError> {
    let kv = Kv::memory(kv_config(&config))?;
    fill(&kv)?;
    prepare(&kv, &config)?;
    let blobs = Arc::new(blobs);
    Ok(Opened {
        config,
        kv,
        blobs,
        disk: None,
        directory_lock: None,
        was_clean: true,
        may_sweep: true,
        log_end: None,
        logs_vectors: false,
        servers: None,
    })
}

/// The settings of the key space: the prefixes of what servers remember.
pub(crate) fn database_config() -> DatabaseConfig {
    let settings = [space::ALL_BUCKETS, space::ALL_DOCUMENTS];
    let users = [space::ALL_IDENTITIES];
    let owned = |prefixes: &[&[u8]]| prefixes.iter().map(|it| it.to_vec()).collect();
    DatabaseConfig { epochs: [owned(&settings), owned(&users)], ..DatabaseConfig::default() }
}

/// Opens the parts of a store that several servers share.
fn open_cluster(
    mut config: StoreConfig,
    backend: &ClusterBackend,
    database: DatabaseConfig,
) -> Result<Opened, StoreError> {
    let kv = Kv::over(Arc::clone(&backend.database), database)?;
    config.inline_bytes_max = config.inline_bytes_max.min(CLUSTER_INLINE_BYTES_MAX);
    let clock = Arc::new(DatabaseClock::new(Arc::clone(&config.clock)));
    if let Some(moment) = kv.moment()? {
        clock.set(moment);
    }
    config.clock = Arc::clone(&clock) as _;
    prepare(&kv, &config)?;
    let run = backend.database.run();
    let servers = ServersConfig {
        run,
        name: backend.server_name.clone(),
        deletion_grace: backend.deletion_grace,
    };
    Ok(Opened {
        config,
        kv,
        blobs: backend.blobs.of_run(run),
        disk: None,
        directory_lock: None,
        // The leftovers of other runs are swept by their numbers.
        was_clean: true,
        may_sweep: true,
        log_end: None,
        logs_vectors: true,
        servers: Some((servers, clock)),
    })
}

fn open_on(disk: Arc<dyn Disk>, config: StoreConfig) -> Result<Opened, StoreError> {
    let format = checked_format(&*disk)?;
    let wanted = directory::format_of(&config);
    match format {
        Some(_) => {}
        None => {
            let takes_empty = config.takes_empty_directories;
            directory::refuse_foreign(&*disk, "the data directory", takes_empty)?;
            if disk.free_bytes()? < config.reserve_bytes {
                return Err(StoreError::NoSpace);
            }
            directory::write_format(&*disk, wanted)?;
        }
    }
    let kv_config = kv_config(&config);
    let opened = open_parts(Arc::clone(&disk), config, kv_config)?;
    check_role(&opened.kv, opened.config.role)?;
    // The marker is taken after the key space has opened: a store that is refused stays unchanged,
    // and recovery of the key space leaves no orphans. A new directory has nothing to sweep.
    directory::unmark_copy(&*disk)?;
    let was_clean = directory::take_clean_marker(&*disk)? || format.is_none();
    // Before the first segment or row, which an earlier program would not find.
    if let Some(format) = directory::format_to_write(format.or(Some(wanted)), &opened.config) {
        directory::write_format(&*disk, format)?;
    }
    opened.blobs.clean_temporary()?;
    prepare(&opened.kv, &opened.config)?;
    // A standby deletes and fetches blobs without the bookkeeping of a sweep.
    let was_clean = was_clean && opened.config.role == Role::Primary;
    Ok(Opened { was_clean, ..opened })
}

/// Refuses to open the directory of a standby as that of a primary, and the other way round.
fn check_role(kv: &Kv, role: Role) -> Result<(), StoreError> {
    let position = StandbyPosition::read(&kv.snapshot()?)?;
    let message = match (role, position) {
        (Role::Primary, None) | (Role::Standby, Some(_)) => return Ok(()),
        (Role::Primary, Some(_)) => {
            "the data directory belongs to a standby: run `liteio standby` with it, and then `liteio promote` to \
             write to it"
        }
        (Role::Standby, None) => {
            "the data directory does not belong to a standby: give `liteio standby` a new one"
        }
    };
    Err(StoreError::InvalidRequest { message: message.to_owned() })
}

/// Refuses a directory without a key space: a new one would be empty, so nothing would be missing
/// in it.
fn refuse_without_key_space(disk: &dyn Disk) -> Result<(), StoreError> {
    match directory::has_file(disk, KEY_SPACE_FILE)? {
        true => Ok(()),
        false => Err(StoreError::corrupt(format!(
            "{KEY_SPACE_FILE} is missing: it was removed, or the first start was interrupted"
        ))),
    }
}

/// The format of the directory; `None` if it has none. Checked before anything is created: opening
/// the key space would create a new one in place of a missing one.
fn checked_format(disk: &dyn Disk) -> Result<Option<u32>, StoreError> {
    let format = directory::known_format(disk)?;
    if format.is_some() {
        directory::refuse_lost_key_space(disk, KEY_SPACE_FILE)?;
        directory::refuse_lost_blobs(disk, KEY_SPACE_FILE)?;
    }
    Ok(format)
}

/// The reaction to damaged records of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Damaged {
    Refuse,
    PassOver,
}

/// Opens blobs and key space, and leaves the `clean` marker alone.
fn open_parts(
    disk: Arc<dyn Disk>,
    config: StoreConfig,
    kv_config: KvConfig,
) -> Result<Opened, StoreError> {
    let (durability, logged) = (config.durability, config.logged_bytes_max);
    let blobs =
        Arc::new(FileBlobStore::open(Arc::clone(&disk), durability, logged, lengths(&config))?);
    if config.role == Role::Standby {
        // It has no other writes, and falls behind with a sync for each of its many blobs.
        blobs.sync_at_once(Some(STANDBY_SYNCED_AT_ONCE));
    }
    let attachments = Some(Arc::new(BlobAttachments(Arc::clone(&blobs))) as _);
    let kv_config = KvConfig { attachments, ..kv_config };
    let kv = Kv::open(Arc::clone(&disk), KEY_SPACE_FILE, kv_config)?;
    let blobs = lazy::blobs(blobs, &kv, &config)?;
    let recovery = kv.recovery();
    // A truncated or salvaged log may have lost records whose blobs are whole: sweeping would
    // delete them.
    let is_whole =
        recovery.dropped.is_none() && recovery.passed_over.is_empty() && recovery.lost_blocks == 0;
    let log_end = recovery.dropped.as_ref().map(describe);
    Ok(Opened {
        config,
        kv,
        blobs,
        disk: Some(disk),
        directory_lock: None,
        was_clean: false,
        may_sweep: is_whole,
        log_end,
        logs_vectors: false,
        servers: None,
    })
}

/// A description of the dropped end of the log.
fn describe(tail: &DroppedTail) -> String {
    let records = match tail.newest {
        newest if newest > tail.number => format!("records {} to {newest}", tail.number),
        _ => format!("record {}", tail.number),
    };
    let copy = match &tail.copy {
        Some(copy) => format!("are kept in {copy}"),
        None => "are lost, because there was no space for a copy".to_owned(),
    };
    format!(
        "{records} of the log, at byte {} of {}, cannot be read, or the blob of the first: cut off by a crash before \
         they were durable, or damaged since. Their {} bytes {copy}. Orphans are not swept before the next start",
        tail.position, tail.path, tail.bytes,
    )
}

fn lengths(config: &StoreConfig) -> Lengths {
    let lengths = Lengths::new(config.segment_bytes_max);
    #[cfg(any(test, feature = "test-util"))]
    if let Some(bytes) = config.segment_bytes {
        return Lengths { first_bytes: bytes, bytes: 2 * bytes, ..lengths };
    }
    lengths
}

fn kv_config(config: &StoreConfig) -> KvConfig {
    // Half of the memory, so that the memory decides how much is drained at once.
    let log_bytes = config.memory_bytes as u64 / 2;
    #[cfg(any(test, feature = "test-util"))]
    let log_bytes = config.log_bytes.unwrap_or(log_bytes);
    KvConfig {
        durability: config.durability,
        cache_bytes: config.cache_bytes,
        memory_bytes: config.memory_bytes,
        reserve_bytes: config.reserve_bytes,
        sync_interval: config.sync_interval,
        log_bytes,
        #[cfg(any(test, feature = "test-util"))]
        runs_twice: config.runs_twice,
        #[cfg(any(test, feature = "test-util"))]
        runs_in_pieces: config.runs_in_pieces,
        #[cfg(any(test, feature = "test-util"))]
        drain_after_groups: config.log_bytes.map(|bytes| bytes % 3),
        #[cfg(any(test, feature = "test-util"))]
        spilling: match config.log_bytes {
            None => Spilling::WhereItPays,
            Some(bytes) if bytes % 2 == 0 => Spilling::Never,
            Some(_) => Spilling::Always { merged: 2 },
        },
        ..KvConfig::default()
    }
}

/// Creates the store's own record, or checks it and takes over records of earlier programs.
fn prepare(kv: &Kv, config: &StoreConfig) -> Result<(), StoreError> {
    let snapshot = kv.snapshot()?;
    MovingRecord::refuse(&snapshot)?;
    if StoreRecord::read_checked(&snapshot)?.is_some() {
        let kinds = [QueueKind::Events, QueueKind::Replication];
        let mut former = false;
        for kind in kinds {
            former |= snapshot.get(kind.former_place())?.is_some();
        }
        // A standby is written to by its primary only, and takes them over when it is promoted.
        return match former && config.role == Role::Primary {
            // With the room of the reserve: a full directory opens, too.
            true => kv.update_freeing_then(queue::take_over, |()| {}).wait(),
            false => Ok(()),
        };
    }
    let record = StoreRecord { format: FORMAT, next_bucket: 1, created_ms: config.clock.now_ms() };
    let prepared = kv.update(move |write| {
        MovingRecord::refuse(write)?;
        // That nothing else is there has been seen. No server writes anything before it has found this record.
        match StoreRecord::read(write)? {
            // Another server was faster.
            Some(_) => Ok(()),
            None => record.write(write),
        }
    });
    prepared.wait()
}
