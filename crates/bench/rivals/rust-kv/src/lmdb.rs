//! LMDB: a copy-on-write B+ tree in a mapped file.

#![expect(unsafe_code, reason = "LMDB maps its file")]

use std::ops::Bound;
use std::path::Path;

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions};

use liteio_bench::kv::engine::{Engine, Failure, Key, Show, Synced, Value};

liteio_bench::kv_engine!("lmdb", "heed", Lmdb);

/// As much as it may ever hold: only addresses, no memory.
const MAP_BYTES: usize = 16 << 30;

struct Lmdb {
    environment: Env,
    keys: Database<Bytes, Bytes>,
}

impl Engine for Lmdb {
    fn open(directory: &Path, sync: Synced) -> Result<Self, Failure> {
        let mut options = EnvOpenOptions::new();
        options.map_size(MAP_BYTES);
        if sync == Synced::No {
            // SAFETY: a crash of the machine may leave it damaged; no such file is opened after one.
            unsafe { options.flags(EnvFlags::NO_SYNC | EnvFlags::WRITE_MAP) };
        }
        // SAFETY: the directory is this process's own, and it is opened once.
        let environment = unsafe { options.open(directory)? };
        let mut transaction = environment.write_txn()?;
        let keys = environment.create_database(&mut transaction, None)?;
        transaction.commit()?;
        Ok(Lmdb { environment, keys })
    }

    fn put_all(&self, pairs: &[(Key, Value)]) -> Result<(), Failure> {
        let mut transaction = self.environment.write_txn()?;
        for (key, value) in pairs {
            self.keys.put(&mut transaction, key, value)?;
        }
        Ok(transaction.commit()?)
    }

    fn get(&self, key: &Key, value: &mut Vec<u8>) -> Result<bool, Failure> {
        let transaction = self.environment.read_txn()?;
        let found = self.keys.get(&transaction, key)?;
        Ok(found.map(|found| value.extend_from_slice(found)).is_some())
    }

    fn scan(&self, from: &Key, count: usize, show: Show<'_>) -> Result<(), Failure> {
        let transaction = self.environment.read_txn()?;
        let range = (Bound::Included(from.as_slice()), Bound::Unbounded);
        for pair in self.keys.range(&transaction, &range)?.take(count) {
            let (key, value) = pair?;
            show(key, value);
        }
        Ok(())
    }
}
