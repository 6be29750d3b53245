//! fjall: a tree of sorted tables.

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use liteio_bench::kv::engine::{CACHE_BYTES, Engine, Failure, Key, Show, Synced, Value};

liteio_bench::kv_engine!("fjall", "fjall", Fjall);

struct Fjall {
    database: Database,
    keys: Keyspace,
    sync: Synced,
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
    fn open(directory: &Path, sync: Synced) -> Result<Self, Failure> {
        let database = Database::builder(directory).cache_size(CACHE_BYTES as u64).open()?;
        let keys = database.keyspace("keys", KeyspaceCreateOptions::default)?;
        Ok(Fjall { database, keys, sync })
    }

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

    fn scan(&self, from: &Key, count: usize, show: Show<'_>) -> Result<(), Failure> {
        for guard in self.keys.range(from.as_slice()..).take(count) {
            let (key, value) = guard.into_inner()?;
            show(&key, &value);
        }
        Ok(())
    }
}
