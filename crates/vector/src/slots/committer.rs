//! The state of commits: which superblock is durable, and what it covers.
//!
//! ```text
//!  commit at `os`                              commit at `fsync`
//!  write superblock into place 1 - durable     write superblock into place 1 - durable, sync
//!  visible_ticket = ticket                     visible_ticket = durable_ticket = ticket
//!  durable place, sequence, count: unchanged   durable place, sequence, count: this commit's
//! ```
//! A commit at `os` may therefore overwrite the superblock of the commit before it, if that was one at
//! `os`, too; never that of a durable one.

use liteio_disk::Durability;

use super::format::{Block, SUPERBLOCK_BYTES};
use super::recover::Recovered;

/// The identity of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) file_id: u64,
    pub(crate) sequence: u64,
}

/// The state that only one commit at a time may touch.
#[derive(Debug)]
pub(super) struct Committer {
    /// The format version of the file.
    pub(super) version: u32,
    /// The bytes of the superblock that was written last, or zeros: the buffer for the next one.
    pub(super) block: Box<Block>,
    pub(super) sequence: u64,
    pub(super) next_sequence: u64,
    pub(super) codes_valid_from: u64,
    /// The sequence of the last durable commit, and the place of its superblock: 0 or 1.
    pub(super) durable_sequence: u64,
    pub(super) durable_place: u64,
    pub(super) durable_count: u32,
    /// The first slot of the batch of that commit.
    pub(super) durable_base: u32,
    /// `false` after opening until the first sync: the file may hold bytes that a killed process wrote and
    /// did not sync.
    pub(super) is_synced: bool,
    /// The writer's tickets that commits of either durability have covered.
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

    /// The sequence and the number of slots of the last durable commit.
    pub(super) fn durable(&self) -> (u64, u32) {
        (self.durable_sequence, self.durable_count)
    }

    pub(super) fn covers(&self, ticket: u64, durability: Durability) -> bool {
        match durability {
            Durability::Fsync => self.is_synced && self.durable_ticket >= ticket,
            Durability::Os => self.visible_ticket >= ticket,
        }
    }
}
