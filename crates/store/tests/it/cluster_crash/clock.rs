//! The clocks of servers, which are wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use liteio_store::Clock;

use super::world::BEGIN_MS;

/// The time that has passed, of all.
pub(super) type Passed = Arc<AtomicU64>;

/// The clock of a machine, which runs as all do, and shows another time.
#[derive(Debug)]
pub(super) struct MachineClock {
    passed_ms: Passed,
    skew_ms: AtomicI64,
}

impl MachineClock {
    pub(super) fn new(passed_ms: &Passed) -> Arc<Self> {
        Arc::new(Self { passed_ms: Arc::clone(passed_ms), skew_ms: AtomicI64::new(0) })
    }

    /// Sets it wrong by so much.
    pub(super) fn skew(&self, ms: i64) {
        self.skew_ms.store(ms, Ordering::SeqCst);
    }
}

impl Clock for MachineClock {
    fn now_ms(&self) -> u64 {
        let skew_ms = self.skew_ms.load(Ordering::SeqCst);
        (BEGIN_MS + self.monotonic_ms()).saturating_add_signed(skew_ms)
    }

    fn monotonic_ms(&self) -> u64 {
        self.passed_ms.load(Ordering::SeqCst)
    }
}
