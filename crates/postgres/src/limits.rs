//! Limits, with their reasons.

use std::time::Duration;

/// Longest key in bytes. An index row of PostgreSQL has at most 2,704 bytes.
pub const KEY_BYTES_MAX: usize = 2_600;

/// Longest value in bytes. A field of PostgreSQL has at most 1 GiB, and a message, too; this is far below.
pub const VALUE_BYTES_MAX: usize = 64 << 20;

/// Rows or entries of the answer to one want, whatever it asks for.
pub(crate) const ROWS_MAX: usize = 10_000;

/// Bytes of the values in the answers to all wants of a fetch that are ranges, about. The wants share
/// them.
pub(crate) const ANSWER_BYTES: i64 = 8 << 20;

/// Bytes of the values in the answer to a range at least, however many wants share [`ANSWER_BYTES`].
pub(crate) const ANSWER_BYTES_MIN: i64 = 64 << 10;

/// Claims of a commit; one with more runs alone. The lock table of PostgreSQL has 64 places for each
/// connection. A server has three times as many connections as commits at a time.
pub(crate) const CLAIMS_MAX: usize = 192;

/// Rows that one counter has, so that as many commits at a time rarely wait for each other.
pub(crate) const COUNTER_SHARDS: u32 = 16;

/// Numbers that one block of the sequence has.
pub(crate) const NUMBERS_PER_BLOCK: u32 = 1_024;

/// Connections for commits: enough that the database syncs its log for several at a time.
pub(crate) const COMMIT_CONNECTIONS: usize = 8;

/// Connections for reads. Half of them at most are for views, which may last long.
pub(crate) const READ_CONNECTIONS: usize = 16;

/// Connections for one purpose at most: PostgreSQL has a process for each.
pub(crate) const CONNECTIONS_MAX: usize = 1_000;

/// Time to open a connection to one address.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time of a statement in the database. After it nothing of a commit can happen any more, so it bounds what
/// others must wait for.
pub(crate) const STATEMENT_TIMEOUT: Duration = Duration::from_secs(10);

/// Time for an answer. The database ends its statements earlier, but the wait for a standby has no end
/// there.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);

/// Time that a view may rest between two fetches: it keeps the database from removing old rows.
pub(crate) const VIEW_REST: Duration = Duration::from_secs(60);

/// Time that a call waits for a connection, while the database cannot be reached.
pub(crate) const CONNECTION_WAIT: Duration = Duration::from_secs(10);

/// Pauses between attempts to connect: from, to.
pub(crate) const RECONNECT_PAUSE: (Duration, Duration) =
    (Duration::from_millis(20), Duration::from_secs(1));

/// Rest of a connection before its other end is probed, and the pause between probes.
pub(crate) const KEEPALIVE: (Duration, Duration) =
    (Duration::from_secs(10), Duration::from_secs(5));

const _: () = assert!(ANSWER_BYTES_MIN < ANSWER_BYTES);
const _: () = assert!(STATEMENT_TIMEOUT.as_secs() < ANSWER_TIMEOUT.as_secs());
