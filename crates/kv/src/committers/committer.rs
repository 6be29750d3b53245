//! [`Committer`]: runs groups of updates, and commits them.
//!
//! # The states of a group
//! ```text
//!            run                  commit
//!  queued ────────► all is known ────────► committed ──────────────► acknowledged
//!             ▲                    │ │ │                   ▲
//!             │ conflict: pause    │ │ │ answer lost       │ it happened
//!             ├────────────────────┘ │ └─────────► settle ─┤
//!             │                      │                     │ nobody answers in time
//!             │ it did not happen    │ refused             ▼
//!             └──────── settle       ▼                    open: an error, and a new worker
//!                                   refused
//! ```

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::Committers;
use super::numbers::Numbers;
use crate::KvError;
use crate::database::{CommitError, Group, Settled};
use crate::queue::Job;
use crate::replay::Closures;

/// Most commits anew of one group.
const CONFLICTS_MAX: u32 = 50;
/// Conflicts after which a group is halved: most of its updates have no part in them.
const CONFLICTS_TOGETHER_MAX: u32 = 4;
/// Most workers that a committer was before, of which it asks.
const LEFT_MAX: usize = 16;
/// Longest pause before a commit anew.
const PAUSE_MAX: Duration = Duration::from_millis(100);
/// Longest pause before it is asked again what became of a commit.
const SETTLE_PAUSE_MAX: Duration = Duration::from_secs(1);

/// One thread of the committers.
pub(super) struct Committer<'c> {
    of: &'c Committers,
    own: Numbers,
    /// Those of workers that it was before; `true` if it is open what became of the next commit.
    left: VecDeque<(Numbers, bool)>,
}

/// The outcome of a commit.
enum Outcome {
    Committed,
    /// Something has changed, or it did not happen: the closures have to run again.
    Again,
}

impl<'c> Committer<'c> {
    pub(super) fn new(of: &'c Committers) -> Self {
        Self { of, own: Numbers::new(of.next_worker()), left: VecDeque::new() }
    }

    /// Becomes another worker, which has no commits yet. What became of the former one is asked once the
    /// database answers again.
    pub(super) fn begin_anew(&mut self) {
        let next = Numbers::new(self.of.next_worker());
        self.left.push_back((std::mem::replace(&mut self.own, next), true));
        if self.left.len() > LEFT_MAX {
            self.left.pop_front();
        }
    }

    /// Commits updates, and answers. Returns those that did not fit.
    pub(super) fn group(&mut self, jobs: Vec<Box<dyn Job>>) -> Vec<Box<dyn Job>> {
        let mut closures = Closures::new(jobs);
        let result = self.commit(&mut closures);
        #[cfg(any(test, feature = "test-util"))]
        closures.fetches().into_iter().for_each(|it| self.of.fetching.of_update(it));
        let (jobs, rest) = closures.into_jobs();
        if result.is_ok() {
            // In the order of their writes.
            jobs.iter().for_each(|job| job.committed());
        }
        for job in jobs {
            job.acknowledge(result.clone());
        }
        rest
    }

    fn commit(&mut self, closures: &mut Closures) -> Result<(), KvError> {
        let (of, mut conflicts) = (self.of, 0);
        loop {
            let anew = (conflicts > 0).then(|| of.anew.lock());
            closures.run(&*of.database)?;
            let Some(group) = closures.group(of.next_version(), &of.config.epochs) else {
                return Ok(());
            };
            match self.try_commit(&group, closures)? {
                Outcome::Committed => {
                    count(&of.counters.groups);
                    of.counters.updates.fetch_add(closures.len() as u64, Ordering::Relaxed);
                    return Ok(());
                }
                Outcome::Again => {}
            }
            drop(anew);
            conflicts += 1;
            if conflicts > CONFLICTS_MAX {
                return Err(KvError::Busy);
            }
            if conflicts % CONFLICTS_TOGETHER_MAX == 0 && closures.len() > 1 {
                closures.leave(closures.len() / 2);
            }
            self.pause(conflicts, PAUSE_MAX);
        }
    }

    fn try_commit(&mut self, group: &Group, closures: &mut Closures) -> Result<Outcome, KvError> {
        let (of, database) = (self.of, &*self.of.database);
        match database.commit(self.own.worker, self.own.next, group) {
            Ok(()) => {
                self.own.next += 1;
                self.settle_left();
                Ok(Outcome::Committed)
            }
            Err(CommitError::Conflict(rows)) => {
                count(&of.counters.conflicts);
                closures.changed(database, rows)?;
                Ok(Outcome::Again)
            }
            Err(CommitError::Refused(error)) => Err(error),
            Err(CommitError::Unknown(error)) => match self.settle(&error)? {
                Outcome::Committed => Ok(Outcome::Committed),
                Outcome::Again => {
                    closures.changed(database, Vec::new())?;
                    Ok(Outcome::Again)
                }
            },
        }
    }

    /// Finds out what became of the commit with the current number, and uses the number up.
    fn settle(&mut self, unknown: &KvError) -> Result<Outcome, KvError> {
        let of = self.of;
        let begun = Instant::now();
        let mut times = 0;
        loop {
            match of.database.settle(self.own.worker, self.own.next) {
                Ok(settled) => {
                    let lost = count_settled(of, &mut self.own, settled);
                    self.own.next += 1;
                    if lost > 0 {
                        self.left.iter_mut().for_each(|(_, is_open)| *is_open = true);
                    }
                    return Ok(match settled {
                        Settled::Committed => Outcome::Committed,
                        Settled::NotCommitted | Settled::Lost { .. } => Outcome::Again,
                    });
                }
                Err(error) if begun.elapsed() >= of.config.settle_time => {
                    count(&of.counters.unsettled);
                    // The commit with this number may still happen, so no other one may get it.
                    self.begin_anew();
                    let reason = format!("{unknown}; then {error}");
                    return Err(KvError::Unsettled(reason));
                }
                Err(_) => {
                    times += 1;
                    self.pause(times, SETTLE_PAUSE_MAX);
                }
            }
        }
    }

    /// Asks what became of the workers that this was before: the open commit of each cannot happen any more then, and
    /// what a failover has lost of the others is counted. A failover that loses some of them later loses commits of
    /// this worker, too: then they are asked again.
    fn settle_left(&mut self) {
        let (of, mut at) = (self.of, 0);
        while at < self.left.len() {
            let (numbers, is_open) = &mut self.left[at];
            at += 1;
            if !*is_open {
                continue;
            }
            // A failure is asked about again, behind the next commit.
            let Ok(settled) = of.database.settle(numbers.worker, numbers.next) else { continue };
            *is_open = false;
            if count_settled(of, numbers, settled) > 0 {
                // The failover may have lost commits of the others as well, which were asked before it.
                let others = self.left.iter_mut().enumerate().filter(|(other, _)| other + 1 != at);
                others.for_each(|(_, (_, is_open))| *is_open = true);
                at = 0;
            }
        }
    }

    /// Waits before the try with this number: twice as long as before the last one at most, and as long
    /// as chance says.
    fn pause(&self, tries: u32, pause_max: Duration) {
        let pause = self.of.config.pause.saturating_mul(1 << tries.min(16)).min(pause_max);
        let Numbers { worker, next, .. } = self.own;
        let name = [next, worker.index.into(), tries.into(), worker.run.into()];
        let bytes = name.map(u64::to_le_bytes).concat();
        let chance = twox_hash::XxHash3_64::oneshot(&bytes) % 1024;
        self.of.pause(pause * u32::try_from(chance).unwrap_or(0) / 1024);
    }
}

/// Counts what became of commits. Returns how many of them were acknowledged and are lost, of which nobody knew.
fn count_settled(of: &Committers, numbers: &mut Numbers, settled: Settled) -> u64 {
    count(&of.counters.settled);
    let lost = numbers.settled(settled);
    of.counters.lost.fetch_add(lost, Ordering::Relaxed);
    lost
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
