//! State in the memory of one process that must agree with the key space, and the decisions that
//! are made from it.
//!
//! One process at a time has a store open, which [`DirectoryLock`](liteio_disk::DirectoryLock)
//! enforces. All state whose correctness depends on that is in this module, or listed in this
//! table; operations reach it through [`Shared`]. Everything else is decided by the key space
//! alone. To let several processes open one store, on a shared engine, exactly this state would
//! have to be replaced. Decisions about it that others take part in are made by a [`Cluster`], of
//! which there is one kind: [`Alone`].
//!
//! | State | Correct because | Replacement for several processes |
//! |---|---|---|
//! | [`Ids`]: the newest stamp | every version and upload gets its id here | an id smaller than the key's newest version, read in the transaction |
//! | [`BucketCache`]: bucket records | every change of a bucket is committed here, and removes its entry ([`ForgetBucket`]) | entries that expire, or are checked against the record in the snapshot |
//! | [`Staging`]: blobs without a record | the sweep sees every blob that is being written | [`Cluster::in_flight`], by the process that a blob names |
//! | [`Pins`]: content that readers need | the reclaimer sees every reader | [`Cluster::reading`], [`Cluster::keep`] and [`Cluster::may_delete`]: a delay before deletion, longer than any read |
//! | [`Holds`]: content that the running backup or copy needs | the backup follows the updates of this process | [`Cluster::may_delete`], with a backup of the engine's own |
//! | [`Gate`]: the suspension of writes | one thread keeps the lease of the process, or follows a primary | [`Cluster::standing`] and [`Cluster::admit`]; the gate itself is of one process |
//! | [`Work`]: wake-ups of the reclaimer | the deletion queue is filled here | [`Cluster::wake`], and polling |
//! | [`Signals`]: wake-ups of event senders | events are queued here, and one sender per target sends them | [`Cluster::wake`], and [`Cluster::lease`] for each target |
//! | [`Background`]: calls to the scrub and the lifecycle | one thread does each | [`Cluster::lease`] for each |
//! | [`TierState`]: bodies in tiers that are read | the deletion of remote objects sees every reader | [`Cluster::may_delete_in_tier`], by the same delay |
//! | `Vectors`: open vector files | one writer allocates slots and sees every reader | a log per index in the key space, and `MirrorStore`: files of each process that follow it |
//!
//! None of it survives the process. A start rebuilds it: ids continue from the clock, the sweep
//! finds orphaned blobs, the used slots are read from the records.

mod alone;
mod background;
mod bucket;
mod bucket_cache;
mod cluster;
mod gate;
mod guard;
mod hold;
mod ids;
mod observers;
mod pins;
mod servers;
#[cfg(any(test, feature = "test-util"))]
mod several;
mod signal;
mod staging;
mod tier;
mod work;

use std::sync::Arc;

use liteio_blob::BlobStore;

use self::alone::Alone;
use crate::config::StoreConfig;
use crate::encryption::KeptBlocks;
use crate::stats::Counters;

pub(crate) use background::{Background, Calls};
pub use bucket::Bucket;
pub(crate) use bucket_cache::{BucketCache, ForgetBucket};
pub use cluster::Job;
pub(crate) use cluster::{Cluster, Kept, Opened, Sleeper, Term};
pub(crate) use gate::{Gate, OF_STANDBY};
pub(crate) use guard::Guard;
pub(crate) use hold::{Holder, Holds};
pub(crate) use ids::{Ids, written_ms};
pub(crate) use observers::Observers;
pub use observers::Observing;
use pins::{Pin, Pins};
pub(crate) use servers::{BEAT_EVERY, DatabaseClock, Member, Servers, ServersConfig};
#[cfg(any(test, feature = "test-util"))]
pub use several::Several;
pub(crate) use signal::{Signals, TellObservers, WakeSender};
pub(crate) use staging::{StagedBlob, Staging};
pub use tier::{TierBodies, TierError};
pub(crate) use tier::{TierReader, TierState};
pub(crate) use work::{WakeReclaimer, Work, Worker};

/// The state that transactions and readers need besides the key space.
///
/// Queued updates hold it. So it must not hold the key space: dropping the last handle of the key
/// space waits for the queue to be empty, and would never end.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: StoreConfig,
    pub(crate) blobs: Arc<dyn BlobStore>,
    pub(crate) ids: Ids,
    pub(crate) buckets: BucketCache,
    /// Decides what this process may do, beside others perhaps.
    pub(crate) cluster: Arc<dyn Cluster>,
    pub(crate) staging: Arc<Staging>,
    pub(crate) holds: Arc<Holds>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) work: Arc<Work>,
    pub(crate) outbox: Arc<Signals>,
    pub(crate) counters: Counters,
    pub(crate) kept_blocks: KeptBlocks,
    pub(crate) tiers: Arc<TierState>,
    pub(crate) observers: Observers,
}

impl Shared {
    /// The state of a process that is alone.
    pub(crate) fn new(config: StoreConfig, blobs: Arc<dyn BlobStore>) -> Self {
        Self::of(config, blobs, |alone| Arc::new(alone))
    }

    /// The state of a process among others, which `several` stands for.
    #[cfg(any(test, feature = "test-util"))]
    pub(crate) fn among(config: StoreConfig, blobs: Arc<dyn BlobStore>, several: &Several) -> Self {
        Self::of(config, blobs, |alone| Arc::new(several.with(alone)))
    }

    /// The state of one of several servers, and its part among them.
    pub(crate) fn one_of(
        config: StoreConfig,
        blobs: Arc<dyn BlobStore>,
        servers: ServersConfig,
    ) -> (Self, Arc<Servers>) {
        let mut own = None;
        let clock = Arc::clone(&config.clock);
        let shared = Self::of(config, blobs, |alone| {
            let servers = Arc::new(Servers::new(alone, servers, clock));
            own = Some(Arc::clone(&servers));
            servers
        });
        (shared, own.expect("it was called"))
    }

    fn of(
        config: StoreConfig,
        blobs: Arc<dyn BlobStore>,
        cluster: impl FnOnce(Alone) -> Arc<dyn Cluster>,
    ) -> Self {
        let alone = Alone {
            blobs: Arc::clone(&blobs),
            pins: Arc::default(),
            staging: Arc::default(),
            holds: Arc::default(),
            gate: Arc::default(),
            work: Arc::default(),
            signals: Arc::default(),
            tiers: Arc::default(),
        };
        Self {
            config,
            blobs,
            ids: Ids::default(),
            buckets: BucketCache::default(),
            staging: Arc::clone(&alone.staging),
            holds: Arc::clone(&alone.holds),
            gate: Arc::clone(&alone.gate),
            work: Arc::clone(&alone.work),
            outbox: Arc::clone(&alone.signals),
            counters: Counters::default(),
            kept_blocks: KeptBlocks::default(),
            observers: Observers::default(),
            tiers: Arc::clone(&alone.tiers),
            cluster: cluster(alone),
        }
    }

    /// The length of a day in lifecycle rules, in milliseconds.
    pub(crate) fn day_ms(&self) -> u64 {
        u64::try_from(self.config.lifecycle_day.as_millis()).unwrap_or(u64::MAX).max(1)
    }
}
