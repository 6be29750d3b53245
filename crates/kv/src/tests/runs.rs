//! Runs between the tables and the tree.

use std::future::Future as _;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use liteio_disk::{Disk, Fault, OpenMode, SimulatedDisk, effort};

use super::{EngineKind, Kv, KvConfig, KvError, Read, Spilling, Write, fill, is_filled, pairs};

/// Every table becomes a run, and three of them are merged, a part after each group.
pub(super) fn config(engine: EngineKind) -> KvConfig {
    KvConfig {
        engine,
        log_bytes: 256,
        spilling: Spilling::Always { merged: 3 },
        drain_after_groups: Some(0),
        idle: Duration::from_secs(3_600),
        ..super::config()
    }
}

fn open(disk: &SimulatedDisk, config: KvConfig) -> Result<Kv, KvError> {
    Kv::open(Arc::new(disk.clone()), "meta.redb", config)
}

fn put(kv: &Kv, key: &'static [u8], value: &'static [u8]) {
    kv.update::<(), KvError, _>(move |transaction| transaction.put(key, value))
        .wait()
        .expect("put");
}

/// Puts pairs as `fill` does, 50 an update.
fn put_some(kv: &Kv, range: Range<u32>, bytes: usize) {
    for first in range.clone().step_by(50) {
        let end = (first + 50).min(range.end);
        kv.update::<(), KvError, _>(move |transaction| {
            (first..end).try_for_each(|i| transaction.put(&key(i), &vec![i as u8; bytes]))
        })
        .wait()
        .expect("put");
    }
}

/// The key of a pair as `fill` makes them.
pub(super) fn key(i: u32) -> [u8; 4] {
    i.wrapping_mul(0x9E37_79B1).to_be_bytes()
}

fn run_files(disk: &dyn Disk) -> Vec<String> {
    let names = disk.list("").expect("the disk runs").into_iter().map(|entry| entry.name);
    names.filter(|name| name.starts_with("meta.redb.run.")).collect()
}

/// Runs are kept: nothing is merged.
fn kept() -> KvConfig {
    KvConfig { spilling: Spilling::Always { merged: usize::MAX }, ..config(EngineKind::Redb) }
}

/// A disk with a closed key space in some runs: as filled with `count` pairs.
fn with_runs(count: u32) -> SimulatedDisk {
    let disk = SimulatedDisk::new(1);
    let kv = open(&disk, kept()).expect("opens");
    put_some(&kv, 0..count, 100);
    drop(kv);
    assert!(run_files(&disk).len() > 2);
    disk
}

/// Damages every so many leaves of the tree that have pairs with values of 100 bytes.
pub(super) fn damage_leaves(disk: &SimulatedDisk, step: usize) {
    crate::silence_panics_of_damage();
    // Leaves of pairs, by their values.
    let tree = disk.open("meta.redb", OpenMode::Write).expect("there");
    let mut content = vec![0; tree.len().expect("a length") as usize];
    tree.read_at(&mut content, 0).expect("reads");
    let has_pair = |page: &[u8]| {
        let is_value = |bytes: &[u8]| bytes.iter().all(|byte| *byte == bytes[0]);
        page.windows(100).any(|bytes| (1..255).contains(&bytes[0]) && is_value(bytes))
    };
    let pages = content.chunks(4096).enumerate();
    let leaves = pages.filter(|(_, page)| has_pair(page)).map(|(at, _)| at);
    for leaf in leaves.step_by(step) {
        tree.write_at(&[0xff; 16], leaf as u64 * 4096 + 2_000).expect("written");
    }
}

#[test]
fn a_tree_that_is_much_larger_than_a_table_takes_several_at_once() {
    let disk = SimulatedDisk::new(1);
    let config = KvConfig { log_bytes: 8 << 20, memory_bytes: 3 << 20, ..super::config() };
    let kv = open(&disk, config.clone()).expect("opens");
    fill(&kv, 60_000, 20);
    let mut has_run = false;
    for first in (0..60_000_u32).step_by(300) {
        // A few pairs in every part of the tree.
        put_some(&kv, first..first + 300, 100);
        has_run |= !run_files(&disk).is_empty();
    }
    assert!(has_run);
    assert!(is_filled(&kv, 60_000, 100));
    let disk = disk.kill();
    for _ in 0..2 {
        // After a kill, then after an orderly end.
        assert!(is_filled(&open(&disk, config.clone()).expect("opens"), 60_000, 100));
    }
}

#[test]
fn tables_that_are_kept_leave_room_for_what_runs_have_in_memory() {
    const MEMORY: usize = 30_000;
    let config = KvConfig { memory_bytes: MEMORY, ..kept() };
    let kv = open(&SimulatedDisk::new(1), config).expect("opens");
    for first in (0..2_000).step_by(50) {
        put_some(&kv, first..first + 50, 10);
        let layers = kv.shared().layers().expect("open");
        assert!(layers.memory() <= MEMORY, "{} and {} runs", layers.bytes(), layers.runs().len());
    }
    let layers = kv.shared().layers().expect("open");
    let runs = layers.memory() - layers.bytes();
    assert!(runs > 2_000 && layers.tables() > 1, "{runs} of {} runs", layers.runs().len());
}

#[test]
fn an_idle_store_merges_its_runs_and_removes_their_files() {
    let disk = with_runs(500);
    let idle = KvConfig { drain_after_groups: None, idle: Duration::from_millis(1), ..kept() };
    let kv = open(&disk, idle).expect("opens");
    put(&kv, b"a", b"1");
    while !run_files(&disk).is_empty() {
        std::thread::yield_now();
    }
    assert_eq!(pairs(&kv.snapshot().expect("snapshot")).len(), 501);
}

#[test]
fn runs_of_much_that_was_written_before_are_merged_while_a_few_updates_come() {
    let config = KvConfig { log_bytes: 8 << 20, drain_after_groups: Some(u64::MAX), ..kept() };
    let disk = SimulatedDisk::new(1);
    let kv = open(&disk, config).expect("opens");
    let trickle = || {
        kv.shared().drainer.lock().trickle(kv.shared());
        let layers = kv.shared().layers().expect("open");
        (layers.runs().len(), run_files(&disk).len())
    };
    put_some(&kv, 0..3_000, 100);
    assert_eq!(trickle(), (1, 1));
    // As much again: it goes on like this.
    put_some(&kv, 3_000..6_000, 100);
    assert_eq!(trickle(), (2, 2));
    put_some(&kv, 6_000..6_050, 100);
    assert_eq!(trickle(), (1, 1), "of these");
    put_some(&kv, 6_050..6_100, 100);
    assert_eq!(trickle(), (2, 2), "they are few themselves");
    assert!(is_filled(&kv, 6_100, 100));
}

#[test]
fn a_snapshot_sees_what_it_saw_when_its_runs_are_gone() {
    let disk = with_runs(500);
    let idle = KvConfig { drain_after_groups: None, idle: Duration::from_millis(1), ..kept() };
    let kv = open(&disk, idle).expect("opens");
    let held = kv.snapshot().expect("snapshot");
    let seen = pairs(&held);
    kv.update::<(), KvError, _>(|transaction| {
        (0..500_u32)
            .try_for_each(|i| transaction.delete(&i.wrapping_mul(0x9E37_79B1).to_be_bytes()))
    })
    .wait()
    .expect("delete");
    while !run_files(&disk).is_empty() {
        std::thread::yield_now();
    }
    assert_eq!(pairs(&held), seen);
    assert!(pairs(&kv.snapshot().expect("snapshot")).is_empty());
}

#[test]
fn a_table_of_updates_that_failed_takes_no_file_of_another_run() {
    let disk = with_runs(500);
    let before = run_files(&disk);
    for _ in 0..2 {
        let kv = open(&disk, kept()).expect("opens");
        // Written, and taken back: the log has no record of it, and the table is drained at the end.
        let update = kv.update::<(), KvError, _>(|transaction| {
            transaction.put(b"a", b"1")?;
            Err(KvError::Corrupt("on purpose".into()))
        });
        update.wait().expect_err("on purpose");
    }
    assert!(before.iter().all(|name| run_files(&disk).contains(name)));
    assert!(is_filled(&open(&disk, kept()).expect("opens"), 500, 100));
}

#[test]
fn files_that_no_checkpoint_names_are_removed_at_a_start() {
    let disk = with_runs(500);
    let named = run_files(&disk);
    disk.open("meta.redb.run.999", OpenMode::CreateOrWrite).expect("made");
    let kv = open(&disk, kept()).expect("opens");
    assert_eq!(run_files(&disk), named);
    assert!(is_filled(&kv, 500, 100));
}

#[test]
fn a_run_that_somebody_removes_under_the_store_is_noticed() {
    let directory = tempfile::tempdir().expect("directory");
    let kv = super::open_directory(directory.path(), kept()).expect("opens");
    let files = kv.tree_file().expect("on a disk");
    put_some(&kv, 0..500, 100);
    let runs = || {
        let names = std::fs::read_dir(directory.path()).expect("listed");
        names
            .map(|entry| entry.expect("there").path())
            .filter(|path| path.to_string_lossy().contains(".run."))
    };
    let run = runs().next().expect("there");
    assert!(files.is_in_place().expect("there"));
    std::fs::remove_file(&run).expect("removed");
    assert!(files.is_in_place().is_err());
    std::fs::write(&run, "another").expect("written");
    assert!(!files.is_in_place().expect("there"));
    drop((kv, files));
    std::fs::remove_file(&run).expect("removed");
    let kv = super::open_directory(directory.path(), kept());
    assert!(matches!(kv, Err(KvError::Corrupt(_))));
}

#[test]
fn a_run_that_is_missing_or_of_another_time_is_refused_and_left_alone() {
    let disk = with_runs(500);
    let [first, second, ..] = &run_files(&disk)[..] else { panic!("several") };
    let content = |path: &str| {
        let file = disk.open(path, OpenMode::Read).expect("there");
        let mut content = vec![0; file.len().expect("a length") as usize];
        file.read_at(&mut content, 0).expect("reads");
        content
    };
    let (own, other) = (content(first), content(second));
    let write = |content: &[u8]| {
        let file = disk.open(first, OpenMode::CreateOrWrite).expect("made");
        file.set_len(0).expect("cut");
        file.write_at(content, 0).expect("written");
    };
    for content in [&other[..], &own[..own.len() / 2], &[]] {
        write(content);
        let error = open(&disk, kept()).expect_err("not that run");
        assert!(matches!(&error, KvError::Corrupt(what) if what.contains(first)), "{error}");
        write(&own);
        assert!(is_filled(&open(&disk, kept()).expect("opens"), 500, 100));
    }
    disk.remove(first).expect("removed");
    let error = open(&disk, kept()).expect_err("missing");
    assert!(matches!(&error, KvError::Corrupt(what) if what.contains("missing")), "{error}");
    write(&own);
    assert!(is_filled(&open(&disk, kept()).expect("opens"), 500, 100));
}

#[test]
fn a_damaged_block_is_an_error_of_its_keys_and_stops_the_merge_and_a_repair_keeps_the_others() {
    let disk = with_runs(500);
    let path = &run_files(&disk)[0];
    let file = disk.open(path, OpenMode::Write).expect("there");
    let mut byte = [0];
    file.read_at(&mut byte, 100).expect("reads");
    file.write_at(&[byte[0] ^ 1], 100).expect("written");
    drop(file);

    let kv = open(&disk, kept()).expect("opens");
    let snapshot = kv.snapshot().expect("snapshot");
    let keys = (0..500_u32).map(key);
    let (read, unread): (Vec<_>, Vec<_>) =
        keys.partition(|key| snapshot.get(key).is_ok_and(|value| value.is_some()));
    assert!(!read.is_empty() && !unread.is_empty());
    for key in &unread {
        let error = snapshot.get(key).expect_err("damaged");
        assert!(
            matches!(&error, KvError::Corrupt(what) if what.contains("liteio repair")),
            "{error}"
        );
    }
    drop((snapshot, kv));

    let idle = KvConfig { drain_after_groups: None, idle: Duration::from_millis(1), ..kept() };
    let kv = open(&disk, idle).expect("opens");
    while kv.refusal().is_none() {
        std::thread::yield_now();
    }
    assert!(matches!(kv.refusal(), Some(KvError::Poisoned { .. })));
    drop(kv);

    let kv = open(&disk, KvConfig { salvage: true, ..kept() }).expect("opens");
    assert_eq!(kv.recovery().lost_blocks, 1);
    let found = pairs(&kv.snapshot().expect("snapshot")).into_iter().map(|(key, _)| key);
    let mut expected: Vec<_> = read.iter().map(|key| key.to_vec()).collect();
    expected.sort();
    assert_eq!(found.collect::<Vec<_>>(), expected);
    drop(kv);
    let kv = open(&disk, kept()).expect("opens");
    assert_eq!(pairs(&kv.snapshot().expect("snapshot")).len(), read.len());
}

#[test]
fn a_page_that_is_damaged_keeps_nothing_else_from_the_tree() {
    let pairs = effort::amount(1_000, 3_000) as u32;
    let disk = SimulatedDisk::new(1);
    let direct = KvConfig { spilling: Spilling::Never, ..kept() };
    let kv = open(&disk, direct).expect("opens");
    fill(&kv, pairs, 100);
    drop(kv);
    let kv = open(&disk, kept()).expect("opens");
    fill(&kv, pairs, 90);
    drop(kv);
    damage_leaves(&disk, 7);
    drop(open(&disk, KvConfig { salvage: true, ..kept() }).expect("a repair can look at it"));
    let merging = KvConfig { spilling: Spilling::Always { merged: 2 }, ..kept() };
    let kv = open(&disk, merging).expect("opens");
    let merged = run_files(&disk);
    let mut puts = 0;
    while merged.iter().any(|run| run_files(&disk).contains(run)) {
        assert!(puts < 10_000, "it goes on");
        put(&kv, b"a", b"1");
        puts += 1;
    }
    assert!(has_all(&kv, pairs));
}

/// A disk with `count` pairs in runs, over a tree with the keys, one leaf of which is damaged.
fn with_damaged_leaf(count: u32) -> SimulatedDisk {
    let disk = SimulatedDisk::new(1);
    let direct = KvConfig { spilling: Spilling::Never, ..kept() };
    put_some(&open(&disk, direct).expect("opens"), 0..count, 100);
    put_some(&open(&disk, kept()).expect("opens"), 0..count, 90);
    assert!(run_files(&disk).len() > 2);
    damage_leaves(&disk, 4);
    drop(open(&disk, KvConfig { salvage: true, ..kept() }).expect("a repair can look at it"));
    disk
}

/// `true` if so many pairs have their values of 90 bytes. A cursor would meet the damaged leaf.
fn has_all(kv: &Kv, count: u32) -> bool {
    let snapshot = kv.snapshot().expect("snapshot");
    let value = |i: u32| snapshot.get(&key(i)).expect("not from the tree");
    (0..count).all(|i| value(i).is_some_and(|value| *value == *vec![i as u8; 90]))
}

/// It commits what is carried itself, and does not wait for itself.
#[test]
fn the_thread_that_commits_may_be_the_one_that_drains_and_carries() {
    const PAIRS: u32 = 250;
    let disk = with_damaged_leaf(PAIRS);
    let merging = KvConfig { spilling: Spilling::Always { merged: 2 }, ..kept() };
    let kv = open(&disk, merging).expect("opens");
    let merged = run_files(&disk);
    while merged.iter().any(|run| run_files(&disk).contains(run)) {
        // Who polls leaves a commit that is synced to the thread.
        let mut put = kv.update::<(), KvError, _>(|transaction| transaction.put(&key(0), &[0; 90]));
        match Pin::new(&mut put).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => done.expect("put"),
            Poll::Pending => put.wait().expect("put"),
        }
    }
    assert!(has_all(&kv, PAIRS));
}

#[test]
fn a_disk_that_is_full_while_a_merge_carries_pairs_loses_none() {
    const PAIRS: u32 = 250;
    let original = with_damaged_leaf(PAIRS);
    let merging = || KvConfig { spilling: Spilling::Always { merged: 2 }, ..kept() };
    let put_to = |kv: &Kv| {
        let put = kv.update::<(), KvError, _>(|transaction| transaction.put(&key(0), &[0; 90]));
        put.wait()
    };
    let merge = |disk: &SimulatedDisk, kv: &Kv| {
        // Those that come meanwhile are not in the merge.
        let merged = run_files(disk);
        let mut puts = 0;
        while merged.iter().any(|run| run_files(disk).contains(run)) {
            assert!(puts < 10_000, "it goes on");
            match put_to(kv) {
                Ok(()) | Err(KvError::NoSpace) => puts += 1,
                Err(error) => panic!("{error}"),
            }
        }
    };
    let disk = original.kill();
    let kv = open(&disk, merging()).expect("opens");
    let begin = disk.operations();
    merge(&disk, &kv);
    let end = disk.operations();
    assert!(has_all(&kv, PAIRS));
    drop(kv);
    let mut refusals = 0;
    for at in effort::one_in(17, begin..end) {
        let disk = original.kill();
        let kv = open(&disk, merging()).expect("opens");
        disk.set_fault(at, Fault::NoSpaceFrom);
        for _ in 0..end - begin {
            if put_to(&kv).is_err() {
                break;
            }
        }
        // Refused updates take no memory, and what is tried again no other file.
        let runs = run_files(&disk).len();
        for _ in 0..20 {
            refusals += usize::from(matches!(put_to(&kv), Err(KvError::NoSpace)));
        }
        assert!(run_files(&disk).len() <= runs, "full at {at}");
        assert!(has_all(&kv, PAIRS), "full at {at}");
        disk.clear_faults();
        merge(&disk, &kv);
        put_to(&kv).expect("goes on");
        assert!(has_all(&kv, PAIRS), "full at {at}");
        let killed = disk.kill();
        drop(kv);
        assert!(has_all(&open(&killed, kept()).expect("opens"), PAIRS), "full at {at}");
    }
    assert!(refusals > 0);
}
