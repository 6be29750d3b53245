//! The mark at the end of a frame, by which a walk from the end finds the frames of a segment.

use super::super::footer::{self, BLOCK_BYTES};
use super::BLOCK;
use super::place::Place;

/// Length of a mark.
pub(crate) const MARK_BYTES: usize = 32;

const MAGIC: [u8; 4] = *b"LSGM";

/// Length of what the file of a blob with a body of `body_bytes` would be.
pub(crate) fn file_bytes(body_bytes: u64) -> u64 {
    body_bytes.saturating_add(footer::footer_bytes(body_bytes, BLOCK_BYTES))
}

/// Number of blocks of the frame of such a blob; `None` if it is too long for any.
pub(crate) fn frame_blocks(body_bytes: u64) -> Option<u16> {
    let bytes = file_bytes(body_bytes).saturating_add(MARK_BYTES as u64);
    u16::try_from(bytes.div_ceil(BLOCK as u64)).ok()
}

/// Encodes the mark of the blob at `place`.
///
/// ```text
///  0..4  magic "LSGM"      4..12  length of the body, little-endian
/// 12..28 id of the blob   28..32  CRC32C of the mark up to here, little-endian
/// ```
pub(crate) fn encode(place: &Place, body_bytes: u64) -> [u8; MARK_BYTES] {
    let mut mark = [0; MARK_BYTES];
    mark[..4].copy_from_slice(&MAGIC);
    mark[4..12].copy_from_slice(&body_bytes.to_le_bytes());
    mark[12..28].copy_from_slice(&place.id().0);
    let checksum = footer::block_checksum(&mark[..28]);
    mark[28..].copy_from_slice(&checksum.to_le_bytes());
    mark
}

/// The place and the length of the body that a mark names; `None` if it is none.
pub(crate) fn decode(mark: &[u8; MARK_BYTES]) -> Option<(Place, u64)> {
    let (covered, checksum) = mark.split_last_chunk::<4>()?;
    let is_sound = mark.starts_with(&MAGIC)
        && footer::block_checksum(covered) == u32::from_le_bytes(*checksum);
    let body_bytes = u64::from_le_bytes(*mark[4..].first_chunk()?);
    let place = Place::of(&super::super::BlobId(*mark[12..].first_chunk()?));
    (is_sound && frame_blocks(body_bytes) == Some(place.blocks)).then_some((place, body_bytes))
}

#[cfg(test)]
mod tests {
    use super::super::place::SegmentName;
    use super::*;

    #[test]
    fn a_mark_has_its_place_and_every_flipped_bit_is_found() {
        let segment = SegmentName { number: 7, nonce: 9 };
        let place = Place { segment, start: 3, blocks: 17 };
        let mark = encode(&place, 65_536);
        assert_eq!(decode(&mark), Some((place, 65_536)));
        for bit in 0..MARK_BYTES * 8 {
            let mut damaged = mark;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&damaged), None, "bit {bit}");
        }
        assert_eq!(decode(&[0; MARK_BYTES]), None);
    }

    #[test]
    fn a_frame_has_room_for_everything() {
        assert_eq!(frame_blocks(0), Some(1));
        assert_eq!(frame_blocks(4096 - 44 - 32), Some(1));
        assert_eq!(frame_blocks(4096 - 44 - 31), Some(2));
        assert_eq!(frame_blocks(1 << 20), Some(257));
        assert_eq!(frame_blocks(u64::MAX), None);
    }
}
