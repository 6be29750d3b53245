//! The account of commits: which superblock is durable, and what it covers.

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
    /// The superblock that was written last, or zeros: the next is made in its place.
    pub(super) block: Box<Block>,
    pub(super) sequence: u64,
    pub(super) next_sequence: u64,
    pub(super) codes_valid_from: u64,
    /// The sequence of the last commit that the device has, and its place.
    pub(super) durable_sequence: u64,
    pub(super) durable_place: u64,
    pub(super) durable_count: u32,
    /// The first slot of the batch of that commit.
    pub(super) durable_base: u32,
    /// The file may hold what a killed process wrote and did not sync.
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

    /// The sequence and the slots of the last commit that the device has.
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
