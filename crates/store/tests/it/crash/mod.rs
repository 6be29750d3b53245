//! The crash model: random workloads on a simulated disk, with a crash or a fault at every single
//! operation of the disk in turn. The state after recovery must be one that a plain model allows:
//! everything acknowledged, the one write in flight whole or not at all, nothing else. At `os`, where
//! acknowledgements do not wait for syncs, a power cut may lose acknowledged writes: a suffix of those
//! since the last sync.
//!
//! A full run has every workload, a quick one a few that rotate (`liteio_disk::effort`). `LITEIO_CRASH_SEEDS` sets how
//! many are run instead, `LITEIO_CRASH_FIRST_SEED` the first:
//!
//! ```text
//! LITEIO_CRASH_FIRST_SEED=1234 LITEIO_CRASH_SEEDS=1 cargo test -p liteio-store --test it crash
//! ```

mod compare;
mod disk;
mod model;
mod run;
mod workload;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use liteio_disk::{Fault, SimulatedDisk, effort};
use liteio_store::{Durability, ManualClock, NewBucket, StoreHealth};

use self::compare::{check, check_restart, check_settled};
use self::disk::{INLINE_BYTES_MAX, bucket_name, open, owner, stage};
use self::model::Model;
use self::run::Run;
use self::workload::{Step, workload};

/// The result of a check; an error describes the deviation.
type Check = Result<(), String>;

/// The faults, one of them for each operation in turn; a crash is tried at every operation.
const FAULTS: [Fault; 5] =
    [Fault::Io, Fault::NoSpace, Fault::ShortWrite, Fault::FailedSync, Fault::NoSpaceFrom];

/// The end of a process.
#[derive(Clone, Copy, Debug)]
enum End {
    PowerCut,
    Kill,
}

/// The durability of a store, and its end.
#[derive(Clone, Copy, Debug)]
struct Machine {
    durability: Durability,
    end: End,
}

impl Machine {
    fn strike(self, disk: &SimulatedDisk) -> SimulatedDisk {
        match self.end {
            End::PowerCut => disk.crash(),
            End::Kill => disk.kill(),
        }
    }

    /// `true` if acknowledged writes that no sync covers may be lost, the newest first.
    fn may_lose_the_newest(self) -> bool {
        matches!(self, Self { durability: Durability::Os, end: End::PowerCut })
    }
}

/// An empty disk: that of another system than Linux for one seed in four, which leaves temporary files
/// in `tmp/` when it ends.
fn empty_disk(seed: u64) -> SimulatedDisk {
    match seed % 4 {
        3 => SimulatedDisk::with_named_temporaries(seed),
        _ => SimulatedDisk::new(seed),
    }
}

/// A disk with an empty store that was closed in order.
fn empty_store(seed: u64, durability: Durability) -> SimulatedDisk {
    let disk = empty_disk(seed);
    let clock = Arc::new(ManualClock::new(1_500_000_000_000));
    open(&disk, durability, &clock).expect("an empty disk").close();
    disk
}

fn check_steps(seed: u64, steps: &[Step], machine: Machine) -> Check {
    let base = empty_store(seed, machine.durability);
    let described = |what: String| format!("seed {seed}, {machine:?}: {what}\nsteps: {steps:#?}");

    let disk = base.kill();
    let mut run = Run::start(&disk, machine);
    let opened = disk.operations();
    run.work(seed, steps, None).map_err(described)?;
    let store =
        run.store.as_ref().ok_or("the store is gone").map_err(|what| described(what.into()))?;
    check(store, &run.acknowledged).map_err(described)?;
    let count = disk.operations();
    let left = machine.strike(&disk);
    check_restart(&left, &run, true).map_err(described)?;

    // Opening is much the same for every seed.
    let first = if seed.is_multiple_of(8) { 0 } else { opened };
    for at in first..count {
        let at_this = |what: String, fault| {
            described(format!("{fault:?} at operation {at} of {count}: {what}"))
        };
        check_crash(seed, steps, &base.kill(), machine, at)
            .map_err(|what| at_this(what, Fault::Crash))?;
        let fault = FAULTS[(seed.wrapping_add(at) % FAULTS.len() as u64) as usize];
        check_fault(seed, steps, &base.kill(), machine, at, fault)
            .map_err(|what| at_this(what, fault))?;
    }
    Ok(())
}

fn check_crash(
    seed: u64,
    steps: &[Step],
    disk: &SimulatedDisk,
    machine: Machine,
    at: u64,
) -> Check {
    disk.set_fault(at, Fault::Crash);
    let mut run = Run::start(disk, machine);
    run.work(seed, steps, Some(Fault::Crash))?;
    run.store = None;
    let mut left = machine.strike(disk);
    // The next start may be cut as well.
    if at % 4 == seed % 4 {
        left.set_fault(at / 4 % 29, Fault::Crash);
        if let Ok(store) = open(&left, machine.durability, &run.clock) {
            let _ = store.sweep();
            let _ = store.reclaim();
        }
        left = machine.strike(&left);
    }
    check_restart(&left, &run, at % 3 == seed % 3)
}

fn check_fault(
    seed: u64,
    steps: &[Step],
    disk: &SimulatedDisk,
    machine: Machine,
    at: u64,
    fault: Fault,
) -> Check {
    disk.set_fault(at, fault);
    let mut run = Run::start(disk, machine);
    run.work(seed, steps, Some(fault))?;
    let still_running = |what| format!("still running: {what}");
    // Reads go on, and show what was acknowledged and nothing else.
    if let Some(store) = &run.store {
        check(store, &run.acknowledged).map_err(still_running)?;
    }
    disk.clear_faults();
    run.go_on(seed, steps, fault).map_err(still_running)?;
    if let Some(store) = run.store.take() {
        if store.health() == StoreHealth::Ready {
            check_settled(&store).map_err(still_running)?;
        }
        check(&store, &run.acknowledged).map_err(still_running)?;
    }
    check_restart(&machine.strike(disk), &run, at % 3 == seed % 3)
}

fn number_from(variable: &str, default: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} must be a number")),
        Err(_) => default,
    }
}

/// Says where a panic came from, which may be any thread of the store.
struct PanicNote(u64, Machine);

impl Drop for PanicNote {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("panicked at seed {}, {:?}", self.0, self.1);
        }
    }
}

/// The workloads of a run: by the variables, or a few or all of the first `all`.
fn seeds(few: u64, all: u64) -> Vec<u64> {
    let (first, count) = ("LITEIO_CRASH_FIRST_SEED", "LITEIO_CRASH_SEEDS");
    if [first, count].iter().all(|variable| std::env::var_os(variable).is_none()) {
        return effort::seeds(few, all).collect();
    }
    let first = number_from(first, 0);
    (first..first + number_from(count, all)).collect()
}

fn check_seeds(machine: Machine, seeds: &[u64]) {
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), String> {
        loop {
            let Some(&seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) else {
                return Ok(());
            };
            let _note = PanicNote(seed, machine);
            if let Err(what) = check_steps(seed, &workload(seed), machine) {
                next.store(seeds.len(), Ordering::Relaxed);
                return Err(what);
            }
        }
    };
    let threads = thread::available_parallelism().map_or(2, usize::from);
    let results: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().map(|thread| thread.join().expect("see above")).collect()
    });
    for result in results {
        result.unwrap_or_else(|what| panic!("{what}"));
    }
}

#[test]
fn a_power_cut_or_fault_at_any_operation_loses_nothing_and_tears_nothing() {
    check_seeds(Machine { durability: Durability::Fsync, end: End::PowerCut }, &seeds(15, 300));
}

#[test]
fn without_syncs_a_kill_at_any_operation_loses_nothing() {
    check_seeds(Machine { durability: Durability::Os, end: End::Kill }, &seeds(4, 40));
}

#[test]
fn without_syncs_a_power_cut_at_any_operation_takes_the_newest_writes_and_tears_nothing() {
    check_seeds(Machine { durability: Durability::Os, end: End::PowerCut }, &seeds(5, 60));
}

#[test]
fn without_syncs_a_blob_outlives_every_record_that_a_power_cut_may_bring_back() {
    let machine = Machine { durability: Durability::Os, end: End::PowerCut };
    let place = (0, 0);
    let put = Step::Put { place, bytes: INLINE_BYTES_MAX + 1 };
    let overwrite = [put.clone(), Step::Sync, put.clone(), Step::Reclaim];
    let delete = [put.clone(), Step::Sync, Step::Delete { place }, Step::Reclaim, put];
    for (seed, steps) in (0..8).flat_map(|seed| [(seed, &overwrite[..]), (seed, &delete[..])]) {
        let steps = [&[Step::CreateBucket { bucket: 0 }], steps].concat();
        check_steps(seed, &steps, machine).unwrap_or_else(|what| panic!("{what}"));
    }
}

#[test]
fn a_body_without_a_record_is_gone_after_an_orderly_end() {
    // Bodies of all kinds of starts: in files and in segments, written at once or with their records.
    for seed in 0..24 {
        let disk = SimulatedDisk::new(seed);
        let clock = Arc::new(ManualClock::new(seed));
        let reopen = || open(&disk, Durability::Fsync, &clock).expect("an undamaged store");
        let store = reopen();
        for bytes in [INLINE_BYTES_MAX + 1, 100 * INLINE_BYTES_MAX] {
            drop(stage(&store, &vec![7; bytes], None).expect("a body"));
        }
        store.close();
        // A start that is doubtful about a write does not sweep, so this one finds nothing left over.
        let report = reopen().verify(&mut |_| {}).expect("readable");
        assert_eq!((report.blobs, report.orphans), (0, 0), "seed {seed}");
    }
}

#[test]
fn an_import_can_be_cut_between_and_within_versions_of_a_key() {
    let place = (0, 0);
    let long = 3 * (INLINE_BYTES_MAX + 100);
    let versions = [
        Step::Import { place, bytes: 10, parts: 1 },
        Step::Import { place, bytes: long, parts: 3 },
        Step::Import { place, bytes: INLINE_BYTES_MAX + 1, parts: 1 },
        Step::Import { place, bytes: long, parts: 2 },
        Step::Reclaim,
    ];
    let kept = Step::SetVersioning { bucket: 0, is_enabled: true };
    let replaced = Step::SetVersioning { bucket: 0, is_enabled: false };
    for (durability, end) in [
        (Durability::Fsync, End::PowerCut),
        (Durability::Os, End::Kill),
        (Durability::Os, End::PowerCut),
    ] {
        let seeds = effort::seeds(1, 3);
        for (seed, first) in seeds.flat_map(|seed| [(seed, &kept), (seed, &replaced)]) {
            let begin = [Step::CreateBucket { bucket: 0 }, first.clone()];
            let steps = [&begin[..], &versions[..]].concat();
            check_steps(seed, &steps, Machine { durability, end })
                .unwrap_or_else(|what| panic!("{what}"));
        }
    }
}

#[test]
fn the_first_start_can_be_cut_anywhere() {
    for durability in [Durability::Fsync, Durability::Os] {
        let disk = SimulatedDisk::new(1);
        let clock = Arc::new(ManualClock::new(1_500_000_000_000));
        open(&disk, durability, &clock).expect("an empty disk").close();
        for at in 0..disk.operations() {
            for fault in [Fault::Crash, FAULTS[at as usize % FAULTS.len()]] {
                let disk = empty_disk(at);
                disk.set_fault(at, fault);
                drop(open(&disk, durability, &clock));
                let left = disk.crash();
                let store = open(&left, durability, &clock).unwrap_or_else(|error| {
                    panic!("{durability:?}, {fault:?} at operation {at}: {error}")
                });
                check(&store, &Model::default()).expect("it is empty");
                store
                    .create_bucket(NewBucket::new(bucket_name("new"), owner(), String::new()))
                    .wait()
                    .expect("new");
            }
        }
    }
}
