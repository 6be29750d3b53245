//! The contract on every backend, a model, and the directory.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;

use liteio_disk::{Disk, Durability, OpenMode, RealDisk, SimulatedDisk};
use proptest::prelude::*;

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
mod follow;
mod pieces;
mod reached;
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

/// Attachments that always have a large backlog, so that checkpoints are delayed.
#[derive(Debug)]
struct Behind;

impl Attachments for Behind {
    fn sync(&self) -> std::io::Result<()> {
        Ok(())
    }
    fn unsynced_bytes(&self) -> u64 {
        64 << 20
    }
    fn recover(&self, _: &[u8], _: &[u8]) -> std::io::Result<bool> {
        Ok(true)
    }
}

/// Attachments of which one is looked for at each start, as long as no mark covers it.
#[derive(Debug, Default)]
struct Sought {
    is_there: AtomicBool,
    asked: AtomicUsize,
}

impl Attachments for Sought {
    fn sync(&self) -> std::io::Result<()> {
        Ok(())
    }
    fn unsynced_bytes(&self) -> u64 {
        0
    }
    fn recover(&self, _: &[u8], _: &[u8]) -> std::io::Result<bool> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Ok(self.is_there.load(Ordering::Relaxed))
    }
}

#[test]
fn after_a_restart_and_a_sync_an_attachment_may_be_removed_before_the_next_kill() {
    let sought = Arc::new(Sought::default());
    sought.is_there.store(true, Ordering::Relaxed);
    let config = KvConfig {
        durability: Durability::Os,
        idle: Duration::from_secs(3_600),
        sync_interval: Duration::from_secs(3_600),
        attachments: Some(Arc::clone(&sought) as _),
        ..config()
    };
    let disk = SimulatedDisk::new(1);
    let kv = Kv::open(Arc::new(disk.clone()), "meta.redb", config.clone()).expect("opens");
    let update = kv.update::<(), KvError, _>(|write| {
        write.note(b"attachment", b"");
        write.put(b"key", b"refers to it")
    });
    update.wait().expect("put");
    let update = kv.update::<(), KvError, _>(|write| write.put(b"key", b"refers to nothing"));
    update.wait().expect("put");
    let disk = disk.kill();
    let kv = Kv::open(Arc::new(disk.clone()), "meta.redb", config.clone()).expect("opens");
    assert_eq!(sought.asked.load(Ordering::Relaxed), 1);
    assert!(kv.sync().expect("syncs"), "the mark is missing");
    sought.is_there.store(false, Ordering::Relaxed);
    let kv = Kv::open(Arc::new(disk.kill()), "meta.redb", config).expect("opens");
    let keys = pairs(&kv.snapshot().expect("snapshot"));
    assert_eq!(keys, [(b"key".to_vec(), b"refers to nothing".to_vec())]);
    assert_eq!(sought.asked.load(Ordering::Relaxed), 1);
}

#[test]
fn a_log_that_grew_while_checkpoints_were_put_off_is_replayed_whole() {
    const UPDATES: u8 = 20;
    let config = KvConfig {
        durability: Durability::Os,
        log_bytes: 8 << 20,
        idle: Duration::from_secs(3_600),
        attachments: Some(Arc::new(Behind)),
        ..config()
    };
    let disk = SimulatedDisk::new(1);
    let kv = Kv::open(Arc::new(disk.clone()), "meta.redb", config.clone()).expect("opens");
    for i in 0..UPDATES {
        let update = kv.update::<(), KvError, _>(move |write| write.put(&[i], &[i; 1 << 20]));
        update.wait().expect("put");
    }
    let after = Kv::open(Arc::new(disk.kill()), "meta.redb", config).expect("opens");
    let keys = pairs(&after.snapshot().expect("snapshot")).into_iter().map(|(key, _)| key);
    assert_eq!(keys.collect::<Vec<_>>(), (0..UPDATES).map(|i| vec![i]).collect::<Vec<_>>());
}

#[test]
fn a_log_that_was_cut_to_nothing_after_a_kill_is_refused() {
    let mut disk = SimulatedDisk::new(1);
    let config = KvConfig { idle: Duration::from_secs(3_600), ..config() };
    for i in 0..2_u8 {
        let kv = Kv::open(Arc::new(disk.clone()), "meta.redb", config.clone()).expect("opens");
        kv.update::<(), KvError, _>(move |transaction| transaction.put(&[i], b"1"))
            .wait()
            .expect("put");
        disk = disk.kill();
        let log = disk.open("meta.redb.log", OpenMode::Write).expect("there");
        let mut content = vec![0; log.len().expect("a length") as usize];
        log.read_at(&mut content, 0).expect("reads");
        log.set_len(0).expect("cut");
        match Kv::open(Arc::new(disk.clone()), "meta.redb", config.clone()) {
            Err(KvError::Corrupt(what)) => assert!(what.contains("was cut"), "{what}"),
            other => panic!("start {i}: {other:?}"),
        }
        log.write_at(&content, 0).expect("mended");
    }
    let kv = Kv::open(Arc::new(disk), "meta.redb", config).expect("opens");
    assert_eq!(pairs(&kv.snapshot().expect("snapshot")).len(), 2);
}

#[test]
fn a_file_of_the_log_that_was_removed_after_a_kill_is_refused_also_after_restarts() {
    let config = KvConfig {
        log_bytes: 2 << 10,
        drain_after_groups: Some(0),
        idle: Duration::from_secs(3_600),
        ..config()
    };
    for updates in 1..40_u8 {
        let mut disk = SimulatedDisk::new(1);
        // The second start knows of the files only what the checkpoint says. At some of the numbers the log has gone
        // on in its other file since.
        for _ in 0..2 {
            disk = disk.kill();
            let kv = Kv::open(Arc::new(disk.clone()), "meta.redb", config.clone()).expect("opens");
            for i in 0..updates {
                kv.update::<(), KvError, _>(move |transaction| transaction.put(&[i], &[i; 90]))
                    .wait()
                    .expect("put");
            }
        }
        let killed = disk.kill();
        for name in ["meta.redb.log", "meta.redb.log2"] {
            let disk = killed.kill();
            disk.remove(name).expect("there");
            let opened = Kv::open(Arc::new(disk), "meta.redb", config.clone());
            assert!(matches!(opened, Err(KvError::Corrupt(_))), "{name}, {updates} updates");
        }
    }
}

#[test]
fn foreign_files_are_refused_and_left_alone() {
    for (name, content) in [("meta.redb", &b"not a tree"[..]), ("meta.redb.log", b"not a log")] {
        let directory = tempfile::tempdir().expect("directory");
        std::fs::write(directory.path().join(name), content).expect("write");
        let error = open_directory(directory.path(), config()).expect_err("not ours");
        assert!(matches!(error, KvError::Corrupt(_) | KvError::Io(_)), "{error}");
        assert_eq!(std::fs::read(directory.path().join(name)).expect("read"), content);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Put(u8, u16),
    Delete(u8),
    /// Steps of a cursor over the bounds: forward, backward, or a seek.
    Walk(Bound<u8>, Bound<u8>, Vec<Walk>),
}

#[derive(Clone, Debug)]
enum Walk {
    Next,
    Previous,
    Seek(u8),
    SeekStart,
    SeekEnd,
}

fn bound() -> impl Strategy<Value = Bound<u8>> {
    prop_oneof![
        any::<u8>().prop_map(Bound::Included),
        any::<u8>().prop_map(Bound::Excluded),
        Just(Bound::Unbounded)
    ]
}

fn walk() -> impl Strategy<Value = Walk> {
    prop_oneof![
        4 => Just(Walk::Next),
        4 => Just(Walk::Previous),
        2 => any::<u8>().prop_map(Walk::Seek),
        1 => Just(Walk::SeekStart),
        1 => Just(Walk::SeekEnd),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (any::<u8>(), 0..600_u16).prop_map(|(key, bytes)| Step::Put(key, bytes)),
        2 => any::<u8>().prop_map(Step::Delete),
        1 => (bound(), bound(), prop::collection::vec(walk(), 0..30))
            .prop_map(|(lower, upper, steps)| Step::Walk(lower, upper, steps)),
    ]
}

/// An update: its steps, and whether it fails in the end.
fn updates() -> impl Strategy<Value = Vec<(Vec<Step>, bool)>> {
    prop::collection::vec((prop::collection::vec(step(), 0..40), prop::bool::weighted(0.3)), 1..12)
}

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn is_within(key: &[u8], lower: Bound<u8>, upper: Bound<u8>) -> bool {
    let above = match lower {
        Bound::Included(bound) => key >= &[bound][..],
        Bound::Excluded(bound) => key > &[bound][..],
        Bound::Unbounded => true,
    };
    let below = match upper {
        Bound::Included(bound) => key <= &[bound][..],
        Bound::Excluded(bound) => key < &[bound][..],
        Bound::Unbounded => true,
    };
    above && below
}

/// Walks the model like `walk_kv` walks the key space, and returns the result of each step.
fn walk_model(model: &Model, lower: Bound<u8>, upper: Bound<u8>, steps: &[Walk]) -> Vec<Found> {
    let range: Vec<_> = model.iter().filter(|(key, _)| is_within(key, lower, upper)).collect();
    let mut place = 0;
    let mut found = Vec::new();
    for step in steps {
        match step {
            Walk::Next if place < range.len() => {
                found.push(Some((range[place].0.clone(), range[place].1.clone())));
                place += 1;
            }
            Walk::Previous if place > 0 => {
                place -= 1;
                found.push(Some((range[place].0.clone(), range[place].1.clone())));
            }
            Walk::Next | Walk::Previous => found.push(None),
            Walk::Seek(key) => place = range.partition_point(|(at, _)| at.as_slice() < &[*key][..]),
            Walk::SeekStart => place = 0,
            Walk::SeekEnd => place = range.len(),
        }
    }
    found
}

type Found = Option<(Vec<u8>, Vec<u8>)>;

fn walk_kv(
    from: &impl Read,
    lower: Bound<u8>,
    upper: Bound<u8>,
    steps: &[Walk],
) -> Result<Vec<Found>, KvError> {
    let (lower, upper) = (lower.map(|it| [it]), upper.map(|it| [it]));
    let mut cursor = from
        .cursor(lower.as_ref().map(|it| it.as_slice()), upper.as_ref().map(|it| it.as_slice()))?;
    let mut found = Vec::new();
    for step in steps {
        let pair = match step {
            Walk::Next => cursor.next()?,
            Walk::Previous => cursor.previous()?,
            Walk::Seek(key) => {
                cursor.seek(&[*key])?;
                continue;
            }
            Walk::SeekStart => {
                cursor.seek_start()?;
                continue;
            }
            Walk::SeekEnd => {
                cursor.seek_end()?;
                continue;
            }
        };
        found.push(pair.map(|(key, value)| (key.to_vec(), value.to_vec())));
    }
    Ok(found)
}

/// Applies `steps`. Returns the pairs that the cursors found.
fn run(steps: &[Step], fails: bool, kv: &mut Transaction<'_>) -> Result<Vec<Vec<Found>>, KvError> {
    let mut found = Vec::new();
    for step in steps {
        match step {
            Step::Put(key, bytes) => kv.put(&[*key], &vec![*key; usize::from(*bytes)])?,
            Step::Delete(key) => kv.delete(&[*key])?,
            Step::Walk(lower, upper, steps) => found.push(walk_kv(kv, *lower, *upper, steps)?),
        }
    }
    if fails { Err(KvError::Corrupt("on purpose".into())) } else { Ok(found) }
}

fn run_model(steps: &[Step], model: &mut Model) -> Vec<Vec<Found>> {
    let mut found = Vec::new();
    for step in steps {
        match step {
            Step::Put(key, bytes) => {
                model.insert(vec![*key], vec![*key; usize::from(*bytes)]);
            }
            Step::Delete(key) => {
                model.remove(&[*key][..]);
            }
            Step::Walk(lower, upper, steps) => {
                found.push(walk_model(model, *lower, *upper, steps));
            }
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn behaves_like_an_ordered_map(updates in updates()) {
        let memory = ENGINES.map(|engine| Kv::memory(KvConfig { engine, ..config() }));
        let runs = ENGINES.map(|engine| {
            Kv::open(Arc::new(SimulatedDisk::new(1)), "meta.redb", runs::config(engine))
        });
        for kv in memory.into_iter().chain(runs) {
        let kv = kv.expect("opens");
        let mut model = Model::new();
        let pending: Vec<_> = updates
            .iter()
            .cloned()
            .map(|(steps, fails)| kv.update(move |kv| run(&steps, fails, kv)))
            .collect();
        for ((steps, fails), pending) in updates.iter().zip(pending) {
            let mut changed = model.clone();
            let expected = run_model(steps, &mut changed);
            match pending.wait() {
                Ok(found) => {
                    prop_assert!(!fails);
                    prop_assert_eq!(found, expected);
                    model = changed;
                }
                Err(error) => prop_assert!(*fails, "{}", error),
            }
        }
        let kept: Model = pairs(&kv.snapshot().expect("snapshot")).into_iter().collect();
        prop_assert_eq!(kept, model);
        }
    }
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
            assert_eq!(*kv.recovery(), super::Recovery::default());
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
    let until = |is_reached: &dyn Fn(super::KvStats) -> bool| {
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
