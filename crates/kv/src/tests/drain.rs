//! Writers that are faster than the drain, and space that is given back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use liteio_disk::{Disk, Durability, OpenMode, SimulatedDisk};

use super::{Attachments, Kv, KvConfig, KvError, Spilling, Write, config, fill, is_filled, pairs};

#[test]
fn writers_that_are_faster_than_the_drain_lose_nothing_and_memory_is_bounded() {
    let disk = SimulatedDisk::new(1);
    let config = KvConfig { memory_bytes: 3 << 20, log_bytes: 256 << 10, ..config() };
    let kv = Kv::open(Arc::new(disk.clone()), "meta.redb", config.clone()).expect("opens");
    fill(&kv, 60_000, 100);
    assert!(is_filled(&kv, 60_000, 100));
    drop(kv);
    let kv = Kv::open(Arc::new(disk), "meta.redb", config).expect("opens");
    assert!(is_filled(&kv, 60_000, 100));
}

#[test]
fn a_snapshot_that_is_held_stops_no_drain_and_sees_what_it_saw() {
    let disk = SimulatedDisk::new(1);
    let config = KvConfig { log_bytes: 64 << 10, ..config() };
    let kv = Kv::open(Arc::new(disk), "meta.redb", config).expect("opens");
    fill(&kv, 1_000, 10);
    let held = kv.snapshot().expect("snapshot");
    let seen = pairs(&held);
    fill(&kv, 20_000, 50);
    let tree = kv.tree_file().expect("on a disk");
    assert!(tree.is_in_place().expect("there"));
    assert_eq!(pairs(&held), seen);
    assert!(is_filled(&kv, 20_000, 50));
}

#[test]
fn a_killed_key_space_goes_on_with_both_files_of_its_log() {
    for drain_after_groups in [0, 1, 5, u64::MAX] {
        let mut disk = SimulatedDisk::new(1);
        let config = KvConfig {
            log_bytes: 4 << 10,
            drain_after_groups: Some(drain_after_groups),
            idle: Duration::from_secs(3_600),
            ..config()
        };
        let mut expected = Vec::new();
        for round in 0..30_u32 {
            let kv = Kv::open(Arc::new(disk.clone()), "meta.redb", config.clone()).expect("opens");
            assert_eq!(pairs(&kv.snapshot().expect("snapshot")), expected, "round {round}");
            assert_eq!(*kv.recovery(), crate::Recovery::default());
            for i in 0..7_u32 {
                let key = [round.to_be_bytes(), i.to_be_bytes()].concat();
                expected.push((key.clone(), vec![i as u8; 150]));
                kv.update::<(), KvError, _>(move |t| t.put(&key, &[i as u8; 150]))
                    .wait()
                    .expect("put");
            }
            disk = disk.kill();
        }
    }
}

/// Fills a key space, deletes nearly all of it, and waits until its file is small.
fn emptied(disk: &dyn Disk, kv: &Kv) {
    fill(kv, 30_000, 400);
    let bytes = || disk.open("meta.redb", OpenMode::Read).expect("there").len().expect("a length");
    while bytes() < 12 << 20 {
        std::thread::yield_now();
    }
    for first in (0..30_000_u32).step_by(1_000) {
        kv.update::<(), KvError, _>(move |transaction| {
            (first..first + 1_000)
                .filter(|i| i % 100 != 0)
                .try_for_each(|i| transaction.delete(&i.wrapping_mul(0x9E37_79B1).to_be_bytes()))
        })
        .wait()
        .expect("delete");
    }
    while bytes() > 4 << 20 {
        std::thread::yield_now();
    }
}

#[test]
fn space_that_nothing_uses_is_given_back() {
    let disk = SimulatedDisk::new(1);
    let config = KvConfig { idle: Duration::from_millis(2), ..config() };
    let kv = Kv::open(Arc::new(disk.clone()), "meta.redb", config.clone()).expect("opens");
    fill(&kv, 100, 400);
    let held = kv.snapshot().expect("snapshot");
    let seen = pairs(&held);
    emptied(&disk, &kv);
    assert_eq!(pairs(&held), seen, "a snapshot keeps the old file");
    let left = pairs(&kv.snapshot().expect("snapshot"));
    assert_eq!(left.len(), 300);
    assert!(kv.tree_file().expect("on a disk").is_in_place().expect("there"));
    drop(held);
    kv.update::<(), KvError, _>(|t| t.put(b"more", b"1")).wait().expect("put");
    drop(kv);
    let kv = Kv::open(Arc::new(disk.kill()), "meta.redb", config).expect("opens");
    assert_eq!(pairs(&kv.snapshot().expect("snapshot")).len(), 301);
}

#[test]
fn space_is_given_back_also_while_somebody_writes_a_little() {
    let disk = SimulatedDisk::new(1);
    let config = KvConfig { idle: Duration::from_millis(4), log_bytes: 64 << 20, ..config() };
    let kv = Kv::open(Arc::new(disk), "meta.redb", config).expect("opens");
    let all = |value: Option<&'static [u8]>| {
        let update = kv.update::<(), KvError, _>(move |transaction| {
            (0..20_000_u32).try_for_each(|i| match value {
                Some(value) => transaction.put(&i.to_be_bytes(), value),
                None => transaction.delete(&i.to_be_bytes()).map(drop),
            })
        });
        update.wait().expect("written");
    };
    let until = |is_reached: &dyn Fn(crate::KvStats) -> bool| {
        let end = std::time::Instant::now() + Duration::from_secs(60);
        while !is_reached(kv.stats()) {
            assert!(std::time::Instant::now() < end, "{:?}", kv.stats());
            kv.update::<(), KvError, _>(|t| t.put(b"beat", b"")).wait().expect("put");
            let next = std::time::Instant::now() + Duration::from_micros(500);
            while std::time::Instant::now() < next {
                std::thread::yield_now();
            }
        }
    };
    all(Some(&[1; 1024]));
    until(&|stats| stats.tree_bytes > 16 << 20);
    all(None);
    until(&|stats| stats.tree_bytes < 4 << 20);
    assert_eq!(pairs(&kv.snapshot().expect("snapshot")).len(), 1);
}

/// Attachments whose sync waits until it is released.
#[derive(Debug)]
struct Held(Arc<AtomicBool>);

impl Attachments for Held {
    fn sync(&self) -> std::io::Result<()> {
        while self.0.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        Ok(())
    }
    fn unsynced_bytes(&self) -> u64 {
        0
    }
    fn recover(&self, _: &[u8], _: &[u8]) -> std::io::Result<bool> {
        Ok(true)
    }
}

#[test]
fn a_writer_that_waits_for_the_drain_does_not_hold_up_the_mark_that_the_drain_waits_for() {
    let is_held = Arc::new(AtomicBool::new(false));
    let config = KvConfig {
        durability: Durability::Os,
        attachments: Some(Arc::new(Held(Arc::clone(&is_held)))),
        memory_bytes: 12 << 20,
        log_bytes: 1 << 30,
        idle: Duration::from_secs(3_600),
        sync_interval: Duration::from_secs(3_600),
        spilling: Spilling::Never,
        ..config()
    };
    let kv = Kv::open(Arc::new(SimulatedDisk::new(1)), "meta.redb", config).expect("opens");
    // More than one transaction of the tree takes, and half of the memory: the next update has it drained.
    let first = kv.update::<(), KvError, _>(|transaction| {
        (0..100_000_u32).try_for_each(|i| transaction.put(&i.to_be_bytes(), b""))
    });
    first.wait().expect("put");
    is_held.store(true, Ordering::Release);
    let large = kv.update::<(), KvError, _>(|t| t.put(b"large", &vec![1; 8 << 20]));
    large.wait().expect("there is room while the drain waits for attachments");
    let (sender, answer) = std::sync::mpsc::channel();
    let writer = kv.clone();
    let thread = std::thread::spawn(move || {
        let put = writer.update::<(), KvError, _>(|transaction| transaction.put(b"last", b""));
        sender.send(put.wait())
    });
    // There is no room for it.
    // Somebody commits, or waits for room to do it.
    while kv.shared().try_committer().is_some() {
        std::thread::yield_now();
    }
    // The tree takes the table in several transactions, before which the log gets a mark.
    is_held.store(false, Ordering::Release);
    answer.recv_timeout(Duration::from_secs(30)).expect("nobody waits for ever").expect("put");
    thread.join().expect("no panic").expect("somebody listens");
    assert_eq!(pairs(&kv.snapshot().expect("snapshot")).len(), 100_002);
}

#[test]
fn updates_beside_syncs_and_drains_are_all_answered() {
    let disk = SimulatedDisk::new(1);
    let config = KvConfig {
        durability: Durability::Os,
        log_bytes: 1 << 10,
        idle: Duration::from_micros(50),
        sync_interval: Duration::from_micros(50),
        ..config()
    };
    let kv = Kv::open(Arc::new(disk), "meta.redb", config).expect("opens");
    std::thread::scope(|scope| {
        for writer in 0..3_u32 {
            let kv = kv.clone();
            scope.spawn(move || {
                for i in 0..2_000_u32 {
                    let key = [writer.to_be_bytes(), (i % 50).to_be_bytes()].concat();
                    let put = kv.update::<(), KvError, _>(move |t| t.put(&key, &i.to_be_bytes()));
                    put.wait().expect("put");
                }
            });
        }
    });
    assert_eq!(pairs(&kv.snapshot().expect("snapshot")).len(), 150);
}
