//! [`Primaries`]: which primary of the database the servers use.
//!
//! ```text
//!  former primary  ─── read ──── read ──── read ─┐  at the latest when its last beat is 10 s old:
//!        a server that has not met the new one  ─┘  it commits nothing there, so it beats no more
//!  new primary          ├─ answers are held ─────────┤ answers
//!                    first met                 all servers have met it
//! ```
//! After a promotion the former primary may go on, and a server that is still connected to it reads what was there
//! before. So a server that has met the new one holds its answers until every other server has told the same by its
//! beat, or until those that have not must have stopped to answer.

use std::sync::atomic::{AtomicU64, Ordering};

use liteio_kv::database::PrimaryId;
use parking_lot::Mutex;

use super::{SUSPENDED_AFTER, ms};

/// The primaries that this server, and the others, have met last.
#[derive(Debug, Default)]
pub(super) struct Primaries {
    /// The primary that all servers use; 0 for none.
    common: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The primary of this server, and the monotonic time at which it was noticed.
    own: Option<(PrimaryId, u64)>,
    /// The primary at which the rows of the other servers were read, and their primaries.
    heard: Option<(PrimaryId, Vec<Option<PrimaryId>>)>,
}

impl Primaries {
    /// Notes the primaries of the other servers, as their rows tell them at `at`.
    pub(super) fn hear(&self, at: PrimaryId, others: Vec<Option<PrimaryId>>) {
        self.state.lock().heard = Some((at, others));
    }

    /// `true` if no other server reads at a primary that `own` has replaced.
    pub(super) fn are_one(&self, own: PrimaryId, monotonic_ms: u64) -> bool {
        if self.common.load(Ordering::Acquire) == own {
            return true;
        }
        let mut state = self.state.lock();
        let since_ms = match state.own {
            Some((known, since_ms)) if known == own => since_ms,
            _ => {
                state.own = Some((own, monotonic_ms));
                monotonic_ms
            }
        };
        let have_all_met = state.heard.as_ref().is_some_and(|(at, others)| {
            *at == own && others.iter().all(|other| *other == Some(own))
        });
        let are_one = have_all_met || monotonic_ms >= since_ms + ms(SUSPENDED_AFTER);
        if are_one {
            self.common.store(own, Ordering::Release);
        }
        are_one
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_wait_for_all_servers_or_for_the_time_of_those_that_are_silent() {
        let primaries = Primaries::default();
        // A server that has just begun has heard nobody.
        assert!(!primaries.are_one(1, 0));
        primaries.hear(1, vec![Some(1), Some(1)]);
        assert!(primaries.are_one(1, 1));
        // A promotion: what was heard at the former primary tells nothing.
        assert!(!primaries.are_one(2, 1_000));
        primaries.hear(2, vec![Some(2), Some(1)]);
        assert!(!primaries.are_one(2, 2_000));
        primaries.hear(2, vec![Some(2), Some(2)]);
        assert!(primaries.are_one(2, 2_001));
        // Another one, which a server does not meet, or one of an older program.
        for (third, other) in [(3, Some(2)), (4, None)] {
            let (now, wait) = (third * 100_000, ms(SUSPENDED_AFTER));
            assert!(!primaries.are_one(third, now));
            primaries.hear(third, vec![other]);
            assert!(!primaries.are_one(third, now + wait - 1));
            assert!(primaries.are_one(third, now + wait));
            primaries.hear(third, vec![other]);
            assert!(primaries.are_one(third, now + wait), "decided once");
        }
    }
}
