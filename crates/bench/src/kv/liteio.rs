//! Our own key space as an engine.

use std::marker::PhantomData;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use liteio_disk::RealDisk;
use liteio_kv::{Kv, KvConfig, KvError, Pending, Read as _, Write as _};
use liteio_store::Durability;

use super::counted_disk::CountedDisk;
use super::engine::{CACHE_BYTES, Engine, Failure, Key, Show, Synced, Value, Written};

/// Settings of a key space.
pub(crate) trait Setup: Send + Sync + 'static {
    const IN_MEMORY: bool = false;

    fn config() -> KvConfig {
        KvConfig::default()
    }
}

/// On the disk, with default settings.
pub(crate) struct Default;

impl Setup for Default {}

/// In memory.
pub(crate) struct Memory;

impl Setup for Memory {
    const IN_MEMORY: bool = true;
}

/// On the disk, with as large a cache as the rivals.
pub(crate) struct LargeCache;

impl Setup for LargeCache {
    fn config() -> KvConfig {
        KvConfig { cache_bytes: CACHE_BYTES, ..KvConfig::default() }
    }
}

/// A key space, whose writes are synced or left to the kernel, as the row requires.
pub(crate) struct LiteIo<S> {
    keys: Kv,
    setup: PhantomData<S>,
}

impl<S: Setup> LiteIo<S> {
    fn submit(&self, key: Key, value: Value) -> Pending<(), KvError> {
        self.keys.update(move |transaction| transaction.put(&key, &value))
    }

    fn put_pairs<V>(&self, pairs: &[(Key, V)]) -> Result<(), Failure>
    where
        V: AsRef<[u8]> + Clone + Send + 'static,
    {
        let pairs = pairs.to_vec();
        let pending: Pending<(), KvError> = self.keys.update(move |transaction| {
            pairs.iter().try_for_each(|(key, value)| transaction.put(key, value.as_ref()))
        });
        Ok(pending.wait()?)
    }
}

impl<S: Setup> Engine for LiteIo<S> {
    fn open(directory: &Path, sync: Synced) -> Result<Self, Failure> {
        let durability = match sync {
            Synced::No => Durability::Os,
            Synced::Each => Durability::Fsync,
        };
        let config = KvConfig { durability, ..S::config() };
        let keys = match S::IN_MEMORY {
            true => Kv::memory(config)?,
            false => {
                // The server does the same.
                liteio_disk::map_files()?;
                let disk = Arc::new(CountedDisk::new(RealDisk::open(directory)?));
                Kv::open(disk, "keys", config)?
            }
        };
        Ok(LiteIo { keys, setup: PhantomData })
    }

    fn put(&self, key: &Key, value: &Value) -> Result<(), Failure> {
        Ok(self.submit(*key, *value).wait()?)
    }

    fn put_all(&self, pairs: &[(Key, Value)]) -> Result<(), Failure> {
        self.put_pairs(pairs)
    }

    fn put_large(&self, pairs: &[(Key, Vec<u8>)]) -> Result<(), Failure> {
        self.put_pairs(pairs)
    }

    fn delete_all(&self, keys: &[Key]) -> Result<(), Failure> {
        let keys = keys.to_vec();
        let pending: Pending<(), KvError> = self
            .keys
            .update(move |transaction| keys.iter().try_for_each(|key| transaction.delete(key)));
        Ok(pending.wait()?)
    }

    fn written() -> Option<Written> {
        (!S::IN_MEMORY).then(super::counted_disk::written)
    }

    fn put_ahead(&self, pairs: &[(Key, Value)]) -> Result<(), Failure> {
        let pending: Vec<Pending<(), KvError>> =
            pairs.iter().map(|(key, value)| self.submit(*key, *value)).collect();
        Ok(pending.into_iter().try_for_each(Pending::wait)?)
    }

    fn get(&self, key: &Key, value: &mut Vec<u8>) -> Result<bool, Failure> {
        let snapshot = self.keys.snapshot()?;
        let found = snapshot.get(key)?;
        Ok(found.map(|found| value.extend_from_slice(&found)).is_some())
    }

    fn scan(&self, from: &Key, count: usize, show: Show<'_>) -> Result<(), Failure> {
        let snapshot = self.keys.snapshot()?;
        let mut cursor = snapshot.cursor(Bound::Included(from), Bound::Unbounded)?;
        for _ in 0..count {
            let Some((key, value)) = cursor.next()? else { break };
            show(key, value);
        }
        Ok(())
    }
}
