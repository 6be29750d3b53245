//! Buckets in memory.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;

use super::Bucket;
use crate::name::BucketName;

/// Buckets kept; beyond it the cache starts again.
const BUCKETS_MAX: usize = 4096;

/// Buckets that were asked for. It only ever leaves out what was deleted: transactions look for
/// themselves, so what it says too long is what a read that came a moment earlier would have said.
#[derive(Debug, Default)]
pub(crate) struct BucketCache {
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    buckets: HashMap<BucketName, Arc<Bucket>>,
    /// Counts deletions.
    generation: u64,
}

impl BucketCache {
    pub(crate) fn get(&self, name: &BucketName) -> Option<Arc<Bucket>> {
        self.state.read().buckets.get(name).cloned()
    }

    /// To be taken before the snapshot that a bucket is read from.
    pub(crate) fn generation(&self) -> u64 {
        self.state.read().generation
    }

    /// Keeps a bucket, unless one was deleted since `generation`: it might be this one.
    pub(crate) fn insert(&self, bucket: &Arc<Bucket>, generation: u64) {
        let mut state = self.state.write();
        if state.generation != generation {
            return;
        }
        if state.buckets.len() >= BUCKETS_MAX {
            state.buckets.clear();
        }
        state.buckets.insert(bucket.name.clone(), Arc::clone(bucket));
    }

    pub(crate) fn remove(&self, name: &BucketName) {
        let mut state = self.state.write();
        state.buckets.remove(name);
        state.generation += 1;
    }
}
