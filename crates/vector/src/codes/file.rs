//! The codes of an index in a file beside its vectors.
//!
//! Little-endian: `0..4096` the header: `0..8` magic, `8..12` version, `12..16` dimension, `16..20`
//! metric, `20..24` chunks, `24..32` id of the slot file, `32..40` sequence of its commit, `40..48`
//! slots, `48..56` slots when the centre was last checked, `56..64` CRC-64 of the table, zeros,
//! `4088..4096` CRC-64 of all before. Then the table: the centre as `f32`, zeros up to a multiple of
//! 8, the CRC-64 of each chunk, zeros up to a multiple of 4,096. Then the chunks, each: the signs, the
//! factors, the finer codes of 4,096 slots.
//!
//! The file is never synced: after a power cut any part may be missing, which the checksums detect.

use std::sync::atomic::Ordering;

use crc_fast::CrcAlgorithm::Crc64Nvme;
use liteio_disk::{Disk, DiskFile, OpenMode};

use super::chunk::{BLOCK, CHUNK_BLOCKS, CHUNK_SLOTS, Chunk};
use super::{Codes, refine};
use crate::config::Shape;
use crate::slots::{Opened, Stamp, metric_number};

const MAGIC: [u8; 8] = *b"liteioVC";
/// 1 had other codes for vectors whose squares are very large or small.
const VERSION: u32 = 2;
const PAGE: usize = 4096;
const CRC_AT: usize = PAGE - 8;

/// The codes in a file, the number of slots that they are for, and of which commit.
pub(crate) struct Loaded {
    pub(crate) codes: Codes,
    pub(crate) slots: u32,
    /// Of the commit that they are of.
    pub(crate) sequence: u64,
}

impl Codes {
    /// Writes the codes of the first `slots` slots to `path`, as they were at the commit of `stamp`.
    ///
    /// # Errors
    /// The error of the disk; an older file of codes may be lost then.
    pub(crate) fn save(
        &self,
        disk: &dyn Disk,
        path: &str,
        stamp: Stamp,
        slots: u32,
    ) -> std::io::Result<()> {
        let new_path = new_path(path);
        let file = disk.open(&new_path, OpenMode::CreateOrWrite)?;
        file.set_len(0)?;
        let count = (slots as usize).div_ceil(CHUNK_SLOTS);
        let mut table =
            self.encoder.centre().iter().flat_map(|element| element.to_le_bytes()).collect();
        pad(&mut table, 8);
        let mut offset = PAGE + (table.len() + count * 8).next_multiple_of(PAGE);
        let mut bytes = Vec::new();
        for index in 0..count {
            bytes.clear();
            match self.chunk(index) {
                Some(chunk) => chunk.read().write_to(&mut bytes),
                None => self.new_chunk().write_to(&mut bytes),
            }
            table.extend_from_slice(&crc_fast::checksum(Crc64Nvme, &bytes).to_le_bytes());
            file.write_at(&bytes, offset as u64)?;
            offset += bytes.len();
        }
        pad(&mut table, PAGE);
        file.write_at(&table, PAGE as u64)?;
        let header = Header {
            shape: self.encoder.shape(),
            chunks: count as u32,
            stamp,
            slots,
            slots_at_start: self.slots_at_start.load(Ordering::Relaxed) as u64,
            table_crc: crc_fast::checksum(Crc64Nvme, &table),
        };
        file.write_at(&header.encode(), 0)?;
        drop(file);
        disk.rename(&new_path, path)
    }

    /// Reads the codes at `path`, if they are those of the slot file that `opened` describes. `None`
    /// when they are missing, old, damaged or of another version: then they have to be made.
    pub(crate) fn load(
        disk: &dyn Disk,
        path: &str,
        shape: Shape,
        opened: &Opened,
    ) -> Option<Loaded> {
        let file = disk.open(path, OpenMode::Read).ok()?;
        let header = Header::decode(&read(&*file, 0, PAGE)?, shape)?;
        let is_current = header.stamp.file_id == opened.stamp.file_id
            && (opened.codes_valid_from..=opened.stamp.sequence).contains(&header.stamp.sequence)
            && header.slots <= opened.slots
            && header.chunks as usize == (header.slots as usize).div_ceil(CHUNK_SLOTS);
        if !is_current {
            return None;
        }
        let centre_bytes = (shape.dimension() * 4).next_multiple_of(8);
        let table_bytes = (centre_bytes + header.chunks as usize * 8).next_multiple_of(PAGE);
        let width = shape.dimension().next_multiple_of(64);
        let chunk_bytes = Chunk::saved_bytes(width / 64, refine::code_bytes(width));
        // Before anything is allocated for them.
        if file.len().ok()?
            != (PAGE + table_bytes) as u64 + u64::from(header.chunks) * chunk_bytes as u64
        {
            return None;
        }
        let table = read(&*file, PAGE, table_bytes)?;
        if crc_fast::checksum(Crc64Nvme, &table) != header.table_crc {
            return None;
        }
        let (centre, _) = table[..shape.dimension() * 4].as_chunks::<4>();
        let centre = centre.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let slots_at_start = usize::try_from(header.slots_at_start).ok()?;
        let codes = Self::with_centre(shape, centre, slots_at_start);
        let (crcs, _) = table[centre_bytes..].as_chunks::<8>();
        for (index, crc) in crcs.iter().take(header.chunks as usize).enumerate() {
            let bytes = read(&*file, PAGE + table_bytes + index * chunk_bytes, chunk_bytes)?;
            if crc_fast::checksum(Crc64Nvme, &bytes) != u64::from_le_bytes(*crc) {
                return None;
            }
            let mut chunk = codes.new_chunk();
            chunk.read_from(&bytes);
            codes.push(chunk);
        }
        Some(Loaded { codes, slots: header.slots, sequence: header.stamp.sequence })
    }
}

/// The path to which codes are written before they replace those at `path`.
pub(crate) fn new_path(path: &str) -> String {
    format!("{path}.new")
}

struct Header {
    shape: Shape,
    chunks: u32,
    stamp: Stamp,
    slots: u32,
    slots_at_start: u64,
    table_crc: u64,
}

impl Header {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(PAGE);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(self.shape.dimension() as u32).to_le_bytes());
        bytes.extend_from_slice(&metric_number(self.shape.metric()).to_le_bytes());
        bytes.extend_from_slice(&self.chunks.to_le_bytes());
        bytes.extend_from_slice(&self.stamp.file_id.to_le_bytes());
        bytes.extend_from_slice(&self.stamp.sequence.to_le_bytes());
        bytes.extend_from_slice(&u64::from(self.slots).to_le_bytes());
        bytes.extend_from_slice(&self.slots_at_start.to_le_bytes());
        bytes.extend_from_slice(&self.table_crc.to_le_bytes());
        bytes.resize(CRC_AT, 0);
        let crc = crc_fast::checksum(Crc64Nvme, &bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// `None` unless it is whole, of this version, and for vectors of this shape.
    fn decode(bytes: &[u8], shape: Shape) -> Option<Self> {
        let (numbers, _) = bytes.as_chunks::<8>();
        let number = |index: usize| u64::from_le_bytes(numbers[index]);
        let is_whole = bytes[..8] == MAGIC
            && number(CRC_AT / 8) == crc_fast::checksum(Crc64Nvme, &bytes[..CRC_AT]);
        let halves = |index: usize| (number(index) as u32, (number(index) >> 32) as u32);
        let ((version, dimension), (metric, chunks)) = (halves(1), halves(2));
        let is_ours = is_whole
            && version == VERSION
            && dimension as usize == shape.dimension()
            && metric == metric_number(shape.metric());
        is_ours.then(|| {
            Some(Self {
                shape,
                chunks,
                stamp: Stamp { file_id: number(3), sequence: number(4) },
                slots: u32::try_from(number(5)).ok()?,
                slots_at_start: number(6),
                table_crc: number(7),
            })
        })?
    }
}

impl Chunk {
    fn saved_bytes(words: usize, refined_bytes: usize) -> usize {
        CHUNK_BLOCKS * words * 64 + CHUNK_BLOCKS * BLOCK * 3 * 4 + CHUNK_SLOTS * refined_bytes
    }

    fn write_to(&self, bytes: &mut Vec<u8>) {
        bytes.reserve_exact(Self::saved_bytes(self.words, self.refined_bytes));
        for words in &self.signs {
            words.0.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        }
        for factors in &self.factors {
            for factor in [factors.square, factors.scale, factors.ones] {
                factor.iter().for_each(|lane| bytes.extend_from_slice(&lane.to_le_bytes()));
            }
        }
        // Zeros when there are none: then there are none after reading either.
        let end = bytes.len() + CHUNK_SLOTS * self.refined_bytes;
        bytes.extend_from_slice(self.all_refined());
        bytes.resize(end, 0);
    }

    /// From as many bytes as [`Chunk::write_to`] wrote.
    fn read_from(&mut self, bytes: &[u8]) {
        let (signs, rest) = bytes.split_at(CHUNK_BLOCKS * self.words * 64);
        let (words, _) = signs.as_chunks::<8>();
        let places = self.signs.iter_mut().flat_map(|words| &mut words.0);
        places.zip(words).for_each(|(place, word)| *place = u64::from_le_bytes(*word));
        let (factors, refined) = rest.split_at(CHUNK_BLOCKS * BLOCK * 3 * 4);
        let (factors, _) = factors.as_chunks::<4>();
        let places = self.factors.iter_mut().flat_map(|factors| {
            factors.square.iter_mut().chain(&mut factors.scale).chain(&mut factors.ones)
        });
        places.zip(factors).for_each(|(place, factor)| *place = f32::from_le_bytes(*factor));
        if refined.iter().all(|byte| *byte == 0) {
            // There was no memory for them: zeros estimate nothing, and are no bounds.
            self.forget_refined();
        } else {
            self.set_refined(0, refined);
        }
    }
}

fn read(file: &dyn DiskFile, offset: usize, bytes: usize) -> Option<Vec<u8>> {
    let mut buffer = vec![0; bytes];
    let read = file.read_at(&mut buffer, offset as u64).ok()?;
    (read == bytes).then_some(buffer)
}

fn pad(bytes: &mut Vec<u8>, multiple: usize) {
    bytes.resize(bytes.len().next_multiple_of(multiple), 0);
}
