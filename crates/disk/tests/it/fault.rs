//! Faults of the simulated disk, at every operation of a small store.

use std::io::{self, ErrorKind};

use liteio_disk::{Disk, Fault, OpenMode, SimulatedDisk, is_poisoned};

use crate::contract::{content, create};

const GENERATIONS: u8 = 4;

/// Replaces the file `d/current` by larger and larger ones, and tells which was the last to be
/// acknowledged. This is the way the layers above write.
fn work(disk: &SimulatedDisk, acknowledged: &mut u8) -> io::Result<()> {
    disk.create_dir("d")?;
    disk.sync_dir("")?;
    for generation in 1..=GENERATIONS {
        let file = disk.create_temporary()?;
        let bytes = body(generation);
        file.write_at(&bytes[..1000], 0)?;
        file.write_at(&bytes[1000..], 1000)?;
        file.sync_data()?;
        let name = format!("d/{generation}");
        disk.link(&*file, &name)?;
        disk.rename(&name, "d/current")?;
        disk.sync_dir("d")?;
        *acknowledged = generation;
    }
    Ok(())
}

fn body(generation: u8) -> Vec<u8> {
    vec![generation; 1000 + 3000 * usize::from(generation)]
}

/// The file is one that was written in full, and not older than the last acknowledged.
fn check(disk: &SimulatedDisk, acknowledged: u8, context: &str) {
    let found = match disk.open("d/current", OpenMode::Read) {
        Ok(_) => content(disk, "d/current"),
        Err(error) => {
            assert_eq!((error.kind(), acknowledged), (ErrorKind::NotFound, 0), "{context}");
            return;
        }
    };
    let generation = found[0];
    assert!(generation >= acknowledged, "{context}: {generation} after {acknowledged}");
    assert_eq!(found, body(generation), "{context}");
}

fn operations_of_work() -> u64 {
    let disk = SimulatedDisk::new(0);
    work(&disk, &mut 0).expect("no fault");
    disk.operations()
}

#[test]
fn a_careful_writer_survives_every_fault_at_every_operation() {
    let operations = operations_of_work();
    assert_eq!(operations, 2 + 7 * u64::from(GENERATIONS));
    let faults = [
        Fault::Crash,
        Fault::Io,
        Fault::NoSpace,
        Fault::NoSpaceFrom,
        Fault::ShortWrite,
        Fault::FailedSync,
    ];
    for fault in faults {
        for at in 0..operations {
            for seed in 0..30 {
                let context = format!("{fault:?} at {at}, seed {seed}");
                let disk = SimulatedDisk::new(seed);
                disk.set_fault(at, fault);
                let mut acknowledged = 0;
                let result = work(&disk, &mut acknowledged);
                assert!(result.is_err() || strikes_too_late(fault, at, operations), "{context}");
                if fault != Fault::Crash {
                    check(&disk, acknowledged, &context);
                    check(&disk.kill(), acknowledged, &context);
                }
                check(&disk.crash(), acknowledged, &context);
            }
        }
    }
}

/// `true` if no operation is left that the fault applies to: the last generation ends with its
/// writes, a sync, a link, a rename and a directory sync.
fn strikes_too_late(fault: Fault, at: u64, operations: u64) -> bool {
    match fault {
        Fault::ShortWrite => at > operations - 5,
        Fault::NoSpaceFrom => at == operations - 1,
        _ => false,
    }
}

#[test]
fn a_writer_that_forgets_a_sync_is_caught() {
    let careless = |disk: &SimulatedDisk| -> io::Result<()> {
        let file = disk.create_temporary()?;
        file.write_at(&body(1), 0)?;
        disk.link(&*file, "a")?;
        disk.sync_dir("")
    };
    let is_lost = |seed| {
        let disk = SimulatedDisk::new(seed);
        careless(&disk).expect("no fault");
        content(&disk.crash(), "a") != body(1)
    };
    let lost = (0..100).filter(|seed| is_lost(*seed)).count();
    assert!((20..100).contains(&lost), "lost {lost} of 100");
}

#[test]
fn a_crash_in_the_middle_may_or_may_not_have_had_its_effect() {
    let mut kept = 0;
    for seed in 0..100 {
        let disk = SimulatedDisk::new(seed);
        create(&disk, "a");
        disk.set_fault(disk.operations(), Fault::Crash);
        disk.sync_dir("").expect_err("stopped");
        let names = disk.crash().list("").expect("listed");
        kept += usize::from(!names.is_empty());
        assert!(disk.list("").is_err() && disk.open("a", OpenMode::Read).is_err(), "stopped");
    }
    assert!((50..100).contains(&kept), "kept {kept} of 100");
}

#[test]
fn a_passing_error_has_no_effect_and_passes() {
    for (fault, kind) in [
        (Fault::Io, io::Error::from_raw_os_error(5).kind()),
        (Fault::NoSpace, ErrorKind::StorageFull),
    ] {
        let disk = SimulatedDisk::new(1);
        let file = create(&disk, "a");
        disk.set_fault(2, fault);
        file.write_at(b"one", 0).expect("written");
        assert_eq!(file.write_at(b"two", 0).expect_err("fails").kind(), kind);
        assert_eq!(content(&disk, "a"), b"one");
        file.write_at(b"two", 0).expect("written");
        assert!(disk.health().check().is_ok());
        assert_eq!(disk.operations(), 4);
    }
}

#[test]
fn a_full_disk_refuses_writes_until_there_is_space() {
    let disk = SimulatedDisk::new(1);
    let file = create(&disk, "a");
    create(&disk, "b");
    disk.set_fault(disk.operations(), Fault::NoSpaceFrom);
    for _ in 0..3 {
        let refused = [
            file.write_at(b"x", 0),
            file.set_len(100),
            disk.create_temporary().map(drop),
            disk.open("c", OpenMode::CreateOrWrite).map(drop),
            disk.rename("a", "c"),
            disk.create_dir("d"),
        ];
        for result in refused {
            assert_eq!(result.expect_err("full").kind(), ErrorKind::StorageFull);
        }
        assert_eq!(disk.free_bytes().expect("known"), 0);
        file.sync_data().expect("needs no space");
        file.set_len(0).expect("needs no space");
    }
    disk.remove("b").expect("needs no space");
    disk.clear_faults();
    file.write_at(b"x", 0).expect("written");
    assert!(disk.free_bytes().expect("known") > 0);
}

#[test]
fn a_short_write_leaves_a_prefix() {
    let mut lengths = Vec::new();
    for seed in 0..50 {
        let disk = SimulatedDisk::new(seed);
        let file = create(&disk, "a");
        disk.set_fault(0, Fault::ShortWrite);
        file.write_at(&[7; 1000], 0).expect_err("fails");
        let found = content(&disk, "a");
        assert_eq!(found, vec![7; found.len()]);
        lengths.push(found.len());
        file.write_at(&[7; 1000], 0).expect("written");
        assert_eq!(content(&disk, "a").len(), 1000);
    }
    assert!(lengths.iter().any(|length| (1..1000).contains(length)), "{lengths:?}");
}

#[test]
fn a_failed_sync_poisons_and_its_bytes_are_lost_for_good() {
    let mut is_lost_by_kill = [false; 2];
    for seed in 0..100 {
        for fault in [Fault::FailedSync, Fault::Io, Fault::NoSpace] {
            let disk = SimulatedDisk::new(seed);
            let file = create(&disk, "a");
            file.write_at(&[1; 512], 0).expect("written");
            file.sync_data().expect("synced");
            disk.sync_dir("").expect("synced");
            file.write_at(&[2; 512], 0).expect("written");
            disk.set_fault(disk.operations(), fault);
            let error = file.sync_data().expect_err("fails");
            assert!(!is_poisoned(&error) && disk.health().is_poisoned());
            for refused in [file.sync_data(), file.write_at(b"x", 0), disk.remove("a")] {
                assert!(is_poisoned(&refused.expect_err("refused")));
            }
            assert_eq!(content(&disk, "a"), [2; 512], "reads go on");

            // The next process sees what the device has, and syncing again changes nothing.
            let next = disk.kill();
            let found = content(&next, "a");
            assert!(found == [1; 512] || found == [2; 512]);
            is_lost_by_kill[usize::from(found[0] == 1)] = true;
            next.health().check().expect("a new process, a new flag");
            next.open("a", OpenMode::Write).expect("opens").sync_data().expect("synced");
            assert_eq!(content(&next.crash(), "a"), found, "{fault:?}, seed {seed}");
        }
    }
    assert_eq!(is_lost_by_kill, [true; 2]);
}

#[test]
fn a_failed_directory_sync_poisons_and_promises_nothing() {
    let mut found = [0; 4];
    for seed in 0..200 {
        let disk = SimulatedDisk::new(seed);
        create(&disk, "a");
        create(&disk, "b");
        disk.set_fault(0, Fault::FailedSync);
        disk.sync_dir("").expect_err("fails");
        assert!(is_poisoned(&disk.sync_dir("").expect_err("refused")));
        let next = disk.kill();
        assert_eq!(next.list("").expect("listed").len(), 2);
        next.sync_dir("").expect("a new process may try again");
        assert_eq!(next.crash().list("").expect("listed").len(), 2);
        let names = disk.crash().list("").expect("listed");
        let has = |name: &str| usize::from(names.iter().any(|entry| entry.name == name));
        found[has("a") * 2 + has("b")] += 1;
    }
    assert!(found.iter().all(|count| *count > 0), "{found:?}");
}

#[test]
fn a_failed_sync_of_everything_poisons_and_promises_nothing() {
    let mut found = [0; 4];
    for seed in 0..200 {
        let disk = SimulatedDisk::new(seed);
        create(&disk, "a").write_at(b"body", 0).expect("written");
        create(&disk, "b");
        disk.set_fault(0, Fault::FailedSync);
        disk.sync_everything().expect_err("fails");
        assert!(is_poisoned(&disk.sync_everything().expect_err("refused")));
        let disk = disk.crash();
        let is_whole = disk.open("a", OpenMode::Read).is_ok() && content(&disk, "a") == b"body";
        let is_there = disk.open("b", OpenMode::Read).is_ok();
        found[usize::from(is_whole) * 2 + usize::from(is_there)] += 1;
    }
    assert!(found.iter().all(|count| *count > 0), "{found:?}");
}

#[test]
fn a_failed_sync_of_the_old_directory_does_not_lose_a_renamed_file() {
    let mut found = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let disk = SimulatedDisk::new(seed);
        for directory in ["from", "to"] {
            disk.create_dir(directory).expect("created");
        }
        create(&disk, "from/a");
        disk.sync_dir("from").expect("synced");
        disk.sync_dir("").expect("synced");
        disk.rename("from/a", "to/a").expect("renamed");
        disk.set_fault(0, Fault::FailedSync);
        disk.sync_dir("from").expect_err("fails");
        let disk = disk.crash();
        let is_there = |path| disk.open(path, OpenMode::Read).is_ok();
        found.insert((is_there("from/a"), is_there("to/a")));
    }
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [(false, true), (true, false), (true, true)]);
}

#[test]
fn capacity_counts_the_pages_of_files_that_somebody_can_reach() {
    let disk = SimulatedDisk::new(1);
    disk.set_capacity(8 * 4096);
    let free_pages = || disk.free_bytes().expect("known") / 4096;
    let file = create(&disk, "a");
    file.write_at(&[1; 4 * 4096], 0).expect("written");
    file.set_len(1 << 30).expect("a hole needs nothing");
    assert_eq!(free_pages(), 4);
    file.set_len(2 * 4096).expect("cut");
    assert_eq!(free_pages(), 6);
    let temporary = disk.create_temporary().expect("created");
    temporary.write_at(&[2; 5 * 4096], 0).expect("written");
    let error = file.write_at(&[3; 4 * 4096], 0).expect_err("one page too many");
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    assert_eq!(free_pages(), 0);
    file.write_at(&[4; 3 * 4096], 0).expect("in place");
    drop(temporary);
    assert_eq!(free_pages(), 5);
    disk.remove("a").expect("removed");
    assert_eq!(free_pages(), 5, "still open");
    drop(file);
    assert_eq!(free_pages(), 8);
    for (from, to) in [("b", "c"), ("d", "c")] {
        create(&disk, from).write_at(&[5; 4096], 0).expect("written");
        disk.rename(from, to).expect("renamed");
    }
    assert_eq!(free_pages(), 7, "the replaced file is gone");
    disk.set_capacity(0);
    assert_eq!(free_pages(), 0);
    disk.set_capacity(8 * 4096);
    assert_eq!(disk.kill().free_bytes().expect("known"), 7 * 4096);
}
