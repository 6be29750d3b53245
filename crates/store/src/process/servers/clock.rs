//! [`DatabaseClock`]: the time of the database.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use liteio_disk::Clock;
use liteio_kv::database::Moment;

/// The time of the database, as it has told it last, and what has passed since then by the monotonic clock.
/// The clock of the machine has no part in it, which somebody may set at any moment: it would end
/// retentions. This one is behind the database by as long as an answer takes, and never ahead.
#[derive(Debug)]
pub(crate) struct DatabaseClock {
    machine: Arc<dyn Clock>,
    /// The time of the database less the monotonic time, in milliseconds.
    offset_ms: AtomicI64,
}

impl DatabaseClock {
    /// The time of the machine, until [`DatabaseClock::set`] is called.
    pub(crate) fn new(machine: Arc<dyn Clock>) -> Self {
        let offset_ms = AtomicI64::new(difference(machine.now_ms(), machine.monotonic_ms()));
        Self { machine, offset_ms }
    }

    /// Sets it to a moment that the database has told just now.
    pub(crate) fn set(&self, moment: Moment) {
        let offset_ms = difference(moment.now_ms, self.machine.monotonic_ms());
        self.offset_ms.store(offset_ms, Ordering::Relaxed);
    }

    /// Sets it to a moment that the database has told, perhaps some time ago: it never goes back. The monotonic clock
    /// of a machine that was asleep stands still meanwhile.
    pub(crate) fn advance(&self, moment: Moment) {
        let offset_ms = difference(moment.now_ms, self.machine.monotonic_ms());
        self.offset_ms.fetch_max(offset_ms, Ordering::Relaxed);
    }
}

impl Clock for DatabaseClock {
    fn now_ms(&self) -> u64 {
        let offset_ms = self.offset_ms.load(Ordering::Relaxed);
        self.machine.monotonic_ms().saturating_add_signed(offset_ms)
    }

    fn monotonic_ms(&self) -> u64 {
        self.machine.monotonic_ms()
    }
}

fn difference(one_ms: u64, other_ms: u64) -> i64 {
    one_ms.cast_signed().wrapping_sub(other_ms.cast_signed())
}

#[cfg(test)]
mod tests {
    use liteio_disk::ManualClock;

    use super::*;

    #[test]
    fn it_shows_the_time_of_the_database_whatever_the_machine_thinks() {
        let machine = Arc::new(ManualClock::new(5_000_000));
        let clock = DatabaseClock::new(Arc::clone(&machine) as _);
        assert_eq!(clock.now_ms(), 5_000_000);
        clock.set(Moment { now_ms: 9_000, epochs: Default::default() });
        assert_eq!(clock.now_ms(), 9_000);
        machine.set_ms(1);
        machine.advance_ms(20);
        assert_eq!((clock.now_ms(), clock.monotonic_ms()), (9_020, 20));
        for now_ms in [9_500, 9_400] {
            clock.advance(Moment { now_ms, epochs: Default::default() });
            assert_eq!(clock.now_ms(), 9_500);
        }
    }
}
