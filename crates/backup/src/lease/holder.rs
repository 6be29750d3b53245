//! [`Holder`]: the lease of a primary.

use std::time::{Duration, Instant};

use liteio_store::Store;
use parking_lot::Mutex;

use super::{Answer, Lease, Read, hex, token};
use crate::Error;
use crate::base::Parent;
use crate::repository::Repository;

/// Attempts to take the lease while others change it.
const ATTEMPTS: usize = 5;

/// The lease of a primary, from its start on.
#[derive(Debug)]
pub struct Holder {
    store: Store,
    fence: Option<Duration>,
    run: [u8; 16],
    /// `true` once this run has taken the lease.
    is_taken: Mutex<bool>,
}

/// The finding of a look at the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// It is that of this server.
    Held,
    /// A standby wants it: stop writing, and release it.
    Claimed,
    /// It is that of another server.
    Lost,
}

impl Holder {
    /// The lease of the server of `store`, with its fence, if any.
    ///
    /// # Errors
    /// [`Error::Sealing`].
    pub fn new(store: Store, fence: Option<Duration>) -> Result<Self, Error> {
        Ok(Self { store, fence, run: token()?, is_taken: Mutex::new(false) })
    }

    /// The lease of a server that has taken it in the run `run`, as a promoted standby.
    pub(super) fn promoted(store: Store, fence: Option<Duration>, run: [u8; 16]) -> Self {
        Self { store, fence, run, is_taken: Mutex::new(true) }
    }

    /// Takes the lease, if this is the first call, and otherwise looks at it. If it is held, writes
    /// are admitted for the time of the fence since the call.
    ///
    /// A directory that had the lease gets it back only if no other one has taken it. One that never
    /// had it, as a new or a restored one, takes it from the directory that has it.
    ///
    /// # Errors
    /// The errors of the target and the store.
    pub fn look(&self, repository: &Repository) -> Result<Look, Error> {
        let begun = Instant::now();
        let mut is_taken = self.is_taken.lock();
        let look = match *is_taken {
            true => self.look_at(repository.read_lease()?.as_ref()),
            false => self.take(repository)?,
        };
        if look == Look::Held {
            *is_taken = true;
            self.store.lease(begun, self.fence);
        }
        Ok(look)
    }

    fn look_at(&self, read: Option<&Read>) -> Look {
        match read.map(|read| &read.lease) {
            Some(lease) if lease.run == hex(&self.run) => match lease.claim {
                Some(_) => Look::Claimed,
                None => Look::Held,
            },
            // Who removes it wants a backup to begin anew at the next start.
            None => Look::Held,
            Some(_) => Look::Lost,
        }
    }

    fn take(&self, repository: &Repository) -> Result<Look, Error> {
        let own = self.store.lease_token(&repository.id)?;
        let holder = own.map_or_else(token, Ok)?;
        for _ in 0..ATTEMPTS {
            let read = repository.read_lease()?;
            let is_of_another = |read: &Read| read.lease.holder != hex(&holder);
            if own.is_some() && read.as_ref().is_some_and(is_of_another) {
                return Ok(Look::Lost);
            }
            let lease = Lease {
                holder: hex(&holder),
                run: hex(&self.run),
                fence_ms: self.fence.map(|it| u64::try_from(it.as_millis()).unwrap_or(u64::MAX)),
                claim: None,
            };
            if repository.swap_lease(read.as_ref(), &lease)? {
                if own.is_none() {
                    self.store.set_lease_token(&repository.id, holder)?;
                }
                return Ok(Look::Held);
            }
        }
        Err(Error::Refused(format!("other servers change the lease at {}", repository.shown())))
    }

    /// Tells the standby that has claimed the lease that no write is admitted any more, or that
    /// everything is stored up to a state. `false` if the claim is gone, or the lease.
    ///
    /// # Errors
    /// The errors of the target.
    pub fn answer(&self, repository: &Repository, released: Option<Parent>) -> Result<bool, Error> {
        let Some(read) = repository.read_lease()? else { return Ok(false) };
        if self.look_at(Some(&read)) != Look::Claimed {
            return Ok(false);
        }
        let mut lease = read.lease.clone();
        if let Some(claim) = &mut lease.claim {
            claim.answer = released.map_or(Answer::Stopped, Answer::Released);
        }
        repository.swap_lease(Some(&read), &lease)
    }
}
