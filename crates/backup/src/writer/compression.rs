//! [`CompressionTime`]: the time that segments may take to be compressed.
//!
//! Compression of a KiB takes up to a tenth of the time of the request that has written it. A server that is
//! written to at a moderate rate has it all; one that takes many requests stores its segments as they are, and
//! compresses some.

use std::time::{Duration, Instant};

/// Share of the time of one core: one in this many.
const SHARE: u32 = 50;
/// Time that can be saved up: that of some full segments.
const SAVED_MAX: Duration = Duration::from_millis(200);

/// The time that is left. The time of a segment is known only afterwards, so it may be below zero, which later segments
/// make up for.
#[derive(Debug)]
pub(super) struct CompressionTime {
    left: Duration,
    owed: Duration,
    at: Instant,
}

impl CompressionTime {
    /// All that can be saved up.
    pub(super) fn new(now: Instant) -> Self {
        Self { left: SAVED_MAX, owed: Duration::ZERO, at: now }
    }

    /// `true` if there is time for a segment.
    pub(super) fn is_left(&mut self, now: Instant) -> bool {
        let earned = now.saturating_duration_since(self.at) / SHARE;
        self.at = now;
        let paid = earned.min(self.owed);
        self.owed -= paid;
        self.left = (self.left + (earned - paid)).min(SAVED_MAX);
        self.owed.is_zero()
    }

    /// A segment took so long.
    pub(super) fn spent(&mut self, time: Duration) {
        self.owed += time.saturating_sub(self.left);
        self.left = self.left.saturating_sub(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fiftieth_of_the_time_is_spent_and_some_of_it_saved_up() {
        let begun = Instant::now();
        let after = |ms| begun + Duration::from_millis(ms);
        let mut time = CompressionTime::new(begun);
        assert!(time.is_left(begun));
        time.spent(Duration::from_millis(150));
        assert!(time.is_left(begun), "saved up");
        // 100 ms more than was left: 5 s of a fiftieth.
        time.spent(Duration::from_millis(150));
        assert!(!time.is_left(after(1000)) && !time.is_left(after(4990)));
        assert!(time.is_left(after(5001)));
        // A pause saves no more than the most.
        assert!(time.is_left(after(3_600_000)));
        time.spent(SAVED_MAX + Duration::from_millis(1));
        assert!(!time.is_left(after(3_600_001)));
    }
}
