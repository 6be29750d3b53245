//! The configuration of a store.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use liteio_disk::{Durability, RandomSource, SystemRandom};

use crate::backend::ClusterBackend;
use crate::encryption::KeyRing;
use crate::limits::{
    EVENTS_WAITING_MAX, INLINE_BYTES_MAX, LOGGED_BYTES_MAX, PART_BYTES_MIN, RECORD_BODY_BYTES_MAX,
    SEGMENT_BYTES_MAX, VECTOR_CACHE_BYTES, VECTOR_SNAPSHOT_CHANGES,
};
use crate::meta::{BlobSource, EventObserver};
use liteio_disk::{Clock, SystemClock};

/// The data directory when none is given.
pub const DEFAULT_DIRECTORY: &str = "./data";

/// Free bytes of the device below which a store refuses writes, unless [`StoreConfig::reserve_bytes`] says otherwise.
pub const RESERVE_BYTES: u64 = 64 << 20;

/// The location of the data.
#[derive(Clone, Debug)]
pub enum Backend {
    /// A directory, created if it is missing.
    Directory(PathBuf),
    /// Memory: nothing survives the process.
    Memory,
    /// A database and blobs that several servers share.
    Cluster(ClusterBackend),
}

/// The cache of one of several servers for the indexes of vectors that it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorCache {
    /// A directory for it, which no other server uses; `None` for memory.
    pub directory: Option<PathBuf>,
    /// Bytes from which indexes are dropped that were not used lately. One that is larger is kept alone.
    pub bytes_max: u64,
    /// Changes of an index from which its next snapshot is due: [`VECTOR_SNAPSHOT_CHANGES`]; tests lower it.
    pub snapshot_changes: u64,
}

impl Default for VectorCache {
    fn default() -> Self {
        let snapshot_changes = VECTOR_SNAPSHOT_CHANGES;
        Self { directory: None, bytes_max: VECTOR_CACHE_BYTES, snapshot_changes }
    }
}

/// The use of a data directory at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryUse {
    /// No process writes to it.
    Nobody,
    /// A process does: a server of this role, or for [`Role::Primary`] also a command.
    Writer(Role),
    /// This user may not see it.
    Unknown,
}

/// The part of a store in a pair of servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// It is written to.
    #[default]
    Primary,
    /// It follows the backup of a primary and refuses all other writes, until
    /// [`Store::promote`](crate::Store::promote).
    Standby,
}

/// The configuration for [`Store::open`](crate::Store::open). Start from [`StoreConfig::directory`]
/// or [`StoreConfig::memory`].
#[derive(Clone, Debug)]
pub struct StoreConfig {
    /// The location of the data.
    pub backend: Backend,
    /// Failures that an acknowledged write survives; no effect in memory. With [`Durability::Os`] a
    /// power cut loses about the last [`StoreConfig::sync_interval`].
    pub durability: Durability,
    /// Memory for the page cache of the metadata tree.
    pub cache_bytes: usize,
    /// Memory for recently written metadata: tables on their way into the tree, and tables that are
    /// already there. The log, which is replayed after a crash, has up to three quarters as many
    /// bytes.
    pub memory_bytes: usize,
    /// Free bytes of the device below which writes are refused, so that deletions still have space
    /// to work.
    pub reserve_bytes: u64,
    /// Longest time from an acknowledgement to the start of the background sync that covers it.
    pub sync_interval: Duration,
    /// Region of buckets that name none.
    pub region: String,
    /// Source of the times in records.
    pub clock: Arc<dyn Clock>,
    /// Source of random ids and keys.
    pub random: Arc<dyn RandomSource>,
    /// Keys that objects are encrypted with.
    pub keys: Arc<KeyRing>,
    /// Largest body that is stored in the key space. [`INLINE_BYTES_MAX`]; tests lower it, to get
    /// blobs without large bodies.
    pub inline_bytes_max: usize,
    /// Largest body that is stored in the record of its object. [`RECORD_BODY_BYTES_MAX`]; tests
    /// lower it, too.
    pub record_body_bytes_max: usize,
    /// With [`Durability::Fsync`]: largest body that is also written to the log.
    /// [`LOGGED_BYTES_MAX`]; tests vary it. It has no effect beyond a piece
    /// ([`PIECE_BYTES`](crate::limits::PIECE_BYTES)).
    pub logged_bytes_max: usize,
    /// Largest body that is put into a segment, where the file system gives back the space of a part
    /// of a file. [`SEGMENT_BYTES_MAX`], the largest possible value; at 0 every new blob has a file.
    /// A directory that was open with segments once is refused by programs that do not know them.
    pub segment_bytes_max: u64,
    /// Least size of every part but the last. [`PART_BYTES_MIN`]; tests lower it.
    pub part_bytes_min: u64,
    /// Time from the end of a scrub to the next one, which reads everything to find damage. `None`:
    /// scrub only when [`Store::scrub_now`](crate::Store::scrub_now) is called.
    pub scrub_interval: Option<Duration>,
    /// Read rate of a scrub.
    pub scrub_bytes_per_second: u64,
    /// Length of a day in lifecycle rules: 24 hours, unless a test shortens it.
    pub lifecycle_day: Duration,
    /// Time that a restore of an archived object takes.
    pub restore_delay: Duration,
    /// Most events queued per target. Events beyond it are lost.
    pub events_waiting_max: u64,
    /// `true` keeps the metadata of objects and the `User-Agent` in queued events, which documents of MinIO's form name.
    pub events_keep_details: bool,
    /// An observer that is told every object event, also in buckets without notifications.
    pub event_observer: Option<Arc<dyn EventObserver>>,
    /// The backup that has the blobs which a lazy restore has left there.
    pub blob_source: Option<Arc<dyn BlobSource>>,
    /// The cache of vectors, where several servers share a database.
    pub vector_cache: VectorCache,
    /// The part of the store in a pair of servers.
    pub role: Role,
    /// Accept a new data directory that has empty directories with bucket names. The caller then
    /// creates buckets for [`Store::empty_directories`](crate::Store::empty_directories).
    pub takes_empty_directories: bool,
    /// Runs the closure of every update twice and rolls the first run back, so that tests find
    /// closures that must not run again.
    #[cfg(any(test, feature = "test-util"))]
    pub runs_twice: bool,
    /// Runs the closure of every update over what was fetched, piece by piece, so that tests find
    /// closures that must not run again with more, and count fetches
    /// ([`Store::fetches`](crate::Store::fetches)).
    #[cfg(any(test, feature = "test-util"))]
    pub runs_in_pieces: bool,
    /// Length of the first segment; each other one has twice that length.
    #[cfg(any(test, feature = "test-util"))]
    pub segment_bytes: Option<u64>,
    /// Drains the log after this many bytes, on the committing thread, and never by time.
    #[cfg(any(test, feature = "test-util"))]
    pub log_bytes: Option<u64>,
}

impl StoreConfig {
    /// A store in memory.
    #[must_use]
    pub fn memory() -> Self {
        Self::with_backend(Backend::Memory)
    }

    /// A store in the directory `path`, durable by default.
    #[must_use]
    pub fn directory(path: impl Into<PathBuf>) -> Self {
        Self::with_backend(Backend::Directory(path.into()))
    }

    /// A store that several servers share.
    #[must_use]
    pub fn cluster(backend: ClusterBackend) -> Self {
        Self::with_backend(Backend::Cluster(backend))
    }

    fn with_backend(backend: Backend) -> Self {
        Self {
            backend,
            durability: Durability::default(),
            cache_bytes: 32 << 20,
            memory_bytes: 192 << 20,
            reserve_bytes: RESERVE_BYTES,
            sync_interval: Duration::from_secs(1),
            region: "us-east-1".to_owned(),
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandom),
            keys: Arc::default(),
            inline_bytes_max: INLINE_BYTES_MAX,
            record_body_bytes_max: RECORD_BODY_BYTES_MAX,
            logged_bytes_max: LOGGED_BYTES_MAX,
            segment_bytes_max: SEGMENT_BYTES_MAX,
            part_bytes_min: PART_BYTES_MIN,
            scrub_interval: Some(Duration::from_secs(7 * 24 * 60 * 60)),
            scrub_bytes_per_second: 8 << 20,
            lifecycle_day: Duration::from_secs(24 * 60 * 60),
            restore_delay: Duration::from_secs(1),
            events_waiting_max: EVENTS_WAITING_MAX,
            events_keep_details: false,
            event_observer: None,
            blob_source: None,
            vector_cache: VectorCache::default(),
            role: Role::Primary,
            takes_empty_directories: false,
            #[cfg(any(test, feature = "test-util"))]
            runs_twice: false,
            #[cfg(any(test, feature = "test-util"))]
            runs_in_pieces: false,
            #[cfg(any(test, feature = "test-util"))]
            log_bytes: None,
            #[cfg(any(test, feature = "test-util"))]
            segment_bytes: None,
        }
    }
}
