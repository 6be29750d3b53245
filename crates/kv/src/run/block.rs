//! [`Block`]: some sorted entries with a checksum.

use crc_fast::{CrcAlgorithm, Digest};

use super::RunName;
use crate::memtable::Entry;

/// Bytes in front of the entries.
pub(super) const HEADER_BYTES: usize = 16;
/// Size from which a block takes no more entries: about a page.
pub(super) const BLOCK_BYTES: usize = 4096;
const ENTRY_HEADER_BYTES: usize = 8;
/// Length of a value that stands for a deleted key.
const TOMBSTONE: u32 = u32::MAX;

/// The header in front of the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Bytes of the entries.
    pub(super) bytes: u32,
    pub(super) number: u32,
    sum: u32,
}

impl Header {
    fn encode(self, name: &RunName) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        for (field, place) in [self.bytes, self.number, self.sum].into_iter().zip([0, 4, 8]) {
            bytes[place..place + 4].copy_from_slice(&field.to_le_bytes());
        }
        let sum = sum(&[&name.stamp.to_le_bytes(), &bytes[..12]]);
        bytes[12..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8; HEADER_BYTES], name: &RunName) -> Option<Self> {
        let field = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let header = Self { bytes: field(0), number: field(4), sum: field(8) };
        (header.encode(name) == *bytes).then_some(header)
    }
}

/// The CRC-32C of all parts.
#[expect(clippy::cast_possible_truncation, reason = "a CRC of 32 bits")]
pub(super) fn sum(parts: &[&[u8]]) -> u32 {
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize() as u32
}

/// A block under construction.
#[derive(Debug, Default)]
pub(super) struct BlockBuilder {
    bytes: Vec<u8>,
    last_key: Vec<u8>,
}

impl BlockBuilder {
    /// Appends an entry.
    #[expect(clippy::cast_possible_truncation, reason = "a pair has at most 1 GiB")]
    pub(super) fn push(&mut self, entry: &Entry<'_>) {
        if self.bytes.is_empty() {
            self.bytes.resize(HEADER_BYTES, 0);
        }
        let value_bytes = entry.value.map_or(TOMBSTONE, |value| value.len() as u32);
        self.bytes.extend_from_slice(&(entry.key.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(&value_bytes.to_le_bytes());
        self.bytes.extend_from_slice(entry.key);
        self.bytes.extend_from_slice(entry.value.unwrap_or_default());
        self.last_key.clear();
        self.last_key.extend_from_slice(entry.key);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= BLOCK_BYTES
    }

    pub(super) fn last_key(&self) -> &[u8] {
        &self.last_key
    }

    /// Completes the block as number `number`, appends it to `into`, and starts the next one.
    #[expect(clippy::cast_possible_truncation, reason = "one pair, or some thousand bytes")]
    pub(super) fn finish(&mut self, number: u32, name: &RunName, into: &mut Vec<u8>) {
        let entries = &self.bytes[HEADER_BYTES..];
        let header = Header { bytes: entries.len() as u32, number, sum: sum(&[entries]) };
        self.bytes[..HEADER_BYTES].copy_from_slice(&header.encode(name));
        into.extend_from_slice(&self.bytes);
        self.bytes.clear();
    }
}

/// A block in memory.
#[derive(Debug)]
pub(crate) struct Block {
    bytes: Vec<u8>,
    /// The offset of each entry.
    starts: Vec<u32>,
}

impl Block {
    /// The block `number` of a run; `None` if the bytes are not this block.
    #[expect(clippy::cast_possible_truncation, reason = "below the bytes in the header")]
    pub(super) fn decode(bytes: Vec<u8>, number: u32, name: &RunName) -> Option<Self> {
        let header = Header::decode(bytes.first_chunk()?, name)?;
        let entries = &bytes[HEADER_BYTES..];
        // Number and stamp are checked, too: a misplaced block of the same run does not verify.
        let is_whole = header.number == number
            && header.bytes as usize == entries.len()
            && header.sum == sum(&[entries]);
        if !is_whole {
            return None;
        }
        // The lengths are checked here once, so `entry` need not check them again.
        let mut starts = Vec::with_capacity(64);
        let mut at = HEADER_BYTES;
        while at < bytes.len() {
            let (key, value) = lengths(&bytes, at)?;
            starts.push(at as u32);
            at = at.checked_add(ENTRY_HEADER_BYTES + key + value.unwrap_or(0))?;
        }
        (at == bytes.len()).then_some(Self { bytes, starts })
    }

    /// Number of entries, at least one.
    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    pub(super) fn entry(&self, at: usize) -> Entry<'_> {
        let start = self.starts[at] as usize;
        let (key, value) = lengths(&self.bytes, start).expect("looked at when it was decoded");
        let (key, rest) = self.bytes[start + ENTRY_HEADER_BYTES..].split_at(key);
        Entry { key, value: value.map(|bytes| &rest[..bytes]) }
    }

    /// The index of the entry of `key`, or the index where it would be inserted.
    pub(super) fn find(&self, key: &[u8]) -> Result<usize, usize> {
        let mut range = 0..self.len();
        while !range.is_empty() {
            let middle = range.start + range.len() / 2;
            match self.entry(middle).key.cmp(key) {
                std::cmp::Ordering::Equal => return Ok(middle),
                std::cmp::Ordering::Less => range.start = middle + 1,
                std::cmp::Ordering::Greater => range.end = middle,
            }
        }
        Err(range.start)
    }
}

/// Bytes of key and value of the entry at `at`; no value for a tombstone.
fn lengths(bytes: &[u8], at: usize) -> Option<(usize, Option<usize>)> {
    let fields: &[u8; ENTRY_HEADER_BYTES] = bytes.get(at..)?.first_chunk()?;
    let field = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| fields[at + i]));
    let value = Some(field(4)).filter(|bytes| *bytes != TOMBSTONE);
    Some((field(0) as usize, value.map(|bytes| bytes as usize)))
}
