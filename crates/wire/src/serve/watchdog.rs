//! [`Watchdog`]: the timer of one connection.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

use crate::connection::{ConnectionState, Phase};
use crate::front::limits::Limits;
use crate::front::pace::Pace;

/// Times the phases of a connection. The timer is armed for the earliest possible deadline and
/// checks again when it fires, so that a busy connection never resets it.
pub(crate) struct Watchdog<'a> {
    limits: &'a Limits,
    seen: (Phase, u32),
    since: Instant,
    /// The speed at which the client takes answers.
    pace: Pace,
    /// The bytes that it had taken at the last count.
    written: u64,
    timer: Pin<Box<Sleep>>,
    armed: bool,
}

impl Watchdog<'_> {
    /// A watchdog for a connection whose present phase begins now.
    pub(super) fn new<'a>(limits: &'a Limits, state: &ConnectionState) -> Watchdog<'a> {
        let since = Instant::now();
        let timer = Box::pin(sleep_until(since + limits.header_timeout));
        let pace = Pace::new(limits.answer_window, limits.bytes_per_second_min);
        let written = state.written();
        Watchdog { limits, seen: state.phase(), since, pace, written, timer, armed: true }
    }

    /// The time limit of a phase. A request has none: its body has its own clock.
    fn timeout(&self, phase: Phase) -> Option<Duration> {
        match phase {
            Phase::Idle => Some(self.limits.park_after),
            Phase::Head => Some(self.limits.header_timeout),
            Phase::Request => None,
            Phase::Blocked => Some(self.pace.left()),
        }
    }

    /// Counts the time spent waiting for the client, if any, and the bytes that it took.
    fn count(&mut self, state: &ConnectionState, now: Instant) {
        if self.seen.0 == Phase::Blocked {
            self.pace.wait(now - self.since);
        }
        let written = state.written();
        self.pace.moved(written - self.written);
        self.written = written;
        self.since = now;
    }

    /// Ready with the phase that has lasted too long. Call it after every poll of the connection.
    pub(super) fn poll(
        &mut self,
        state: &ConnectionState,
        context: &mut Context<'_>,
    ) -> Poll<Phase> {
        // A body that was abandoned after its answer was flushed has no later flush to release the
        // place.
        state.flushed();
        let seen = state.phase();
        if seen != self.seen {
            self.count(state, Instant::now());
            self.seen = seen;
        }
        let (phase, _) = seen;
        let Some(timeout) = self.timeout(phase) else {
            // The timer may still be armed for an earlier phase; let it fire once without effect.
            if self.armed && self.timer.as_mut().poll(context).is_ready() {
                self.armed = false;
            }
            return Poll::Pending;
        };
        let mut deadline = self.since + timeout;
        // Only an earlier deadline moves the timer; a later one is checked when it fires.
        if !self.armed || self.timer.deadline() > deadline {
            self.timer.as_mut().reset(deadline);
            self.armed = true;
        }
        loop {
            ready!(self.timer.as_mut().poll(context));
            let now = Instant::now();
            if now >= deadline {
                if phase != Phase::Blocked {
                    return Poll::Ready(phase);
                }
                self.count(state, now);
                // Too slow over the whole window. A client that pauses but keeps the average gets
                // another window.
                if !self.pace.begin_window() {
                    return Poll::Ready(phase);
                }
                deadline = now + self.pace.left();
            }
            self.timer.as_mut().reset(deadline);
        }
    }
}
