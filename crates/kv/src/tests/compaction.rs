//! Compactions: crashes, faults and full disks at every operation of them, and copies that are given up.

use std::ops::Range;
use std::sync::{Arc, Weak};

use liteio_disk::{Disk, Durability, Fault, HookedDisk, Moment, OpenMode, SimulatedDisk, effort};
use parking_lot::Mutex;

use super::crash::{self, Setup, check_restart, state, state_after};
use super::runs::damage_leaves;
use super::{Compacting, EngineKind, Kv, KvConfig, KvError, Spilling, fill, is_filled};
use crate::memtable::Memtable;

const SETUPS: [Setup; 2] = [setup(Spilling::Never), setup(Spilling::Always { merged: 2 })];

/// Compactions of a run, of a tree without an identity and of one with, and the updates before each.
const COMPACTIONS: usize = 2;
const UPDATES: usize = 5;

const fn setup(spilling: Spilling) -> Setup {
    Setup { engine: EngineKind::Redb, spilling, compacting: Compacting::Always }
}

/// Drains everything, merges and compacts.
fn idle(kv: &Kv) -> bool {
    kv.shared().drainer.lock().idle(kv.shared())
}

fn has_remains(disk: &SimulatedDisk) -> bool {
    disk.list("").expect("readable").iter().any(|entry| entry.name.contains(".compact"))
}

/// Updates before, between and in the middle of compactions: the hook of the disk makes those.
struct Work {
    seed: u64,
    disk: SimulatedDisk,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    /// While it is compacted.
    kv: Option<Kv>,
    acknowledged: Vec<u32>,
    failed: Vec<u32>,
    /// Number of updates that had been acknowledged when the last compaction that ended began.
    compacted: usize,
    /// The operations of each update in the middle of a compaction.
    beside: Vec<Range<u64>>,
    compactions: Vec<Operations>,
}

/// The operations of a compaction, by their numbers.
#[derive(Clone, Debug)]
struct Operations {
    all: Range<u64>,
    /// Those that make the copy durable.
    copy: Range<u64>,
    rename_tree: u64,
    rename_sums: u64,
}

impl Work {
    fn new(seed: u64, disk: &SimulatedDisk) -> Arc<Self> {
        Arc::new(Self { seed, disk: disk.clone(), progress: Mutex::default() })
    }

    /// Does all of it. Nothing if the key space does not open.
    fn run(self: &Arc<Self>, setup: Setup, durability: Durability) -> Option<Kv> {
        let work = Arc::clone(self);
        let disk = HookedDisk::new(&self.disk, move |moment| work.meet(moment));
        let config = crash::config(setup, durability);
        let kv = Kv::open(Arc::new(disk), "meta.redb", config).ok()?;
        for _ in 0..COMPACTIONS {
            (0..UPDATES).for_each(|_| self.update(&kv));
            self.compact(&kv);
        }
        self.update(&kv);
        Some(kv)
    }

    fn update(&self, kv: &Kv) {
        let number = {
            let progress = self.progress.lock();
            (progress.acknowledged.len() + progress.failed.len()) as u32
        };
        let written = crash::write(kv, self.seed, number);
        let mut progress = self.progress.lock();
        match written {
            Ok(()) => progress.acknowledged.push(number),
            Err(_) => progress.failed.push(number),
        }
    }

    /// Updates when the copy is opened, and after each sync of names from then on.
    fn meet(&self, moment: Moment<'_>) {
        let kv = {
            let progress = self.progress.lock();
            let is_met = match moment {
                Moment::Open("meta.redb.compact", mode) => mode == OpenMode::CreateOrWrite,
                Moment::Synced(_) => !progress.beside.is_empty(),
                _ => false,
            };
            progress.kv.clone().filter(|_| is_met)
        };
        // Where the tree is blocked an update waits for the drainer, which this thread has.
        let Some(kv) = kv.filter(|kv| !kv.shared().drains.is_blocked()) else { return };
        let begin = self.disk.operations();
        self.update(&kv);
        self.progress.lock().beside.push(begin..self.disk.operations());
    }

    fn compact(&self, kv: &Kv) {
        let begin = self.disk.operations();
        let before = {
            let mut progress = self.progress.lock();
            progress.kv = Some(kv.clone());
            progress.beside.clear();
            progress.acknowledged.len()
        };
        let compactions = kv.stats().compactions;
        idle(kv);
        let mut progress = self.progress.lock();
        progress.kv = None;
        if kv.stats().compactions == compactions {
            return;
        }
        progress.compacted = before;
        if let [opened, copied, tree_renamed, _] = &progress.beside[..] {
            let operations = Operations {
                all: begin..self.disk.operations(),
                copy: opened.end..copied.start,
                rename_tree: copied.end,
                rename_sums: tree_renamed.end,
            };
            progress.compactions.push(operations);
        }
    }
}

/// The compactions of a run without faults.
fn compactions(setup: Setup, seed: u64, durability: Durability) -> Vec<Operations> {
    let work = Work::new(seed, &SimulatedDisk::new(seed));
    drop(work.run(setup, durability).expect("opens"));
    let progress = std::mem::take(&mut *work.progress.lock());
    assert_eq!((progress.compactions.len(), progress.failed.len()), (COMPACTIONS, 0));
    progress.compactions
}

/// The operations of these compactions that are struck.
fn points(compactions: &[Operations]) -> impl Iterator<Item = u64> {
    compactions.iter().flat_map(|compaction| effort::one_in(5, compaction.all.clone()))
}

/// Runs into the fault at the operation `at`.
fn struck(
    (setup, seed, at): (Setup, u64, u64),
    durability: Durability,
    fault: Fault,
) -> (SimulatedDisk, Option<Kv>, Progress) {
    let disk = SimulatedDisk::new(seed ^ (at << 8));
    disk.set_fault(at, fault);
    let work = Work::new(seed, &disk);
    let kv = work.run(setup, durability);
    let progress = std::mem::take(&mut *work.progress.lock());
    (disk, kv, progress)
}

#[test]
fn a_crash_at_any_operation_keeps_what_was_acknowledged() {
    for setup in SETUPS {
        let seed = 1;
        for at in points(&compactions(setup, seed, Durability::Fsync)) {
            let case = (setup, seed, at);
            let (disk, kv, progress) = struck(case, Durability::Fsync, Fault::Crash);
            drop(kv);
            for left in [disk.crash(), disk.kill()] {
                // The recovery is cut, too.
                left.set_fault(at % 7, Fault::Crash);
                drop(crash::open(&left, setup, Durability::Fsync));
                let left = left.crash();
                check_restart(&left, case, &progress.acknowledged, &progress.failed);
                assert!(!has_remains(&left), "{case:?}");
            }
        }
    }
}

#[test]
fn without_syncs_a_kill_loses_nothing_and_a_power_cut_nothing_that_was_copied() {
    for setup in SETUPS {
        let seed = 2;
        for at in points(&compactions(setup, seed, Durability::Os)) {
            let case = (setup, seed, at);
            let (disk, kv, progress) = struck(case, Durability::Os, Fault::Crash);
            drop(kv);
            check_restart(&disk.kill(), case, &progress.acknowledged, &progress.failed);
            let kv = crash::open(&disk.crash(), setup, Durability::Os)
                .unwrap_or_else(|error| panic!("{case:?}: {error}"));
            let found = state(&kv);
            let all = [&progress.acknowledged[..], &progress.failed].concat();
            let is_prefix =
                (progress.compacted..=all.len()).any(|end| found == state_after(seed, &all[..end]));
            assert!(is_prefix, "{case:?}: {found:?}");
        }
    }
}

#[test]
fn a_failure_of_the_copy_stops_nothing_and_one_of_its_names_stops_writing_only() {
    for setup in SETUPS {
        let seed = 3;
        let compactions = compactions(setup, seed, Durability::Fsync);
        // An I/O error of a sync is one that fails.
        for fault in [Fault::Io, Fault::ShortWrite] {
            for at in points(&compactions) {
                let case = (setup, seed, at);
                let (disk, kv, progress) = struck(case, Durability::Fsync, fault);
                let kv = kv.expect("was open");
                let Progress { acknowledged, failed, .. } = progress;
                assert_eq!(state(&kv), state_after(seed, &acknowledged), "{case:?}, {fault:?}");
                let is_prefix = acknowledged.iter().copied().eq(0..acknowledged.len() as u32);
                assert!(is_prefix, "{case:?}, {fault:?}: nothing is written after a failure");
                let is_copying = compactions.iter().any(|it| it.copy.contains(&at));
                if fault == Fault::Io && is_copying && !disk.health().is_poisoned() {
                    assert!(failed.is_empty() && kv.refusal().is_none(), "{case:?}");
                    assert!(!has_remains(&disk), "{case:?}");
                }
                if !failed.is_empty() {
                    let error = crash::write(&kv, seed, 0).expect_err("stopped");
                    assert!(matches!(error, KvError::Poisoned { .. }), "{case:?}: {error}");
                    assert!(matches!(kv.refusal(), Some(KvError::Poisoned { .. })), "{case:?}");
                }
                drop(kv);
                let left = disk.crash();
                check_restart(&left, case, &acknowledged, &failed);
                assert!(!has_remains(&left), "{case:?}");
            }
        }
    }
}

#[test]
fn a_full_disk_gives_up_the_copy_and_writing_returns_by_itself() {
    for setup in SETUPS {
        let seed = 4;
        let compactions = compactions(setup, seed, Durability::Fsync);
        for at in points(&compactions) {
            let case = (setup, seed, at);
            let (disk, kv, progress) = struck(case, Durability::Fsync, Fault::NoSpaceFrom);
            let kv = kv.expect("was open");
            let Progress { mut acknowledged, failed, .. } = progress;
            assert_eq!(state(&kv), state_after(seed, &acknowledged), "{case:?}");
            disk.clear_faults();
            let is_replaced = |it: &Operations| it.rename_tree < at && at <= it.rename_sums;
            if compactions.iter().any(is_replaced) {
                // The sums could not follow the tree.
                let error = crash::write(&kv, seed, 0).expect_err("stopped");
                assert!(matches!(error, KvError::Poisoned { .. }), "{case:?}: {error}");
            } else {
                let next = (acknowledged.len() + failed.len()) as u32;
                while let Err(error) = crash::write(&kv, seed, next) {
                    assert!(matches!(error, KvError::NoSpace), "{case:?}: {error}");
                    std::thread::yield_now();
                }
                acknowledged.push(next);
                idle(&kv);
            }
            assert_eq!(state(&kv), state_after(seed, &acknowledged), "{case:?}");
            drop(kv);
            let left = disk.crash();
            check_restart(&left, case, &acknowledged, &[]);
            assert!(!has_remains(&left), "{case:?}");
        }
    }
}

/// A key space that compacts whenever it is told to be idle.
fn open(disk: impl Disk + 'static) -> Kv {
    let config = crash::config(setup(Spilling::Never), Durability::Fsync);
    let config = KvConfig { log_bytes: 1 << 20, ..config };
    Kv::open(Arc::new(disk), "meta.redb", config).expect("opens")
}

#[test]
fn nothing_is_copied_after_a_drain_that_failed() {
    let disk = SimulatedDisk::new(1);
    let kv = open(disk.clone());
    fill(&kv, 500, 100);
    disk.set_fault(disk.operations(), Fault::ShortWrite);
    idle(&kv);
    assert!(matches!(kv.refusal(), Some(KvError::Poisoned { .. })), "{:?}", kv.refusal());
    assert!(kv.stats().compactions == 0 && !has_remains(&disk));
}

#[test]
fn a_copy_that_meets_damage_is_not_made_again_before_the_next_start() {
    let disk = SimulatedDisk::new(1);
    let kv = open(disk.clone());
    fill(&kv, 3_000, 100);
    drop(kv);
    damage_leaves(&disk, 7);
    for _ in 0..2 {
        let kv = open(disk.clone());
        let before = disk.operations();
        assert!(idle(&kv), "nothing else is to be done");
        let copied = disk.operations();
        assert!(copied > before && !has_remains(&disk));
        assert!(idle(&kv));
        assert_eq!(disk.operations(), copied, "not again");
        assert_eq!((kv.stats().compactions, kv.refusal().is_none()), (0, true));
    }
}

#[test]
fn a_copy_gives_back_tables_that_nobody_reads_any_more() {
    let disk = SimulatedDisk::new(1);
    let unread: Arc<Mutex<Option<Weak<Memtable>>>> = Arc::default();
    let there = Arc::clone(&unread);
    let kv = open(HookedDisk::new(&disk, move |moment| {
        // Copied, and not yet in place.
        if moment == Moment::Synced("")
            && let Some(table) = there.lock().take()
        {
            assert_eq!(table.strong_count(), 0);
        }
    }));
    fill(&kv, 3_000, 10);
    idle(&kv);
    let table = Arc::new(Memtable::new());
    *unread.lock() = Some(Arc::downgrade(&table));
    kv.shared().discarded.add(table);
    idle(&kv);
    assert!(unread.lock().is_none() && kv.stats().compactions == 2);
}

#[test]
fn a_copy_is_given_up_for_a_table_that_has_to_be_drained() {
    let disk = SimulatedDisk::new(1);
    let kv = open(disk.clone());
    fill(&kv, 3_000, 100);
    drop(kv);
    let writer: Arc<Mutex<Option<Kv>>> = Arc::default();
    let there = Arc::clone(&writer);
    let kv = open(HookedDisk::new(&disk, move |moment| {
        let is_begun = moment == Moment::Open("meta.redb.compact", OpenMode::CreateOrWrite);
        let writer = there.lock().take_if(|_| is_begun);
        if let Some(kv) = writer {
            // More than the log takes.
            (0..10).for_each(|_| fill(&kv, 3_000, 90));
        }
    }));
    *writer.lock() = Some(kv.clone());
    assert!(!idle(&kv), "it has to be tried again");
    assert!(writer.lock().is_none() && !has_remains(&disk));
    assert_eq!(kv.stats().compactions, 0);
    assert!(is_filled(&kv, 3_000, 90));
    drop(kv);
    let kv = open(disk.clone());
    assert!(idle(&kv) && kv.stats().compactions == 1);
    assert!(is_filled(&kv, 3_000, 90));
}
