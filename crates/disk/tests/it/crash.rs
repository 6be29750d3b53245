//! The state of the simulated disk after a power cut and after a kill.

use std::collections::BTreeSet;

use liteio_disk::{Disk, DiskFile, Fault, OpenMode, SimulatedDisk};

use crate::contract::{content, create};

const SEEDS: u64 = 400;

/// All outcomes of crashing right after `work`, one seed after the other.
fn outcomes<T: Ord>(
    work: impl Fn(&SimulatedDisk),
    look: impl Fn(&SimulatedDisk) -> T,
) -> BTreeSet<T> {
    (0..SEEDS)
        .map(|seed| {
            let disk = SimulatedDisk::new(seed);
            work(&disk);
            look(&disk.crash())
        })
        .collect()
}

fn durable_file(disk: &SimulatedDisk, path: &str, bytes: &[u8]) -> Box<dyn DiskFile> {
    let file = create(disk, path);
    file.write_at(bytes, 0).expect("written");
    file.sync_data().expect("synced");
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    disk.sync_dir(parent).expect("synced");
    file
}

fn content_if_there(disk: &SimulatedDisk, path: &str) -> Option<Vec<u8>> {
    disk.open(path, OpenMode::Read).is_ok().then(|| content(disk, path))
}

fn names(disk: &SimulatedDisk, path: &str) -> Vec<String> {
    disk.list(path).expect("listed").into_iter().map(|entry| entry.name).collect()
}

#[test]
fn what_was_synced_is_there_after_any_number_of_crashes() {
    for seed in 0..SEEDS {
        let disk = SimulatedDisk::new(seed);
        disk.create_dir("d").expect("created");
        disk.sync_dir("").expect("synced");
        let body: Vec<u8> = (0..30_000_u32).map(|at| (at / 100) as u8).collect();
        let file = durable_file(&disk, "d/a", &body);
        file.set_len(25_000).expect("cut");
        file.sync_data().expect("synced");
        let disk = disk.crash().crash();
        assert_eq!(content(&disk, "d/a"), body[..25_000], "seed {seed}");
    }
}

#[test]
fn one_sync_of_everything_keeps_all_contents_and_all_names() {
    for seed in 0..SEEDS {
        let disk = SimulatedDisk::new(seed);
        disk.create_dir("d").expect("created");
        disk.create_dir("d/e").expect("created");
        for path in ["a", "d/b", "d/e/c"] {
            create(&disk, path).write_at(path.as_bytes(), 0).expect("written");
        }
        let temporary = disk.create_temporary().expect("created");
        temporary.write_at(b"linked", 0).expect("written");
        disk.link(&*temporary, "d/e/linked").expect("linked");
        disk.rename("a", "d/a").expect("renamed");
        assert!(disk.sync_everything().expect("synced"));
        let disk = disk.crash();
        assert!(content_if_there(&disk, "a").is_none(), "seed {seed}");
        for (path, bytes) in
            [("d/a", "a"), ("d/b", "d/b"), ("d/e/c", "d/e/c"), ("d/e/linked", "linked")]
        {
            assert_eq!(content(&disk, path), bytes.as_bytes(), "{path}, seed {seed}");
        }
    }
}

#[test]
fn an_unsynced_write_is_kept_lost_or_torn_at_sectors() {
    let seen = outcomes(
        |disk| {
            let file = durable_file(disk, "a", &[1; 4096]);
            file.write_at(&[2; 2048], 1024).expect("written");
        },
        |disk| content(disk, "a"),
    );
    let mut is_kept = false;
    let mut is_lost = false;
    let mut is_torn = false;
    for bytes in &seen {
        assert_eq!(bytes.len(), 4096);
        let sectors: Vec<u8> = bytes.chunks(512).map(|sector| sector[0]).collect();
        for (sector, expected) in bytes.chunks(512).zip(&sectors) {
            assert!(sector.iter().all(|byte| byte == expected), "a sector is never torn");
        }
        assert!(sectors[..2] == [1, 1] && sectors[6..] == [1, 1], "the rest was synced");
        match sectors[2..6] {
            [2, 2, 2, 2] => is_kept = true,
            [1, 1, 1, 1] => is_lost = true,
            _ => is_torn = true,
        }
    }
    assert!(is_kept && is_lost && is_torn, "{} outcomes", seen.len());
}

#[test]
fn unsynced_writes_survive_in_any_order_but_a_sector_never_mixes_them() {
    let seen = outcomes(
        |disk| {
            let file = durable_file(disk, "a", &[1; 1024]);
            file.write_at(&[2; 512], 0).expect("written");
            file.write_at(&[3; 512], 512).expect("written");
            file.write_at(&[4; 100], 0).expect("written");
        },
        |disk| {
            let bytes = content(disk, "a");
            (bytes[0], bytes[100], bytes[512])
        },
    );
    // The later write to the first sector was made on top of the earlier one.
    let first = [(1, 1), (2, 2), (4, 2)];
    let expected = first.into_iter().flat_map(|(a, b)| [(a, b, 1), (a, b, 3)]).collect();
    assert_eq!(seen, expected);
}

#[test]
fn an_unsynced_extension_may_leave_zeros_or_nothing() {
    let seen = outcomes(
        |disk| {
            let file = durable_file(disk, "a", &[1; 512]);
            file.write_at(&[2; 1024], 512).expect("written");
        },
        |disk| {
            let bytes = content(disk, "a");
            assert!(bytes[..512].iter().all(|byte| *byte == 1) && bytes.len() <= 1536);
            assert!(bytes[512..].iter().all(|byte| matches!(byte, 0 | 2)));
            (bytes.len(), bytes[512..].contains(&0), bytes[512..].contains(&2))
        },
    );
    assert!(seen.contains(&(512, false, false)), "lost");
    assert!(seen.contains(&(1536, false, true)), "kept");
    assert!(seen.contains(&(1536, true, false)), "the length without the bytes");
    assert!(seen.contains(&(1536, true, true)), "torn");
    assert!(seen.iter().any(|(length, ..)| (513..1536).contains(length)), "a length between");
}

#[test]
fn an_unsynced_cut_may_be_undone() {
    let seen = outcomes(
        |disk| durable_file(disk, "a", &[1; 9000]).set_len(100).expect("cut"),
        |disk| content(disk, "a"),
    );
    assert_eq!(seen, BTreeSet::from([vec![1; 100], vec![1; 9000]]));
}

#[test]
fn a_discarded_range_may_come_back_until_it_was_synced() {
    let discard = |disk: &SimulatedDisk| {
        let file = durable_file(disk, "a", &[7; 8192]);
        let before = disk.free_bytes().expect("asked");
        assert!(file.discard(0, 4096).expect("discarded"));
        assert_eq!(disk.free_bytes().expect("asked"), before + 4096);
        file
    };
    let zeros = |disk: &SimulatedDisk| {
        let content = content(disk, "a");
        assert_eq!(content[4096..], [7; 4096]);
        content.iter().filter(|byte| **byte == 0).count()
    };
    let seen = outcomes(|disk| _ = discard(disk), zeros);
    assert!(seen.contains(&0) && seen.contains(&4096) && seen.len() > 2, "{seen:?}");
    let synced = |disk: &SimulatedDisk| discard(disk).sync_data().expect("synced");
    assert_eq!(outcomes(synced, zeros), BTreeSet::from([4096]));
}

#[test]
fn a_name_that_was_not_synced_may_be_missing_though_the_bytes_were() {
    let seen = outcomes(
        |disk| {
            let file = disk.create_temporary().expect("created");
            file.write_at(b"body", 0).expect("written");
            file.sync_data().expect("synced");
            disk.link(&*file, "a").expect("linked");
        },
        |disk| content_if_there(disk, "a"),
    );
    assert_eq!(seen, BTreeSet::from([None, Some(b"body".to_vec())]));
}

#[test]
fn bytes_that_were_not_synced_may_be_missing_though_the_name_was() {
    let seen = outcomes(
        |disk| {
            create(disk, "a").write_at(b"body", 0).expect("written");
            disk.sync_dir("").expect("synced");
        },
        |disk| content(disk, "a"),
    );
    for bytes in [&b""[..], b"body", &[0; 4]] {
        assert!(seen.contains(bytes), "{bytes:?} in {seen:?}");
    }
}

#[test]
fn a_removed_name_comes_back_unless_it_was_synced() {
    let work = |disk: &SimulatedDisk| {
        durable_file(disk, "a", b"body");
        disk.remove("a").expect("removed");
    };
    let seen = outcomes(work, |disk| content_if_there(disk, "a"));
    assert_eq!(seen, BTreeSet::from([None, Some(b"body".to_vec())]));
    let and_sync = |disk: &SimulatedDisk| {
        work(disk);
        disk.sync_dir("").expect("synced");
    };
    assert_eq!(outcomes(and_sync, |disk| content_if_there(disk, "a")), BTreeSet::from([None]));
}

#[test]
fn a_rename_leaves_the_old_name_the_new_one_or_both() {
    let work = |disk: &SimulatedDisk| {
        durable_file(disk, "current", b"old");
        durable_file(disk, "next", b"new");
        disk.rename("next", "current").expect("renamed");
    };
    let look = |disk: &SimulatedDisk| (content_if_there(disk, "next"), content(disk, "current"));
    let (old, new) = (b"old".to_vec(), b"new".to_vec());
    let expected = BTreeSet::from([
        (Some(new.clone()), old),
        (Some(new.clone()), new.clone()),
        (None, new.clone()),
    ]);
    assert_eq!(outcomes(work, look), expected);
    let and_sync = |disk: &SimulatedDisk| {
        work(disk);
        disk.sync_dir("").expect("synced");
    };
    assert_eq!(outcomes(and_sync, look), BTreeSet::from([(None, new)]));
}

#[test]
fn a_rename_between_directories_needs_both_synced_the_new_one_first() {
    let work = |disk: &SimulatedDisk| {
        disk.create_dir("from").expect("created");
        disk.create_dir("to").expect("created");
        disk.sync_dir("").expect("synced");
        durable_file(disk, "from/a", b"body");
        disk.rename("from/a", "to/a").expect("renamed");
    };
    let is_there = |path| move |disk: &SimulatedDisk| content_if_there(disk, path).is_some();
    let look = |disk: &SimulatedDisk| (is_there("from/a")(disk), is_there("to/a")(disk));
    let after = |synced: &[&str]| {
        outcomes(
            |disk| {
                work(disk);
                synced.iter().for_each(|path| disk.sync_dir(path).expect("synced"));
            },
            look,
        )
    };
    assert_eq!(after(&[]), BTreeSet::from([(true, false), (true, true), (false, true)]));
    assert_eq!(after(&["to"]), BTreeSet::from([(true, true), (false, true)]));
    assert_eq!(after(&["from"]), BTreeSet::from([(false, false), (false, true)]));
    assert_eq!(after(&["to", "from"]), BTreeSet::from([(false, true)]));
}

#[test]
fn a_directory_whose_name_was_not_synced_takes_its_files_along() {
    let seen = outcomes(
        |disk| {
            disk.create_dir("d").expect("created");
            durable_file(disk, "d/a", b"body");
        },
        |disk| names(disk, "").is_empty() || content(disk, "d/a") != b"body",
    );
    assert_eq!(seen, BTreeSet::from([false, true]));
}

#[test]
fn changes_of_different_files_and_names_survive_independently() {
    let seen = outcomes(
        |disk| {
            for name in ["a", "b", "c"] {
                durable_file(disk, name, &[1]);
            }
            create(disk, "a").write_at(&[2], 0).expect("written");
            create(disk, "b").write_at(&[2], 0).expect("written");
            disk.remove("c").expect("removed");
            create(disk, "d");
        },
        |disk| (content(disk, "a"), content(disk, "b"), names(disk, "")),
    );
    assert_eq!(seen.len(), 16, "every combination");
}

#[cfg(all(target_os = "linux", not(feature = "portable")))]
#[test]
fn a_temporary_file_without_a_name_vanishes_with_a_crash_and_with_a_kill() {
    let disk = SimulatedDisk::new(1);
    disk.create_dir("tmp").expect("created");
    disk.set_capacity(1 << 20);
    let file = disk.create_temporary().expect("created");
    file.write_at(&[1; 8192], 0).expect("written");
    file.sync_data().expect("synced");
    assert_eq!(disk.free_bytes().expect("known"), (1 << 20) - 8192);
    for next in [disk.kill(), disk.kill().crash()] {
        assert_eq!(next.free_bytes().expect("known"), 1 << 20);
        assert!(next.list("").expect("listed").iter().all(|entry| entry.is_dir));
    }
}

/// The names in `tmp`, and whether `a` is there with its bytes.
fn leftovers(disk: &SimulatedDisk) -> (usize, Option<Vec<u8>>) {
    let in_tmp = disk.list("tmp").map_or(0, |entries| entries.len());
    (in_tmp, content_if_there(disk, "a"))
}

#[test]
fn a_temporary_file_with_a_name_goes_with_its_handle_and_stays_after_a_kill() {
    let disk = SimulatedDisk::with_named_temporaries(1);
    disk.set_capacity(1 << 20);
    let file = disk.create_temporary().expect("created");
    let dropped = disk.create_temporary().expect("created");
    file.write_at(&[1; 8192], 0).expect("written");
    dropped.write_at(&[1; 8192], 0).expect("written");
    assert_eq!(names(&disk, "tmp").len(), 2);
    drop(dropped);
    assert_eq!(disk.free_bytes().expect("known"), (1 << 20) - 8192);
    let next = disk.kill();
    // The dead process removes nothing any more.
    drop(file);
    assert_eq!(leftovers(&next), (1, None));
    let other = next.create_temporary().expect("created beside the leftover");
    let left = names(&next, "tmp").into_iter().next().expect("the leftover is the older");
    next.remove(&format!("tmp/{left}")).expect("swept");
    assert_eq!(next.free_bytes().expect("known"), 1 << 20);
    next.link(&*other, "a").expect("linked");
    assert_eq!(leftovers(&next), (0, Some(Vec::new())));
}

#[test]
fn a_link_of_a_named_temporary_file_may_be_cut_between_its_two_steps() {
    let link = |disk: &SimulatedDisk| {
        disk.create_dir("tmp").expect("created");
        disk.sync_dir("").expect("synced");
        let file = disk.create_temporary().expect("created");
        file.write_at(b"body", 0).expect("written");
        file.sync_data().expect("synced");
        disk.sync_dir("tmp").expect("synced");
        file
    };
    let body = || Some(b"body".to_vec());
    let (mut after_kill, mut after_power_cut, mut after_sync) =
        (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for seed in 0..SEEDS {
        let disk = SimulatedDisk::with_named_temporaries(seed);
        let file = link(&disk);
        disk.set_fault(disk.operations(), Fault::Crash);
        disk.link(&*file, "a").expect_err("the machine stops");
        drop(file);
        after_kill.insert(leftovers(&disk.kill()));

        let disk = SimulatedDisk::with_named_temporaries(seed);
        let file = link(&disk);
        disk.link(&*file, "a").expect("linked");
        after_power_cut.insert(leftovers(&disk.crash()));

        let disk = SimulatedDisk::with_named_temporaries(seed);
        let file = link(&disk);
        disk.link(&*file, "a").expect("linked");
        disk.sync_dir("").expect("synced");
        after_sync.insert(leftovers(&disk.crash()));
    }
    assert_eq!(after_kill, BTreeSet::from([(1, None), (1, body()), (0, body())]));
    let all = BTreeSet::from([(1, None), (0, None), (1, body()), (0, body())]);
    assert_eq!(after_power_cut, all);
    assert_eq!(after_sync, BTreeSet::from([(1, body()), (0, body())]), "the name was promised");
}

#[test]
fn a_kill_keeps_what_was_written_and_a_later_crash_may_still_lose_it() {
    let mut after_crash = BTreeSet::new();
    for seed in 0..SEEDS {
        let disk = SimulatedDisk::new(seed);
        durable_file(&disk, "a", b"old").write_at(b"new", 0).expect("written");
        create(&disk, "b");
        let next = disk.kill();
        assert_eq!(content(&next, "a"), b"new");
        assert_eq!(names(&next, ""), ["a", "b"]);
        let crashed = next.crash();
        after_crash.insert((content(&crashed, "a"), names(&crashed, "").len()));

        let next = disk.kill();
        next.open("a", OpenMode::Write).expect("opens").sync_data().expect("synced");
        next.sync_dir("").expect("synced");
        let crashed = next.crash();
        assert_eq!((content(&crashed, "a"), names(&crashed, "").len()), (b"new".to_vec(), 2));
    }
    assert_eq!(after_crash.len(), 4);
}

#[test]
fn the_dead_process_can_do_nothing_more() {
    for end in [SimulatedDisk::crash, SimulatedDisk::kill] {
        let disk = SimulatedDisk::new(1);
        let file = durable_file(&disk, "a", b"body");
        let next = end(&disk);
        assert!(file.write_at(b"x", 0).is_err() && file.read_at(&mut [0; 4], 0).is_err());
        assert!(file.len().is_err() && file.set_len(0).is_err() && file.sync_data().is_err());
        assert!(disk.open("a", OpenMode::Read).is_err() && disk.list("").is_err());
        assert!(disk.remove("a").is_err() && disk.sync_dir("").is_err());
        assert_eq!(content(&next, "a"), b"body");
    }
}

#[test]
fn the_same_seed_gives_the_same_disk() {
    let run = |seed| {
        let disk = SimulatedDisk::new(seed);
        let file = durable_file(&disk, "a", &[1; 50_000]);
        for at in 0..20_u8 {
            file.write_at(&[at; 3000], u64::from(at) * 2000).expect("written");
            create(&disk, &format!("file-{at}"));
        }
        let disk = disk.crash();
        (content(&disk, "a"), names(&disk, ""))
    };
    for seed in 0..20 {
        assert_eq!(run(seed), run(seed), "seed {seed}");
    }
    assert!((1..20).any(|seed| run(seed) != run(0)));
}
