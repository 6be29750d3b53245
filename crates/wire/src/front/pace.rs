//! [`Pace`]: the minimum speed of a client.

use std::time::Duration;

/// The bytes that a client sends or takes, and the time during which the server waits for it.
///
/// Only waiting counts: a slow server, or one that reads from a slow device, never cuts a client
/// off. Time is divided into windows, so that a client may pause, and a burst does not pay for
/// later silence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    window: Duration,
    bytes_per_second_min: u32,
    waited: Duration,
    bytes: u64,
}

impl Pace {
    /// The pace of a client that must move `bytes_per_second_min`, averaged over each window.
    pub(crate) fn new(window: Duration, bytes_per_second_min: u32) -> Pace {
        Pace { window, bytes_per_second_min, waited: Duration::ZERO, bytes: 0 }
    }

    /// Notes that the client was waited for.
    pub(crate) fn wait(&mut self, time: Duration) {
        self.waited += time;
    }

    /// Notes that the client moved `bytes` bytes.
    pub(crate) fn moved(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// The rest of the current window.
    pub(crate) fn left(&self) -> Duration {
        self.window.saturating_sub(self.waited)
    }

    /// Starts the next window. `false` if too little was moved in the last one.
    pub(crate) fn begin_window(&mut self) -> bool {
        let enough = u128::from(self.bytes) * 1000
            >= u128::from(self.bytes_per_second_min) * self.waited.as_millis();
        (self.waited, self.bytes) = (Duration::ZERO, 0);
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_judged_by_the_time_of_waiting_alone() {
        let mut pace = Pace::new(Duration::from_secs(30), 1024);
        pace.wait(Duration::from_secs(20));
        pace.moved(30 << 10);
        assert_eq!(pace.left(), Duration::from_secs(10));
        pace.wait(Duration::from_secs(10));
        assert_eq!(pace.left(), Duration::ZERO);
        assert!(pace.begin_window(), "just enough");
        pace.moved((30 << 10) - 1);
        pace.wait(Duration::from_secs(30));
        assert!(!pace.begin_window(), "a byte too few");
        pace.wait(Duration::from_secs(30));
        assert!(!pace.begin_window(), "nothing is left of an earlier window");
    }
}
