//! [`DatabaseConfig`]: the settings of a key space over a database.

use std::time::Duration;

use super::EPOCHS;

/// The settings of a [`Kv`](crate::Kv) over a [`Database`](super::Database).
#[derive(Clone, Debug)]
pub struct DatabaseConfig {
    /// Threads that commit. Each has one commit under way; updates that come meanwhile wait for the next
    /// free one and are committed together.
    pub committers: usize,
    /// Most updates of one group.
    pub group_updates_max: usize,
    /// Prefixes of keys: a commit that writes such a key begins the epoch anew.
    pub epochs: [Vec<Vec<u8>>; EPOCHS],
    /// Time for which a committer asks what became of a commit whose answer was lost.
    pub settle_time: Duration,
    /// Pause before the first commit anew after a conflict, and before the first question anew what became
    /// of a commit. It grows with each one.
    pub pause: Duration,
}

impl Default for DatabaseConfig {
    fn default() -> Self {
        Self {
            committers: 8,
            group_updates_max: 64,
            epochs: Default::default(),
            settle_time: Duration::from_secs(15),
            pause: Duration::from_millis(1),
        }
    }
}
