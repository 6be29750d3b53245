//! Orphans: the sweep moves them aside, and they are deleted after some days, or when the disk is full.

use std::sync::Arc;

use liteio_disk::{Disk, OpenMode, SimulatedDisk};
use liteio_store::limits::LOST_DAYS;
use liteio_store::{ManualClock, Store, StoreConfig};

use crate::harness::*;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const NOW_MS: u64 = 1_700_000_000_000;

fn on(disk: &SimulatedDisk, clock: &Arc<ManualClock>, reserve_bytes: u64) -> Store {
    let config = StoreConfig { clock: Arc::clone(clock) as _, reserve_bytes, ..config(7) };
    Store::open_on(Arc::new(disk.clone()), config).expect("opens")
}

/// A file that looks like a blob and belongs to nobody.
fn add_orphan(disk: &SimulatedDisk, byte: &str) {
    disk.create_dir(&format!("blobs/{byte}")).expect("made");
    let path = format!("blobs/{byte}/{}", byte.repeat(16));
    let file = disk.open(&path, OpenMode::CreateOrWrite).expect("made");
    file.write_at(&[1; 20_000], 0).expect("written");
    file.sync_data().expect("synced");
    disk.sync_dir(&format!("blobs/{byte}")).expect("synced");
    disk.sync_dir("blobs").expect("synced");
}

/// The first byte and the days of each lost blob.
fn lost(disk: &SimulatedDisk) -> Vec<String> {
    let names = disk.list("blobs/lost").expect("listed").into_iter().map(|entry| entry.name);
    let mut lost: Vec<_> = names
        .map(|name| {
            let days = name.split('-').nth(1).expect("days");
            format!("{} {days}", &name[..2])
        })
        .collect();
    lost.sort();
    lost
}

/// A disk with a bucket and an object, killed.
fn disk_with_object() -> (SimulatedDisk, Arc<ManualClock>) {
    let disk = SimulatedDisk::new(1);
    let clock = Arc::new(ManualClock::new(NOW_MS));
    let store = on(&disk, &clock, 0);
    create_bucket(&store, "bucket");
    put(&store, "a", &bytes(1, 10_000));
    store.sync().expect("synced");
    (disk.kill(), clock)
}

#[test]
fn an_orphan_is_kept_until_a_store_has_seen_it_on_seven_days() {
    let (disk, clock) = disk_with_object();
    add_orphan(&disk, "ab");
    let store = on(&disk, &clock, 0);
    assert_eq!(store.sweep().expect("swept").orphans, 1);
    let report = store.verify(&mut |_| {}).expect("verified");
    assert_eq!((report.orphans, report.blobs, report.lost.len()), (0, 1, 1));
    assert!(report.lost[0].starts_with("blobs/lost/abab"), "{report:?}");
    store.close();
    // An orderly end made the move durable.
    let disk = disk.crash();
    for day in 1..=LOST_DAYS {
        let store = on(&disk, &clock, 0);
        for _ in 0..3 {
            store.reclaim().expect("reclaimed");
        }
        assert_eq!(store.stats().lost_blobs, 1);
        assert_eq!(lost(&disk), [format!("ab {day}")]);
        store.close();
        // A start before the clock is set counts none, and one that jumps forward counts one.
        clock.set_ms(0);
        let store = on(&disk, &clock, 0);
        store.reclaim().expect("reclaimed");
        assert_eq!(lost(&disk), [format!("ab {day}")]);
        store.close();
        clock.set_ms(NOW_MS + 1000 * DAY_MS * u64::from(day));
    }
    let store = on(&disk, &clock, 0);
    store.reclaim().expect("reclaimed");
    assert_eq!(lost(&disk), [""; 0]);
    assert_eq!(store.stats().lost_blobs, 0);
    assert_eq!(get(&store, "a"), bytes(1, 10_000));
}

#[test]
fn days_are_counted_while_a_store_stays_open_too() {
    let (disk, clock) = disk_with_object();
    add_orphan(&disk, "ab");
    let store = on(&disk, &clock, 0);
    store.sweep().expect("swept");
    for day in 1..=LOST_DAYS {
        store.reclaim().expect("reclaimed");
        assert_eq!(lost(&disk), [format!("ab {day}")]);
        clock.advance_ms(DAY_MS);
    }
    store.reclaim().expect("reclaimed");
    assert_eq!(lost(&disk), [""; 0]);
}

#[test]
fn a_clock_that_is_set_while_a_store_is_open_counts_one_day() {
    let (disk, clock) = disk_with_object();
    add_orphan(&disk, "ab");
    on(&disk, &clock, 0).sweep().expect("swept");
    for run in 0..3_u64 {
        clock.set_ms(0);
        let store = on(&disk, &clock, 0);
        for day in 1..5 {
            store.reclaim().expect("reclaimed");
            clock.set_ms(NOW_MS + (run * 10 + day) * DAY_MS);
        }
        store.reclaim().expect("reclaimed");
        assert_eq!(lost(&disk), [format!("ab {}", run + 2)]);
    }
}

#[test]
fn orphans_make_room_on_a_full_disk_the_oldest_first() {
    let (disk, clock) = disk_with_object();
    for (byte, day) in [("ab", 0), ("cd", 1), ("ef", 2)] {
        clock.set_ms(NOW_MS + day * DAY_MS);
        add_orphan(&disk, byte);
        let store = on(&disk, &clock, 0);
        store.sweep().expect("swept");
        store.reclaim().expect("reclaimed");
    }
    assert_eq!(lost(&disk), ["ab 3", "cd 2", "ef 1"]);
    // So much is reserved that one of them must go, then that all must.
    let free = 1 << 30;
    disk.set_capacity(free);
    let free = disk.free_bytes().expect("known");
    let store = on(&disk, &clock, free + 10_000);
    store.reclaim().expect("reclaimed");
    assert_eq!(lost(&disk), ["cd 2", "ef 1"]);
    drop(store);
    let store = on(&disk, &clock, 1 << 40);
    // One at a time.
    for _ in 0..2 {
        store.reclaim().expect("reclaimed");
    }
    assert_eq!(lost(&disk), [""; 0]);
    assert_eq!(get(&store, "a"), bytes(1, 10_000));
}

#[test]
fn a_store_that_is_refused_keeps_its_marker_of_an_orderly_end() {
    let (disk, clock) = disk_with_object();
    let store = on(&disk, &clock, 0);
    store.sweep().expect("swept");
    store.close();
    let clean = || disk.list("").expect("listed").iter().any(|entry| entry.name == "clean");
    assert!(clean());
    disk.rename("meta.redb", "away").expect("moved");
    Store::open_on(Arc::new(disk.clone()), config(8)).expect_err("refused");
    assert!(clean());
    disk.rename("away", "meta.redb").expect("moved back");
    on(&disk, &clock, 0);
}
