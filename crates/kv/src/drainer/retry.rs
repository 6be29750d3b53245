//! [`Retry`]: exponential backoff for work that was given up.

use std::time::{Duration, Instant};

/// The first wait.
const WAIT_MIN: Duration = Duration::from_secs(5);
/// The longest wait: space should be freed within a minute of idling.
const WAIT_MAX: Duration = Duration::from_secs(40);

/// Waits that double, so that work that never succeeds costs little.
#[derive(Debug, Default)]
pub(super) struct Retry {
    wait: Duration,
    at: Option<Instant>,
}

impl Retry {
    /// `true` if it is time for another attempt.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.at.is_none_or(|at| now >= at)
    }

    /// Notes a failed attempt.
    pub(super) fn put_off(&mut self, now: Instant) {
        self.wait = (self.wait * 2).clamp(WAIT_MIN, WAIT_MAX);
        self.at = now.checked_add(self.wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wait_is_twice_as_long_as_the_one_before() {
        let mut retry = Retry::default();
        let mut now = Instant::now();
        assert!(retry.is_due(now));
        for seconds in [5, 10, 20, 40, 40] {
            retry.put_off(now);
            now += Duration::from_secs(seconds);
            assert!(!retry.is_due(now - Duration::from_millis(1)) && retry.is_due(now));
        }
    }
}
