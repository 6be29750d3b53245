//! [`Rhythm`]: the moments at which records are written to the backup.
//!
//! ```text
//!  records   x                    x x x x x x x x x        x
//!  segments   |                    |        |        |      |
//!             at once, after a pause        interval         at once
//! ```
//! There is one segment in an interval at most, unless so much is written that one is full before. The
//! first record after a pause does not wait for the end of an interval: a standby has it sooner, and the
//! number of requests stays below one for each interval.

use std::time::{Duration, Instant};

use liteio_store::backup::BackupFeed;

use super::Stop;
use crate::limits::SEGMENT_BYTES;

/// Looks for records in an interval.
const LOOKS_IN_INTERVAL: u32 = 10;
/// Shortest and longest time between two of them.
const LOOK_MIN: Duration = Duration::from_millis(5);
const LOOK_MAX: Duration = Duration::from_millis(100);

/// The moments at which records are written.
#[derive(Debug)]
pub(super) struct Rhythm {
    interval: Duration,
    /// The last time at which everything was written.
    ticked: Instant,
    /// The number of the newest record by then.
    newest: u64,
    /// The last time at which a segment was written.
    stored: Option<Instant>,
}

impl Rhythm {
    /// Nothing was written yet.
    pub(super) fn new(interval: Duration) -> Self {
        Self { interval, ticked: Instant::now(), newest: 0, stored: None }
    }

    /// Waits until records are due. `false` if the writer has to end.
    pub(super) fn wait(&self, stop: &Stop, feed: &BackupFeed) -> bool {
        let pause = (self.interval / LOOKS_IN_INTERVAL).clamp(LOOK_MIN, LOOK_MAX);
        loop {
            if !stop.wait(pause) {
                return false;
            }
            if self.is_due(Instant::now(), feed.newest(), feed.waiting_bytes()) {
                return true;
            }
        }
    }

    /// `true` if the records up to the number `newest`, of so many bytes, are due.
    pub(super) fn is_due(&self, now: Instant, newest: u64, bytes: usize) -> bool {
        let is_over = |since: Instant| now.saturating_duration_since(since) >= self.interval;
        let is_first = newest != self.newest && self.stored.is_none_or(is_over);
        is_over(self.ticked) || is_first || bytes >= SEGMENT_BYTES
    }

    /// Everything up to the number `newest` is written, in segments or, `is_stored` being `false`, without
    /// any.
    pub(super) fn ticked(&mut self, now: Instant, newest: u64, is_stored: bool) {
        self.ticked = now;
        self.newest = newest;
        if is_stored {
            self.stored = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_record_after_a_pause_is_due_at_once_and_the_next_ones_after_an_interval() {
        let second = Duration::from_secs(1);
        let mut rhythm = Rhythm::new(second);
        let begun = rhythm.ticked;
        let after = |ms| begun + Duration::from_millis(ms);
        assert!(rhythm.is_due(after(1), 5, 10), "the first one");
        rhythm.ticked(after(1), 5, true);
        assert!(!rhythm.is_due(after(2), 5, 0), "nothing is there");
        assert!(!rhythm.is_due(after(900), 9, 10), "within the interval");
        assert!(rhythm.is_due(after(1001), 9, 10));
        assert!(rhythm.is_due(after(900), 9, SEGMENT_BYTES), "a segment is full");
        // Records that are in no segment, such as the places of blobs, are looked at once.
        rhythm.ticked(after(1001), 9, false);
        assert!(!rhythm.is_due(after(1100), 9, 0));
        assert!(rhythm.is_due(after(1100), 10, 10));
        // Each interval a look says that everything is kept.
        assert!(rhythm.is_due(after(2001), 9, 0));
    }
}
