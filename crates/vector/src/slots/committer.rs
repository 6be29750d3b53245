//! The state of commits: the durable superblock and what it covers.
//!
//! ```text
//!  commit with `Os`                            commit with `Fsync`
//!  write superblock into place 1 - durable     write superblock into place 1 - durable, sync
//!  visible_ticket = ticket                     visible_ticket = durable_ticket = ticket
//!  durable place, sequence, count: unchanged   durable place, sequence, count: this commit's
//! ```
//! A commit with `Os` may therefore overwrite the superblock of an earlier commit with `Os`, but
//! never the one of a durable commit.

use liteio_disk::Durability;

use super::format::{Block, SUPERBLOCK_BYTES};
use super::recover::Recovered;

/// The identity of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) file_id: u64,
    pub(crate) sequence: u64,
}

/// The state of the committer, of which there is one at a time.
#[derive(Debug)]
pub(super) struct Committer {
    /// The format version of the file.
    pub(super) version: u32,
    /// The bytes of the last written superblock, or zeros: the buffer for the next one.
    pub(super) block: Box<Block>,
    pub(super) sequence: u64,
    pub(super) next_sequence: u64,
    pub(super) codes_valid_from: u64,
    /// Sequence of the last durable commit, and the place (0 or 1) of its superblock.
    pub(super) durable_sequence: u64,
    pub(super) durable_place: u64,
    pub(super) durable_count: u32,
    /// First slot of that commit's batch.
    pub(super) durable_base: u32,
    /// `false` from opening until the first sync: the page cache may have bytes that a killed
    /// process wrote and did not sync.
    pub(super) is_synced: bool,
    /// Tickets covered by durable commits, and by commits of either durability.
    pub(super) durable_ticket: u64,
    pub(super) visible_ticket: u64,
}

impl Committer {
    pub(super) fn new(recovered: &Recovered, is_synced: bool) -> Self {
        Self {
            version: recovered.superblock.version,
            block: Box::new([0; SUPERBLOCK_BYTES]),
            sequence: recovered.superblock.sequence,
            next_sequence: recovered.next_sequence,
            codes_valid_from: recovered.codes_valid_from,
            durable_sequence: recovered.superblock.sequence,
            durable_place: recovered.place,
            durable_count: recovered.superblock.count,
            durable_base: recovered.superblock.base,
            is_synced,
            durable_ticket: 0,
            visible_ticket: 0,
        }
    }

    /// The sequence of the last commit.
    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Sequence and number of slots of the last durable commit.
    pub(super) fn durable(&self) -> (u64, u32) {
        (self.durable_sequence, self.durable_count)
    }

    pub(super) fn covers(&self, ticket: u64, durability: Durability) -> bool {
        match durability {
            // Bytes recovered from an unsynced page cache count as visible, not as durable.
            Durability::Fsync => self.is_synced && self.durable_ticket >= ticket,
            Durability::Os => self.visible_ticket >= ticket,
        }
    }
}
