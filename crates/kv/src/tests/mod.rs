//! The contract on every backend, and the directory.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use liteio_disk::{Durability, RealDisk, SimulatedDisk};

use super::contract::{kv_contract, pairs};
use super::{
    Attachments, Change, Compacting, EngineKind, Kv, KvConfig, KvError, Read, Spilling,
    Transaction, Write, changes,
};

mod attachments;
mod compaction;
mod crash;
mod database;
mod dead;
mod drain;
mod follow;
mod model;
mod pieces;
mod reached;
mod restart;
mod runs;

const ENGINES: [EngineKind; 2] = [EngineKind::Redb, EngineKind::Map];

fn config() -> KvConfig {
    KvConfig { cache_bytes: 4 << 20, reserve_bytes: 0, log_bytes: 32 << 10, ..KvConfig::default() }
}

fn open_directory(path: &Path, config: KvConfig) -> Result<Kv, KvError> {
    Kv::open(Arc::new(RealDisk::open(path).expect("directory")), "meta.redb", config)
}

#[test]
fn memory_keeps_the_contract() {
    for engine in ENGINES {
        for (runs_twice, runs_in_pieces) in [(false, false), (true, false), (false, true)] {
            let config = KvConfig { engine, runs_twice, runs_in_pieces, ..config() };
            kv_contract(|| Kv::memory(config.clone()).expect("opens"));
        }
    }
}

#[test]
fn memory_with_runs_keeps_the_contract() {
    for engine in ENGINES {
        // The memory is full after each group, and there is no log.
        let config = KvConfig { memory_bytes: 512, ..runs::config(engine) };
        let spills = std::cell::Cell::new(0);
        kv_contract(|| {
            let kv = Kv::memory(config.clone()).expect("opens");
            // A group freezes what those before it wrote.
            (0..4).for_each(|_| fill(&kv, 100, 100));
            spills.set(spills.get() + kv.stats().spills);
            kv.update::<(), KvError, _>(|transaction| {
                (0..100).try_for_each(|i| transaction.delete(&runs::key(i)))
            })
            .wait()
            .expect("deletes");
            kv
        });
        assert!(spills.get() > 10, "{}", spills.get());
    }
}

#[test]
fn a_directory_keeps_the_contract() {
    for durability in [Durability::Fsync, Durability::Os] {
        let mut directories = std::cell::RefCell::new(Vec::new());
        kv_contract(|| {
            let directory = tempfile::tempdir().expect("directory");
            let config = KvConfig { durability, ..config() };
            let kv = open_directory(directory.path(), config).expect("opens");
            directories.borrow_mut().push(directory);
            kv
        });
        directories.get_mut().clear();
    }
}

#[test]
fn a_simulated_disk_keeps_the_contract() {
    for engine in ENGINES {
        kv_contract(|| {
            let config = KvConfig { engine, ..config() };
            Kv::open(Arc::new(SimulatedDisk::new(1)), "meta.redb", config).expect("opens")
        });
        kv_contract(|| {
            let disk = Arc::new(SimulatedDisk::new(1));
            Kv::open(disk, "meta.redb", runs::config(engine)).expect("opens")
        });
    }
}

#[test]
fn of_the_runs_of_a_closure_only_the_last_one_counts() {
    let kv = Kv::memory(KvConfig { runs_twice: true, ..config() }).expect("opens");
    let runs = Arc::new(AtomicU8::new(0));
    let counted = Arc::clone(&runs);
    let last = kv.update::<_, KvError, _>(move |transaction| {
        let run = counted.fetch_add(1, Ordering::Relaxed) + 1;
        assert!(transaction.get(b"first")?.is_none() && transaction.get(b"second")?.is_none());
        let key = if run == 1 { &b"first"[..] } else { b"second" };
        transaction.put(key, &[run])?;
        Ok(run)
    });
    assert_eq!(last.wait().expect("update"), 2);
    assert_eq!(runs.load(Ordering::Relaxed), 2);
    let expected = [(b"second".to_vec(), vec![2])];
    assert_eq!(pairs(&kv.snapshot().expect("snapshot")), expected);
}

#[test]
fn reopening_finds_everything_also_without_a_checkpoint() {
    let directory = tempfile::tempdir().expect("directory");
    let mut expected = Vec::new();
    for round in 0..4_u32 {
        let kv = open_directory(directory.path(), config()).expect("opens");
        assert_eq!(pairs(&kv.snapshot().expect("snapshot")), expected);
        for i in 0..200_u32 {
            let key = [round.to_be_bytes(), i.to_be_bytes()].concat();
            expected.push((key.clone(), vec![round as u8; 90]));
            drop(kv.update::<(), KvError, _>(move |t| t.put(&key, &[round as u8; 90])));
        }
        // Behind all the others, because updates are in order.
        kv.update::<(), KvError, _>(|_| Ok(())).wait().expect("update");
    }
    let kv = open_directory(directory.path(), config()).expect("opens");
    assert_eq!(pairs(&kv.snapshot().expect("snapshot")), expected);
}

#[test]
fn an_idle_store_makes_a_checkpoint_by_itself() {
    let disk = SimulatedDisk::new(1);
    let config = KvConfig { idle: Duration::from_millis(1), ..config() };
    let kv = Kv::open(Arc::new(disk.clone()), "meta.redb", config).expect("opens");
    let before = disk.operations();
    kv.update::<(), KvError, _>(|transaction| transaction.put(b"a", b"1")).wait().expect("put");
    // Its log record alone takes two operations.
    while disk.operations() < before + 8 {
        std::thread::yield_now();
    }
    kv.update::<(), KvError, _>(|transaction| transaction.put(b"b", b"2")).wait().expect("put");
    let after = Kv::open(Arc::new(disk.crash()), "meta.redb", self::config()).expect("opens");
    assert_eq!(pairs(&after.snapshot().expect("snapshot")).len(), 2);
}

#[test]
fn without_syncs_the_log_is_synced_by_itself() {
    let disk = SimulatedDisk::new(1);
    let config = KvConfig {
        durability: Durability::Os,
        idle: Duration::from_secs(3_600),
        sync_interval: Duration::from_millis(1),
        ..config()
    };
    let kv = Kv::open(Arc::new(disk.clone()), "meta.redb", config).expect("opens");
    for i in 0..3_u8 {
        let before = disk.operations();
        kv.update::<(), KvError, _>(move |transaction| transaction.put(&[i], b"1"))
            .wait()
            .expect("put");
        // Its log record, the mark, the sync.
        while disk.operations() < before + 3 {
            std::thread::yield_now();
        }
    }
    let after = Kv::open(Arc::new(disk.crash()), "meta.redb", self::config()).expect("opens");
    assert_eq!(pairs(&after.snapshot().expect("snapshot")).len(), 3);
}

#[test]
fn a_snapshot_that_outlives_the_last_handle_leaves_the_files_alone() {
    let disk = SimulatedDisk::new(1);
    let kv = Kv::open(Arc::new(disk.clone()), "meta.redb", config()).expect("opens");
    kv.update::<(), KvError, _>(|transaction| transaction.put(b"a", b"1")).wait().expect("put");
    let held = kv.snapshot().expect("snapshot");
    drop(kv);
    let closed = disk.operations();
    assert_eq!(pairs(&held).len(), 1);
    // By now the files may belong to another key space.
    drop(held);
    assert_eq!(disk.operations(), closed);
    let kv = Kv::open(Arc::new(disk), "meta.redb", config()).expect("opens");
    assert_eq!(pairs(&kv.snapshot().expect("snapshot")).len(), 1);
}

/// Puts many pairs, in updates of 500.
fn fill(kv: &Kv, count: u32, bytes: usize) {
    for first in (0..count).step_by(500) {
        kv.update::<(), KvError, _>(move |transaction| {
            for i in first..(first + 500).min(count) {
                transaction
                    .put(&i.wrapping_mul(0x9E37_79B1).to_be_bytes(), &vec![i as u8; bytes])?;
            }
            Ok(())
        })
        .wait()
        .expect("put");
    }
}

fn is_filled(kv: &Kv, count: u32, bytes: usize) -> bool {
    let snapshot = kv.snapshot().expect("snapshot");
    let is_there = |i: u32| {
        let value = snapshot.get(&i.wrapping_mul(0x9E37_79B1).to_be_bytes()).expect("readable");
        value.is_some_and(|value| *value == *vec![i as u8; bytes])
    };
    (0..count).all(is_there) && pairs(&snapshot).len() == count as usize
}
