//! A least-recently-used cache of data derived from the metadata of an index: in memory only, computed
//! on demand, with one limit for all indexes together.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use liteio_vector::Slot;
use parking_lot::{Mutex, RwLock};

use crate::name::IndexId;

/// Data derived from the metadata of the vectors of an index.
pub(crate) trait Derived: Default {
    /// Bytes of memory that it takes.
    fn bytes(&self) -> usize;

    /// Removes slots that are about to get other vectors.
    fn forget(&mut self, slots: &[Slot]);
}

/// Derived data by index and metadata key.
#[derive(Debug)]
pub(crate) struct Cache<T> {
    bytes_max: usize,
    clock: AtomicU64,
    entries: Mutex<HashMap<IndexId, Keys<T>>>,
}

/// Allowance for an entry beside its key and its derived data. Without it, entries of empty indexes would
/// count almost nothing and accumulate.
const ENTRY_BYTES: usize = 512;

type Keys<T> = HashMap<String, Arc<Entry<T>>>;

#[derive(Debug, Default)]
pub(crate) struct Entry<T> {
    pub(crate) derived: RwLock<T>,
    /// Clock value of the last use.
    used: AtomicU64,
    /// Memory of the entry, as last reported to [`Cache::grown`].
    bytes: AtomicUsize,
    /// Bytes of the entry without its derived data.
    own_bytes: usize,
}

impl<T: Derived> Cache<T> {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, clock: AtomicU64::new(0), entries: Mutex::default() }
    }

    /// Limit of the cache, and so of each entry, in bytes.
    pub(crate) fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// The entry of `key`; its data is empty if the entry is new.
    pub(crate) fn get(&self, id: IndexId, key: &str) -> Arc<Entry<T>> {
        let mut entries = self.entries.lock();
        let keys = entries.entry(id).or_default();
        let entry = match keys.get(key) {
            Some(entry) => Arc::clone(entry),
            None => {
                let derived = RwLock::new(T::default());
                let own_bytes = ENTRY_BYTES + key.len();
                let (used, bytes) = (AtomicU64::new(0), AtomicUsize::new(own_bytes));
                let entry = Entry { derived, used, bytes, own_bytes };
                Arc::clone(keys.entry(key.to_owned()).or_insert(Arc::new(entry)))
            }
        };
        entry.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        entry
    }

    /// Records that the data of `entry` has grown to `bytes`, and evicts the least recently used entries
    /// until all fit.
    pub(crate) fn grown(&self, entry: &Entry<T>, bytes: usize) {
        entry.bytes.store(entry.own_bytes + bytes, Ordering::Relaxed);
        let mut entries = self.entries.lock();
        loop {
            let all = entries
                .iter()
                .flat_map(|(id, keys)| keys.iter().map(|(key, entry)| (*id, key, entry)));
            let total: usize =
                all.clone().map(|(_, _, entry)| entry.bytes.load(Ordering::Relaxed)).sum();
            if total <= self.bytes_max {
                return;
            }
            let oldest = all.min_by_key(|(_, _, entry)| entry.used.load(Ordering::Relaxed));
            let Some((id, key)) = oldest.map(|(id, key, _)| (id, key.clone())) else { return };
            if let Some(keys) = entries.get_mut(&id) {
                keys.remove(&key);
            }
        }
    }

    /// Drops what is derived from `key`.
    pub(crate) fn remove(&self, id: IndexId, key: &str) {
        if let Some(keys) = self.entries.lock().get_mut(&id) {
            keys.remove(key);
        }
    }

    /// Drops all that is derived from an index.
    pub(crate) fn remove_index(&self, id: IndexId) {
        self.entries.lock().remove(&id);
    }

    /// Removes slots from all data of an index. Call it before records reference new vectors in them: no
    /// reader uses the slots at that time, and what was derived from their former vectors is stale.
    pub(crate) fn forget(&self, id: IndexId, slots: &[Slot]) {
        let of_index: Vec<Arc<Entry<T>>> = match self.entries.lock().get(&id) {
            Some(keys) => keys.values().cloned().collect(),
            None => return,
        };
        for entry in of_index {
            entry.derived.write().forget(slots);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ever_new_keys_of_an_empty_index_do_not_gather() {
        let cache: Cache<Sized> = Cache::new(10 * ENTRY_BYTES);
        for number in 0..1_000 {
            fill(&cache, &number.to_string(), 0);
        }
        let kept: usize = cache.entries.lock().values().map(HashMap::len).sum();
        assert!((5..=10).contains(&kept), "{kept}");
    }

    #[derive(Debug, Default)]
    struct Sized(usize);

    impl Derived for Sized {
        fn bytes(&self) -> usize {
            self.0
        }

        fn forget(&mut self, _slots: &[Slot]) {
            self.0 = 0;
        }
    }

    fn fill(cache: &Cache<Sized>, key: &str, bytes: usize) {
        let entry = cache.get(IndexId(1), key);
        entry.derived.write().0 = bytes;
        let bytes = entry.derived.read().bytes();
        cache.grown(&entry, bytes);
    }

    fn bytes(cache: &Cache<Sized>, key: &str) -> usize {
        cache.get(IndexId(1), key).derived.read().bytes()
    }

    #[test]
    fn the_least_used_makes_room() {
        let cache = Cache::new(100 + 3 * (ENTRY_BYTES + 1));
        fill(&cache, "a", 40);
        fill(&cache, "b", 40);
        assert_eq!(bytes(&cache, "a"), 40);
        fill(&cache, "c", 40);
        assert_eq!([bytes(&cache, "a"), bytes(&cache, "b"), bytes(&cache, "c")], [40, 0, 40]);
        fill(&cache, "d", 5_000);
        assert_eq!([bytes(&cache, "a"), bytes(&cache, "c"), bytes(&cache, "d")], [0, 0, 0]);
        fill(&cache, "e", 10);
        cache.forget(IndexId(2), &[]);
        assert_eq!(bytes(&cache, "e"), 10);
        cache.forget(IndexId(1), &[]);
        assert_eq!(bytes(&cache, "e"), 0);
    }
}
