//! The model of standbys: a primary that is changed at random and backed up, a standby that follows it while target and
//! disk fail, and promotions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use liteio_disk::{Disk as _, Durability, Fault, OpenMode, SimulatedDisk, effort};
use liteio_store::backup::Restore;
use liteio_store::{Role, Store, StoreConfig, StoreError};

use super::run::Run;
use super::status::Status;
use super::tests::{repository, sending};
use super::upload::Pace;
use crate::lease::{Claimant, Holder, Look};
use crate::limits::WAITING_BYTES;
use crate::target::SimulatedTarget;
use crate::testing::{Pairs, Workload, open, pairs};
use crate::{Error, Follower, Moment, Repository};

/// Gives up at once.
struct Gone;

impl Pace for Gone {
    fn pause(&self, _: u32) -> bool {
        false
    }

    fn rest(&self, _: Duration) {}
}

/// The states of the primary, by the number of the newest record.
type Moments = BTreeMap<u64, Pairs>;

/// A generation of the primary with a base.
fn begin<'a>(workload: &Workload, repository: &'a Repository, status: &'a Status) -> Run<'a> {
    let feed = workload.store.backup_feed(WAITING_BYTES).expect("the only one");
    let mut run = Run::begin(feed, repository, &Gone, status, sending(1)).expect("begun");
    run.chunk_bytes = 700;
    run.write_base(&mut |run| {
        if workload.random.below(2) == 0 {
            workload.step();
        }
        if workload.random.below(3) == 0 { run.tick() } else { Ok(()) }
    })
    .expect("written");
    run
}

/// Changes the primary, and stores that or not.
fn change(workload: &Workload, run: &mut Run<'_>, moments: &mut Moments) {
    for _ in 0..=workload.random.below(3) {
        workload.step();
    }
    workload.store.reclaim().expect("reclaimed");
    moments.insert(run.feed.newest(), seen(&run.feed));
    if workload.random.below(3) > 0 {
        run.tick().expect("stored");
    }
}

/// All pairs of a store but for what a standby has of its own: the numbers of slots.
fn seen(feed: &liteio_store::backup::BackupFeed) -> Pairs {
    let mut pairs = pairs(feed);
    let slots = pairs.extract_if(.., |key, _| matches!(key[0], 0x44 | 0x45 | 0x47));
    let slots: Vec<_> = slots.collect();
    let of = |tag: u8| slots.iter().filter(move |(key, _)| key[0] == tag);
    let elements: BTreeMap<_, _> = of(0x47).map(|(key, value)| (&key[1..], value)).collect();
    // By the key of the vector.
    for (key, vector) in of(0x45) {
        let elements = elements[&key[1..]].clone();
        pairs.insert([&[0x45], &key[1..5], vector].concat(), elements);
    }
    for (key, _) in of(0x44) {
        pairs.insert(key.clone(), Vec::new());
    }
    pairs
}

fn config(workload: &Workload) -> StoreConfig {
    StoreConfig { role: Role::Standby, ..workload.config() }
}

/// A standby of the newest state.
fn standby(repository: &Repository, workload: &Workload) -> (SimulatedDisk, Follower) {
    let disk = SimulatedDisk::new(9);
    let to = Restore::begin_on(Arc::new(disk.clone()), workload.config()).expect("empty");
    let plan = repository.plan(Moment::Newest).expect("there");
    repository.restore_standby_into(&plan, to, &mut |_| {}).expect("restored");
    let store = open(&disk, &config(workload));
    (disk, Follower::new(repository.clone(), store).expect("a standby"))
}

fn pairs_of(store: &Store) -> Pairs {
    let feed = store.backup_feed(1 << 20).expect("the only one");
    seen(&feed)
}

/// Checks that the standby is at a moment, and whole.
fn check(follower: &Follower, moments: &Moments, what: &str) {
    let (found, through) = (pairs_of(follower.store()), follower.position().through);
    // Records that change nothing may come between a moment and the end of its segment.
    let before = moments.range(..=through).next_back();
    let after = moments.range(through..).next();
    let is_expected = [before, after].iter().flatten().any(|it| *it.1 == found);
    assert!(is_expected, "{what}: {:?}", follower.position());
    let report = follower.store().verify(&mut |_| {}).expect("verified");
    assert_eq!(report.damaged, [], "{what}");
    assert_eq!(follower.left_out(), 0, "{what}");
}

fn follow(follower: &mut Follower) -> Result<(), Error> {
    while follower.step()?.is_some() {}
    Ok(())
}

#[test]
fn a_standby_is_at_a_moment_of_its_primary_after_each_step() {
    for seed in effort::seeds(6, 100) {
        for durability in [Durability::Fsync, Durability::Os] {
            let what = format!("seed {seed}, {durability:?}");
            let mut workload = Workload::new(seed, durability);
            let target = SimulatedTarget::new();
            let repository = repository(&target, &workload);
            let status = Status::default();
            let mut run = begin(&workload, &repository, &status);
            let (mut disk, mut follower) = standby(&repository, &workload);
            for round in 0..3 {
                // Another generation: the last changes of the former one may be in no segment of it.
                if round > 0 {
                    drop(run);
                    workload = workload.restart(durability == Durability::Fsync);
                    run = begin(&workload, &repository, &status);
                    run.tick().expect("stored");
                    follower.look_soon();
                }
                let mut moments = Moments::new();
                moments.insert(run.feed.newest(), seen(&run.feed));
                follow(&mut follower).expect("follows");
                check(&follower, &moments, &what);
                for _ in 0..6 {
                    change(&workload, &mut run, &mut moments);
                    follow(&mut follower).expect("follows");
                    check(&follower, &moments, &what);
                    if workload.random.below(3) == 0 {
                        drop(follower);
                        disk = disk.crash();
                        let store = open(&disk, &config(&workload));
                        follower = Follower::new(repository.clone(), store).expect("a standby");
                    }
                }
            }
            let refused = follower.store().suspended();
            assert!(matches!(refused, Some(StoreError::Suspended { .. })), "{refused:?}");
        }
    }
}

#[test]
fn a_standby_that_is_cut_at_any_operation_goes_on_where_it_was() {
    for seed in effort::seeds(1, 10) {
        let workload = Workload::new(seed, Durability::Fsync);
        let target = SimulatedTarget::new();
        let repository = repository(&target, &workload);
        let status = Status::default();
        let mut run = begin(&workload, &repository, &status);
        // A state of the target for the standby to begin with, and the later ones.
        let first = target.snapshot();
        let mut moments = Moments::new();
        moments.insert(run.feed.newest(), seen(&run.feed));
        for _ in 0..10 {
            change(&workload, &mut run, &mut moments);
        }
        run.tick().expect("stored");
        let last = moments.last_key_value().expect("some").1.clone();
        let at_first = |target: &SimulatedTarget| {
            let open = Repository::open(Arc::new(target.clone()), Some(&[5; 32]));
            open.expect("opened")
        };
        let (disk, follower) = standby(&at_first(&first), &workload);
        drop(follower);
        let begun = disk.kill();
        let attach = |disk: &SimulatedDisk, target: &SimulatedTarget| {
            let store = open(disk, &config(&workload));
            Follower::new(at_first(target), store).expect("a standby")
        };
        let (calls, operations) = {
            let (disk, target) = (begun.kill(), target.snapshot());
            let mut follower = attach(&disk, &target);
            let before = (target.operations(), disk.operations());
            follow(&mut follower).expect("follows");
            (target.operations() - before.0, disk.operations() - before.1)
        };
        for cut in effort::one_in(7, 0..calls + operations) {
            let is_of_target = cut < calls;
            let at = if is_of_target { cut } else { cut - calls };
            let what = format!("seed {seed}, operation {at}, of the target: {is_of_target}");
            let (disk, target) = (begun.kill(), target.snapshot());
            let mut follower = attach(&disk, &target);
            match is_of_target {
                true => target.fail_after(at),
                false => disk.set_fault(disk.operations() + at, Fault::Crash),
            }
            let ended = follow(&mut follower);
            target.recover();
            assert!(ended.is_err() || !is_of_target, "{what}");
            drop(follower);
            let disk = disk.crash();
            let mut follower = attach(&disk, &target);
            check(&follower, &moments, &what);
            follow(&mut follower).expect("follows");
            assert!(pairs_of(follower.store()) == last, "{what}");
            check(&follower, &moments, &what);
        }
    }
}

#[test]
fn a_missing_segment_is_passed_by_the_next_base_only() {
    let workload = Workload::new(4, Durability::Fsync);
    let target = SimulatedTarget::new();
    let repository = repository(&target, &workload);
    let status = Status::default();
    let mut run = begin(&workload, &repository, &status);
    let (_, mut follower) = standby(&repository, &workload);
    follow(&mut follower).expect("follows");
    for _ in 0..3 {
        workload.step();
        run.tick().expect("stored");
    }
    let next = follower.position().next_segment;
    let name = format!("generations/{:016x}/log/{next:016x}", run.generation);
    crate::target::Target::delete(&target, &name).expect("removed");
    follower.look_soon();
    let error = follow(&mut follower).expect_err("a gap");
    assert!(error.to_string().contains("is missing"), "{error}");
    run.write_base(&mut |_| Ok(())).expect("written");
    follower.look_soon();
    follow(&mut follower).expect("follows");
    assert!(pairs_of(follower.store()) == seen(&run.feed));
}

#[test]
fn a_standby_begins_with_all_objects() {
    let workload = Workload::new(4, Durability::Fsync);
    let target = SimulatedTarget::new();
    let repository = repository(&target, &workload);
    let status = Status::default();
    let mut run = begin(&workload, &repository, &status);
    workload.put("photo", &[7; 3000]);
    run.tick().expect("stored");
    for pack in target.names().iter().filter(|name| name.contains("/packs/")) {
        target.fail_reads_of(pack);
    }
    let disk = SimulatedDisk::new(9);
    let begin = || Restore::begin_on(Arc::new(disk.clone()), workload.config()).expect("begins");
    let plan = repository.plan(Moment::Newest).expect("there");
    let refused = repository.restore_standby_into(&plan, begin(), &mut |_| {});
    assert!(matches!(refused, Err(crate::Error::Target(_))), "{refused:?}");
    // The same call goes on.
    target.recover();
    let restored = repository.restore_standby_into(&plan, begin(), &mut |_| {}).expect("restored");
    assert_eq!((restored.left_out, restored.blobs > 0), (0, true), "{restored:?}");
}

#[test]
fn a_standby_waits_for_an_object_that_cannot_be_read() {
    let workload = Workload::new(4, Durability::Fsync);
    let target = SimulatedTarget::new();
    let repository = repository(&target, &workload);
    let status = Status::default();
    let mut run = begin(&workload, &repository, &status);
    let (_disk, mut follower) = standby(&repository, &workload);
    follow(&mut follower).expect("follows");
    let mut fail_reads_of_next = |key: &str| {
        let before = target.names();
        workload.put(key, &[7; 3000]);
        run.tick().expect("stored");
        let names = target.names();
        let is_new = |name: &&String| name.contains("/packs/") && !before.contains(name);
        let pack = names.iter().find(is_new).expect("a pack").clone();
        target.fail_reads_of(&pack);
        pack
    };
    let pack = fail_reads_of_next("first");
    let error = follow(&mut follower).expect_err("it cannot be read").to_string();
    assert!(error.contains(&format!("{pack} of the backup cannot be read")), "{error}");
    target.recover();
    follow(&mut follower).expect("follows");
    assert_eq!(follower.left_out(), 0);
    // However long that takes: it is behind, and says so, instead of without an object.
    fail_reads_of_next("second");
    let failed = std::iter::from_fn(|| follow(&mut follower).err()).take(100);
    assert!(failed.into_iter().all(|error| matches!(error, crate::Error::Target(_))));
    assert!(follow(&mut follower).is_err());
    target.recover();
    follow(&mut follower).expect("follows");
    assert_eq!(follower.left_out(), 0);
}

#[test]
fn a_standby_finds_the_generation_of_a_restarted_primary_by_its_lease() {
    let mut workload = Workload::new(7, Durability::Fsync);
    let target = SimulatedTarget::new();
    let repository = repository(&target, &workload);
    let status = Status::default();
    let take = |workload: &Workload| {
        let holder = Holder::new(workload.store.clone(), None).expect("random bytes");
        assert_eq!(holder.look(&repository).expect("taken"), Look::Held);
    };
    take(&workload);
    let mut run = begin(&workload, &repository, &status);
    let (_disk, mut follower) = standby(&repository, &workload);
    follow(&mut follower).expect("follows");
    let first = follower.position().generation;
    drop(run);
    workload = workload.restart(true);
    // The lease comes first, and its generation is awaited.
    take(&workload);
    follower.ask_soon();
    follow(&mut follower).expect("follows");
    assert_eq!(follower.position().generation, first);
    run = begin(&workload, &repository, &status);
    run.tick().expect("stored");
    run.tick().expect("stored");
    follower.ask_soon();
    follow(&mut follower).expect("follows");
    assert_ne!(follower.position().generation, first);
    assert!(pairs_of(follower.store()) == seen(&run.feed));
}

#[test]
fn a_primary_hands_over_and_one_of_two_standbys_wins() {
    let workload = Workload::new(6, Durability::Fsync);
    let target = SimulatedTarget::new();
    let repository = repository(&target, &workload);
    let status = Status::default();
    let holder = Holder::new(workload.store.clone(), None).expect("random bytes");
    assert_eq!(holder.look(&repository).expect("taken"), Look::Held);
    let mut run = begin(&workload, &repository, &status);
    let standbys: Vec<_> = (0..2).map(|_| standby(&repository, &workload).1).collect();
    workload.step();
    // The last change is in no segment yet.
    let threads: Vec<_> = standbys
        .into_iter()
        .map(|mut follower| {
            thread::spawn(move || {
                let promoted = Claimant::new(None, false).expect("random bytes");
                let promoted = promoted.promote(&mut follower);
                (promoted, follower)
            })
        })
        .collect();
    while holder.look(&repository).expect("read") == Look::Held {
        thread::yield_now();
    }
    workload.store.suspend("handed over").expect("committed");
    assert!(holder.answer(&repository, None).expect("told"));
    run.tick().expect("stored");
    let expected = seen(&run.feed);
    let stored = status.state().stored.expect("something");
    assert!(holder.answer(&repository, Some(stored)).expect("told"));
    let mut results: Vec<_> = threads.into_iter().map(|it| it.join().expect("no panic")).collect();
    results.sort_by_key(|(promoted, _)| promoted.is_err());
    let [(won, winner), (lost, loser)] = results.try_into().expect("two");
    let (new, parent) = won.expect("one wins");
    assert_eq!(parent, stored);
    assert!(matches!(lost, Err(Error::Refused(_))), "{lost:?}");
    assert!(loser.store().suspended().is_some() && winner.store().suspended().is_none());
    // The threads of the new primary have begun: what was queued for deletion goes.
    let kept = |mut pairs: Pairs| {
        pairs.retain(|key, _| !matches!(key[0], 0x04 | 0x21 | 0x30 | 0x31));
        pairs
    };
    assert!(kept(pairs_of(winner.store())) == kept(expected));
    assert_eq!(holder.look(&repository).expect("read"), Look::Lost);
    assert_eq!(new.look(&repository).expect("read"), Look::Held);
    // A start of the old primary does not get it back, and one of the new primary does.
    let again = |store: &Store| {
        Holder::new(store.clone(), None).expect("random bytes").look(&repository).expect("read")
    };
    assert_eq!(again(&workload.store), Look::Lost);
    assert_eq!(again(winner.store()), Look::Held);
    assert_eq!(new.look(&repository).expect("read"), Look::Lost, "of another run");
}

#[test]
fn a_standby_of_a_dead_primary_waits_for_its_fence_and_is_stopped_by_its_return() {
    let workload = Workload::new(7, Durability::Fsync);
    let target = SimulatedTarget::new();
    let repository = repository(&target, &workload);
    let status = Status::default();
    let fence = Some(Duration::from_secs(3600));
    let holder = Holder::new(workload.store.clone(), fence).expect("random bytes");
    assert_eq!(holder.look(&repository).expect("taken"), Look::Held);
    drop(begin(&workload, &repository, &status));
    let (_, mut follower) = standby(&repository, &workload);
    let thread = thread::spawn(move || {
        let promoted = Claimant::new(None, false).expect("random bytes").promote(&mut follower);
        (promoted.map(drop), follower)
    });
    while holder.look(&repository).expect("read") == Look::Held {
        thread::yield_now();
    }
    let restarted = Holder::new(workload.store.clone(), fence).expect("random bytes");
    assert_eq!(restarted.look(&repository).expect("taken"), Look::Held);
    let (promoted, mut follower) = thread.join().expect("no panic");
    assert!(matches!(promoted, Err(Error::Refused(_))), "{promoted:?}");
    // The operator vouches for its death.
    Claimant::new(None, true).expect("random bytes").promote(&mut follower).expect("promoted");
    assert_eq!(restarted.look(&repository).expect("read"), Look::Lost);
    workload.store.lease(std::time::Instant::now(), Some(Duration::ZERO));
    let refused = workload.store.suspended();
    assert!(matches!(refused, Some(StoreError::Suspended { .. })), "{refused:?}");
}

#[test]
fn programs_that_know_no_standbys_refuse_its_directory_until_it_is_promoted() {
    let format = |disk: &SimulatedDisk| {
        let mut bytes = [0; 64];
        let file = disk.open("format", OpenMode::Read).expect("there");
        let length = file.read_at(&mut bytes, 0).expect("readable");
        String::from_utf8(bytes[..length].to_vec()).expect("text")
    };
    let rewrite = |disk: &SimulatedDisk, format: &str| {
        let file = disk.open("format", OpenMode::Write).expect("there");
        file.write_at(format.as_bytes(), 0).expect("written");
    };
    let workload = Workload::new(8, Durability::Fsync);
    let target = SimulatedTarget::new();
    let repository = repository(&target, &workload);
    let status = Status::default();
    drop(begin(&workload, &repository, &status));
    let (disk, follower) = standby(&repository, &workload);
    assert_eq!(format(&disk), "liteio 4\n");
    drop(follower);

    // One that an earlier program has made.
    rewrite(&disk, "liteio 3\n");
    let store = open(&disk, &config(&workload));
    assert_eq!(format(&disk), "liteio 4\n");
    let mut follower = Follower::new(repository.clone(), store).expect("a standby");
    Claimant::new(None, true).expect("random bytes").promote(&mut follower).expect("promoted");
    assert_eq!(format(&disk), "liteio 3\n");
    drop(follower);

    // A promotion that ended between its transaction and the format.
    rewrite(&disk, "liteio 4\n");
    drop(open(&disk, &workload.config()));
    assert_eq!(format(&disk), "liteio 3\n");
}
