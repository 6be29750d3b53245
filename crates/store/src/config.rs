//! The configuration of a store.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use liteio_disk::{Durability, RandomSource, SystemRandom};

use crate::clock::{Clock, SystemClock};
use crate::encryption::KeyRing;
use crate::limits::{EVENTS_WAITING_MAX, INLINE_BYTES_MAX, LOGGED_BYTES_MAX, PART_BYTES_MIN};
use crate::meta::EventObserver;

/// The place of the data.
#[derive(Clone, Debug)]
pub enum Backend {
    /// A directory, created if it is missing.
    Directory(PathBuf),
    /// Memory: nothing survives the process.
    Memory,
}

/// The configuration for [`Store::open`](crate::Store::open). Start from [`StoreConfig::directory`] or
/// [`StoreConfig::memory`].
#[derive(Clone, Debug)]
pub struct StoreConfig {
    /// The place of the data.
    pub backend: Backend,
    /// The failures that an acknowledged write survives, unless it is in memory. At
    /// [`Durability::Os`] a power cut takes about the last [`StoreConfig::sync_interval`].
    pub durability: Durability,
    /// Memory for pages of metadata.
    pub cache_bytes: usize,
    /// Memory for metadata that was written lately: what is on its way into the tree, and what was. The log, which is
    /// read after a crash, has up to three quarters as many bytes.
    pub memory_bytes: usize,
    /// Free bytes of the device below which writes are refused, so that deletions still work.
    pub reserve_bytes: u64,
    /// Longest time between an acknowledgement and the beginning of the background sync that covers it.
    pub sync_interval: Duration,
    /// The region of buckets without one.
    pub region: String,
    /// The time of records.
    pub clock: Arc<dyn Clock>,
    /// The source of ids and of keys.
    pub random: Arc<dyn RandomSource>,
    /// The keys that objects are encrypted with.
    pub keys: Arc<KeyRing>,
    /// Bodies up to this many bytes stand in their record.
    /// [`INLINE_BYTES_MAX`]; tests lower it, to have blobs without large bodies.
    pub inline_bytes_max: usize,
    /// At [`Durability::Fsync`]: bodies up to this many bytes also stand in the log for a while.
    /// [`LOGGED_BYTES_MAX`]; tests vary it. It has no effect beyond a piece
    /// ([`PIECE_BYTES`](crate::limits::PIECE_BYTES)).
    pub logged_bytes_max: usize,
    /// Every part but the last has at least this many bytes. [`PART_BYTES_MIN`]; tests lower it.
    pub part_bytes_min: u64,
    /// Everything is read again this long after the last time, to find damage; `None`: only when
    /// [`Store::scrub_now`](crate::Store::scrub_now) says so.
    pub scrub_interval: Option<Duration>,
    /// Bytes that are read in a second meanwhile.
    pub scrub_bytes_per_second: u64,
    /// The length of a day of lifecycle rules: 24 hours, unless a test shortens it.
    pub lifecycle_day: Duration,
    /// Events that wait for one target. Beyond them events are lost.
    pub events_waiting_max: u64,
    /// The one that is told every event of an object, also in buckets without notifications.
    pub event_observer: Option<Arc<dyn EventObserver>>,
    /// A new data directory may hold empty directories that have names of buckets; the caller makes buckets of
    /// [`Store::empty_directories`](crate::Store::empty_directories).
    pub takes_empty_directories: bool,
    /// Runs the closure of every update twice and rolls the first run back, so that a test finds a
    /// closure that must not run again.
    #[cfg(any(test, feature = "test-util"))]
    pub runs_twice: bool,
    /// Drains after so many bytes of log, by the thread that commits, and never by time.
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

    fn with_backend(backend: Backend) -> Self {
        Self {
            backend,
            durability: Durability::default(),
            cache_bytes: 32 << 20,
            memory_bytes: 192 << 20,
            reserve_bytes: 64 << 20,
            sync_interval: Duration::from_secs(1),
            region: "us-east-1".to_owned(),
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandom),
            keys: Arc::default(),
            inline_bytes_max: INLINE_BYTES_MAX,
            logged_bytes_max: LOGGED_BYTES_MAX,
            part_bytes_min: PART_BYTES_MIN,
            scrub_interval: Some(Duration::from_secs(7 * 24 * 60 * 60)),
            scrub_bytes_per_second: 8 << 20,
            lifecycle_day: Duration::from_secs(24 * 60 * 60),
            events_waiting_max: EVENTS_WAITING_MAX,
            event_observer: None,
            takes_empty_directories: false,
            #[cfg(any(test, feature = "test-util"))]
            runs_twice: false,
            #[cfg(any(test, feature = "test-util"))]
            log_bytes: None,
        }
    }
}
