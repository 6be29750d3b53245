//! RocksDB: a tree of sorted tables.

use std::path::Path;

use rocksdb::{BlockBasedOptions, Cache, DB, Options, WriteBatch, WriteOptions};

use liteio_bench::kv::engine::{CACHE_BYTES, Engine, Failure, Key, Show, Synced, Value};

liteio_bench::kv_engine!("rocksdb", "rocksdb", Rocks);

struct Rocks {
    database: DB,
    sync: Synced,
}

impl Rocks {
    fn write_options(&self) -> WriteOptions {
        let mut options = WriteOptions::default();
        options.set_sync(self.sync == Synced::Each);
        options
    }
}

impl Engine for Rocks {
    fn open(directory: &Path, sync: Synced) -> Result<Self, Failure> {
        let mut tables = BlockBasedOptions::default();
        tables.set_block_cache(&Cache::new_lru_cache(CACHE_BYTES));
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_block_based_table_factory(&tables);
        Ok(Rocks { database: DB::open(&options, directory)?, sync })
    }

    fn put(&self, key: &Key, value: &Value) -> Result<(), Failure> {
        Ok(self.database.put_opt(key, value, &self.write_options())?)
    }

    fn put_all(&self, pairs: &[(Key, Value)]) -> Result<(), Failure> {
        let mut batch = WriteBatch::default();
        for (key, value) in pairs {
            batch.put(key, value);
        }
        Ok(self.database.write_opt(batch, &self.write_options())?)
    }

    fn get(&self, key: &Key, value: &mut Vec<u8>) -> Result<bool, Failure> {
        let found = self.database.get_pinned(key)?;
        Ok(found.map(|found| value.extend_from_slice(&found)).is_some())
    }

    fn scan(&self, from: &Key, count: usize, show: Show<'_>) -> Result<(), Failure> {
        let mut iterator = self.database.raw_iterator();
        iterator.seek(from);
        for _ in 0..count {
            let Some((key, value)) = iterator.item() else { break };
            show(key, value);
            iterator.next();
        }
        Ok(iterator.status()?)
    }
}
