//! The model of backups: a store that is changed at random, a target that fails at random, and restores to each moment.

mod moments;
mod places;
mod pruning;
mod sending;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use liteio_disk::SimulatedDisk;
use liteio_store::backup::{Restore, RestoredPart};

use super::bandwidth::Bandwidth;
use super::run::{Run, Sending};
use super::status::Status;
use super::upload::Pace;
use crate::limits::WAITING_BYTES;
use crate::target::SimulatedTarget;
use crate::testing::{Pairs, Workload, open, pairs};
use crate::{Error, Moment, Repository, Restored};

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
