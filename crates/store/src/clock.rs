//! Time, passed in: expiry, clock skew and crashes are then ordinary fast tests.

use std::fmt::Debug;
use std::sync::OnceLock;
#[cfg(any(test, feature = "test-util"))]
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A source of the time.
pub trait Clock: Send + Sync + Debug {
    /// Milliseconds since 1970 (UTC). It may step back.
    fn now_ms(&self) -> u64;

    /// Milliseconds since some moment of this process. It never steps back.
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

/// A clock that stands still until it is set.
#[cfg(any(test, feature = "test-util"))]
#[derive(Debug)]
pub struct ManualClock {
    now_ms: AtomicU64,
    monotonic_ms: AtomicU64,
}

#[cfg(any(test, feature = "test-util"))]
impl ManualClock {
    /// A clock that stands at `now_ms`.
    #[must_use]
    pub fn new(now_ms: u64) -> Self {
        Self { now_ms: AtomicU64::new(now_ms), monotonic_ms: AtomicU64::new(0) }
    }

    /// Sets the clock, also back. No time passes.
    pub fn set_ms(&self, now_ms: u64) {
        self.now_ms.store(now_ms, Ordering::SeqCst);
    }

    /// Lets time pass.
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
