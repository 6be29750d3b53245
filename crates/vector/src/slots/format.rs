//! The bytes of a slot file.
//!
//! `0..4096` and `4096..8192` the superblocks, up to `65536` nothing, then the slots, each
//! [`Shape::stride`] bytes: the elements as little-endian `f32`, then zeros.
//!
//! A superblock, little-endian: `0..8` magic, `8..12` version, `12..16` dimension, `16..20` metric,
//! `20..24` stride, `24..32` id of the file, `32..40` sequence, `40..44` count, `44..48` base,
//! `48..56` check of the batch, `56..64` first sequence whose codes are usable, zeros,
//! `4088..4096` CRC-64 of all before.

use crc_fast::CrcAlgorithm::Crc64Nvme;

use crate::config::{Metric, Shape};
use crate::error::VectorError;
use crate::slot::Slot;

const MAGIC: [u8; 8] = *b"liteioVS";
const VERSION: u32 = 1;

pub(super) const SUPERBLOCK_BYTES: usize = 4096;
const CRC_AT: usize = SUPERBLOCK_BYTES - 8;

/// Where slot 0 begins.
pub(super) const DATA_OFFSET: u64 = 64 << 10;

const _: () = assert!(cfg!(target_endian = "little"), "files are mapped as they are");

/// One of the two records that say how much of the file counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Superblock {
    pub(super) shape: Shape,
    /// Drawn when the file was made, so that its codes are told from those of another file.
    pub(super) file_id: u64,
    /// One more with every commit.
    pub(super) sequence: u64,
    /// Slots of the file.
    pub(super) count: u32,
    /// Slots that were durable before this commit: those from here to `count` are its batch.
    pub(super) base: u32,
    /// The [`check`] of the batch.
    pub(super) check: u64,
    /// Codes that were saved at an earlier sequence no longer tell what is in the slots.
    pub(super) codes_valid_from: u64,
}

/// What was found where a superblock should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Superblock(Superblock),
    /// Zeros: none was written yet.
    Nothing,
    /// Torn or damaged.
    Damaged,
}

impl Superblock {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SUPERBLOCK_BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(self.shape.dimension() as u32).to_le_bytes());
        bytes.extend_from_slice(&metric_number(self.shape.metric()).to_le_bytes());
        bytes.extend_from_slice(&(self.shape.stride() as u32).to_le_bytes());
        bytes.extend_from_slice(&self.file_id.to_le_bytes());
        bytes.extend_from_slice(&self.sequence.to_le_bytes());
        bytes.extend_from_slice(&self.count.to_le_bytes());
        bytes.extend_from_slice(&self.base.to_le_bytes());
        bytes.extend_from_slice(&self.check.to_le_bytes());
        bytes.extend_from_slice(&self.codes_valid_from.to_le_bytes());
        bytes.resize(CRC_AT, 0);
        let crc = crc_fast::checksum(Crc64Nvme, &bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// # Errors
    /// [`VectorError::FormatTooNew`] when a later version wrote it.
    pub(super) fn decode(bytes: &[u8; SUPERBLOCK_BYTES]) -> Result<Found, VectorError> {
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(Found::Nothing);
        }
        let crc = crc_fast::checksum(Crc64Nvme, &bytes[..CRC_AT]);
        if crc != u64_at(bytes, CRC_AT) || bytes[..8] != MAGIC {
            return Ok(Found::Damaged);
        }
        let version = u32_at(bytes, 8);
        if version > VERSION {
            return Err(VectorError::FormatTooNew { found: version, known: VERSION });
        }
        let metric = match u32_at(bytes, 16) {
            0 => Metric::Cosine,
            1 => Metric::Euclidean,
            _ => return Ok(Found::Damaged),
        };
        let Ok(shape) = Shape::new(u32_at(bytes, 12) as usize, metric) else {
            return Ok(Found::Damaged);
        };
        let superblock = Self {
            shape,
            file_id: u64_at(bytes, 24),
            sequence: u64_at(bytes, 32),
            count: u32_at(bytes, 40),
            base: u32_at(bytes, 44),
            check: u64_at(bytes, 48),
            codes_valid_from: u64_at(bytes, 56),
        };
        let is_sound = version == VERSION
            && u32_at(bytes, 20) as usize == shape.stride()
            && superblock.base <= superblock.count
            && superblock.sequence < u64::MAX / 2;
        Ok(if is_sound { Found::Superblock(superblock) } else { Found::Damaged })
    }
}

/// The number of a metric in files.
pub(crate) fn metric_number(metric: Metric) -> u32 {
    match metric {
        Metric::Cosine => 0,
        Metric::Euclidean => 1,
    }
}

/// Where `slot` begins. Slots are 32 bits and strides far less, so it fits.
pub(super) fn slot_offset(shape: Shape, slot: u32) -> u64 {
    DATA_OFFSET + u64::from(slot) * shape.stride() as u64
}

/// The CRC-64/NVME of a vector as it stands in a file: of its elements as little-endian `f32`.
#[must_use]
pub fn vector_crc(vector: &[f32]) -> u64 {
    crc_fast::checksum(Crc64Nvme, bytemuck::cast_slice(vector))
}

/// The part of one slot in the check of a batch, which is the wrapping sum over its slots: so
/// writers in any order, and on any thread, come to the same.
pub(super) fn check(slot: Slot, crc: u64) -> u64 {
    // The finaliser of SplitMix64, so that exchanged or equal vectors do not cancel out.
    let mut mixed =
        crc ^ u64::from(slot.number()).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(number)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn superblock() -> Superblock {
        Superblock {
            shape: Shape::new(3, Metric::Euclidean).expect("a shape"),
            file_id: 7,
            sequence: 9,
            count: 12,
            base: 10,
            check: 0xdead_beef,
            codes_valid_from: 4,
        }
    }

    fn block(bytes: &[u8]) -> [u8; SUPERBLOCK_BYTES] {
        bytes.try_into().expect("one block")
    }

    #[test]
    fn a_superblock_comes_back_and_no_damaged_byte_of_it_does() {
        let bytes = superblock().encode();
        let found = Superblock::decode(&block(&bytes)).expect("of this version");
        assert_eq!(found, Found::Superblock(superblock()));
        for at in (0..100).chain([1_000, 4_087, 4_088, 4_095]) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x40;
            let found = Superblock::decode(&block(&damaged)).expect("not of a later version");
            assert_eq!(found, Found::Damaged, "byte {at}");
        }
        assert_eq!(Superblock::decode(&[0; SUPERBLOCK_BYTES]).expect("zeros"), Found::Nothing);
    }

    #[test]
    fn a_later_version_is_named() {
        let mut bytes = superblock().encode();
        bytes[8] = 2;
        let crc = crc_fast::checksum(Crc64Nvme, &bytes[..CRC_AT]);
        bytes[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        let error = Superblock::decode(&block(&bytes)).expect_err("later");
        assert!(matches!(error, VectorError::FormatTooNew { found: 2, known: 1 }), "{error}");
    }

    #[test]
    fn the_check_tells_slots_and_vectors_apart() {
        let slot = Slot::new;
        assert_ne!(check(slot(0), 5), check(slot(1), 5));
        assert_ne!(
            check(slot(0), 5).wrapping_add(check(slot(1), 6)),
            check(slot(0), 6).wrapping_add(check(slot(1), 5))
        );
        assert_eq!(
            vector_crc(&[1.0, -2.5]),
            crc_fast::checksum(Crc64Nvme, &[0, 0, 128, 63, 0, 0, 32, 192])
        );
    }
}
