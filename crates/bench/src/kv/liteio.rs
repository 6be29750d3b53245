//! Our own key space, as an engine.

use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use liteio_disk::RealDisk;
use liteio_store::Durability;
use liteio_store::kv::{Kv, KvConfig, KvError, Pending, Read as _, Write as _};

use super::data::{Key, Value};
use super::engine::{CACHE_BYTES, Candidate, Engine, Failure, Synced};

/// Synced or handed to the kernel, as the row demands.
pub(crate) const LITEIO: Candidate = Candidate { name: "liteio", version, open: open_files };

/// In memory.
pub(crate) const LITEIO_MEMORY: Candidate =
    Candidate { name: "liteio-memory", version, open: open_memory };

fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

struct LiteIo {
    keys: Kv,
}

fn open_files(directory: &Path, sync: Synced) -> Result<Box<dyn Engine>, Failure> {
    let durability = match sync {
        Synced::No => Durability::Os,
        Synced::Each => Durability::Fsync,
    };
    let disk = Arc::new(RealDisk::open(directory)?);
    let config = KvConfig { durability, cache_bytes: CACHE_BYTES, ..KvConfig::default() };
    let keys = Kv::open(disk, "keys", config)?;
    Ok(Box::new(LiteIo { keys }))
}

fn open_memory(_: &Path, _: Synced) -> Result<Box<dyn Engine>, Failure> {
    Ok(Box::new(LiteIo {
        keys: Kv::memory(KvConfig { cache_bytes: CACHE_BYTES, ..KvConfig::default() })?,
    }))
}

impl LiteIo {
    fn submit(&self, key: Key, value: Value) -> Pending<(), KvError> {
        self.keys.update(move |transaction| transaction.put(&key, &value))
    }
}

impl Engine for LiteIo {
    fn put(&self, key: &Key, value: &Value) -> Result<(), Failure> {
        Ok(self.submit(*key, *value).wait()?)
    }

    fn put_all(&self, pairs: &[(Key, Value)]) -> Result<(), Failure> {
        let pairs = pairs.to_vec();
        let pending: Pending<(), KvError> = self.keys.update(move |transaction| {
            pairs.iter().try_for_each(|(key, value)| transaction.put(key, value))
        });
        Ok(pending.wait()?)
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

    fn scan(
        &self,
        from: &Key,
        count: usize,
        entry: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<(), Failure> {
        let snapshot = self.keys.snapshot()?;
        let mut cursor = snapshot.cursor(Bound::Included(from), Bound::Unbounded)?;
        for _ in 0..count {
            let Some((key, value)) = cursor.next()? else { break };
            entry(key, value);
        }
        Ok(())
    }
}
