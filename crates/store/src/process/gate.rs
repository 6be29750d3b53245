//! The gate of writes: closed at a standby, and at a primary that has lost its lease.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::error::StoreError;

/// The refusal of a write at a standby.
pub(crate) const OF_STANDBY: &str = "This server is a standby and refuses writes: it follows the primary. Write to the \
     primary, or run `liteio promote` here if that is lost.";

/// The end of a lease that does not end.
const FOREVER: u64 = u64::MAX;

/// Decides whether updates are admitted. An update looks before it is submitted, which spares its
/// work, and in its transaction, which decides: transactions run one after another, so behind the
/// first one that begins after [`Gate::close`] none is admitted.
///
/// ```text
///          close                       close, or the time is over
///  open ────────► closed       leased ───────────────────────────► closed
///       ◄────────                     ◄───────────────────────────
///          open                        open, lease
/// ```
#[derive(Debug)]
pub(crate) struct Gate {
    is_closed: AtomicBool,
    /// Milliseconds after `begun` until which it is open.
    until_ms: AtomicU64,
    begun: Instant,
    reason: Mutex<String>,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            is_closed: AtomicBool::new(false),
            until_ms: AtomicU64::new(FOREVER),
            begun: Instant::now(),
            reason: Mutex::default(),
        }
    }
}

impl Gate {
    /// Admits an update.
    ///
    /// # Errors
    /// [`StoreError::Suspended`].
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let until_ms = self.until_ms.load(Ordering::Acquire);
        if !self.is_closed.load(Ordering::Acquire)
            && (until_ms == FOREVER || self.passed_ms(self.begun.elapsed()) < until_ms)
        {
            return Ok(());
        }
        Err(self.refusal())
    }

    pub(crate) fn close(&self, reason: &str) {
        reason.clone_into(&mut self.reason.lock());
        self.is_closed.store(true, Ordering::Release);
    }

    pub(crate) fn open(&self) {
        self.is_closed.store(false, Ordering::Release);
    }

    /// Leaves it open for this long after `from` only; `None` for as long as nobody closes it.
    pub(crate) fn lease(&self, from: Instant, term: Option<Duration>) {
        let until = term.map(|term| from.saturating_duration_since(self.begun) + term);
        let until_ms = until.map_or(FOREVER, |until| self.passed_ms(until));
        self.until_ms.store(until_ms, Ordering::Release);
    }

    /// `true` if only the time of the lease keeps it closed.
    pub(crate) fn is_over(&self) -> bool {
        !self.is_closed.load(Ordering::Acquire) && self.check().is_err()
    }

    fn passed_ms(&self, passed: Duration) -> u64 {
        u64::try_from(passed.as_millis()).unwrap_or(FOREVER - 1)
    }

    fn refusal(&self) -> StoreError {
        let reason = match self.is_closed.load(Ordering::Acquire) {
            true => self.reason.lock().clone(),
            false => {
                "This server could not renew its lease at the backup in time: the backup does not answer, or this server \
                 does not reach it, and the log tells why. Writes are accepted again as soon as it answers, unless a standby \
                 was promoted meanwhile. Reading still works."
                    .to_owned()
            }
        };
        StoreError::Suspended { reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_is_open_until_it_is_closed_or_its_time_is_over() {
        let gate = Gate::default();
        gate.check().expect("open");
        gate.close("a standby");
        assert!(!gate.is_over(), "somebody has closed it");
        let refused = gate.check().expect_err("closed");
        assert!(matches!(refused, StoreError::Suspended { reason } if reason == "a standby"));
        gate.open();
        gate.lease(Instant::now(), Some(Duration::from_secs(3600)));
        gate.check().expect("leased");
        assert!(!gate.is_over());
        gate.lease(Instant::now(), Some(Duration::ZERO));
        gate.check().expect_err("over");
        assert!(gate.is_over());
        gate.lease(Instant::now(), None);
        gate.check().expect("open");
    }
}
