//! Recovery: the choice between the two superblocks.
//!
//! The newest superblock whose batch verifies wins:
//!
//! | Newer superblock | Its batch | The file opens at |
//! |---|---|---|
//! | whole | verifies | the newer commit |
//! | whole | torn: the slots did not reach the device | the older commit |
//! | torn or damaged | unknown | the older commit |
//! | none verifies | | [`VectorError::Corrupt`] |
//!
//! A commit that was acknowledged at `fsync` is never lost by this: the next one overwrites the
//! other superblock only, and rewrites no slot of its batch.

use crc_fast::CrcAlgorithm::Crc64Nvme;
use liteio_disk::DiskFile;

use super::format::{DATA_OFFSET, Found, SUPERBLOCK_BYTES, Superblock, check, slot_offset};
use crate::config::Shape;
use crate::error::VectorError;
use crate::slot::Slot;

/// Bytes read at once while a batch is checked.
const PIECE_BYTES: usize = 1 << 20;

/// The recovered state of a file.
#[derive(Debug)]
pub(super) struct Recovered {
    /// The newest commit that verifies.
    pub(super) superblock: Superblock,
    /// The place of that superblock: 0 or 1.
    pub(super) place: u64,
    /// The sequence of the next commit.
    pub(super) next_sequence: u64,
    /// [`Superblock::codes_valid_from`] of the next commit.
    pub(super) codes_valid_from: u64,
    pub(super) file_end: u64,
}

/// Finds the newest commit whose batch verifies.
///
/// # Errors
/// [`VectorError::Corrupt`] if there is none; [`VectorError::FormatTooNew`],
/// [`VectorError::OtherDimension`] or [`VectorError::OtherMetric`] for a file that this version or
/// shape cannot use.
pub(super) fn recover(file: &dyn DiskFile, shape: Shape) -> Result<Recovered, VectorError> {
    let file_end = file.len()?;
    let found = read_superblocks(file)?;
    let mut candidates: Vec<(u64, Superblock)> = Vec::new();
    for (place, found) in (0..).zip(&found) {
        if let Found::Superblock(superblock) = found {
            candidates.push((place, *superblock));
        }
    }
    candidates.sort_by_key(|(_, superblock)| std::cmp::Reverse(superblock.sequence));
    let Some((_, newest)) = candidates.first() else {
        return Err(VectorError::Corrupt("neither superblock verifies"));
    };
    check_shape(newest.shape, shape)?;
    if candidates
        .iter()
        .any(|(_, other)| other.shape != newest.shape || other.file_id != newest.file_id)
    {
        return Err(VectorError::Corrupt("the superblocks are of different files"));
    }
    let newest_sequence = newest.sequence;
    for (place, superblock) in candidates {
        if !is_whole(file, file_end, &superblock)? {
            continue;
        }
        let other = &found[1 - place as usize];
        // The winner is the newest commit ever written only if the other place is readable (an
        // older commit), or was never written.
        let is_newest = superblock.sequence == newest_sequence
            && (matches!(other, Found::Superblock(_))
                || (*other == Found::Nothing && superblock.sequence == 1));
        // If a later commit was torn or damaged, its number is skipped: codes saved with it must
        // not be taken for codes of the next commit.
        let next_sequence = if is_newest { superblock.sequence + 1 } else { newest_sequence + 2 };
        let codes_valid_from = if is_newest { superblock.codes_valid_from } else { next_sequence };
        return Ok(Recovered { superblock, place, next_sequence, codes_valid_from, file_end });
    }
    Err(VectorError::Corrupt("the vectors of no commit verify"))
}

fn check_shape(found: Shape, expected: Shape) -> Result<(), VectorError> {
    if found.dimension() != expected.dimension() {
        let (found, expected) = (found.dimension(), expected.dimension());
        return Err(VectorError::OtherDimension { expected, found });
    }
    if found.metric() != expected.metric() {
        let (found, expected) = (found.metric(), expected.metric());
        return Err(VectorError::OtherMetric { expected, found });
    }
    Ok(())
}

/// Reads both superblocks with one call: system calls dominate the cost of opening.
fn read_superblocks(file: &dyn DiskFile) -> Result<[Found; 2], VectorError> {
    let mut bytes = [0; 2 * SUPERBLOCK_BYTES];
    let read = file.read_at(&mut bytes, 0)?;
    let (blocks, _) = bytes[..read].as_chunks::<SUPERBLOCK_BYTES>();
    let decode = |place: usize| blocks.get(place).map_or(Ok(Found::Damaged), Superblock::decode);
    Ok([decode(0)?, decode(1)?])
}

/// `true` if the slots of a commit are within the file, and its batch matches its checksum.
fn is_whole(
    file: &dyn DiskFile,
    file_end: u64,
    superblock: &Superblock,
) -> Result<bool, VectorError> {
    let end = slot_offset(superblock.shape, superblock.count);
    if file_end < DATA_OFFSET || end > file_end {
        return Ok(false);
    }
    let sum = batch_check(file, superblock.shape, superblock.base, superblock.count)?;
    Ok(sum == Some(superblock.check))
}

/// The checksum of the slots `first..end`; `None` if the file is too short.
pub(super) fn batch_check(
    file: &dyn DiskFile,
    shape: Shape,
    first: u32,
    end: u32,
) -> Result<Option<u64>, VectorError> {
    let stride = shape.stride();
    let slots_per_piece = (PIECE_BYTES / stride).max(1) as u32;
    let mut bytes = vec![0; slots_per_piece.min(end - first) as usize * stride];
    let mut sum = 0_u64;
    let mut next = first;
    while next < end {
        let slots = slots_per_piece.min(end - next);
        let piece = &mut bytes[..slots as usize * stride];
        if file.read_at(piece, slot_offset(shape, next))? < piece.len() {
            return Ok(None);
        }
        for (slot, bytes) in (next..).zip(piece.chunks_exact(stride)) {
            let crc = crc_fast::checksum(Crc64Nvme, &bytes[..shape.vector_bytes()]);
            sum = sum.wrapping_add(check(Slot::new(slot), crc));
        }
        next += slots;
    }
    Ok(Some(sum))
}
