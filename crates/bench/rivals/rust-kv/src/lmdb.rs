//! LMDB: a copy-on-write B+ tree in a mapped file.

#![expect(unsafe_code, reason = "LMDB maps its file")]

use std::ops::Bound;
use std::path::Path;

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions};

use liteio_bench::counting_allocator::CountingAllocator;
use liteio_bench::kv::data::{Key, Value};
use liteio_bench::kv::engine::{Candidate, Engine, Failure, Synced, locked_version};
use liteio_bench::kv::worker;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> std::io::Result<()> {
    let version = || locked_version(include_str!("../Cargo.lock"), "heed");
    let candidate = Candidate { name: "lmdb", version, open };
    worker::run(&[candidate], &std::env::args().nth(1).unwrap_or_default())
}

/// As much as it may ever hold: only addresses, no memory.
const MAP_BYTES: usize = 16 << 30;

struct Lmdb {
    environment: Env,
    keys: Database<Bytes, Bytes>,
}

fn open(directory: &Path, sync: Synced) -> Result<Box<dyn Engine>, Failure> {
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
    Ok(Box::new(Lmdb { environment, keys }))
}

impl Engine for Lmdb {
    fn put(&self, key: &Key, value: &Value) -> Result<(), Failure> {
        self.put_all(&[(*key, *value)])
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

    fn scan(
        &self,
        from: &Key,
        count: usize,
        entry: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<(), Failure> {
        let transaction = self.environment.read_txn()?;
        let range = (Bound::Included(from.as_slice()), Bound::Unbounded);
        for pair in self.keys.range(&transaction, &range)?.take(count) {
            let (key, value) = pair?;
            entry(key, value);
        }
        Ok(())
    }
}
