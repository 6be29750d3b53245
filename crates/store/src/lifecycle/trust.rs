//! Trust in the clock, for work that removes what is old.

use std::time::{Duration, Instant};

/// Forward jump of the clock beyond which it is not trusted at once.
const JUMP: Duration = Duration::from_secs(60 * 60);
/// Delay until a jumped clock is trusted. An operator who set it by mistake has this
/// long to correct it before objects expire.
const TRUST_AFTER: Duration = Duration::from_secs(60 * 60);

/// Trust in the clock: it is trusted while it advances as monotonic time does.
#[derive(Debug, Default)]
pub struct ClockTrust {
    last: Option<(Instant, u64)>,
    jumped: Option<Instant>,
}

impl ClockTrust {
    /// Looks at the clock, which shows `now_ms` at the moment `now`. Returns whether it is trusted.
    pub fn look(&mut self, now: Instant, now_ms: u64) -> bool {
        if let Some((then, then_ms)) = self.last.replace((now, now_ms)) {
            let passed = Duration::from_millis(now_ms.saturating_sub(then_ms));
            if passed > now.duration_since(then) + JUMP {
                self.jumped = Some(now);
            } else if now_ms < then_ms {
                // Set back, perhaps to the right time: the jump is forgotten.
                self.jumped = None;
            }
        }
        self.jumped.is_none_or(|jumped| now.duration_since(jumped) >= TRUST_AFTER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_jumps_forward_is_not_trusted_at_once() {
        let begin = Instant::now();
        let mut trust = ClockTrust::default();
        let mut look = |minutes: u64, clock_minutes: u64| {
            trust.look(begin + Duration::from_secs(minutes * 60), clock_minutes * 60_000)
        };
        assert!(look(0, 1_000));
        assert!(look(10, 1_012), "a little fast");
        assert!(!look(11, 999_999), "far ahead");
        assert!(!look(20, 1_000_008));
        assert!(look(21, 1_023), "set back");
        assert!(!look(22, 999_999));
        assert!(look(90, 1_000_067), "it has stayed so");
    }
}
