//! A least-recently-used cache of data derived from the metadata of an index. The data exists in
//! memory only, is computed on demand, and has one limit for all indexes together.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use liteio_vector::Slot;
use parking_lot::{Mutex, RwLock};

use crate::name::IndexId;

/// Data derived from the metadata of the vectors of an index.
pub(crate) trait Derived: Default {
    /// Memory of the data, in bytes.
    fn bytes(&self) -> usize;

    /// Removes slots that are about to hold other vectors.
    fn forget(&mut self, slots: &[Slot]);
}

/// Derived data by index and metadata key.
#[derive(Debug)]
pub(crate) struct Cache<T> {
    bytes_max: AtomicUsize,
    clock: AtomicU64,
    entries: Mutex<Entries<T>>,
}

#[derive(Debug)]
struct Entries<T> {
    by_index: HashMap<IndexId, Keys<T>>,
    /// Memory of all entries, as last reported.
    bytes: usize,
}

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self { by_index: HashMap::new(), bytes: 0 }
    }
}

/// Allowance for an entry beside its key and its derived data. Without it, entries of empty indexes
/// would count almost nothing and accumulate.
const ENTRY_BYTES: usize = 512;

type Keys<T> = HashMap<String, Arc<Entry<T>>>;

#[derive(Debug, Default)]
pub(crate) struct Entry<T> {
    /// The metadata key.
    pub(crate) key: String,
    pub(crate) derived: RwLock<T>,
    /// Set when the entry leaves the cache: from then on it learns of no changes.
    is_gone: AtomicBool,
    /// Clock value of the last use.
    used: AtomicU64,
    /// Memory of the entry, as last reported to [`Cache::grown`].
    bytes: AtomicUsize,
}

impl<T> Entry<T> {
    fn own_bytes(&self) -> usize {
        ENTRY_BYTES + self.key.len()
    }

    /// Clock value of the last use.
    pub(crate) fn last_used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// `true` once the entry is evicted or removed. An entry that is still in the cache knows all
    /// that was published before the call.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Acquire)
    }
}

impl<T: Derived> Cache<T> {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max: AtomicUsize::new(bytes_max),
            clock: AtomicU64::new(0),
            entries: Mutex::default(),
        }
    }

    /// Limit of the cache, and so of each entry, in bytes.
    pub(crate) fn bytes_max(&self) -> usize {
        self.bytes_max.load(Ordering::Relaxed)
    }

    #[cfg(test)]
    pub(crate) fn limit(&self, bytes_max: usize) {
        self.bytes_max.store(bytes_max, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(crate) fn memory(&self) -> usize {
        self.entries.lock().bytes
    }

    /// The entry of `key`; its data is empty if the entry is new.
    pub(crate) fn get(&self, id: IndexId, key: &str) -> Arc<Entry<T>> {
        let mut entries = self.entries.lock();
        let Entries { by_index, bytes } = &mut *entries;
        let keys = by_index.entry(id).or_default();
        let entry = match keys.get(key) {
            Some(entry) => Arc::clone(entry),
            None => {
                let entry = Entry { key: key.to_owned(), ..Entry::default() };
                entry.bytes.store(entry.own_bytes(), Ordering::Relaxed);
                *bytes += entry.own_bytes();
                Arc::clone(keys.entry(key.to_owned()).or_insert(Arc::new(entry)))
            }
        };
        entry.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        entry
    }

    /// All entries of an index.
    pub(crate) fn of_index(&self, id: IndexId) -> Vec<Arc<Entry<T>>> {
        let entries = self.entries.lock();
        entries.by_index.get(&id).map_or_else(Vec::new, |keys| keys.values().cloned().collect())
    }

    /// Records that the data of `entry` has grown to `bytes`, and evicts the least recently used
    /// entries until all fit.
    pub(crate) fn grown(&self, entry: &Entry<T>, bytes: usize) {
        let mut entries = self.entries.lock();
        // An entry that has left is not counted any more: `leave` subtracted its last report.
        if entry.is_gone() {
            return;
        }
        let bytes = entry.own_bytes() + bytes;
        let before = entry.bytes.swap(bytes, Ordering::Relaxed);
        entries.bytes = entries.bytes - before + bytes;
        while entries.bytes > self.bytes_max() {
            // Eviction is rare and entries are few, so the oldest one is found by a scan.
            let all = entries
                .by_index
                .iter()
                .flat_map(|(id, keys)| keys.values().map(|entry| (*id, entry)));
            let oldest = all.min_by_key(|(_, entry)| entry.last_used());
            let Some((id, key)) = oldest.map(|(id, entry)| (id, entry.key.clone())) else { return };
            entries.remove(id, &key);
        }
    }

    /// Drops the data derived from `key`.
    pub(crate) fn remove(&self, id: IndexId, key: &str) {
        self.entries.lock().remove(id, key);
    }

    /// Drops all data derived from an index.
    pub(crate) fn remove_index(&self, id: IndexId) {
        let mut entries = self.entries.lock();
        for entry in entries.by_index.remove(&id).unwrap_or_default().into_values() {
            entries.leave(&entry);
        }
    }

    /// Removes slots from all data of an index. To be called before records reference new vectors
    /// in them: no reader uses the slots at that time, and the data of their former vectors is
    /// stale.
    pub(crate) fn forget(&self, id: IndexId, slots: &[Slot]) {
        // On a copy of the list, not under the lock of the map: a query may hold an entry for long.
        for entry in self.of_index(id) {
            entry.derived.write().forget(slots);
        }
    }
}

impl<T> Entries<T> {
    fn remove(&mut self, id: IndexId, key: &str) {
        let Some(keys) = self.by_index.get_mut(&id) else { return };
        let removed = keys.remove(key);
        if keys.is_empty() {
            self.by_index.remove(&id);
        }
        removed.into_iter().for_each(|entry| self.leave(&entry));
    }

    fn leave(&mut self, entry: &Entry<T>) {
        // Pairs with the load in `is_gone`: a holder that still finds `false` has seen every change
        // that was published before it asked.
        entry.is_gone.store(true, Ordering::Release);
        self.bytes -= entry.bytes.load(Ordering::Relaxed);
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
        let kept: usize = cache.entries.lock().by_index.values().map(HashMap::len).sum();
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
