//! The object of a blob: blocks with their checksums between them.
//!
//! ```text
//!  block 0                       block 1                       …   last block
//!  ├ 65,532 bytes ┤ CRC32C (4) │ ├ 65,532 bytes ┤ CRC32C (4) │ …  │ 0 to 65,532 bytes ┤ CRC32C (4) │
//! ```
//! The checksum, little-endian, is of the blob's id, the number of the block (`u64`, little-endian) and its
//! bytes, so that a block in the wrong place, or of another blob, is damage. Only the last block is shorter; an
//! empty body has one block without bytes. There is no header and no table: the length of the body is known
//! from its record, so any range of it is one range of the object, which verifies itself.

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use crc_fast::{CrcAlgorithm, Digest};

use crate::BlobId;

/// Bytes of the body in a block. With the checksum a block has 64 KiB.
pub(super) const BLOCK_BODY: usize = BLOCK - CHECKSUM;
/// Length of a block in the object.
pub(super) const BLOCK: usize = 64 << 10;
/// Length of a checksum.
const CHECKSUM: usize = 4;
/// Blocks that are written, read and kept together: 256 KiB, the length of a piece.
pub(super) const CHUNK_BLOCKS: u64 = 4;
/// Length of a chunk in the object.
pub(super) const CHUNK: usize = BLOCK * CHUNK_BLOCKS as usize;
/// Bytes of the body in a chunk.
pub(super) const CHUNK_BODY: u64 = BLOCK_BODY as u64 * CHUNK_BLOCKS;
/// Longest body. A record with more is damaged; below it no length overflows.
pub(super) const BODY_BYTES_MAX: u64 = 1 << 60;

const _: () = assert!(CHUNK_BODY <= crate::PIECE_BYTES as u64);

/// Number of blocks of a body.
pub(super) fn blocks(body_bytes: u64) -> u64 {
    body_bytes.div_ceil(BLOCK_BODY as u64).max(1)
}

/// Length of the object of a body.
pub(super) fn object_bytes(body_bytes: u64) -> u64 {
    body_bytes + blocks(body_bytes) * CHECKSUM as u64
}

/// The range of the object that has these blocks of a body.
pub(super) fn object_range(body_bytes: u64, blocks: &Range<u64>) -> Range<u64> {
    let at = |block: u64| (block * BLOCK as u64).min(object_bytes(body_bytes));
    at(blocks.start)..at(blocks.end)
}

fn checksum(id: &BlobId, number: u64, bytes: &[u8]) -> [u8; CHECKSUM] {
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    digest.update(&id.0);
    digest.update(&number.to_le_bytes());
    digest.update(bytes);
    (digest.finalize() as u32).to_le_bytes()
}

/// Verifies blocks, the first of which has the number `first`, and returns the bytes of the body in them; `None` if a
/// block is not the one that was written.
pub(super) fn decode(id: &BlobId, first: u64, mut encoded: Vec<u8>) -> Option<Bytes> {
    let mut end = 0;
    let count = encoded.len().div_ceil(BLOCK);
    for index in 0..count {
        let start = index * BLOCK;
        let block = encoded.get(start..encoded.len().min(start + BLOCK))?;
        let (body, stored) = block.split_last_chunk::<CHECKSUM>()?;
        if checksum(id, first + index as u64, body) != *stored {
            return None;
        }
        let body = start..start + body.len();
        let length = body.len();
        encoded.copy_within(body, end);
        end += length;
    }
    encoded.truncate(end);
    Some(encoded.into())
}

/// Makes the object of a body, chunk by chunk.
#[derive(Debug)]
pub(super) struct Encoder {
    id: BlobId,
    /// Bytes of the body so far.
    bytes: u64,
    /// Length that the body is expected to have; only a hint.
    expected: u64,
    /// The number of the block that is being filled.
    block: u64,
    /// The chunk that is being filled.
    chunk: BytesMut,
    /// The place in the chunk at which the block begins.
    start: usize,
}

impl Encoder {
    pub(super) fn new(id: BlobId, expected: u64) -> Self {
        Self { id, bytes: 0, expected, block: 0, chunk: BytesMut::new(), start: 0 }
    }

    /// Bytes of the body so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes bytes off the front of `rest`, all or as many as fit in this chunk. The chunk, once it is full.
    pub(super) fn fill(&mut self, rest: &mut &[u8]) -> Option<Bytes> {
        while !rest.is_empty() {
            let room = BLOCK_BODY - (self.chunk.len() - self.start);
            let (taken, after) = rest.split_at(rest.len().min(room));
            if self.chunk.is_empty() {
                let expected =
                    object_bytes(self.expected.saturating_sub(self.bytes).min(CHUNK_BODY));
                self.chunk.reserve((expected as usize).max(taken.len() + CHECKSUM).min(CHUNK));
            }
            self.chunk.extend_from_slice(taken);
            self.bytes += taken.len() as u64;
            *rest = after;
            if taken.len() == room {
                self.end_block();
            }
            if self.chunk.len() == CHUNK {
                self.start = 0;
                return Some(std::mem::take(&mut self.chunk).freeze());
            }
        }
        None
    }

    /// Ends the last block, if it has bytes, or is the only one. The last chunk, if there is one.
    pub(super) fn finish(&mut self) -> Option<Bytes> {
        if self.chunk.len() > self.start || self.block == 0 {
            self.end_block();
        }
        let chunk = std::mem::take(&mut self.chunk).freeze();
        (!chunk.is_empty()).then_some(chunk)
    }

    fn end_block(&mut self) {
        let sum = checksum(&self.id, self.block, &self.chunk[self.start..]);
        self.chunk.extend_from_slice(&sum);
        self.start = self.chunk.len();
        self.block += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(id: BlobId, body: &[u8], step: usize) -> Vec<u8> {
        let mut encoder = Encoder::new(id, 0);
        let mut object = Vec::new();
        for mut rest in body.chunks(step.max(1)) {
            while let Some(chunk) = encoder.fill(&mut rest) {
                assert_eq!(chunk.len(), CHUNK);
                object.extend_from_slice(&chunk);
            }
        }
        assert_eq!(encoder.bytes(), body.len() as u64);
        object.extend_from_slice(&encoder.finish().unwrap_or_default());
        object
    }

    #[test]
    fn an_object_has_the_length_that_its_body_tells_and_decodes_from_any_block() {
        let (id, block) = (BlobId([7; 16]), BLOCK_BODY);
        for length in [0, 1, block - 1, block, block + 1, 4 * block, 4 * block + 1, 9 * block - 3] {
            let body: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            let object = encoded(id, &body, 100_000);
            assert!(object == encoded(id, &body, 7_777), "{length}");
            assert_eq!(object.len() as u64, object_bytes(length as u64), "{length}");
            let count = blocks(length as u64);
            for first in 0..count {
                let range = object_range(length as u64, &(first..count));
                let part = object[range.start as usize..range.end as usize].to_vec();
                let decoded = decode(&id, first, part).expect("sound");
                assert!(decoded == body[first as usize * block..], "{length} from {first}");
            }
        }
    }

    #[test]
    fn any_flipped_bit_another_blob_and_another_place_are_damage() {
        let id = BlobId([7; 16]);
        let body: Vec<u8> = (0..2 * BLOCK_BODY + 10).map(|at| (at % 241) as u8).collect();
        let object = encoded(id, &body, body.len());
        for place in
            [0, 1, BLOCK_BODY - 1, BLOCK_BODY, BLOCK - 1, BLOCK, object.len() - 5, object.len() - 1]
        {
            for bit in 0..8 {
                let mut damaged = object.clone();
                damaged[place] ^= 1 << bit;
                assert_eq!(decode(&id, 0, damaged), None, "{place} {bit}");
            }
        }
        assert_eq!(decode(&BlobId([8; 16]), 0, object.clone()), None);
        assert_eq!(decode(&id, 1, object.clone()), None);
        for length in [1, 3, BLOCK - 1, BLOCK + 1, object.len() - 1] {
            assert_eq!(decode(&id, 0, object[..length].to_vec()), None, "{length}");
        }
        // A whole number of blocks verifies: the length of the object is compared apart from that.
        assert!(decode(&id, 0, object[..BLOCK].to_vec()).is_some());
    }
}
