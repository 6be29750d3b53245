//! State in the memory of one process that must agree with the key space.
//!
//! One process at a time has a store open, which [`DirectoryLock`](liteio_disk::DirectoryLock)
//! enforces. All state whose correctness depends on that is in this module, or listed in this
//! table; operations reach it through [`Shared`]. Everything else is decided by the key space
//! alone. To let several processes open one store, on a shared engine, exactly this state would
//! have to be replaced:
//!
//! | State | Correct because | Replacement for several processes |
//! |---|---|---|
//! | [`Ids`]: the newest stamp | every version and upload gets its id here | an id smaller than the key's newest version, read in the transaction |
//! | [`BucketCache`]: bucket records | every change of a bucket is committed here, and removes its entry ([`ForgetBucket`]) | entries that expire, or are checked against the record in the snapshot |
//! | [`Staging`]: blobs without a record | the sweep sees every blob that is being written | a minimum age below which the sweep ignores blobs |
//! | [`Pins`]: content that readers need | the reclaimer sees every reader | a delay before deletion, longer than any read |
//! | [`Holds`]: content that the running backup or copy needs | the backup follows the updates of this process | a backup of the engine's own |
//! | [`Gate`]: the suspension of writes | one thread keeps the lease of the process, or follows a primary | nothing: it is of one process |
//! | [`Work`]: wake-ups of the reclaimer | the deletion queue is filled here | polling |
//! | [`Signals`]: wake-ups of event senders | events are queued here, and one sender per target sends them | polling, and a lease per target |
//! | [`Background`]: calls to the scrub and the lifecycle | one thread does each | a lease on the record of each |
//! | [`TierState`]: bodies in tiers that are read | the deletion of remote objects sees every reader | a delay before deletion, longer than any read |
//! | `Vectors`: open vector files | one writer allocates slots and sees every reader | one owner per index |
//!
//! None of it survives the process. A start rebuilds it: ids continue from the clock, the sweep
//! finds orphaned blobs, the used slots are read from the records.

mod background;
mod bucket;
mod bucket_cache;
mod gate;
mod guard;
mod hold;
mod ids;
mod pins;
mod signal;
mod staging;
mod tier;
mod work;

use std::sync::Arc;

use crate::blob::BlobStore;
use crate::config::StoreConfig;
use crate::encryption::KeptBlocks;
use crate::stats::Counters;

pub(crate) use background::{Background, Calls};
pub use bucket::Bucket;
pub(crate) use bucket_cache::{BucketCache, ForgetBucket};
pub(crate) use gate::{Gate, OF_STANDBY};
pub(crate) use guard::Guard;
pub(crate) use hold::{Holder, Holds};
pub(crate) use ids::Ids;
pub(crate) use pins::{Pin, Pins};
pub(crate) use signal::{Signals, TellObserver, WakeSender};
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
    pub(crate) staging: Staging,
    pub(crate) pins: Pins,
    pub(crate) holds: Holds,
    pub(crate) gate: Gate,
    pub(crate) work: Work,
    pub(crate) outbox: Signals,
    pub(crate) counters: Counters,
    pub(crate) kept_blocks: KeptBlocks,
    pub(crate) tiers: TierState,
}

impl Shared {
    pub(crate) fn new(config: StoreConfig, blobs: Arc<dyn BlobStore>) -> Self {
        Self {
            config,
            blobs,
            ids: Ids::default(),
            buckets: BucketCache::default(),
            staging: Staging::default(),
            pins: Pins::default(),
            holds: Holds::default(),
            gate: Gate::default(),
            work: Work::default(),
            outbox: Signals::default(),
            counters: Counters::default(),
            kept_blocks: KeptBlocks::default(),
            tiers: TierState::default(),
        }
    }

    /// The length of a day in lifecycle rules, in milliseconds.
    pub(crate) fn day_ms(&self) -> u64 {
        u64::try_from(self.config.lifecycle_day.as_millis()).unwrap_or(u64::MAX).max(1)
    }
}
