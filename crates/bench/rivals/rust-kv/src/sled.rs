//! sled: a lock-free tree over a log.

use std::path::Path;

use sled::{Batch, Config, Db};

use liteio_bench::kv::engine::{CACHE_BYTES, Engine, Failure, Key, Show, Synced, Value};

liteio_bench::kv_engine!("sled", "sled", Sled);

struct Sled {
    database: Db,
    sync: Synced,
}

impl Sled {
    fn persist(&self) -> Result<(), Failure> {
        if self.sync == Synced::Each {
            self.database.flush()?;
        }
        Ok(())
    }
}

impl Engine for Sled {
    fn open(directory: &Path, sync: Synced) -> Result<Self, Failure> {
        let config = Config::new().path(directory).cache_capacity(CACHE_BYTES as u64);
        Ok(Sled { database: config.open()?, sync })
    }

    fn put(&self, key: &Key, value: &Value) -> Result<(), Failure> {
        self.database.insert(key, value.as_slice())?;
        self.persist()
    }

    fn put_all(&self, pairs: &[(Key, Value)]) -> Result<(), Failure> {
        let mut batch = Batch::default();
        for (key, value) in pairs {
            batch.insert(key, value.as_slice());
        }
        self.database.apply_batch(batch)?;
        self.persist()
    }

    fn get(&self, key: &Key, value: &mut Vec<u8>) -> Result<bool, Failure> {
        let found = self.database.get(key)?;
        Ok(found.map(|found| value.extend_from_slice(&found)).is_some())
    }

    fn scan(&self, from: &Key, count: usize, show: Show<'_>) -> Result<(), Failure> {
        for pair in self.database.range(*from..).take(count) {
            let (key, value) = pair?;
            show(&key, &value);
        }
        Ok(())
    }
}
