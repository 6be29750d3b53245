//! A store that several servers share: its database and its blobs.

use std::fmt;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use liteio_disk::{Clock, ShiftedClock};
use liteio_kv::Kv;
use liteio_kv::database::{Database, DatabaseConfig, Moment};

#[cfg(feature = "cluster")]
use crate::blob::SharedBlobs;
use crate::blob::{BlobStore, MemoryBlobStore};
use crate::config::StoreConfig;
use crate::error::StoreError;
use crate::meta::{server, space};
use crate::process::{BEAT_EVERY, Background, Calls, Servers, ServersConfig};
use crate::store::{Inner, Opened, Store};

/// Largest body in the database: larger ones cost its log and its backups more than a request to the blobs.
const INLINE_BYTES_MAX: usize = 4 << 10;

/// A database that several servers share.
pub type ClusterDatabase = Arc<dyn Database>;

/// The database and the blobs of a store that several servers share.
#[derive(Clone)]
pub struct ClusterBackend {
    /// The database.
    pub database: ClusterDatabase,
    /// The blobs.
    pub blobs: ClusterBlobs,
    /// The name of this server, for people.
    pub server_name: String,
    /// Time for which deleted bodies are kept, beside their readers: at least as long as what the database may
    /// lose in a failover, or between two of its backups.
    pub deletion_grace: Duration,
}

impl fmt::Debug for ClusterBackend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ClusterBackend")
            .field("server_name", &self.server_name)
            .finish_non_exhaustive()
    }
}

/// Blobs that several servers share.
#[derive(Clone)]
pub struct ClusterBlobs(Blobs);

#[derive(Clone)]
enum Blobs {
    /// In memory of this process, for several stores in it.
    Memory(Arc<MemoryBlobStore>),
    #[cfg(feature = "cluster")]
    Shared(SharedBlobs),
}

impl ClusterBlobs {
    /// Blobs in memory of this process, for tests with several stores in it. Clones are the same blobs.
    #[must_use]
    pub fn memory() -> Self {
        Self(Blobs::Memory(Arc::new(MemoryBlobStore::new())))
    }

    /// The blobs, as the server with this run writes them.
    fn of_run(&self, run: u32) -> Arc<dyn BlobStore> {
        match &self.0 {
            Blobs::Memory(blobs) => Arc::new(blobs.of_run(run)),
            #[cfg(feature = "cluster")]
            Blobs::Shared(blobs) => blobs.blobs(),
        }
    }
}

#[cfg(feature = "cluster")]
impl From<SharedBlobs> for ClusterBlobs {
    fn from(blobs: SharedBlobs) -> Self {
        Self(Blobs::Shared(blobs))
    }
}

/// The settings of the key space: the prefixes of what servers remember.
fn database_config() -> DatabaseConfig {
    let settings = [space::ALL_BUCKETS, space::ALL_DOCUMENTS];
    let users = [space::ALL_IDENTITIES];
    let owned = |prefixes: &[&[u8]]| prefixes.iter().map(|it| it.to_vec()).collect();
    DatabaseConfig { epochs: [owned(&settings), owned(&users)], ..DatabaseConfig::default() }
}

/// Opens the parts of a store that several servers share.
pub(crate) fn open(
    mut config: StoreConfig,
    backend: &ClusterBackend,
) -> Result<Opened, StoreError> {
    let kv = Kv::over(Arc::clone(&backend.database), database_config())?;
    config.inline_bytes_max = config.inline_bytes_max.min(INLINE_BYTES_MAX);
    let clock = Arc::new(ShiftedClock::new(Arc::clone(&config.clock)));
    if let Some(moment) = kv.moment()? {
        set(&clock, moment);
    }
    config.clock = Arc::clone(&clock) as _;
    crate::open::prepare(&kv, &config)?;
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
        servers: Some((servers, clock)),
    })
}

/// The servers of a cluster, and the jobs that they do, as they have told it last.
#[derive(Clone, Debug)]
pub struct ClusterView {
    /// The time of the database, in milliseconds since 1970.
    pub now_ms: u64,
    /// The servers, by their runs.
    pub servers: Vec<ClusterServer>,
    /// The jobs that a server does.
    pub jobs: Vec<ClusterJob>,
}

/// A server of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterServer {
    /// The number of its run.
    pub run: u32,
    /// Its name.
    pub name: String,
    /// Time of its last beat, in milliseconds since 1970.
    pub beat_ms: u64,
    /// `false` if its run is over.
    pub is_running: bool,
}

/// A job in the background, and the server that does it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterJob {
    /// Its name.
    pub name: String,
    /// The run of the server.
    pub run: u32,
    /// The number of the term.
    pub term: u64,
}

impl ClusterView {
    /// Reads what the servers have told.
    ///
    /// # Errors
    /// The errors of a read.
    pub fn read(database: &ClusterDatabase) -> Result<Self, StoreError> {
        let kv = Kv::over(Arc::clone(database), database_config())?;
        let now_ms = kv.moment()?.map_or(0, |moment| moment.now_ms);
        let snapshot = kv.snapshot()?;
        let servers = server::all(&snapshot)?;
        let servers = servers.into_iter().map(|(run, record, is_running)| ClusterServer {
            run,
            name: record.name,
            beat_ms: record.beat_ms,
            is_running,
        });
        let jobs =
            server::all_leases(&snapshot)?.into_iter().filter(|(_, it)| it.until_ms > now_ms);
        let jobs = jobs.map(|(name, it)| ClusterJob { name, run: it.run, term: it.term });
        Ok(Self { now_ms, servers: servers.collect(), jobs: jobs.collect() })
    }
}

/// Sets a clock to the time of the database.
fn set(clock: &ShiftedClock, moment: Moment) {
    let own_ms = clock.now_ms().saturating_add_signed(-clock.offset_ms());
    clock.set_offset_ms(moment.now_ms.cast_signed().wrapping_sub(own_ms.cast_signed()));
}

/// The part of a store among several servers.
#[derive(Debug)]
pub(crate) struct Member {
    servers: Arc<Servers>,
    clock: Arc<ShiftedClock>,
    beats: Option<Background<()>>,
}

impl Member {
    pub(crate) fn new(servers: Arc<Servers>, clock: Arc<ShiftedClock>) -> Self {
        Self { servers, clock, beats: None }
    }

    /// Ends the beats, and leaves the others. All threads that write have ended.
    pub(crate) fn leave(&mut self, kv: &Kv) {
        if let Some(beats) = self.beats.take() {
            beats.stop();
        }
        // Without the database the others end this run by themselves.
        let _ = self.servers.leave(kv);
    }
}

impl Store {
    /// Opens the store that `config` describes without its work in the background, to read it: as one of
    /// several servers, where there are others.
    ///
    /// # Errors
    /// The errors of [`Store::open`].
    pub fn open_to_read(config: StoreConfig) -> Result<Self, StoreError> {
        let store = Self::from_opened(crate::open::open(config)?);
        store.join()?;
        store.start_beats()?;
        Ok(store)
    }

    /// The moment of now, as the database tells it; `None` for a store of one process.
    pub(crate) fn moment(&self) -> Result<Option<Moment>, StoreError> {
        match &*self.inner.kv.read() {
            Some(kv) => Ok(kv.moment()?),
            None => Err(StoreError::Closed),
        }
    }

    /// `true` if reads of records may wait for a network.
    #[must_use]
    pub fn reads_may_wait(&self) -> bool {
        self.inner.is_member
    }

    /// Tells the other servers that this one runs, hears of them, and takes over jobs that it was asked for.
    /// An open store does so each second. Without other servers it does nothing.
    ///
    /// # Errors
    /// [`StoreError::Suspended`] if others have ended the run of this server; the errors of an update.
    pub fn beat(&self) -> Result<(), StoreError> {
        let (servers, clock) = match &*self.inner.member.lock() {
            Some(member) => (Arc::clone(&member.servers), Arc::clone(&member.clock)),
            None => return Ok(()),
        };
        let kv = match &*self.inner.kv.read() {
            Some(kv) => kv.clone(),
            None => return Err(StoreError::Closed),
        };
        if let Some(moment) = kv.moment()? {
            set(&clock, moment);
        }
        servers.beat(&kv)
    }

    /// Joins the other servers.
    pub(crate) fn join(&self) -> Result<(), StoreError> {
        let member = self.inner.member.lock();
        let Some(member) = &*member else { return Ok(()) };
        match &*self.inner.kv.read() {
            Some(kv) => member.servers.join(kv),
            None => Err(StoreError::Closed),
        }
    }

    /// Starts the thread of the beats.
    pub(crate) fn start_beats(&self) -> Result<(), StoreError> {
        let mut member = self.inner.member.lock();
        let Some(member) = &mut *member else { return Ok(()) };
        let weak: Weak<Inner> = Arc::downgrade(&self.inner);
        let calls = Arc::new(Calls::<()>::default());
        let own_calls = Arc::clone(&calls);
        let thread = thread::Builder::new().name("liteio-beat".to_owned());
        let thread = thread.spawn(move || {
            while own_calls.wait(BEAT_EVERY) {
                let Some(inner) = weak.upgrade() else { return };
                // Without the database the standing of the server tells it.
                let _ = Self::of(inner).beat();
            }
        })?;
        member.beats = Some(Background::new(calls, thread));
        Ok(())
    }
}
