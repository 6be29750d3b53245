//! Bounds of the work.

use std::time::Duration;

/// Bodies that move at a time. Each holds a piece of 32 MiB in memory.
pub(crate) const MOVES_AT_A_TIME: usize = 2;
/// Rows read at a time.
pub(crate) const PAGE: usize = 256;
/// Wait between two looks at the queues: two seeks in the key space.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The same while many rows wait for a tier that is down.
pub(crate) const LONG_QUEUE_PAUSE: Duration = Duration::from_secs(15);
/// The first wait before a tier that failed is tried again; each further wait is twice as long.
pub(crate) const WAIT_MIN: Duration = Duration::from_secs(1);
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(60);
/// Longest read of a window of a body, with repetitions.
pub(crate) const READ_MAX: Duration = Duration::from_secs(60);
