//! [`Lease`]: the right to write, an object of the backup that one server has at a time.
//!
//! ```text
//!                      claim (If-Match)                  stop                         release
//!  held by the primary ────────────────► claimed ────────────────► stopped ─────────────────► released
//!        ▲                                  │                        │                           │
//!        │ the primary starts again         │ time is over           │ time is over              │
//!        ├◄─────────────────────────────────┴────────────────────────┴───────────────────────────┤
//!        │                                                                                       │
//!        └── held by the standby ◄── take (If-Match), once everything in the backup is applied ◄─┘
//! ```
//! Every change replaces the object that was read, so that of two servers one wins. The primary only
//! reads it, each second: what it reads was so after the read began. A primary with a fence admits
//! writes for that long after such a moment and no longer, by its own clock. So a standby that has
//! claimed the lease and waited for the fence knows that the primary has stopped, dead or alive, and
//! no two clocks are compared.

mod claimant;
mod holder;

use std::time::Duration;

use bytes::Bytes;
use liteio_disk::RandomSource as _;
use serde::{Deserialize, Serialize};

pub use self::claimant::Claimant;
pub use self::holder::{Holder, Look};
use crate::Error;
use crate::base::Parent;
use crate::names::LEASE;
use crate::repository::Repository;
use crate::target::TargetError;

/// The lease, in JSON, sealed like the other objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Token of the data directory that is written to, 32 hexadecimal digits.
    pub holder: String,
    /// The run of its server, likewise.
    pub run: String,
    /// The server admits writes for this long after it has looked at the lease; without it, until it
    /// sees that it has lost it. In milliseconds.
    pub fence_ms: Option<u64>,
    /// A standby that is being promoted.
    pub claim: Option<Claim>,
}

/// A claim to the lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The run of the standby's server.
    pub by: String,
    /// The answer of the primary.
    pub answer: Answer,
}

/// The answer of a primary to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// None yet.
    None,
    /// It admits no writes any more, and stores what is left.
    Stopped,
    /// Everything is stored.
    Released(Parent),
}

/// A lease as it was read, to be replaced.
#[derive(Clone, Debug)]
pub(super) struct Read {
    lease: Lease,
    object: Bytes,
}

impl Lease {
    /// The fence of the holder.
    fn fence(&self) -> Option<Duration> {
        self.fence_ms.map(Duration::from_millis)
    }
}

impl Repository {
    /// The lease; `None` if no server has taken it yet.
    ///
    /// # Errors
    /// The errors of the target; that of a damaged object.
    pub fn lease(&self) -> Result<Option<Lease>, Error> {
        Ok(self.read_lease()?.map(|read| read.lease))
    }

    pub(super) fn read_lease(&self) -> Result<Option<Read>, Error> {
        let object = match self.target.get(LEASE) {
            Err(TargetError::NotFound { .. }) => return Ok(None),
            object => object?,
        };
        let json = self.sealer.open(LEASE, &object)?;
        let lease = serde_json::from_slice(&json);
        let damaged = |_| Error::Damaged(format!("{LEASE} at {} is damaged", self.shown()));
        Ok(Some(Read { lease: lease.map_err(damaged)?, object }))
    }

    /// Replaces the lease that was read. `false` if another server was faster.
    pub(super) fn swap_lease(&self, old: Option<&Read>, lease: &Lease) -> Result<bool, Error> {
        let json = serde_json::to_vec(lease).expect("plain data");
        let object = self.sealer.seal(LEASE, &json, false);
        let object = object.map_err(|error| Error::Sealing(error.to_string()))?;
        let old = old.map(|read| &read.object);
        if old == Some(&object) {
            // Without a key equal leases are equal objects.
            return Ok(true);
        }
        match self.target.swap(LEASE, old, object.clone()) {
            Ok(()) => Ok(true),
            Err(TargetError::Exists { .. } | TargetError::NotFound { .. }) => Ok(false),
            // The answer may be lost, and the repetition would count as another's.
            Err(TargetError::Broken(_)) if self.target.get(LEASE).is_ok_and(|it| it == object) => {
                Ok(true)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// A random token of a directory or a run.
///
/// # Errors
/// [`Error::Sealing`] if the system has no random bytes.
fn token() -> Result<[u8; 16], Error> {
    let mut token = [0; 16];
    let filled = liteio_disk::SystemRandom.fill(&mut token);
    filled.map_err(|error| Error::Sealing(error.to_string()))?;
    Ok(token)
}

fn hex(token: &[u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(*token))
}
