//! The objects that a writer sends: their order, their end, and none twice.

use std::sync::Arc;
use std::time::Duration;

use liteio_disk::{Durability, SimulatedDisk, effort};
use liteio_store::backup::{Restore, RestoredPart};

use super::{Gone, Moments, Patient, begin, repository, restore, sending, write};
use crate::limits::{PACK_BYTES, WAITING_BYTES};
use crate::prune::Retention;
use crate::target::{SimulatedTarget, Target as _};
use crate::testing::{Workload, pairs};
use crate::writer::run::Run;
use crate::writer::status::Status;
use crate::writer::upload::Pace;
use crate::writer::{Writer, WriterOptions};
use crate::{Error, Moment};

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
