//! Bounds of the work for one target.

use std::time::Duration;

/// Rows in flight at a time.
pub(crate) const AT_A_TIME: usize = 8;
/// Rows read ahead, among which the next one of a key without a row in flight is searched.
pub(crate) const READ_AHEAD: usize = 256;
/// Consecutive failures after which the target may be down. Then one row is in flight at a time.
pub(crate) const DOUBTFUL: usize = 8;
/// The first wait before failed rows are retried; each further wait is twice as long.
pub(crate) const WAIT_MIN: Duration = Duration::from_millis(200);
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(60);
/// Longest pause between two rows while the target may be down: it finds out that it is up again.
pub(crate) const PAUSE_MAX: Duration = Duration::from_secs(5);
/// Bits of the set of keys with a failed row, whose later rows wait. A collision delays a row only.
pub(crate) const FAILED_KEY_BITS: usize = 1 << 16;
/// Length of a body that is sent from memory, with a signature and repetitions.
pub(crate) const WHOLE_BYTES_MAX: u64 = 256 << 10;
/// Pieces of a body that are read ahead of the connection.
pub(crate) const PIECES_AHEAD: usize = 4;
/// Rows that may wait for a target before its resynchronization adds more.
pub(crate) const RESYNC_WAITING_MAX: u64 = 10_000;
/// Wait before a resynchronization looks at a long queue, or at a failed disk, again.
pub(crate) const RESYNC_PAUSE: Duration = Duration::from_secs(1);
/// Time between two looks whether another server still does the work, the primary of a standby for
/// example.
pub(crate) const SUSPENDED: Duration = Duration::from_secs(1);

const _: () = assert!(AT_A_TIME <= READ_AHEAD && FAILED_KEY_BITS.is_power_of_two());
