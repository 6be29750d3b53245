//! [`Status`]: how far a writer has come.

use parking_lot::Mutex;

use crate::base::Parent;
use crate::repository::Verification;

/// The state of a writer, for metrics and health checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The time of the last complete base, in milliseconds since 1970: without one nothing can be restored from this
    /// generation.
    pub base_ms: Option<u64>,
    /// Everything that was acknowledged before this time is in the backup, in milliseconds since 1970.
    pub kept_ms: Option<u64>,
    /// The state that the stored segments lead to.
    pub stored: Option<Parent>,
    /// Bytes sent to the target.
    pub sent_bytes: u64,
    /// Number of objects sent to the target.
    pub sent_objects: u64,
    /// Number of damaged pairs and blobs that could not be backed up whole.
    pub unreadable: u64,
    /// The last verification of the backup, as far as it is known.
    pub verification: Option<Verification>,
    /// Number of failures so far.
    pub failures: u64,
    /// The reason why it does not get on; `None` if it does.
    pub error: Option<String>,
    /// The reason why the lease cannot be looked at; `None` if it can. A writer without changes meets no failure.
    pub lease_error: Option<String>,
    /// The reason of the last failure, also when it gets on since: who looks at times has not missed it.
    pub last_error: Option<String>,
}

impl State {
    /// `true` while the writer or the keeper of the lease fails.
    #[must_use]
    pub fn is_failing(&self) -> bool {
        self.error.is_some() || self.lease_error.is_some()
    }

    pub(super) fn fail(&mut self, reason: String) {
        self.failures += 1;
        self.error = Some(reason.clone());
        self.last_error = Some(reason);
    }
}

/// The state of a writer, shared with those who watch it.
#[derive(Debug, Default)]
pub struct Status(Mutex<State>);

impl Status {
    /// The state now.
    #[must_use]
    pub fn state(&self) -> State {
        self.0.lock().clone()
    }

    /// Notes whether the lease could be looked at: the reason if not.
    pub fn looked_at_lease(&self, failure: Option<String>) {
        let mut state = self.0.lock();
        if let Some(reason) = &failure
            && state.lease_error.is_none()
        {
            state.failures += 1;
            state.last_error = Some(reason.clone());
        }
        state.lease_error = failure;
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.lock());
    }
}
