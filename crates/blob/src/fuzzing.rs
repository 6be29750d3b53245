//! Checks that hold for any bytes at the end of a blob's file.

use super::footer::{self, Footer, TAIL_BYTES};
use super::{BlobError, BlobId};

const ID: BlobId = BlobId([7; 16]);

/// The footer of a blob: decoded to the encoded values, or refused.
pub fn footer(data: &[u8]) {
    let Some((length, bytes)) = data.split_first_chunk() else { return };
    let body_bytes = u64::from_le_bytes(*length);
    decode(body_bytes, bytes);
    // The same with everything right that an arbitrary input cannot guess.
    let mut sealed = bytes.to_vec();
    if let Some(tail) = sealed.last_chunk_mut::<TAIL_BYTES>() {
        tail[..16].copy_from_slice(&ID.0);
        tail[16..24].copy_from_slice(length);
        tail[32..36].copy_from_slice(b"LBLB");
    }
    reseal(&mut sealed);
    decode(body_bytes, &sealed);
    own_footer(data);
}

fn reseal(bytes: &mut [u8]) {
    if let Some((covered, checksum)) = bytes.split_last_chunk_mut::<4>() {
        *checksum = crc_fast::crc32_iscsi(covered).to_le_bytes();
    }
}

fn decode(body_bytes: u64, bytes: &[u8]) {
    let footer = match footer::decode(&ID, body_bytes, bytes) {
        Ok(footer) => footer,
        Err(BlobError::Corrupt { .. } | BlobError::FormatTooNew { .. }) => return,
        Err(error) => panic!("{error}"),
    };
    let block_bytes = u64::from(footer.block_bytes);
    assert_eq!(footer.block_checksums.len() as u64, body_bytes.div_ceil(block_bytes));
    assert_eq!(bytes.len() as u64, footer::footer_bytes(body_bytes, footer.block_bytes));
    // Two bytes mean nothing yet, and a reader does not look at them.
    let mut expected = bytes.to_vec();
    if let Some(tail) = expected.last_chunk_mut::<TAIL_BYTES>() {
        tail[30..32].fill(0);
    }
    reseal(&mut expected);
    assert_eq!(footer::encode(&ID, body_bytes, &footer), expected, "a footer has one encoding");
}

/// A footer with checksums from the input is read back, and refused after any damage.
fn own_footer(data: &[u8]) {
    let Some((&[place_low, place_high, flip, size], rest)) = data.split_first_chunk() else {
        return;
    };
    let (checksums, _) = rest.as_chunks::<4>();
    let block_bytes = 4096 << (size % 5);
    let block_checksums: Vec<u32> = checksums.iter().map(|sum| u32::from_le_bytes(*sum)).collect();
    // The last block may be short.
    let short = u64::from(size) * u64::from(!block_checksums.is_empty());
    let body_bytes = block_checksums.len() as u64 * u64::from(block_bytes) - short;
    let footer = Footer { block_bytes, block_checksums };
    let mut bytes = footer::encode(&ID, body_bytes, &footer);
    assert_eq!(footer::decode(&ID, body_bytes, &bytes).expect("own bytes"), footer);
    footer::decode(&ID, body_bytes + 1, &bytes).expect_err("another length");
    if flip != 0 {
        let place = usize::from(u16::from_le_bytes([place_low, place_high])) % bytes.len();
        bytes[place] ^= flip;
        footer::decode(&ID, body_bytes, &bytes).expect_err("damaged");
    }
}
