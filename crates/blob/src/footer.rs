//! The footer of a blob's file: checksums of the body, and a tail.
//!
//! A file is the body, a table, and a tail. All numbers are little-endian.
//!
//! ```text
//! 0 .. body                the body, unchanged
//! body .. body + 4·blocks  CRC32C of each block of the body; the last block may be shorter
//! tail, 40 bytes:
//!   0..16  id of the blob, which exposes a file under a wrong name
//!  16..24  length of the body
//!  24..28  length of a block
//!  28..30  format version
//!  30..32  zero
//!  32..36  magic "LBLB"
//!  36..40  CRC32C of the table and of the tail up to here
//! ```
//!
//! The length of the body is known from the object's record, so one read gets table and tail. The
//! tail comes last, so that a file can also be decoded without its record. Files with another block
//! length stay readable.

use super::buffer::PIECE_BYTES;
use super::{BlobError, BlobId};

/// Bytes per checksum.
///
/// Reads verify whole blocks, so small blocks make small reads cheap: 4 KiB from an open blob in
/// the page cache take 2.5 µs with blocks of 16 KiB, 3.8 µs with 64 KiB, and 14.6 µs with 256 KiB.
/// Reading whole blobs takes the same time with all three. Smaller blocks make a longer table,
/// which is read and kept with an open blob (with 64 KiB: 80 KiB of table for 1.25 GiB).
pub(super) const BLOCK_BYTES: u32 = 64 << 10;

/// The format version of new files.
pub(super) const VERSION: u16 = 1;
/// Length of the tail.
pub(super) const TAIL_BYTES: usize = 40;

const MAGIC: [u8; 4] = *b"LBLB";
/// Block lengths that a reader accepts. Any other is damage.
const BLOCK_BYTES_MIN: u32 = 4 << 10;
const BLOCK_BYTES_MAX: u32 = PIECE_BYTES as u32;
const _: () = assert!(BLOCK_BYTES_MIN <= BLOCK_BYTES && BLOCK_BYTES <= BLOCK_BYTES_MAX);

/// The decoded table and tail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Footer {
    pub(super) block_bytes: u32,
    pub(super) block_checksums: Vec<u32>,
}

/// Length of table and tail together, for a body of `body_bytes` in blocks of `block_bytes`.
pub(super) fn footer_bytes(body_bytes: u64, block_bytes: u32) -> u64 {
    body_bytes.div_ceil(u64::from(block_bytes)).saturating_mul(4).saturating_add(TAIL_BYTES as u64)
}

/// The checksum of one block.
pub(super) fn block_checksum(block: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(block)
}

/// Encodes table and tail.
pub(super) fn encode(id: &BlobId, body_bytes: u64, footer: &Footer) -> Vec<u8> {
    let mut out = Vec::with_capacity(footer.block_checksums.len() * 4 + TAIL_BYTES);
    for checksum in &footer.block_checksums {
        out.extend_from_slice(&checksum.to_le_bytes());
    }
    out.extend_from_slice(&id.0);
    out.extend_from_slice(&body_bytes.to_le_bytes());
    out.extend_from_slice(&footer.block_bytes.to_le_bytes());
    out.extend_from_slice(&VERSION.to_le_bytes());
    // Reserved.
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&MAGIC);
    let checksum = block_checksum(&out);
    out.extend_from_slice(&checksum.to_le_bytes());
    out
}

/// The block length that the last bytes of a file declare; `None` if they are no tail. Unverified:
/// it only determines which bytes [`decode`] needs.
pub(super) fn declared_block_bytes(end_of_file: &[u8]) -> Option<u32> {
    let tail = end_of_file.last_chunk::<TAIL_BYTES>()?;
    let block_bytes = u32::from_le_bytes(field(tail, 24));
    let is_tail = field(tail, 32) == MAGIC
        && block_bytes.is_power_of_two()
        && (BLOCK_BYTES_MIN..=BLOCK_BYTES_MAX).contains(&block_bytes);
    is_tail.then_some(block_bytes)
}

/// Verifies and decodes table and tail, which make up `bytes`.
pub(super) fn decode(id: &BlobId, body_bytes: u64, bytes: &[u8]) -> Result<Footer, BlobError> {
    let corrupt = |what| Err(BlobError::Corrupt { id: *id, what });
    let Some(block_bytes) = declared_block_bytes(bytes) else {
        return corrupt("it does not end as a blob does");
    };
    let Some((covered, stored)) = bytes.split_last_chunk::<4>() else {
        return corrupt("its end is missing");
    };
    // The checksum covers table and tail. The fields are compared afterwards, so a mismatch means a
    // wrong file, not a damaged one.
    if block_checksum(covered) != u32::from_le_bytes(*stored) {
        return corrupt("its block checksums are damaged");
    }
    let Some((table, tail)) = bytes.split_last_chunk::<TAIL_BYTES>() else {
        return corrupt("its end is missing");
    };
    let found = u16::from_le_bytes(field(tail, 28));
    if found > VERSION {
        return Err(BlobError::FormatTooNew { id: *id, found, known: VERSION });
    }
    if found == 0 {
        return corrupt("its format version is zero");
    }
    if field(tail, 0) != id.0 {
        return corrupt("it is the file of another blob");
    }
    if u64::from_le_bytes(field(tail, 16)) != body_bytes {
        return corrupt("its length differs from the length in its record");
    }
    if bytes.len() as u64 != footer_bytes(body_bytes, block_bytes) {
        return corrupt("its number of blocks is wrong");
    }
    // The length was compared above, so no bytes are left over.
    let (checksums, _) = table.as_chunks::<4>();
    Ok(Footer {
        block_bytes,
        block_checksums: checksums.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect(),
    })
}

/// `N` bytes of the tail at `offset`.
fn field<const N: usize>(tail: &[u8; TAIL_BYTES], offset: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&tail[offset..offset + N]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: BlobId = BlobId([7; 16]);

    fn sample(blocks: u64) -> (u64, Footer, Vec<u8>) {
        let body_bytes = (blocks * u64::from(BLOCK_BYTES)).saturating_sub(5);
        let block_checksums = (0..body_bytes.div_ceil(u64::from(BLOCK_BYTES)))
            .map(|block| (block as u32).wrapping_mul(0x9e37_79b9))
            .collect();
        let footer = Footer { block_bytes: BLOCK_BYTES, block_checksums };
        let bytes = encode(&ID, body_bytes, &footer);
        (body_bytes, footer, bytes)
    }

    #[test]
    fn what_was_encoded_is_decoded_and_has_the_announced_length() {
        for blocks in [0, 1, 2, 100] {
            let (body_bytes, footer, bytes) = sample(blocks);
            assert_eq!(bytes.len() as u64, footer_bytes(body_bytes, BLOCK_BYTES));
            assert_eq!(decode(&ID, body_bytes, &bytes).expect("sound"), footer);
        }
    }

    #[test]
    fn the_layout_is_the_documented_one() {
        let footer = Footer { block_bytes: 65_536, block_checksums: vec![0x0403_0201] };
        let bytes = encode(&ID, 0x1234, &footer);
        let mut expected = vec![1, 2, 3, 4];
        expected.extend([7; 16]);
        expected.extend([0x34, 0x12, 0, 0, 0, 0, 0, 0]);
        expected.extend([0, 0, 1, 0]);
        expected.extend([1, 0, 0, 0]);
        expected.extend(*b"LBLB");
        assert_eq!(bytes[..40], expected);
        assert_eq!(bytes[40..], crc_fast::crc32_iscsi(&expected).to_le_bytes());
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_found() {
        let (body_bytes, _, bytes) = sample(3);
        for position in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[position / 8] ^= 1 << (position % 8);
            decode(&ID, body_bytes, &damaged).expect_err("damaged");
        }
        for kept in 0..bytes.len() {
            decode(&ID, body_bytes, &bytes[..kept]).expect_err("cut at the end");
            decode(&ID, body_bytes, &bytes[bytes.len() - kept..]).expect_err("cut at the start");
        }
    }

    #[test]
    fn another_blob_another_length_and_a_newer_format_are_told_apart() {
        let (body_bytes, _, bytes) = sample(2);
        let error = decode(&BlobId([8; 16]), body_bytes, &bytes).expect_err("another blob");
        assert!(error.to_string().contains("another blob"), "{error}");
        let error = decode(&ID, body_bytes - 1, &bytes).expect_err("another length");
        assert!(error.to_string().contains("length"), "{error}");

        let mut newer = bytes;
        let tail = newer.len() - TAIL_BYTES;
        newer[tail + 28] = 9;
        let end = newer.len() - 4;
        let checksum = block_checksum(&newer[..end]).to_le_bytes();
        newer[end..].copy_from_slice(&checksum);
        let error = decode(&ID, body_bytes, &newer).expect_err("newer");
        assert!(matches!(error, BlobError::FormatTooNew { found: 9, known: 1, .. }), "{error}");
    }
}
