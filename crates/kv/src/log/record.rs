//! Records of the log and their operations.

use crc_fast::{CrcAlgorithm, Digest};

use super::Nonce;
use crate::KvError;

/// Bytes of a [`Frame`].
pub(super) const FRAME_BYTES: usize = 28;
/// Bytes in front of a record's operations.
pub(super) const HEADER_BYTES: usize = 8 + FRAME_BYTES;
/// The same in the old version.
pub(super) const OLD_HEADER_BYTES: usize = 24;
/// Bytes before the key of an operation.
pub(crate) const OPERATION_HEADER_BYTES: usize = 9;
const PUT: u8 = 1;
const DELETE: u8 = 2;
const NOTE: u8 = 3;
const MARK: u8 = 4;

/// The self-description of a record, before its operations and once more after them. Either copy
/// proves that the record was begun, and how far the log was durable then, whatever became of the
/// rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) number: u64,
    /// Bytes of the operations.
    pub(super) bytes: u64,
    /// Number of the newest record known to be durable when this one was written.
    pub(super) durable: u64,
}

impl Frame {
    /// The bytes of the operations, by a frame that may be none.
    pub(super) fn length(bytes: &[u8]) -> u64 {
        field(bytes, 8)
    }

    pub(super) fn parse(bytes: &[u8], nonce: &Nonce) -> Option<Self> {
        let field = |at| field(bytes, at);
        let frame = Self { number: field(0), bytes: field(8), durable: field(16) };
        (frame.encode(nonce) == bytes[..FRAME_BYTES]).then_some(frame)
    }

    #[expect(clippy::cast_possible_truncation, reason = "a CRC of 32 bits")]
    fn encode(self, nonce: &Nonce) -> [u8; FRAME_BYTES] {
        let mut bytes = [0; FRAME_BYTES];
        bytes[..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.durable.to_le_bytes());
        let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
        digest.update(nonce);
        digest.update(&bytes[..24]);
        bytes[24..].copy_from_slice(&(digest.finalize() as u32).to_le_bytes());
        bytes
    }
}

fn field(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}

/// The checksum of a record, which covers all of it but these 8 bytes.
pub(super) fn checksum(nonce: &Nonce, record: &[u8]) -> u64 {
    let mut digest = Digest::new(CrcAlgorithm::Crc64Nvme);
    digest.update(nonce);
    digest.update(&record[8..]);
    digest.finalize()
}

/// The record of one group, while it is being filled.
#[derive(Debug)]
pub(crate) struct Record {
    buffer: Vec<u8>,
    operations: u64,
    notes: u64,
}

/// A position in a record, to truncate it to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordFill {
    bytes: usize,
    operations: u64,
    notes: u64,
}

impl Record {
    pub(crate) fn new() -> Self {
        Self { buffer: vec![0; HEADER_BYTES], operations: 0, notes: 0 }
    }

    /// Starts a new record in the same memory.
    pub(crate) fn clear(&mut self) {
        self.buffer.truncate(HEADER_BYTES);
        // One huge record must not keep its memory for good.
        self.buffer.shrink_to(4 << 20);
        self.operations = 0;
        self.notes = 0;
    }

    /// Bytes so far, including all fields of a sealed record.
    pub(crate) fn bytes(&self) -> usize {
        self.buffer.len() + FRAME_BYTES
    }

    /// Puts and deletes so far.
    pub(crate) fn operations(&self) -> u64 {
        self.operations
    }

    /// Attachments named so far.
    pub(crate) fn notes(&self) -> u64 {
        self.notes
    }

    pub(crate) fn fill(&self) -> RecordFill {
        RecordFill { bytes: self.buffer.len(), operations: self.operations, notes: self.notes }
    }

    pub(crate) fn truncate(&mut self, fill: RecordFill) {
        self.buffer.truncate(fill.bytes);
        self.operations = fill.operations;
        self.notes = fill.notes;
    }

    pub(crate) fn put(&mut self, key: &[u8], value: &[u8]) {
        self.operations += 1;
        Operation::Put { key, value }.append(&mut self.buffer);
    }

    pub(crate) fn delete(&mut self, key: &[u8]) {
        self.operations += 1;
        Operation::Delete { key }.append(&mut self.buffer);
    }

    /// Notes an attachment of the puts in this record, with its contents or without.
    pub(crate) fn note(&mut self, attachment: &[u8], contents: &[u8]) {
        self.notes += 1;
        Operation::Note { attachment, contents }.append(&mut self.buffer);
    }

    /// Appends the watermark: the attachments of all records up to `number` are durable.
    pub(crate) fn mark(&mut self, number: u64) {
        Operation::Mark { number }.append(&mut self.buffer);
    }

    /// Appends the puts and deletes of a sealed record to `to`, without its notes and marks.
    pub(crate) fn append_changes(&self, to: &mut Vec<u8>) {
        let content = &self.buffer[HEADER_BYTES..self.buffer.len() - FRAME_BYTES];
        if self.notes == 0 {
            return to.extend_from_slice(content);
        }
        for operation in operations(content) {
            match operation {
                Ok(change @ (Operation::Put { .. } | Operation::Delete { .. })) => {
                    change.append(to)
                }
                // Its own operations can be read.
                Ok(Operation::Note { .. } | Operation::Mark { .. }) | Err(_) => {}
            }
        }
    }

    /// Completes the record for the log. Nothing may be added to it afterwards.
    pub(super) fn seal(&mut self, nonce: &Nonce, number: u64, durable: u64) -> &[u8] {
        // The room for the header was reserved at the start, so the operations need not move.
        let bytes = (self.buffer.len() - HEADER_BYTES) as u64;
        let frame = Frame { number, bytes, durable }.encode(nonce);
        self.buffer[8..HEADER_BYTES].copy_from_slice(&frame);
        self.buffer.extend_from_slice(&frame);
        // The checksum last: it covers both frames. It is the first field but the last to be
        // computed.
        let checksum = checksum(nonce, &self.buffer);
        self.buffer[..8].copy_from_slice(&checksum.to_le_bytes());
        &self.buffer
    }
}

/// One write of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation<'a> {
    Put { key: &'a [u8], value: &'a [u8] },
    Delete { key: &'a [u8] },
    Note { attachment: &'a [u8], contents: &'a [u8] },
    Mark { number: u64 },
}

impl Operation<'_> {
    /// Appends the operation as a record has it.
    pub(crate) fn append(self, to: &mut Vec<u8>) {
        match self {
            Self::Put { key, value } => append(PUT, key, value, to),
            Self::Delete { key } => append(DELETE, key, &[], to),
            Self::Note { attachment, contents } => append(NOTE, attachment, contents, to),
            Self::Mark { number } => append(MARK, &number.to_le_bytes(), &[], to),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a pair is at most 1 GiB")]
fn append(tag: u8, key: &[u8], value: &[u8], to: &mut Vec<u8>) {
    to.reserve(OPERATION_HEADER_BYTES + key.len() + value.len());
    to.push(tag);
    to.extend_from_slice(&(key.len() as u32).to_le_bytes());
    to.extend_from_slice(&(value.len() as u32).to_le_bytes());
    to.extend_from_slice(key);
    to.extend_from_slice(value);
}

/// The operations of a verified record.
pub(crate) fn operations(mut bytes: &[u8]) -> impl Iterator<Item = Result<Operation<'_>, KvError>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let parsed = (|| {
            let (header, rest) = bytes.split_at_checked(OPERATION_HEADER_BYTES)?;
            let key_bytes = u32::from_le_bytes(header[1..5].try_into().ok()?) as usize;
            let value_bytes = u32::from_le_bytes(header[5..9].try_into().ok()?) as usize;
            let (key, rest) = rest.split_at_checked(key_bytes)?;
            let (value, rest) = rest.split_at_checked(value_bytes)?;
            match header[0] {
                PUT => Some((Operation::Put { key, value }, rest)),
                DELETE if value.is_empty() => Some((Operation::Delete { key }, rest)),
                NOTE => Some((Operation::Note { attachment: key, contents: value }, rest)),
                MARK if value.is_empty() => {
                    let number = u64::from_le_bytes(key.try_into().ok()?);
                    Some((Operation::Mark { number }, rest))
                }
                _ => None,
            }
        })();
        match parsed {
            Some((operation, rest)) => {
                bytes = rest;
                Some(Ok(operation))
            }
            None => {
                bytes = &[];
                Some(Err(KvError::Corrupt("a verified log record cannot be read".into())))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_that_no_record_holds_are_refused() {
        let mut record = Record::new();
        record.put(b"key", b"value");
        record.delete(b"key");
        let bytes = &record.buffer[HEADER_BYTES..];
        assert!(operations(bytes).all(|operation| operation.is_ok()));
        let mut delete_with_value = bytes.to_vec();
        delete_with_value[0] = DELETE;
        let mut mark_of_a_key = bytes[bytes.len() - OPERATION_HEADER_BYTES - 3..].to_vec();
        mark_of_a_key[0] = MARK;
        let foreign_tag = [&[5], &bytes[1..]].concat();
        let last_start = bytes.len() - OPERATION_HEADER_BYTES - 3;
        for (what, bytes) in [
            ("a delete with a value", &delete_with_value[..]),
            ("a mark that is no number", &mark_of_a_key),
            ("a foreign tag", &foreign_tag),
            ("an operation cut in its key", &bytes[..bytes.len() - 1]),
            ("an operation cut in its header", &bytes[..last_start + 4]),
        ] {
            let last = operations(bytes).last().expect("refused, not passed over");
            assert!(matches!(last, Err(KvError::Corrupt(_))), "{what}: {last:?}");
        }
    }
}
