//! The places of blobs, as bases and segments have them.

use std::ops::RangeInclusive;

use liteio_store::backup::{BackupBlob, BackupPlace};

use crate::Error;
use crate::code::{Decoder, Encoder};
use crate::limits::PACK_BYTES;

/// A blob, and where its bytes are.
pub(crate) type Placed = (BackupBlob, BackupPlace);

/// The packs that have the bytes of a blob.
pub(crate) fn packs_of(blob: &BackupBlob, place: &BackupPlace) -> RangeInclusive<u32> {
    // A pack ends early only behind the last byte of a blob.
    let bytes = u64::from(place.offset).saturating_add(blob.bytes);
    let more = bytes.div_ceil(PACK_BYTES as u64).saturating_sub(1);
    let more = u32::try_from(more).unwrap_or(u32::MAX);
    place.pack..=place.pack.saturating_add(more)
}

/// Appends places; all are of one backup, whose identity is left out.
pub(crate) fn encode(placed: &[Placed], to: &mut Encoder) {
    to.u64(placed.len() as u64);
    for (blob, place) in placed {
        to.array(&blob.id);
        to.u64(blob.bytes);
        to.u64(place.generation);
        to.u32(place.pack);
        to.u32(place.offset);
        to.u32(place.crc);
    }
}

/// Takes them off again.
pub(crate) fn decode(from: &mut Decoder<'_>, backup: [u8; 16]) -> Result<Vec<Placed>, Error> {
    let count = from.u64()?;
    let mut placed = Vec::new();
    for _ in 0..count {
        let blob = BackupBlob { id: from.array()?, bytes: from.u64()? };
        let (generation, pack) = (from.u64()?, from.u32()?);
        let (offset, crc) = (from.u32()?, from.u32()?);
        placed.push((blob, BackupPlace { backup, generation, pack, offset, crc }));
    }
    Ok(placed)
}
