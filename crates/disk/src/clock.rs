//! Time, passed in: tests of expiry, clock skew and crashes need no waiting.

use std::fmt::Debug;
#[cfg(any(test, feature = "test-util"))]
use std::sync::atomic::AtomicU64;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A source of time.
pub trait Clock: Send + Sync + Debug {
    /// Milliseconds since 1970 (UTC). It may step back.
    fn now_ms(&self) -> u64;

    /// Milliseconds since a fixed moment of this process. It never steps back.
    fn monotonic_ms(&self) -> u64;
}

/// The clock of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn monotonic_ms(&self) -> u64 {
        static FIRST: OnceLock<Instant> = OnceLock::new();
        let since = FIRST.get_or_init(Instant::now).elapsed();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

/// A clock that runs with an adjustable offset from another one. [`Clock::monotonic_ms`] has no
/// offset, so measured durations are not affected.
#[derive(Debug)]
pub struct ShiftedClock {
    base: Arc<dyn Clock>,
    offset_ms: AtomicI64,
}

impl ShiftedClock {
    /// A clock with offset 0 from `base`.
    #[must_use]
    pub fn new(base: Arc<dyn Clock>) -> Self {
        Self { base, offset_ms: AtomicI64::new(0) }
    }

    /// The offset in milliseconds; negative if the clock is behind.
    #[must_use]
    pub fn offset_ms(&self) -> i64 {
        self.offset_ms.load(Ordering::Relaxed)
    }

    /// Sets the offset. The clock never shows a time before 1970.
    pub fn set_offset_ms(&self, offset_ms: i64) {
        self.offset_ms.store(offset_ms, Ordering::Relaxed);
    }
}

impl Clock for ShiftedClock {
    fn now_ms(&self) -> u64 {
        self.base.now_ms().saturating_add_signed(self.offset_ms())
    }

    fn monotonic_ms(&self) -> u64 {
        self.base.monotonic_ms()
    }
}

/// A clock that stands still until it is set.
#[cfg(any(test, feature = "test-util"))]
#[derive(Debug)]
pub struct ManualClock {
    now_ms: AtomicU64,
    monotonic_ms: AtomicU64,
}

#[cfg(any(test, feature = "test-util"))]
impl ManualClock {
    /// A clock that shows `now_ms` until it is set.
    #[must_use]
    pub fn new(now_ms: u64) -> Self {
        Self { now_ms: AtomicU64::new(now_ms), monotonic_ms: AtomicU64::new(0) }
    }

    /// Sets the wall clock, forward or back. The monotonic clock does not move.
    pub fn set_ms(&self, now_ms: u64) {
        self.now_ms.store(now_ms, Ordering::SeqCst);
    }

    /// Advances both clocks.
    pub fn advance_ms(&self, by_ms: u64) {
        self.now_ms.fetch_add(by_ms, Ordering::SeqCst);
        self.monotonic_ms.fetch_add(by_ms, Ordering::SeqCst);
    }
}

#[cfg(any(test, feature = "test-util"))]
impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::SeqCst)
    }

    fn monotonic_ms(&self) -> u64 {
        self.monotonic_ms.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shifted_clock_runs_as_the_other_one_does() {
        let base = Arc::new(ManualClock::new(10_000));
        let shifted = ShiftedClock::new(Arc::clone(&base) as _);
        assert_eq!((shifted.now_ms(), shifted.offset_ms()), (10_000, 0));
        shifted.set_offset_ms(5_000);
        base.advance_ms(1);
        assert_eq!((shifted.now_ms(), shifted.monotonic_ms()), (15_001, 1));
        shifted.set_offset_ms(-20_000);
        assert_eq!((shifted.now_ms(), shifted.monotonic_ms()), (0, 1));
    }
}
