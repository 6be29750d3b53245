//! Crashes, faults and full disks, at every operation.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use liteio_disk::{Disk, Durability, Fault, OpenMode, SimulatedDisk, effort};

use super::{Compacting, EngineKind, Kv, KvConfig, KvError, Spilling, Write, pairs};

const UPDATES: u32 = 24;

/// Seeds of a quick run, and one in how many operations of each is struck. Prime to the numbers of all seeds, so that
/// rotations meet each operation of each seed.
const SEEDS: u64 = 2;
const POINTS: u64 = 7;

/// The engine, and the path of the tables into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setup {
    pub(super) engine: EngineKind,
    pub(super) spilling: Spilling,
    pub(super) compacting: Compacting,
}

impl Setup {
    const fn new(engine: EngineKind, spilling: Spilling) -> Self {
        Self { engine, spilling, compacting: Compacting::WhereItPays }
    }
}

const SETUPS: [Setup; 4] = [
    Setup::new(EngineKind::Redb, Spilling::Never),
    Setup::new(EngineKind::Redb, Spilling::Always { merged: 2 }),
    Setup::new(EngineKind::Map, Spilling::Never),
    Setup::new(EngineKind::Map, Spilling::Always { merged: 2 }),
];

pub(super) fn config(setup: Setup, durability: Durability) -> KvConfig {
    let Setup { engine, spilling, compacting } = setup;
    KvConfig {
        engine,
        durability,
        cache_bytes: 1 << 20,
        reserve_bytes: 0,
        // Small, so that a run makes several checkpoints.
        log_bytes: 2 << 10,
        memory_bytes: 64 << 20,
        // Never by time: the same run makes the same operations.
        idle: Duration::from_secs(3_600),
        drain_after_groups: Some(2),
        sync_interval: Duration::from_secs(3_600),
        attachments: None,
        salvage: false,
        // The map runs every closure twice, so that what the first run left is struck, too.
        runs_twice: engine == EngineKind::Map,
        runs_in_pieces: false,
        spilling,
        compacting,
    }
}

pub(super) fn open(
    disk: &SimulatedDisk,
    setup: Setup,
    durability: Durability,
) -> Result<Kv, KvError> {
    Kv::open(Arc::new(disk.clone()), "meta.redb", config(setup, durability))
}

pub(super) type State = BTreeMap<Vec<u8>, Vec<u8>>;

/// The writes of update `i`: several keys that must stay together, old ones overwritten and removed.
fn writes(seed: u64, i: u32) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let mix = (seed ^ u64::from(i)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let length = (mix >> 40) as usize % 700;
    let mut writes = vec![
        (b"counter".to_vec(), Some(i.to_be_bytes().to_vec())),
        (format!("key {}", mix % 7).into_bytes(), Some(vec![i as u8; length])),
        (format!("only {i}").into_bytes(), Some(vec![i as u8; 40])),
    ];
    if i % 3 == 2 {
        writes.push((format!("only {}", i - 1).into_bytes(), None));
    }
    writes
}

fn update(kv: &Kv, seed: u64, i: u32) -> Result<(), KvError> {
    // Often of the same group: nothing of it may come back with the log.
    drop(kv.update::<(), KvError, _>(|transaction| {
        transaction.put(b"never kept", b"1")?;
        transaction.delete(b"counter")?;
        Err(KvError::Corrupt("on purpose".into()))
    }));
    write(kv, seed, i)
}

/// The same alone: the thread that commits has nothing to do.
pub(super) fn write(kv: &Kv, seed: u64, i: u32) -> Result<(), KvError> {
    kv.update(move |transaction| {
        for (key, value) in writes(seed, i) {
            match value {
                Some(value) => transaction.put(&key, &value)?,
                None => transaction.delete(&key)?,
            }
        }
        Ok(())
    })
    .wait()
}

pub(super) fn state_after(seed: u64, updates: &[u32]) -> State {
    let mut state = State::new();
    for i in updates {
        for (key, value) in writes(seed, *i) {
            match value {
                Some(value) => drop(state.insert(key, value)),
                None => drop(state.remove(&key)),
            }
        }
    }
    state
}

pub(super) fn state(kv: &Kv) -> State {
    pairs(&kv.snapshot().expect("readable")).into_iter().collect()
}

/// Runs all updates; returns the acknowledged and the failed ones.
fn work(kv: &Kv, seed: u64) -> (Vec<u32>, Vec<u32>) {
    (0..UPDATES).partition(|i| update(kv, seed, *i).is_ok())
}

/// The same with a sync from time to time. Also returns the number of updates covered by the last
/// successful sync.
fn work_and_sync(kv: &Kv, seed: u64) -> (Vec<u32>, Vec<u32>, usize) {
    let (mut acknowledged, mut failed, mut synced) = (Vec::new(), Vec::new(), 0);
    for i in 0..UPDATES {
        if update(kv, seed, i).is_ok() {
            acknowledged.push(i)
        } else {
            failed.push(i)
        }
        if (u64::from(i) ^ seed).is_multiple_of(5) && kv.sync().is_ok() {
            synced = acknowledged.len();
        }
    }
    (acknowledged, failed, synced)
}

/// The operations of a run that are struck.
fn points(setup: Setup, seed: u64, durability: Durability) -> impl Iterator<Item = u64> {
    effort::one_in(POINTS, 0..operations_of_a_run(setup, seed, durability))
}

fn operations_of_a_run(setup: Setup, seed: u64, durability: Durability) -> u64 {
    let disk = SimulatedDisk::new(seed);
    let kv = open(&disk, setup, durability).expect("opens");
    let (acknowledged, failed) = work(&kv, seed);
    assert!(acknowledged.len() == UPDATES as usize && failed.is_empty());
    drop(kv);
    disk.operations()
}

/// After a restart: everything acknowledged, and all or nothing of the first failed update.
pub(super) fn check_restart(
    disk: &SimulatedDisk,
    (setup, seed, at): (Setup, u64, u64),
    acknowledged: &[u32],
    failed: &[u32],
) {
    let kv = open(disk, setup, Durability::Fsync)
        .unwrap_or_else(|error| panic!("{setup:?}, seed {seed}, operation {at}: {error}"));
    let found = state(&kv);
    let expected = state_after(seed, acknowledged);
    if found != expected {
        let mut with_next = acknowledged.to_vec();
        with_next.extend(failed.first());
        assert!(
            found == state_after(seed, &with_next),
            "{setup:?}, seed {seed}, operation {at}: {found:?}"
        );
    }
    // It works again, and once more after another restart.
    update(&kv, seed, 1_000)
        .unwrap_or_else(|error| panic!("{setup:?}, seed {seed}, {at}: {error}"));
    let after = state(&kv);
    drop(kv);
    assert!(
        state(&open(disk, setup, Durability::Fsync).expect("opens")) == after,
        "{setup:?}, seed {seed}, {at}"
    );
}

#[test]
fn a_power_cut_at_any_operation_keeps_what_was_acknowledged() {
    for setup in SETUPS {
        for seed in effort::seeds(SEEDS, 6) {
            for at in points(setup, seed, Durability::Fsync) {
                let disk = SimulatedDisk::new(seed ^ (at << 8));
                disk.set_fault(at, Fault::Crash);
                let (acknowledged, failed) = open(&disk, setup, Durability::Fsync)
                    .map_or_else(|_| Default::default(), |kv| work(&kv, seed));
                // Twice: the recovery may be cut, too, and two outcomes of the same cut differ.
                for _ in 0..2 {
                    let left = disk.crash();
                    left.set_fault(at % 11, Fault::Crash);
                    drop(open(&left, setup, Durability::Fsync));
                    check_restart(&left.crash(), (setup, seed, at), &acknowledged, &failed);
                }
            }
        }
    }
}

#[test]
fn without_syncs_a_kill_loses_nothing_and_a_power_cut_only_what_no_sync_covers() {
    for setup in SETUPS {
        for seed in effort::seeds(SEEDS, 4) {
            for at in points(setup, seed, Durability::Os) {
                let disk = SimulatedDisk::new(seed ^ (at << 8));
                disk.set_fault(at, Fault::Crash);
                let (acknowledged, failed, synced) = open(&disk, setup, Durability::Os)
                    .map_or_else(|_| Default::default(), |kv| work_and_sync(&kv, seed));
                check_restart(&disk.kill(), (setup, seed, at), &acknowledged, &failed);
                let kv = open(&disk.crash(), setup, Durability::Os).unwrap_or_else(|error| {
                    panic!("{setup:?}, seed {seed}, operation {at}: {error}")
                });
                let found = state(&kv);
                let all: Vec<u32> = (0..UPDATES).collect();
                let is_prefix =
                    (synced..=all.len()).any(|end| found == state_after(seed, &all[..end]));
                assert!(
                    is_prefix,
                    "{setup:?}, seed {seed}, operation {at}, synced {synced}: {found:?}"
                );
            }
        }
    }
}

#[test]
fn a_failure_at_any_operation_stops_writing_and_not_reading() {
    for setup in SETUPS {
        for fault in [Fault::Io, Fault::FailedSync, Fault::ShortWrite] {
            for seed in effort::seeds(1, 2) {
                for at in points(setup, seed, Durability::Fsync) {
                    let disk = SimulatedDisk::new(seed);
                    disk.set_fault(at, fault);
                    let Ok(kv) = open(&disk, setup, Durability::Fsync) else { continue };
                    let (acknowledged, failed) = work(&kv, seed);
                    assert_eq!(
                        state(&kv),
                        state_after(seed, &acknowledged),
                        "{setup:?}, {fault:?} at {at}"
                    );
                    let first_failed = acknowledged.len() as u32;
                    let is_prefix = acknowledged.iter().copied().eq(0..first_failed);
                    assert!(
                        is_prefix,
                        "{setup:?}, {fault:?} at {at}: nothing is written after a failure"
                    );
                    if !failed.is_empty() {
                        let error = update(&kv, seed, 0).expect_err("stopped");
                        assert!(
                            matches!(error, KvError::Poisoned { .. }),
                            "{setup:?}, {fault:?} at {at}: {error}"
                        );
                        assert!(matches!(kv.refusal(), Some(KvError::Poisoned { .. })));
                    }
                    drop(kv);
                    check_restart(&disk.crash(), (setup, seed, at), &acknowledged, &failed);
                }
            }
        }
    }
}

#[test]
fn a_full_disk_refuses_and_writing_returns_by_itself() {
    for setup in SETUPS {
        for seed in effort::seeds(SEEDS, 3) {
            for at in points(setup, seed, Durability::Fsync) {
                let disk = SimulatedDisk::new(seed);
                disk.set_fault(at, Fault::NoSpaceFrom);
                let Ok(kv) = open(&disk, setup, Durability::Fsync) else { continue };
                let (mut acknowledged, _) = work(&kv, seed);
                assert_eq!(
                    state(&kv),
                    state_after(seed, &acknowledged),
                    "{setup:?}, seed {seed}, full at {at}"
                );
                if disk.health().is_poisoned() {
                    continue;
                }
                let was_full = disk.free_bytes().expect("known") == 0;
                disk.clear_faults();
                for next in [UPDATES, UPDATES + 1] {
                    // Free space is asked for every few milliseconds only. And perhaps only a drain met the full
                    // disk, and tells it after the last update was acknowledged.
                    while let Err(error) = update(&kv, seed, next) {
                        assert!(
                            was_full && matches!(error, KvError::NoSpace),
                            "{setup:?}, seed {seed}, full at {at}: {error}"
                        );
                        std::thread::yield_now();
                    }
                    acknowledged.push(next);
                }
                assert_eq!(
                    state(&kv),
                    state_after(seed, &acknowledged),
                    "{setup:?}, seed {seed}, full at {at}"
                );
                drop(kv);
                check_restart(&disk.crash(), (setup, seed, at), &acknowledged, &[]);
            }
        }
    }
}

#[test]
fn a_snapshot_held_over_a_full_disk_keeps_its_view() {
    for setup in SETUPS {
        let disk = SimulatedDisk::new(1);
        let config = KvConfig { drain_after_groups: Some(0), ..config(setup, Durability::Fsync) };
        let kv = Kv::open(Arc::new(disk.clone()), "meta.redb", config).expect("opens");
        update(&kv, 1, 0).expect("update");
        let held = kv.snapshot().expect("snapshot");
        // The log has its space already, so the tree runs out, at a checkpoint. While another thread is
        // at it, the log may need more than it has: that refuses an update, and does not stop writing.
        disk.set_capacity(0);
        let mut acknowledged = vec![0];
        while kv.refusal().is_none() {
            let next = acknowledged.len() as u32;
            match update(&kv, 1, next) {
                Ok(()) => acknowledged.push(next),
                Err(error) => assert!(matches!(error, KvError::NoSpace), "{error}"),
            }
        }
        disk.set_capacity(1 << 30);
        assert_eq!(pairs(&held).into_iter().collect::<State>(), state_after(1, &[0]));
        if setup.spilling == Spilling::Never {
            // The tree cannot be opened again under it, and then can. A run was not there yet.
            let again = update(&kv, 1, 99);
            assert!(matches!(again, Err(KvError::NoSpace)), "{setup:?}: {again:?}");
        }
        drop(held);
        while update(&kv, 1, 99).is_err() {
            std::thread::yield_now();
        }
        acknowledged.push(99);
        assert_eq!(state(&kv), state_after(1, &acknowledged));
    }
}

#[test]
fn a_log_that_was_damaged_while_the_disk_was_full_loses_nothing_that_is_in_memory() {
    for setup in SETUPS {
        let disk = SimulatedDisk::new(1);
        let kv = open(&disk, setup, Durability::Fsync).expect("opens");
        disk.set_capacity(0);
        let mut acknowledged = Vec::new();
        while update(&kv, 1, acknowledged.len() as u32).is_ok() {
            acknowledged.push(acknowledged.len() as u32);
        }
        let flip = |disk: &SimulatedDisk| {
            let log = disk.open("meta.redb.log", OpenMode::Write).expect("there");
            let mut byte = [0];
            log.read_at(&mut byte, 300).expect("reads");
            log.write_at(&[byte[0] ^ 1], 300).expect("writes");
        };
        flip(&disk);
        disk.set_capacity(1 << 30);
        while let Err(error) = update(&kv, 1, 99) {
            assert!(matches!(error, KvError::NoSpace), "{error}");
            std::thread::yield_now();
        }
        acknowledged.push(99);
        assert_eq!(state(&kv), state_after(1, &acknowledged));
        drop(kv);
        let kv = open(&disk.kill(), setup, Durability::Fsync).expect("opens");
        assert_eq!(state(&kv), state_after(1, &acknowledged), "it is all in the tree");
    }
}

#[test]
fn below_the_reserve_only_updates_that_free_space_run() {
    for setup in SETUPS {
        let disk = SimulatedDisk::new(1);
        let config = KvConfig { reserve_bytes: 8 << 20, ..config(setup, Durability::Fsync) };
        disk.set_capacity(7 << 20);
        let kv = Kv::open(Arc::new(disk.clone()), "meta.redb", config).expect("opens");
        assert!(matches!(update(&kv, 1, 0), Err(KvError::NoSpace)));
        assert!(matches!(kv.refusal(), Some(KvError::NoSpace)));
        let freeing =
            kv.update_freeing::<(), KvError, _>(|transaction| transaction.put(b"a", b"1"));
        freeing.wait().expect("may use the reserve");
        disk.set_capacity(1 << 30);
        while update(&kv, 1, 0).is_err() {
            std::thread::yield_now();
        }
        assert!(kv.refusal().is_none());
    }
}

#[test]
fn a_full_disk_that_has_space_again_is_noticed_without_an_update() {
    for setup in SETUPS {
        let disk = SimulatedDisk::new(1);
        let config = KvConfig {
            reserve_bytes: 8 << 20,
            // By the thread, as always.
            drain_after_groups: None,
            ..config(setup, Durability::Fsync)
        };
        disk.set_capacity(7 << 20);
        let kv = Kv::open(Arc::new(disk.clone()), "meta.redb", config).expect("opens");
        assert!(matches!(update(&kv, 1, 0), Err(KvError::NoSpace)));
        assert!(matches!(kv.refusal(), Some(KvError::NoSpace)));
        disk.set_capacity(1 << 30);
        while kv.refusal().is_some() {
            std::thread::yield_now();
        }
        update(&kv, 1, 0).expect("goes on");

        // The same when the tree itself has run out of space.
        disk.set_capacity(0);
        let mut number = 1;
        while update(&kv, 1, number).is_ok() {
            number += 1;
        }
        disk.set_capacity(1 << 30);
        while kv.refusal().is_some() {
            std::thread::yield_now();
        }
        update(&kv, 1, number).expect("goes on");
    }
}
