//! Pruning: a kept moment keeps everything that it needs.

use std::cell::Cell;

use liteio_disk::{Durability, effort};

use super::{Gone, Moments, repository, restore, write};
use crate::prune::{Retention, prune};
use crate::target::{SimulatedTarget, TargetError};
use crate::testing::Workload;
use crate::{Error, Moment, Repository};

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
