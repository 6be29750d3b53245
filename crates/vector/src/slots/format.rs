//! The byte layout of a slot file, little-endian.
//!
//! | Bytes of the file | Content |
//! |---|---|
//! | 0..4096, 4096..8192 | the two superblocks |
//! | 8192..65536 | unused |
//! | 65536.. | slots of [`Shape::stride`] bytes: the elements as `f32`, then zeros |
//!
//! | Bytes of a superblock | Content |
//! |---|---|
//! | 0..8 | magic |
//! | 8..12 | version |
//! | 12..16 | dimension |
//! | 16..20 | metric |
//! | 20..24 | stride |
//! | 24..32 | id of the file |
//! | 32..40 | sequence |
//! | 40..44 | count |
//! | 44..48 | base |
//! | 48..56 | checksum of the batch |
//! | 56..64 | first sequence whose codes are usable |
//! | 128..136 | CRC-64 of everything before; zeros before and after |
//!
//! Version 1 has its CRC in `4088..4096` and zeros in `128..136`. A file keeps the version that it
//! was created with. Otherwise an older program would see only the older of two superblocks, and
//! take it for the newest.

use crc_fast::CrcAlgorithm::Crc64Nvme;

use crate::config::Shape;
use crate::error::VectorError;
use crate::metric::Metric;
use crate::slot::Slot;

const MAGIC: [u8; 8] = *b"liteioVS";
/// The version of new files.
pub(super) const VERSION: u32 = 2;

pub(super) const SUPERBLOCK_BYTES: usize = 4096;

/// The bytes of a superblock.
pub(super) type Block = [u8; SUPERBLOCK_BYTES];

/// Offset of the CRC. Later versions keep it where version 2 has it, so that their superblocks
/// verify and are recognised as newer.
fn crc_at(version: u32) -> usize {
    // Version 1 checksums the whole block; summing four thousand zeros takes longer than everything
    // else that a commit computes.
    if version == 1 { SUPERBLOCK_BYTES - 8 } else { 128 }
}

/// Offset of slot 0.
pub(super) const DATA_OFFSET: u64 = 64 << 10;

const _: () = assert!(cfg!(target_endian = "little"), "files are mapped as they are");

/// A commit record: the number of slots, and the checksum of the new ones. The file has two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Superblock {
    /// 1, or [`VERSION`].
    pub(super) version: u32,
    pub(super) shape: Shape,
    /// Random, so that codes of another file are not mistaken for this file's.
    pub(super) file_id: u64,
    /// Incremented by every commit.
    pub(super) sequence: u64,
    /// Number of slots of the file.
    pub(super) count: u32,
    /// Number of slots that were durable before this commit. The slots `base..count` are its batch.
    pub(super) base: u32,
    /// The checksum of the batch: the sum of [`check`] over its slots.
    pub(super) check: u64,
    /// Codes saved at an earlier sequence are stale: slots were rewritten since.
    pub(super) codes_valid_from: u64,
}

/// The content of one of the two superblock places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Superblock(Superblock),
    /// Zeros: none was written yet.
    Nothing,
    /// Torn or damaged.
    Damaged,
}

impl Superblock {
    /// Encodes it over zeros, or over another superblock of the same file; the bytes between the
    /// fields stay zero.
    pub(super) fn encode_over(&self, block: &mut Block) {
        let fields: [&[u8]; 11] = [
            &MAGIC,
            &self.version.to_le_bytes(),
            &(self.shape.dimension() as u32).to_le_bytes(),
            &metric_number(self.shape.metric()).to_le_bytes(),
            &(self.shape.stride() as u32).to_le_bytes(),
            &self.file_id.to_le_bytes(),
            &self.sequence.to_le_bytes(),
            &self.count.to_le_bytes(),
            &self.base.to_le_bytes(),
            &self.check.to_le_bytes(),
            &self.codes_valid_from.to_le_bytes(),
        ];
        let mut at = 0;
        for field in fields {
            block[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        }
        let at = crc_at(self.version);
        let crc = crc_fast::checksum(Crc64Nvme, &block[..at]);
        block[at..at + 8].copy_from_slice(&crc.to_le_bytes());
    }

    /// Decodes a superblock.
    ///
    /// # Errors
    /// [`VectorError::FormatTooNew`] if a later version wrote it.
    pub(super) fn decode(bytes: &Block) -> Result<Found, VectorError> {
        // A fold without an early exit is vectorized; a byte-by-byte search would take a
        // microsecond.
        let is_zero = |bytes: &[u8]| bytes.iter().fold(0, |all, byte| all | byte) == 0;
        if bytes[..8] != MAGIC {
            return Ok(if is_zero(bytes) { Found::Nothing } else { Found::Damaged });
        }
        let version = u32_at(bytes, 8);
        let crc_at = crc_at(version);
        let crc = crc_fast::checksum(Crc64Nvme, &bytes[..crc_at]);
        if crc != u64_at(bytes, crc_at) {
            return Ok(Found::Damaged);
        }
        // Only after the CRC: a damaged version field must not be reported as a newer format.
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
            version,
            shape,
            file_id: u64_at(bytes, 24),
            sequence: u64_at(bytes, 32),
            count: u32_at(bytes, 40),
            base: u32_at(bytes, 44),
            check: u64_at(bytes, 48),
            codes_valid_from: u64_at(bytes, 56),
        };
        let is_sound = version >= 1
            && is_zero(&bytes[crc_at + 8..])
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

/// Offset of `slot`. The product fits: slots are 32 bits, and strides far fewer.
pub(super) fn slot_offset(shape: Shape, slot: u32) -> u64 {
    DATA_OFFSET + u64::from(slot) * shape.stride() as u64
}

/// The CRC-64/NVME of a vector's bytes in the file: its elements as little-endian `f32`.
#[must_use]
pub fn vector_crc(vector: &[f32]) -> u64 {
    crc_fast::checksum(Crc64Nvme, bytemuck::cast_slice(vector))
}

/// The contribution of one slot to the checksum of a batch, which is a wrapping sum: it does not
/// depend on the order of writers or threads.
pub(super) fn check(slot: Slot, crc: u64) -> u64 {
    // Mixes the slot in by the finalizer of SplitMix64, so that swapped or equal vectors do not
    // cancel out.
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

    fn superblock(version: u32) -> Superblock {
        Superblock {
            version,
            shape: Shape::new(3, Metric::Euclidean).expect("a shape"),
            file_id: 7,
            sequence: 9,
            count: 12,
            base: 10,
            check: 0xdead_beef,
            codes_valid_from: 4,
        }
    }

    fn encoded(superblock: &Superblock) -> Block {
        let mut block = [0; SUPERBLOCK_BYTES];
        superblock.encode_over(&mut block);
        block
    }

    #[test]
    fn a_superblock_comes_back_and_no_damaged_byte_of_it_does() {
        for version in [1, 2] {
            let superblock = superblock(version);
            let bytes = encoded(&superblock);
            let found = Superblock::decode(&bytes).expect("of a known version");
            assert_eq!(found, Found::Superblock(superblock));
            for at in (0..200).chain([511, 512, 1_000, 4_087, 4_088, 4_095]) {
                for bit in 0..8 {
                    let mut damaged = bytes;
                    damaged[at] ^= 1 << bit;
                    let found = Superblock::decode(&damaged).expect("no version that verifies");
                    assert_eq!(found, Found::Damaged, "version {version}, byte {at}, bit {bit}");
                }
            }
        }
        assert_eq!(Superblock::decode(&[0; SUPERBLOCK_BYTES]).expect("zeros"), Found::Nothing);
    }

    #[test]
    fn a_superblock_is_the_same_over_zeros_and_over_another() {
        for version in [1, 2] {
            let mut block = encoded(&Superblock { sequence: 8, check: 5, ..superblock(version) });
            superblock(version).encode_over(&mut block);
            assert_eq!(block, encoded(&superblock(version)));
        }
    }

    /// Of a file that the first version has made, byte for byte.
    #[test]
    fn the_bytes_of_the_first_version_are_read() {
        let mut block = [0; SUPERBLOCK_BYTES];
        block[..8].copy_from_slice(b"liteioVS");
        for (at, number) in
            [(8, 1), (12, 3), (16, 1), (20, 64), (24, 7), (32, 9), (40, 12), (44, 10), (56, 4)]
        {
            block[at] = number;
        }
        block[48..52].copy_from_slice(&0xdead_beef_u32.to_le_bytes());
        block[4_088..].copy_from_slice(&0x534c_5748_22ef_6cb1_u64.to_le_bytes());
        let found = Superblock::decode(&block).expect("of a known version");
        assert_eq!(found, Found::Superblock(superblock(1)));
    }

    #[test]
    fn a_later_version_is_named() {
        let bytes = encoded(&superblock(3));
        let error = Superblock::decode(&bytes).expect_err("later");
        assert!(matches!(error, VectorError::FormatTooNew { found: 3, known: 2 }), "{error}");
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
