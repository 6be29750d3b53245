//! sled: a lock-free tree over a log.

use std::path::Path;

use sled::{Batch, Config, Db};

use liteio_bench::counting_allocator::CountingAllocator;
use liteio_bench::kv::data::{Key, Value};
use liteio_bench::kv::engine::{CACHE_BYTES, Candidate, Engine, Failure, Synced, locked_version};
use liteio_bench::kv::worker;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> std::io::Result<()> {
    let version = || locked_version(include_str!("../Cargo.lock"), "sled");
    let candidate = Candidate { name: "sled", version, open };
    worker::run(&[candidate], &std::env::args().nth(1).unwrap_or_default())
}

struct Sled {
    database: Db,
    sync: Synced,
}

fn open(directory: &Path, sync: Synced) -> Result<Box<dyn Engine>, Failure> {
    let config = Config::new().path(directory).cache_capacity(CACHE_BYTES as u64);
    Ok(Box::new(Sled { database: config.open()?, sync }))
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

    fn scan(
        &self,
        from: &Key,
        count: usize,
        entry: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<(), Failure> {
        for pair in self.database.range(*from..).take(count) {
            let (key, value) = pair?;
            entry(&key, &value);
        }
        Ok(())
    }
}
