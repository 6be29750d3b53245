//! The cache of bucket records.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;

use super::{Bucket, Guard, Shared};
use crate::name::BucketName;

/// Most cached buckets; beyond it the cache is cleared.
const BUCKETS_MAX: usize = 4096;
/// Most bytes of their documents; beyond it the cache is cleared, too.
const DOCUMENTS_BYTES_MAX: usize = 64 << 20;

/// A read-through cache of bucket records.
///
/// Invalidation: an entry is removed after every commit that changes or deletes its record and
/// before the acknowledgement, so a reader that starts after an acknowledged write sees the write.
/// A reader that loaded the record before the commit cannot insert it afterwards, because the
/// removal has changed the generation:
///
/// ```text
///  reader:  generation() = 7 ── snapshot: old record ───────────────────── insert(old, 7): refused
///  writer:                              commit ── remove: generation = 8 ── acknowledged
/// ```
#[derive(Debug, Default)]
pub(crate) struct BucketCache {
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    buckets: HashMap<BucketName, Arc<Bucket>>,
    /// Bytes of the documents inserted since the cache was cleared.
    document_bytes: usize,
    /// Number of removals so far.
    generation: u64,
    /// The epoch of the settings of buckets up to which the entries are exact, beside other servers.
    epoch: u64,
}

impl BucketCache {
    pub(crate) fn get(&self, name: &BucketName) -> Option<Arc<Bucket>> {
        self.state.read().buckets.get(name).cloned()
    }

    /// The generation for [`BucketCache::insert`]. Take it before the snapshot from which the
    /// bucket is read.
    pub(crate) fn generation(&self) -> u64 {
        self.state.read().generation
    }

    /// Inserts a bucket, unless any entry was removed since `generation`: it could have been this
    /// one. Beside other servers `epoch` is that of the snapshot: a bucket of another one than the entries
    /// would stay where a failover loses its commit, since the epoch of the entries comes back then.
    pub(crate) fn insert(&self, bucket: &Arc<Bucket>, generation: u64, epoch: Option<u64>) {
        let mut state = self.state.write();
        // The removal of any bucket refuses the insert. Removals are rare, so one counter serves
        // all.
        if state.generation != generation || epoch.is_some_and(|epoch| epoch != state.epoch) {
            return;
        }
        state.document_bytes += bucket.settings.bytes();
        // Cleared as a whole: buckets in use are back with their next request.
        if state.buckets.len() >= BUCKETS_MAX || state.document_bytes > DOCUMENTS_BYTES_MAX {
            state.buckets.clear();
            state.document_bytes = bucket.settings.bytes();
        }
        state.buckets.insert(bucket.name.clone(), Arc::clone(bucket));
    }

    /// Removes all entries if other servers, or this one, may have changed a bucket since the last call. `true` if
    /// it does. Epochs have no order: that of a slower caller may be older, and after a failover that has lost
    /// commits an older one is right.
    pub(crate) fn agree(&self, epoch: u64) -> bool {
        if self.state.read().epoch == epoch {
            return false;
        }
        let mut state = self.state.write();
        let is_newer = state.epoch != epoch;
        if is_newer {
            state.buckets.clear();
            (state.document_bytes, state.epoch) = (0, epoch);
            state.generation += 1;
        }
        is_newer
    }

    /// Removes all entries, after a commit that may have changed any of them.
    pub(crate) fn clear(&self) {
        let mut state = self.state.write();
        state.buckets.clear();
        state.document_bytes = 0;
        state.generation += 1;
    }

    pub(crate) fn remove(&self, name: &BucketName) {
        let mut state = self.state.write();
        // Both under one lock, so that no insert of the old record comes in between.
        state.buckets.remove(name);
        state.generation += 1;
    }
}

/// Removes a bucket from the cache when dropped, which must be after the commit and before the
/// acknowledgement. Dropped before the commit, it would let a reader insert the old record again.
/// Every transaction that writes or deletes a bucket's record returns one as its guard.
pub(crate) struct ForgetBucket {
    shared: Arc<Shared>,
    name: BucketName,
}

impl ForgetBucket {
    pub(crate) fn new(shared: &Arc<Shared>, name: &BucketName) -> Self {
        Self { shared: Arc::clone(shared), name: name.clone() }
    }
}

impl Guard for ForgetBucket {}

impl Drop for ForgetBucket {
    fn drop(&mut self) {
        self.shared.buckets.remove(&self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::BucketId;

    #[test]
    fn what_was_loaded_before_a_removal_is_not_inserted_after_it() {
        let bucket = Arc::new(Bucket::with_id(BucketId(1)));
        let name = bucket.name.clone();
        let cache = BucketCache::default();
        let generation = cache.generation();
        cache.insert(&bucket, generation, None);
        assert_eq!(cache.get(&name), Some(Arc::clone(&bucket)));
        cache.remove(&name);
        cache.insert(&bucket, generation, None);
        assert_eq!(cache.get(&name), None);
        cache.insert(&bucket, cache.generation(), None);
        assert_eq!(cache.get(&name), Some(Arc::clone(&bucket)));
        let before = cache.generation();
        cache.agree(1);
        assert_eq!(cache.get(&name), None);
        cache.insert(&bucket, before, None);
        assert_eq!(cache.get(&name), None);
        cache.insert(&bucket, cache.generation(), None);
        cache.agree(1);
        assert_eq!(cache.get(&name), Some(Arc::clone(&bucket)));
        // What was read of a later epoch is not of this one: a failover may lose that.
        cache.agree(2);
        cache.insert(&bucket, cache.generation(), Some(3));
        assert_eq!(cache.get(&name), None);
        cache.insert(&bucket, cache.generation(), Some(2));
        assert_eq!(cache.get(&name), Some(bucket));
        // A failover has lost the commit of the epoch 2.
        cache.agree(1);
        assert_eq!(cache.get(&name), None);
    }
}
