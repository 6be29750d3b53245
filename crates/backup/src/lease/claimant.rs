//! [`Claimant`]: the promotion of a standby.

use std::thread;
use std::time::{Duration, Instant};

use super::{Answer, Claim, Holder, Lease, Read, hex, token};
use crate::Error;
use crate::base::Parent;
use crate::follow::Follower;
use crate::repository::Repository;

/// Time that a primary without a fence has to answer.
const ANSWER: Duration = Duration::from_secs(3);
/// Time beyond the fence of a primary: that of the answers to writes that it had admitted.
const MARGIN: Duration = Duration::from_secs(2);
/// Time that a primary that has stopped has to store what is left.
const REST: Duration = Duration::from_secs(120);
/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(50);
/// Failures of the target in a row that a promotion survives.
const FAILURES_MAX: u32 = 20;

/// A standby that is being promoted.
#[derive(Debug)]
pub struct Claimant {
    holder: [u8; 16],
    run: [u8; 16],
    fence: Option<Duration>,
    /// The primary is dead for sure: its answer is not waited for.
    is_dead: bool,
}

impl Claimant {
    /// Begins a promotion; `fence` is that of the new primary. With `is_dead` the operator vouches
    /// that the old primary does not run.
    ///
    /// # Errors
    /// [`Error::Sealing`].
    pub fn new(fence: Option<Duration>, is_dead: bool) -> Result<Self, Error> {
        Ok(Self { holder: token()?, run: token()?, fence, is_dead })
    }

    /// Claims the lease, waits for the primary to stop, applies what the backup has, takes the lease,
    /// and makes the store one that is written to. Returns the lease of the new primary and the state
    /// that it continues.
    ///
    /// # Errors
    /// [`Error::Refused`] if another standby or the primary was faster; the errors of the target, of
    /// damaged objects and of the store. The store is still a standby then.
    pub fn promote(&self, follower: &mut Follower) -> Result<(Holder, Parent), Error> {
        let repository = follower.repository().clone();
        let read = self.claim(&repository)?;
        let promoted = self.claimed(follower, &repository, read);
        if promoted.is_err() {
            self.withdraw(&repository);
        }
        promoted
    }

    fn claim(&self, repository: &Repository) -> Result<Read, Error> {
        let read = repository.read_lease()?;
        let mut lease = match &read {
            Some(read) => read.lease.clone(),
            // The primary has never had one: an earlier program.
            None => {
                let none = "0".repeat(32);
                Lease { holder: none.clone(), run: none, fence_ms: None, claim: None }
            }
        };
        if lease.claim.as_ref().is_some_and(|claim| claim.by != hex(&self.run)) && !self.is_dead {
            return Err(Error::Refused(
                "another standby is being promoted; if it has failed, start the primary again, or give \
                 --primary-is-dead"
                    .to_owned(),
            ));
        }
        lease.claim = Some(Claim { by: hex(&self.run), answer: Answer::None });
        if !repository.swap_lease(read.as_ref(), &lease)? {
            return Err(faster());
        }
        let read = repository.read_lease()?.filter(|read| read.lease == lease);
        read.ok_or_else(faster)
    }

    fn claimed(
        &self,
        follower: &mut Follower,
        repository: &Repository,
        mut read: Read,
    ) -> Result<(Holder, Parent), Error> {
        let begun = Instant::now();
        let patience = match read.lease.fence() {
            _ if self.is_dead => Duration::ZERO,
            Some(fence) => fence + MARGIN,
            None => ANSWER,
        };
        let mut end = begun + patience;
        let mut answer = Answer::None;
        let mut failures = 0;
        while Instant::now() < end {
            let looked = self.look(repository).and_then(|read| {
                while follower.step()?.is_some() {}
                Ok(read)
            });
            match looked {
                Ok(found) => {
                    read = found;
                    failures = 0;
                }
                Err(error @ Error::Target(_)) if failures >= FAILURES_MAX => return Err(error),
                Err(Error::Target(_)) => failures += 1,
                Err(error) => return Err(error),
            }
            let told = read.lease.claim.as_ref().map_or(Answer::None, |claim| claim.answer);
            match told {
                Answer::None => {}
                Answer::Stopped if answer == Answer::None => end = Instant::now() + REST,
                Answer::Stopped => {}
                Answer::Released(_) => {
                    answer = told;
                    break;
                }
            }
            answer = told;
            thread::park_timeout(PAUSE);
        }
        self.catch_up(follower, answer)?;
        let position = follower.position();
        // The last look at what may have changed: the swap fails if the primary is back.
        let read = self.look(repository)?;
        let lease = Lease {
            holder: hex(&self.holder),
            run: hex(&self.run),
            fence_ms: self.fence.map(|it| u64::try_from(it.as_millis()).unwrap_or(u64::MAX)),
            claim: None,
        };
        let now = Instant::now();
        if !repository.swap_lease(Some(&read), &lease)? {
            return Err(faster());
        }
        follower.store().promote(self.holder, now, self.fence)?;
        let holder = Holder::promoted(follower.store().clone(), self.fence, self.run);
        let parent = Parent { generation: position.generation, through: position.through };
        Ok((holder, parent))
    }

    /// The lease with the claim of this standby.
    fn look(&self, repository: &Repository) -> Result<Read, Error> {
        let own =
            |read: &Read| read.lease.claim.as_ref().is_some_and(|claim| claim.by == hex(&self.run));
        let read = repository.read_lease()?.filter(own);
        read.ok_or_else(|| {
            Error::Refused(
                "the primary has taken its lease again, or another standby was promoted: nothing was changed here"
                    .to_owned(),
            )
        })
    }

    /// Applies everything that the backup has; what the primary has released must be there.
    fn catch_up(&self, follower: &mut Follower, answer: Answer) -> Result<(), Error> {
        follower.look_soon();
        while follower.step()?.is_some() {}
        if let Answer::Released(Parent { generation, through }) = answer {
            let position = follower.position();
            if (position.generation, position.through) < (generation, through) {
                return Err(Error::Damaged(format!(
                    "the backup ends with record {} of generation {:016x}, and the primary has released it with \
                     record {through} of generation {generation:016x}",
                    position.through, position.generation
                )));
            }
        }
        Ok(())
    }

    /// Withdraws the claim, if it is there; a failure leaves it, and a start of the primary ends it.
    fn withdraw(&self, repository: &Repository) {
        if let Ok(read) = self.look(repository) {
            let lease = Lease { claim: None, ..read.lease.clone() };
            let _ = repository.swap_lease(Some(&read), &lease);
        }
    }
}

fn faster() -> Error {
    Error::Refused(
        "another server has changed the lease at the same time: nothing was changed here; try again"
            .to_owned(),
    )
}
