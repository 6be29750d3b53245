//! fjall: a tree of sorted tables.

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use liteio_bench::counting_allocator::CountingAllocator;
use liteio_bench::kv::data::{Key, Value};
use liteio_bench::kv::engine::{CACHE_BYTES, Candidate, Engine, Failure, Synced, locked_version};
use liteio_bench::kv::worker;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> std::io::Result<()> {
    let version = || locked_version(include_str!("../Cargo.lock"), "fjall");
    let candidate = Candidate { name: "fjall", version, open };
    worker::run(&[candidate], &std::env::args().nth(1).unwrap_or_default())
}

struct Fjall {
    database: Database,
    keys: Keyspace,
    sync: Synced,
}

fn open(directory: &Path, sync: Synced) -> Result<Box<dyn Engine>, Failure> {
    let database = Database::builder(directory).cache_size(CACHE_BYTES as u64).open()?;
    let keys = database.keyspace("keys", KeyspaceCreateOptions::default)?;
    Ok(Box::new(Fjall { database, keys, sync }))
}

impl Fjall {
    fn persist(&self) -> Result<(), Failure> {
        match self.sync {
            Synced::No => Ok(()),
            Synced::Each => Ok(self.database.persist(PersistMode::SyncAll)?),
        }
    }
}

impl Engine for Fjall {
    fn put(&self, key: &Key, value: &Value) -> Result<(), Failure> {
        self.keys.insert(key, value)?;
        self.persist()
    }

    fn put_all(&self, pairs: &[(Key, Value)]) -> Result<(), Failure> {
        let mut batch = self.database.batch();
        for (key, value) in pairs {
            batch.insert(&self.keys, key, value);
        }
        batch.commit()?;
        self.persist()
    }

    fn get(&self, key: &Key, value: &mut Vec<u8>) -> Result<bool, Failure> {
        let found = self.keys.get(key)?;
        Ok(found.map(|found| value.extend_from_slice(&found)).is_some())
    }

    fn scan(
        &self,
        from: &Key,
        count: usize,
        entry: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<(), Failure> {
        for guard in self.keys.range(from.as_slice()..).take(count) {
            let (key, value) = guard.into_inner()?;
            entry(&key, &value);
        }
        Ok(())
    }
}
