//! [`Bandwidth`]: the limit of the bytes that are sent in a second.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Gives each object a time before which it is not sent, so that all together keep the limit.
#[derive(Debug)]
pub(super) struct Bandwidth {
    bytes_per_second: Option<u64>,
    begun: Instant,
    /// The time since the begin from which on the next object may be sent.
    next: Mutex<Duration>,
}

impl Bandwidth {
    /// `None` for no limit.
    pub(super) fn new(bytes_per_second: Option<u64>) -> Self {
        Self { bytes_per_second, begun: Instant::now(), next: Mutex::default() }
    }

    /// `true` if there is a limit.
    pub(super) fn is_limited(&self) -> bool {
        self.bytes_per_second.is_some()
    }

    /// The time to wait before an object of `bytes` bytes is sent.
    pub(super) fn wait(&self, bytes: u64) -> Duration {
        self.wait_at(self.begun.elapsed(), bytes)
    }

    fn wait_at(&self, now: Duration, bytes: u64) -> Duration {
        let Some(limit) = self.bytes_per_second else { return Duration::ZERO };
        let mut next = self.next.lock();
        // What was not used in the past is lost, so that no second has more than the limit and one object.
        let begin = now.max(*next);
        let nanoseconds = u128::from(bytes) * 1_000_000_000 / u128::from(limit.max(1));
        *next = begin + Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX));
        begin - now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_wait_for_those_before_them() {
        let second = Duration::from_secs;
        let limited = Bandwidth::new(Some(1000));
        assert_eq!(limited.wait_at(second(0), 2000), second(0));
        assert_eq!(limited.wait_at(second(0), 500), second(2));
        assert_eq!(limited.wait_at(second(1), 500), Duration::from_millis(1500));
        assert_eq!(limited.wait_at(second(100), 1000), second(0), "nothing is saved up");
        assert_eq!(limited.wait_at(second(100), 1000), second(1));
        let free = Bandwidth::new(None);
        assert_eq!(free.wait_at(second(0), u64::MAX), second(0));
        assert_eq!(free.wait_at(second(0), u64::MAX), second(0));
    }
}
