//! The model of backups: a store that is changed at random, a target that fails at random, and restores to each moment.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use liteio_disk::{Durability, SimulatedDisk, effort};
use liteio_store::backup::{Restore, RestoredPart};
use liteio_store::{BucketName, Damage};

use super::bandwidth::Bandwidth;
use super::run::{Run, Sending};
use super::status::Status;
use super::upload::Pace;
use super::{Writer, WriterOptions};
use crate::limits::{PACK_BYTES, WAITING_BYTES};
use crate::prune::{Retention, prune};
use crate::target::{DirectoryTarget, PutMode, SimulatedTarget, Target as _, TargetError};
use crate::testing::{Pairs, Workload, open, pairs};
use crate::{Error, Moment, Repository, Restored};

/// Seeds of a quick run, and of a whole one.
const SEEDS: (u64, u64) = (20, 300);
/// Those of which one moment is restored.
const SAMPLED_SEEDS: (u64, u64) = (500, 10_000);

/// Without a limit, one object after another.
pub(super) fn sending(parallel: usize) -> Sending<'static> {
    Sending { bandwidth: Box::leak(Box::new(Bandwidth::new(None))), parallel }
}

/// Tries again until it works.
struct Patient(SimulatedTarget);

impl Pace for Patient {
    fn pause(&self, attempt: u32) -> bool {
        if attempt > 1 {
            self.0.recover();
        }
        true
    }

    fn rest(&self, _: Duration) {}
}

/// Gives up at once, as a machine does that ends.
pub(super) struct Gone;

impl Pace for Gone {
    fn pause(&self, _: u32) -> bool {
        false
    }

    fn rest(&self, _: Duration) {}
}

/// The states of a store: those before each tick, by the number of the newest record.
pub(super) type Moments = BTreeMap<u64, (Pairs, u64)>;

pub(super) fn repository(target: &SimulatedTarget, workload: &Workload) -> Repository {
    let created_ms = workload.store.created_ms().expect("there");
    let target = Arc::new(target.clone());
    Repository::open_or_create(target, Some(&[5; 32]), created_ms).expect("opened")
}

/// Begins a generation.
fn begin<'a>(workload: &Workload, repository: &'a Repository, status: &'a Status) -> Run<'a> {
    let feed = workload.store.backup_feed(WAITING_BYTES).expect("the only one");
    Run::begin(feed, repository, &Gone, status, sending(1)).expect("begun")
}

fn note(run: &Run<'_>, workload: &Workload, moments: &mut Moments) {
    moments.insert(run.feed.newest(), (pairs(&run.feed), workload.store.now_ms()));
}

/// Writes a generation with a base and some ticks. Returns its number and the number from which on states can be restored,
/// and notes the states before each tick.
pub(super) fn write(
    workload: &Workload,
    repository: &Repository,
    pace: &dyn Pace,
    moments: &mut Moments,
    faults: &dyn Fn(),
) -> Result<(u64, u64), Error> {
    let status = Status::default();
    let feed = workload.store.backup_feed(WAITING_BYTES).expect("the only one");
    let mut run = Run::begin(feed, repository, pace, &status, sending(1))?;
    run.chunk_bytes = 700;
    note(&run, workload, moments);
    run.write_base(&mut |run| {
        faults();
        if workload.random.below(2) == 0 {
            workload.step();
        }
        workload.store.reclaim().expect("reclaimed");
        note(run, workload, moments);
        if workload.random.below(3) == 0 { run.tick() } else { Ok(()) }
    })?;
    let complete_at = run.base.as_ref().expect("written").complete_at;
    for _ in 0..8 {
        faults();
        workload.step();
        workload.store.reclaim().expect("reclaimed");
        note(&run, workload, moments);
        if workload.random.below(2) == 0 {
            run.tick()?;
        }
    }
    run.tick()?;
    assert_eq!(status.state().unreadable, 0);
    Ok((run.generation, complete_at))
}

/// Restores a moment; the pairs of the restored store, which must be whole.
pub(super) fn restore(
    repository: &Repository,
    workload: &Workload,
    moment: Moment,
) -> Result<(Pairs, Restored), Error> {
    let disk = SimulatedDisk::new(9);
    let to = Restore::begin_on(Arc::new(disk.clone()), workload.config())?;
    let plan = repository.plan(moment)?;
    let restored = repository.restore_into(&plan, &RestoredPart::Everything, to, &mut |_| {})?;
    let store = open(&disk.crash(), &workload.config());
    let report = store.verify(&mut |_| {}).expect("verified");
    assert_eq!(report.damaged.is_empty(), restored.left_out == 0, "{moment:?}: {report:?}");
    let feed = store.backup_feed(1 << 20).expect("the only one");
    Ok((pairs(&feed), restored))
}

#[test]
fn each_moment_is_restored_as_it_was() {
    for seed in effort::seeds(SEEDS.0, SEEDS.1) {
        for durability in [Durability::Fsync, Durability::Os] {
            check_moments(seed, durability, Checked::All);
        }
    }
}

/// Most of the time of [`each_moment_is_restored_as_it_was`] goes into some twenty restores of each seed.
#[test]
fn a_moment_of_many_seeds_is_restored_as_it_was() {
    for seed in effort::seeds(SAMPLED_SEEDS.0, SAMPLED_SEEDS.1) {
        let durability = if seed % 2 == 0 { Durability::Fsync } else { Durability::Os };
        check_moments(seed, durability, Checked::Sample);
    }
}

/// The moments of a backup that are restored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Checked {
    All,
    /// One of them: each restore makes two key spaces, which is most of the time of a seed.
    Sample,
}

/// Backs up a store to a target that fails at times, and restores moments of it.
fn check_moments(seed: u64, durability: Durability, checked: Checked) {
    let workload = Workload::new(seed, durability);
    let target = SimulatedTarget::new();
    let repository = repository(&target, &workload);
    let mut moments = Moments::new();
    let fails = || match workload.random.below(6) {
        0 => target.fail_after(workload.random.below(4)),
        1 => target.lose_answers(1),
        2 => target.refuse("no right today"),
        _ => {}
    };
    let pace = Patient(target.clone());
    let written = write(&workload, &repository, &pace, &mut moments, &fails);
    target.recover();
    let what = format!("seed {seed}, {durability:?}");
    let (generation, complete_at) = written.unwrap_or_else(|error| panic!("{what}: {error}"));
    let restored_to = |moment| {
        restore(&repository, &workload, moment)
            .unwrap_or_else(|error| panic!("{what}, {moment:?}: {error}"))
    };
    let count = moments.range(complete_at..).count() as u64;
    // Behind all of them is the newest.
    let chosen = workload.random.below(count + 1);
    for (index, (number, (expected, _))) in (0..).zip(moments.range(complete_at..)) {
        if checked == Checked::Sample && index != chosen {
            continue;
        }
        let (found, restored) = restored_to(Moment::Number { generation, number: *number });
        assert!(found == *expected, "{what}, record {number}: {restored:?}");
        assert_eq!(restored.left_out, 0, "{what}: {restored:?}");
    }
    let verified = repository.verify(&mut |_| {}).expect("verified");
    assert_eq!(verified.damaged, [""; 0], "{what}");
    if checked == Checked::Sample && chosen != count {
        return;
    }
    let (last, (expected, time_ms)) = moments.last_key_value().expect("some");
    let (found, restored) = restored_to(Moment::Newest);
    assert!(found == *expected && restored.number <= *last, "{what}: {restored:?}");
    if checked == Checked::Sample {
        return;
    }
    if let Some((before, _)) = moments.range(..complete_at).next_back() {
        let moment = Moment::Number { generation, number: *before };
        restore(&repository, &workload, moment).expect_err("before the base is complete");
    }
    let (found, _) = restored_to(Moment::Time(*time_ms));
    assert!(found == *expected, "{what}");
}

#[test]
fn whatever_the_machine_had_sent_when_it_ended_is_a_backup() {
    for seed in effort::seeds(2, 20) {
        let operations = {
            let workload = Workload::new(seed, Durability::Fsync);
            let target = SimulatedTarget::new();
            let repository = repository(&target, &workload);
            let written = write(&workload, &repository, &Gone, &mut Moments::new(), &|| {});
            written.expect("written");
            target.operations()
        };
        for at in effort::one_in(5, 0..operations) {
            let what = format!("seed {seed}, operation {at}");
            let mut workload = Workload::new(seed, Durability::Fsync);
            let target = SimulatedTarget::new();
            let repository = repository(&target, &workload);
            let mut moments = Moments::new();
            target.fail_after(at);
            let ended = write(&workload, &repository, &Gone, &mut moments, &|| {});
            target.recover();
            // A target that does not answer stops the writer: at its first call, or where it tries again.
            assert!(
                !matches!(ended, Err(Error::Damaged(_) | Error::Refused(_))),
                "{what}: {ended:?}"
            );
            match restore(&repository, &workload, Moment::Newest) {
                Ok((found, restored)) => {
                    // Records that change nothing may come between a moment and the end of its segment.
                    let before = moments.range(..=restored.number).next_back();
                    let after = moments.range(restored.number..).next();
                    let is_expected = [before, after].iter().flatten().any(|it| it.1.0 == found);
                    assert!(is_expected, "{what}: {restored:?}");
                }
                // No base was complete.
                Err(Error::Refused(_)) => {}
                Err(error) => panic!("{what}: {error}"),
            }
            // The machine starts again, and goes on in a new generation.
            workload = workload.restart(at.is_multiple_of(2));
            let mut moments = Moments::new();
            let written = write(&workload, &repository, &Gone, &mut moments, &|| {});
            let (generation, complete_at) = written.expect("written");
            for (number, (expected, _)) in moments.range(complete_at..) {
                let moment = Moment::Number { generation, number: *number };
                let (found, restored) = restore(&repository, &workload, moment).expect("restored");
                assert!(found == *expected, "{what}, record {number}: {restored:?}");
            }
            let verified = repository.verify(&mut |_| {}).expect("verified");
            assert_eq!(verified.damaged, [""; 0], "{what}");
        }
    }
}

#[test]
fn a_restored_store_goes_on_with_its_backup_and_sends_no_blob_again() {
    let workload = Workload::new(3, Durability::Fsync);
    let target = SimulatedTarget::new();
    let repository = repository(&target, &workload);
    write(&workload, &repository, &Gone, &mut Moments::new(), &|| {}).expect("written");
    let disk = SimulatedDisk::new(9);
    let to = Restore::begin_on(Arc::new(disk.clone()), workload.config()).expect("empty");
    let plan = repository.plan(Moment::Newest).expect("there");
    repository.restore_into(&plan, &RestoredPart::Everything, to, &mut |_| {}).expect("restored");
    let packs = |target: &SimulatedTarget| {
        target.names().iter().filter(|name| name.contains("/packs/")).count()
    };
    let before = packs(&target);
    let restored = workload.on(disk);
    let status = Status::default();
    let mut run = begin(&restored, &repository, &status);
    run.write_base(&mut |_| Ok(())).expect("written");
    assert_eq!(packs(&target), before, "all blobs were there");
    drop(run);
    let mut moments = Moments::new();
    write(&restored, &repository, &Gone, &mut moments, &|| {}).expect("written");
    let (found, _) = restore(&repository, &restored, Moment::Newest).expect("restored");
    assert!(found == moments.last_key_value().expect("some").1.0);
}

#[test]
fn nothing_that_a_kept_moment_needs_is_pruned() {
    for seed in effort::seeds(3, 30) {
        let mut workload = Workload::new(seed, Durability::Fsync);
        let target = SimulatedTarget::new();
        let repository = repository(&target, &workload);
        let mut generations = Vec::new();
        for _ in 0..4 {
            let mut moments = Moments::new();
            let written = write(&workload, &repository, &Gone, &mut moments, &|| {});
            let (generation, complete_at) = written.expect("written");
            generations.push((generation, moments.split_off(&complete_at)));
            workload = workload.restart(false);
            workload.clock.advance_ms(100_000 * workload.random.below(3));
        }
        let now_ms = workload.store.now_ms();
        let begin_ms = generations[0].1.first_key_value().expect("some").1.1;
        let keep_ms = workload.random.below(now_ms - begin_ms + 50_000);
        let retention = Retention { keep_ms, bases: 1 + workload.random.below(2) as usize };
        let what = format!("seed {seed}, {retention:?}");
        let before = target.names().len();
        // Interrupted at any operation, and then to its end.
        let interrupted = Cell::new(0);
        loop {
            target.fail_after(interrupted.get());
            let pruned = prune(&repository, &retention, now_ms);
            target.recover();
            let is_done = match pruned {
                Ok(_) => true,
                Err(Error::Target(TargetError::Broken(_))) => false,
                Err(error) => panic!("{what}: {error}"),
            };
            if is_done || interrupted.get().is_multiple_of(40) {
                check_kept(&repository, &workload, &generations, now_ms - keep_ms, &what);
            }
            if is_done {
                break;
            }
            interrupted.set(interrupted.get() + 1 + workload.random.below(30));
        }
        assert!(target.names().len() <= before);
        let verified = repository.verify(&mut |_| {}).expect("verified");
        assert_eq!(verified.damaged, [""; 0], "{what}");
        let again = prune(&repository, &retention, now_ms).expect("pruned");
        assert_eq!(again.objects, 0, "{what}");
        // Everything but the newest state can go.
        let newest = Retention { keep_ms: 0, bases: 1 };
        prune(&repository, &newest, now_ms + 1_000_000).expect("pruned");
        let (found, _) = restore(&repository, &workload, Moment::Newest).expect("restored");
        let (_, moments) = generations.last().expect("some");
        assert!(found == moments.last_key_value().expect("some").1.0, "{what}");
    }
}

/// Restores some of the moments since `oldest_ms`.
fn check_kept(
    repository: &Repository,
    workload: &Workload,
    generations: &[(u64, Moments)],
    oldest_ms: u64,
    what: &str,
) {
    for (generation, moments) in generations {
        for (number, (expected, time_ms)) in moments {
            if *time_ms < oldest_ms || workload.random.below(4) > 0 {
                continue;
            }
            let moment = Moment::Number { generation: *generation, number: *number };
            let (found, _) = restore(repository, workload, moment)
                .unwrap_or_else(|error| panic!("{what}, record {number}: {error}"));
            assert!(found == *expected, "{what}, record {number}");
        }
    }
}

#[test]
fn a_missing_or_damaged_object_is_told_and_never_a_gap() {
    let workload = Workload::new(8, Durability::Fsync);
    let whole = SimulatedTarget::new();
    let mut moments = Moments::new();
    write(&workload, &repository(&whole, &workload), &Gone, &mut moments, &|| {}).expect("written");
    let names = whole.names();
    let last_segment = names.iter().rfind(|name| name.contains("/log/")).expect("some");
    for name in &names {
        for is_removed in [true, false] {
            let target = whole.snapshot();
            if is_removed {
                target.delete(name).expect("removed");
            } else {
                let mut bytes = target.get(name).expect("there").to_vec();
                let middle = bytes.len() / 2;
                bytes[middle] ^= 1;
                target.put(name, bytes.into(), PutMode::Replace).expect("damaged");
            }
            let what = format!("{name}, removed: {is_removed}");
            let opened = Repository::open(Arc::new(target.clone()), Some(&[5; 32]));
            let Ok(repository) = opened else {
                assert_eq!(name, "backup.json", "{what}");
                continue;
            };
            let verified = repository.verify(&mut |_| {}).expect("verified");
            let found = restore(&repository, &workload, Moment::Newest);
            let expected = &moments.last_key_value().expect("some").1.0;
            // The sign of the writer tells nothing about states; without it, and without the end of the log, an
            // earlier state is the newest.
            let is_silent = is_removed && (name.ends_with("/alive") || name == last_segment);
            match found {
                Ok((found, restored)) => {
                    let is_whole = found == *expected && restored.left_out == 0;
                    let is_told = restored.left_out > 0 || !verified.damaged.is_empty();
                    assert!(is_whole || is_silent || is_told, "{what}: {restored:?}");
                }
                Err(Error::Refused(_)) => assert!(is_removed, "{what}"),
                Err(_) => {
                    assert!(!verified.damaged.is_empty(), "{what}: {verified:?}");
                }
            }
        }
    }
}

#[test]
fn a_backup_belongs_to_one_store_and_one_key() {
    let workload = Workload::new(1, Durability::Fsync);
    let target = SimulatedTarget::new();
    let created_ms = workload.store.created_ms().expect("there");
    let open = |key: Option<&[u8; 32]>, created_ms| {
        Repository::open_or_create(Arc::new(target.clone()), key, created_ms)
    };
    let nothing = Repository::open(Arc::new(target.clone()), None).expect_err("none yet");
    assert!(nothing.to_string().contains("there is no backup"), "{nothing}");
    open(Some(&[5; 32]), created_ms).expect("new");
    for (key, created_ms, expected) in [
        (None, created_ms, "is encrypted: give its key file"),
        (Some(&[6; 32]), created_ms, "is encrypted with another key"),
        (Some(&[5; 32]), created_ms + 1, "is of another data directory"),
    ] {
        let refused = open(key, created_ms).expect_err(expected).to_string();
        assert!(refused.contains(expected), "{refused}");
    }
    open(Some(&[5; 32]), created_ms).expect("the same");
}

#[test]
fn a_writer_ends_with_everything_in_the_backup() {
    let workload = Workload::new(2, Durability::Fsync);
    let target = SimulatedTarget::new();
    let options = WriterOptions {
        key: Some([5; 32]),
        interval: Duration::from_millis(1),
        base_every: Duration::from_secs(60 * 60),
        retention: Some(Retention { keep_ms: 0, bases: 1 }),
        bytes_per_second: None,
        parallel: 4,
        parent: None,
        holder: None,
    };
    let writer = |target: &SimulatedTarget| {
        Writer::new(workload.store.clone(), Arc::new(target.clone()), options.clone())
    };
    let state = writer(&target).once().expect("written");
    assert!(state.base_ms.is_some() && state.unreadable == 0, "{state:?}");

    target.refuse("not yet");
    let writer = writer(&target);
    let (status, stop) = (writer.status(), writer.stop());
    let thread = std::thread::spawn(move || writer.run());
    while status.state().error.is_none() {
        std::thread::yield_now();
    }
    target.recover();
    while status.state().base_ms.is_none() {
        std::thread::yield_now();
    }
    (0..10).for_each(|_| workload.step());
    stop.stop();
    thread.join().expect("ended");
    let feed = workload.store.backup_feed(1 << 20).expect("the writer's has ended");
    let expected = pairs(&feed);
    drop(feed);
    let (found, _) =
        restore(&repository(&target, &workload), &workload, Moment::Newest).expect("restored");
    assert!(found == expected);
    let bases = target.names().iter().filter(|name| name.ends_with("/manifest")).count();
    assert_eq!(bases, 1, "the first one was pruned");
}

#[test]
fn a_target_that_is_away_for_long_holds_back_no_content() {
    let workload = Workload::new(4, Durability::Fsync);
    let target = SimulatedTarget::new();
    let repository = repository(&target, &workload);
    let status = Status::default();
    let feed = workload.store.backup_feed(2000).expect("the only one");
    let pace = Writing(&workload);
    let mut run = Run::begin(feed, &repository, &pace, &status, sending(1)).expect("begun");
    target.fail_after(0);
    let behind = run.write_base(&mut |_| Ok(())).expect_err("behind");
    assert!(behind.to_string().contains("more was written"), "{behind}");
    drop(run);
    target.recover();
    let report = workload.store.reclaim().expect("reclaimed");
    assert_eq!(report.waiting, 0);
    write(&workload, &repository, &Gone, &mut Moments::new(), &|| {}).expect("a new generation");
}

/// Writes while the target is tried again.
struct Writing<'a>(&'a Workload);

impl Pace for Writing<'_> {
    fn pause(&self, _: u32) -> bool {
        self.0.step();
        true
    }

    fn rest(&self, _: Duration) {}
}

#[test]
fn blobs_whose_packs_are_gone_are_sent_again() {
    let workload = Workload::new(6, Durability::Fsync);
    let target = SimulatedTarget::new();
    let repository = repository(&target, &workload);
    write(&workload, &repository, &Gone, &mut Moments::new(), &|| {}).expect("written");
    // As after a prune, for a store that is an older copy of itself.
    for name in target.names().iter().filter(|name| name.contains("/packs/")) {
        target.delete(name).expect("removed");
    }
    let mut moments = Moments::new();
    write(&workload, &repository, &Gone, &mut moments, &|| {}).expect("written");
    let (found, restored) = restore(&repository, &workload, Moment::Newest).expect("restored");
    assert_eq!(restored.left_out, 0, "{restored:?}");
    assert!(found == moments.last_key_value().expect("some").1.0);
}

#[test]
fn a_part_is_restored_with_its_bytes_alone() {
    let workload = Workload::new(12, Durability::Fsync);
    (0..30).for_each(|_| workload.step());
    let target = SimulatedTarget::new();
    let repository = repository(&target, &workload);
    write(&workload, &repository, &Gone, &mut Moments::new(), &|| {}).expect("written");
    let plan = repository.plan(Moment::Newest).expect("there");
    let part = |bucket: &str, prefix: &str| RestoredPart::Objects {
        bucket: BucketName::new(bucket).expect("a name"),
        prefix: prefix.to_owned(),
    };
    let restore = |part: &RestoredPart| {
        let disk = SimulatedDisk::new(9);
        let to = Restore::begin_on(Arc::new(disk.clone()), workload.config()).expect("empty");
        let restored = repository.restore_into(&plan, part, to, &mut |_| {})?;
        let store = open(&disk, &workload.config());
        let report = store.verify(&mut |_| {}).expect("verified");
        Ok::<_, Error>((restored.blobs, report.damaged))
    };
    let (all, damaged) = restore(&RestoredPart::Everything).expect("restored");
    assert!(damaged.is_empty());
    let (some, damaged) = restore(&part("bucket", "object")).expect("restored");
    assert!(0 < some && some < all, "{some} of {all}");
    // Its objects are whole, and there are no others; the figures of the buckets are those of all.
    assert!(damaged.iter().all(|it: &Damage| it.key.is_none()), "{damaged:?}");
    assert_eq!(restore(&part("bucket", "none")).expect("restored").0, 0);
    // Neither versions nor the bodies of removed records stay behind.
    let disk = SimulatedDisk::new(9);
    let to = Restore::begin_on(Arc::new(disk.clone()), workload.config()).expect("empty");
    let none = part("bucket", "none");
    repository.restore_into(&plan, &none, to, &mut |_| {}).expect("restored");
    let store = open(&disk, &workload.config());
    let rows = pairs(&store.backup_feed(1 << 20).expect("the only one"));
    let left: Vec<_> = rows.keys().filter(|row| [0x10, 0x11, 0x13].contains(&row[0])).collect();
    assert!(left.is_empty(), "{left:?}");
    let refused = restore(&part("no-such-bucket", "")).expect_err("no bucket");
    assert!(refused.to_string().contains("no-such-bucket"), "{refused}");
}

#[test]
fn segments_are_written_between_the_packs_of_a_long_blob() {
    let workload = Workload::new(7, Durability::Fsync);
    workload.put("long", &vec![7; 2 * PACK_BYTES + 100]);
    let target = SimulatedTarget::new();
    let repository = repository(&target, &workload);
    let status = Status::default();
    // Less than is written while the long blob is sent.
    let feed = workload.store.backup_feed(4000).expect("the only one");
    let mut run = Run::begin(feed, &repository, &Gone, &status, sending(1)).expect("begun");
    let segments = |target: &SimulatedTarget| {
        target.names().iter().filter(|name| name.contains("/log/")).count()
    };
    run.write_base(&mut |run| {
        workload.put("short", &[8; 200]);
        run.tick()
    })
    .expect("not behind");
    assert!(segments(&target) > 2);
    let expected = pairs(&run.feed);
    let (found, restored) = restore(&repository, &workload, Moment::Newest).expect("restored");
    assert!(found == expected && restored.left_out == 0, "{restored:?}");
    // Nothing was written since.
    assert!(!run.is_base_due(0));
    workload.put("short", &[9; 200]);
    run.tick().expect("written");
    assert!(run.is_base_due(0));
}

#[test]
fn what_a_generation_without_a_base_has_sent_is_not_sent_again() {
    let workload = Workload::new(7, Durability::Fsync);
    workload.put("long", &vec![7; PACK_BYTES + 100]);
    workload.put("longer", &vec![8; PACK_BYTES + 100]);
    let target = SimulatedTarget::new();
    let repository = repository(&target, &workload);
    let status = Status::default();
    let mut run = begin(&workload, &repository, &status);
    let packs = || target.names().iter().filter(|name| name.contains("/packs/")).count();
    let ended = run.write_base(&mut |_| if packs() < 4 { Ok(()) } else { Err(Error::Stopped) });
    ended.expect_err("stopped");
    drop(run);
    let sent = |status: &Status| status.state().sent_bytes;
    let first = sent(&status);
    let status = Status::default();
    let mut run = begin(&workload, &repository, &status);
    run.write_base(&mut |_| Ok(())).expect("written");
    let (second, one) = (sent(&status), PACK_BYTES as u64 + 100);
    assert!(first > 2 * one - 1000 && second < one + 100_000, "{first} and {second}");
    let expected = pairs(&run.feed);
    let (found, restored) = restore(&repository, &workload, Moment::Newest).expect("restored");
    assert!(found == expected && restored.left_out == 0, "{restored:?}");
}

#[test]
fn records_that_no_segment_has_end_the_generation() {
    let workload = Workload::new(5, Durability::Fsync);
    let target = SimulatedTarget::new();
    let repository = repository(&target, &workload);
    let status = Status::default();
    let mut run = begin(&workload, &repository, &status);
    run.write_base(&mut |_| Ok(())).expect("written");
    let expected = pairs(&run.feed);
    workload.put("lost", &[1; 200]);
    target.fail_after(0);
    run.tick().expect_err("the target does not answer");
    target.recover();
    workload.put("later", &[2; 200]);
    assert!(matches!(run.tick(), Err(Error::Stopped)));
    assert!(matches!(run.end(), Err(Error::Stopped)));
    let (found, _) = restore(&repository, &workload, Moment::Newest).expect("restored");
    assert!(found == expected, "nothing of later without what was lost");
}

#[test]
fn a_clock_that_was_wrong_for_a_while_removes_no_moment() {
    let workload = Workload::new(9, Durability::Fsync);
    let target = SimulatedTarget::new();
    let repository = repository(&target, &workload);
    let now_ms = workload.store.now_ms();
    let mut moments = Moments::new();
    let written = write(&workload, &repository, &Gone, &mut moments, &|| {});
    let (generation, complete_at) = written.expect("written");
    // A start without a clock, which is set right soon after.
    workload.clock.set_ms(1000);
    write(&workload, &repository, &Gone, &mut Moments::new(), &|| {}).expect("written");
    workload.clock.set_ms(now_ms + 100_000);
    write(&workload, &repository, &Gone, &mut Moments::new(), &|| {}).expect("written");
    let retention = Retention { keep_ms: 30 * 24 * 60 * 60 * 1000, bases: 2 };
    prune(&repository, &retention, workload.store.now_ms()).expect("pruned");
    let (number, (expected, _)) = moments.range(complete_at..).next().expect("some");
    let moment = Moment::Number { generation, number: *number };
    let (found, _) = restore(&repository, &workload, moment).expect("kept");
    assert!(found == *expected);
}

#[test]
fn a_backup_without_its_identity_is_not_begun_anew() {
    let workload = Workload::new(1, Durability::Fsync);
    let target = SimulatedTarget::new();
    let repository = repository(&target, &workload);
    let status = Status::default();
    let mut run = begin(&workload, &repository, &status);
    run.write_base(&mut |_| Ok(())).expect("written");
    target.delete("backup.json").expect("removed");
    let refused = run.write_base(&mut |_| Ok(())).expect_err("it may be another one");
    assert!(refused.to_string().contains("another backup now, or none"), "{refused}");
    let created_ms = workload.store.created_ms().expect("there");
    let refused = Repository::open_or_create(Arc::new(target.clone()), None, created_ms);
    let refused = refused.expect_err("its key would be another one").to_string();
    assert!(refused.contains("put it back"), "{refused}");
}

#[test]
fn packs_that_are_sent_at_the_same_time_are_stored_before_what_names_them() {
    for seed in effort::seeds(2, 10) {
        let workload = Workload::new(seed, Durability::Fsync);
        workload.put("short", &[6; 200]);
        for (key, packs) in [("long", 1), ("longer", 3), ("last", 2)] {
            workload.put(key, &vec![7; packs * PACK_BYTES + 100]);
        }
        let target = SimulatedTarget::new();
        let repository = repository(&target, &workload);
        let status = Status::default();
        // Fails in the middle of packs that are sent together, and ends there or goes on.
        for fails_after in [Some(2), Some(3), Some(6), None] {
            let feed = workload.store.backup_feed(WAITING_BYTES).expect("the only one");
            let pace = Patient(target.clone());
            let pace: &dyn Pace = if seed % 2 == 0 { &pace } else { &Gone };
            let mut run = Run::begin(feed, &repository, pace, &status, sending(4)).expect("begun");
            if let Some(left) = fails_after {
                target.fail_after(left);
            }
            let written = run.write_base(&mut |_| Ok(()));
            target.recover();
            let expected = pairs(&run.feed);
            drop(run);
            if written.is_err() {
                assert!(fails_after.is_some(), "seed {seed}: {written:?}");
                continue;
            }
            let (found, restored) =
                restore(&repository, &workload, Moment::Newest).expect("restored");
            assert!(found == expected && restored.left_out == 0, "seed {seed}: {restored:?}");
        }
        let verified = repository.verify(&mut |_| {}).expect("verified");
        assert_eq!(verified.damaged, [""; 0], "seed {seed}");
    }
}

#[test]
fn a_backup_that_is_gone_or_another_one_is_told_and_not_begun_anew() {
    let workload = Workload::new(2, Durability::Fsync);
    let options = WriterOptions {
        key: None,
        interval: Duration::from_millis(1),
        base_every: Duration::MAX,
        retention: None,
        bytes_per_second: None,
        parallel: 1,
        parent: None,
        holder: None,
    };
    let once = |target: &SimulatedTarget| {
        Writer::new(workload.store.clone(), Arc::new(target.clone()), options.clone()).once()
    };
    let target = SimulatedTarget::new();
    once(&target).expect("written");
    once(&target).expect("written again");
    // As where no file system is mounted.
    let empty = SimulatedTarget::new();
    let refused = once(&empty).expect_err("gone").to_string();
    assert!(refused.contains("nothing is in its place: mount its file system"), "{refused}");
    assert_eq!(empty.names(), [""; 0]);
    let created_ms = workload.store.created_ms().expect("there");
    Repository::open_or_create(Arc::new(empty.clone()), None, created_ms).expect("made");
    let refused = once(&empty).expect_err("another one").to_string();
    assert!(refused.contains("but another one: mount its file system"), "{refused}");
    assert_eq!(empty.names(), ["backup.json"]);
    once(&target).expect("it was there all the time");
}

#[test]
fn a_file_system_that_is_unmounted_meanwhile_ends_the_generation_and_gets_the_next_one() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let (place, aside) = (root.path().join("backup"), root.path().join("aside"));
    let workload = Workload::new(2, Durability::Fsync);
    let target = Arc::new(DirectoryTarget::new(&place));
    let created_ms = workload.store.created_ms().expect("there");
    let repository = Repository::open_or_create(target, None, created_ms).expect("made");
    for is_mount_point in [true, false] {
        let status = Status::default();
        let feed = workload.store.backup_feed(WAITING_BYTES).expect("the only one");
        let pace = Patient(SimulatedTarget::new());
        let mut run = Run::begin(feed, &repository, &pace, &status, sending(1)).expect("begun");
        run.write_base(&mut |_| Ok(())).expect("written");
        std::fs::rename(&place, &aside).expect("moved");
        if is_mount_point {
            std::fs::create_dir(&place).expect("made");
        }
        workload.put("key", &[1; 200]);
        let ended = run.tick().expect_err("it is not there").to_string();
        assert!(ended.contains("has another backup now, or none"), "{ended}");
        drop(run);
        let _ = std::fs::remove_dir_all(&place);
        std::fs::rename(&aside, &place).expect("moved back");
    }
    let verified = repository.verify(&mut |_| {}).expect("verified");
    assert_eq!((verified.damaged.len(), verified.generations), (0, 2));
}

#[test]
fn a_directory_and_its_restored_copy_at_one_place_keep_each_other() {
    let workload = Workload::new(5, Durability::Fsync);
    workload.put("gone in the copy", &[1; 300]);
    let target = SimulatedTarget::new();
    let repository = repository(&target, &workload);
    let status = Status::default();
    let mut original = begin(&workload, &repository, &status);
    original.write_base(&mut |_| Ok(())).expect("written");
    let disk = SimulatedDisk::new(9);
    let to = Restore::begin_on(Arc::new(disk.clone()), workload.config()).expect("empty");
    let plan = repository.plan(Moment::Newest).expect("there");
    repository.restore_into(&plan, &RestoredPart::Everything, to, &mut |_| {}).expect("restored");
    let copy = Workload::new(6, Durability::Fsync).on(disk);
    // The clock of the copy begins where the original is.
    copy.clock.set_ms(workload.store.now_ms() + 1000);
    let retention = Retention { keep_ms: 0, bases: 1 };
    let mut second = begin(&copy, &repository, &status);
    second.tick().expect("signed");
    let refused = prune(&repository, &retention, copy.store.now_ms()).expect_err("no base yet");
    assert!(refused.to_string().contains("has no complete base yet"), "{refused}");
    second.write_base(&mut |_| Ok(())).expect("written");
    for _ in 0..3 {
        workload.clock.advance_ms(100_000);
        copy.clock.advance_ms(100_000);
        (0..5).for_each(|_| workload.step());
        (0..5).for_each(|_| copy.step());
        original.end().expect("written");
        second.end().expect("written");
        prune(&repository, &retention, copy.store.now_ms()).expect("pruned");
        for (run, of) in [(&original, &workload), (&second, &copy)] {
            let (generation, number) = (run.generation, run.feed.newest());
            let moment = Moment::Number { generation, number };
            let (found, restored) = restore(&repository, of, moment).expect("kept");
            assert!(found == pairs(&run.feed) && restored.left_out == 0, "{restored:?}");
        }
    }
    // The original has ended long ago.
    let later_ms = copy.store.now_ms() + 3 * 24 * 60 * 60 * 1000;
    prune(&repository, &retention, later_ms).expect("pruned");
    // Packs that the copy needs stay.
    let left = repository.generation(original.generation).expect("listed");
    assert_eq!((left.bases.len(), left.segments.len()), (0, 0));
    restore(&repository, &copy, Moment::Newest).expect("kept");
}
