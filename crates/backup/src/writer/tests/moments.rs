//! Restores to each moment of a backup.

use std::sync::Arc;

use liteio_disk::{Durability, SimulatedDisk, effort};
use liteio_store::backup::{Restore, RestoredPart};
use liteio_store::{BucketName, Damage};

use super::{Gone, Moments, Patient, repository, restore, write};
use crate::target::SimulatedTarget;
use crate::testing::{Workload, open, pairs};
use crate::{Error, Moment};

/// Seeds of a quick run, and of a whole one.
const SEEDS: (u64, u64) = (10, 300);
/// Those of which one moment is restored.
const SAMPLED_SEEDS: (u64, u64) = (250, 10_000);

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
