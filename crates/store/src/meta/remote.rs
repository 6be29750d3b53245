//! Bodies in tiers, and the rows of their moves.
//!
//! A body in a tier is a number of remote objects: the stored bytes (ciphertext of an encrypted
//! body) cut into pieces. Each piece has a [row](PieceRow) with digests of its blocks, so that
//! every byte that comes back is verified, whatever the service does. The parts of an object that
//! was uploaded in parts keep their records, without bytes, in a list with the id of the body.
//!
//! ```text
//! [MoveRow] queued ──► note of an id ──► pieces uploaded ──► record names the body
//!                            │                                        │ version removed
//!                            └── version removed meanwhile ──► [RemoteDeletion] ──► objects deleted
//! ```
//! Whatever was uploaded is named by one of these rows or by a record at any moment.

use liteio_kv::Read;
use serde::{Deserialize, Serialize};

use super::record::{self, Sealed};
use super::space;
use crate::error::StoreError;
use crate::name::{BucketId, UploadId};

/// Length of a verified block of a body in a tier.
pub(crate) const BLOCK_BYTES: u64 = 256 << 10;
/// Length of a piece. A piece is held in memory while it is uploaded.
pub(crate) const PIECE_BYTES: u64 = 32 << 20;
const _: () = assert!(PIECE_BYTES.is_multiple_of(BLOCK_BYTES));

/// A body in a tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RemoteBody {
    /// Unique for every move. Remote objects and rows are named by it.
    pub(crate) id: [u8; 16],
    /// Name of the tier.
    pub(crate) tier: String,
    /// Length of the stored bytes.
    pub(crate) bytes: u64,
    /// Length of every piece but the last.
    pub(crate) piece_bytes: u64,
    /// The parts, if it was uploaded in parts.
    pub(crate) parts: Option<RemoteParts>,
}

/// The parts of a body in a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RemoteParts {
    /// The upload that made them: the wrapped key of an encrypted object is bound to it.
    pub(crate) upload: UploadId,
    pub(crate) count: u32,
    /// `true` for the object that the upload made.
    pub(crate) is_original: bool,
}

impl RemoteBody {
    /// Number of pieces.
    pub(crate) fn pieces(&self) -> u32 {
        u32::try_from(self.bytes.div_ceil(self.piece_bytes.max(1))).unwrap_or(u32::MAX)
    }

    /// The list with the records of the parts.
    pub(crate) fn part_list(&self) -> UploadId {
        UploadId(self.id)
    }

    /// Refuses what no program writes.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let is_cut_well = self.piece_bytes > 0 && self.piece_bytes.is_multiple_of(BLOCK_BYTES);
        match is_cut_well && self.pieces() < u32::MAX {
            true => Ok(()),
            false => Err(StoreError::corrupt("a body in a tier is cut into wrong pieces")),
        }
    }
}

/// A version that is to move into a tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MoveRow {
    pub(crate) bucket: BucketId,
    pub(crate) key: String,
    pub(crate) stamp: [u8; 16],
    /// Its storage class once it has moved.
    pub(crate) class: String,
    /// The upload that has begun. It is noted before the first byte is sent.
    pub(crate) begun: Option<RemoteBody>,
}

/// Remote objects to delete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RemoteDeletion {
    pub(crate) tier: String,
    pub(crate) pieces: u32,
}

/// The digests of the blocks of a piece.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PieceRow {
    pub(crate) bytes: u64,
    /// The first half of the SHA-256 of each block.
    pub(crate) blocks: Vec<[u8; 16]>,
}

macro_rules! sealed {
    ($($row:ident $what:literal;)*) => { $(
        impl $row {
            pub(crate) fn encode(&self, place: &[u8]) -> Vec<u8> {
                record::seal(1, place, self, &[])
            }

            pub(crate) fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
                record::split_version(bytes, 1)?;
                Sealed::open(place, bytes, $what)?.decode($what)
            }
        }
    )* };
}

sealed! {
    MoveRow "a row of a move into a tier";
    RemoteDeletion "a row of a deletion in a tier";
    PieceRow "the digests of a body in a tier";
}

impl MoveRow {
    /// The row at `place`, if there is one.
    pub(crate) fn read(from: &impl Read, place: &[u8]) -> Result<Option<Self>, StoreError> {
        from.get(place)?.map(|bytes| Self::decode(place, &bytes)).transpose()
    }
}

impl PieceRow {
    /// The row at `place`, if there is one.
    pub(crate) fn read(from: &impl Read, place: &[u8]) -> Result<Option<Self>, StoreError> {
        from.get(place)?.map(|bytes| Self::decode(place, &bytes)).transpose()
    }

    /// The digests of the piece `number` of a body.
    pub(crate) fn of(from: &impl Read, id: &[u8; 16], number: u32) -> Result<Self, StoreError> {
        let row = Self::read(from, &space::piece(id, number))?;
        row.ok_or_else(|| StoreError::corrupt("the digests of a body in a tier are missing"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_survive_encoding_and_damage_is_refused() {
        let body = RemoteBody {
            id: [7; 16],
            tier: "COLD".to_owned(),
            bytes: PIECE_BYTES + 1,
            piece_bytes: PIECE_BYTES,
            parts: None,
        };
        assert_eq!(body.pieces(), 2);
        body.check().expect("whole blocks");
        RemoteBody { piece_bytes: 0, ..body.clone() }.check().expect_err("no pieces");
        let row = MoveRow {
            bucket: BucketId(3),
            key: "key".to_owned(),
            stamp: [9; 16],
            class: "COLD".to_owned(),
            begun: Some(body),
        };
        let place = space::tier_move(BucketId(3), &[9; 16]);
        let encoded = row.encode(&place);
        assert_eq!(MoveRow::decode(&place, &encoded).expect("own bytes"), row);
        for bit in 0..encoded.len() * 8 {
            let mut damaged = encoded.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            MoveRow::decode(&place, &damaged).expect_err("damaged");
        }
        MoveRow::decode(b"other", &encoded).expect_err("under another key");
    }
}
