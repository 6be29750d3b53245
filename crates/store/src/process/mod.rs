//! State in the memory of one process that must agree with the key space: the seam for several processes.
//!
//! One process at a time has a store open, which [`DirectoryLock`](liteio_disk::DirectoryLock) enforces.
//! All state whose correctness depends on that is in this module, or listed in this table; operations
//! reach it through [`Shared`]. Everything else is decided by the key space alone. A store that several
//! processes open, on an engine that they share, would have to replace exactly this:
//!
//! | State | Correct because | Shared, it would be |
//! |---|---|---|
//! | [`Ids`]: the newest stamp given out | every version and upload gets its id here | an id smaller than the key's newest version, read in the transaction |
//! | [`BucketCache`]: bucket records | every change of a bucket is committed here, and removes its entry ([`ForgetBucket`]) | entries that expire, or are checked against the record in the snapshot |
//! | [`Staging`]: blobs without a record | the sweep sees every blob that is being written | blobs that the sweep leaves alone until they have a certain age |
//! | [`Pins`]: content that readers need | the reclaimer sees every reader | a delay before deletion, longer than any read |
//! | [`Work`]: wake-up calls | the queue is filled here | polling |
//! | [`Signals`]: events were queued | they are queued here, and told by one sender for each target | polling, and a lease on each target |
//! | [`Background`]: calls to the scrub and the lifecycle | one thread does each | a lease on the record of each |
//! | `Vectors`: open vector files | one writer allocates slots and sees every reader | one owner for each index |
//!
//! None of it survives the process. A start rebuilds it: ids continue from the clock, the sweep finds
//! orphaned blobs, the slots in use are read from the records.

mod background;
mod bucket;
mod bucket_cache;
mod guard;
mod ids;
mod pins;
mod signal;
mod staging;
mod work;

use std::sync::Arc;

use crate::blob::BlobStore;
use crate::config::StoreConfig;
use crate::encryption::KeptBlocks;
use crate::stats::Counters;

pub(crate) use background::{Background, Calls};
pub use bucket::Bucket;
pub(crate) use bucket_cache::{BucketCache, ForgetBucket};
pub(crate) use guard::Guard;
pub(crate) use ids::Ids;
pub(crate) use pins::{Pin, Pins};
pub(crate) use signal::{Signals, TellObserver, WakeSender};
pub(crate) use staging::{StagedBlob, Staging};
pub(crate) use work::{WakeReclaimer, Work, Worker};

/// The state that transactions and readers need beside the key space.
///
/// Updates hold it while they wait in the queue of the key space. So it must not hold the key space,
/// whose last handle waits for its queue to be empty.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: StoreConfig,
    pub(crate) blobs: Arc<dyn BlobStore>,
    pub(crate) ids: Ids,
    pub(crate) buckets: BucketCache,
    pub(crate) staging: Staging,
    pub(crate) pins: Pins,
    pub(crate) work: Work,
    pub(crate) outbox: Signals,
    pub(crate) counters: Counters,
    pub(crate) kept_blocks: KeptBlocks,
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
            work: Work::default(),
            outbox: Signals::default(),
            counters: Counters::default(),
            kept_blocks: KeptBlocks::default(),
        }
    }

    /// The length of a day of lifecycle rules, in milliseconds.
    pub(crate) fn day_ms(&self) -> u64 {
        u64::try_from(self.config.lifecycle_day.as_millis()).unwrap_or(u64::MAX).max(1)
    }
}
