//! The write-ahead log: the updates since the last checkpoint.
//!
//! A group of updates is one record, appended and synced before the group becomes visible and is
//! acknowledged. A checkpoint makes the tree durable with the number of the last record in it, and
//! a new nonce; then the log starts again at its first byte. After a crash the records that verify
//! under the tree's nonce, from the first byte on, are replayed.
//!
//! # Format
//! Records lie one behind the other, integers are little-endian: CRC-64/NVME of the nonce and all
//! that follows (8), number (8), bytes of operations (8), operations. An operation is a tag (1: put,
//! 2: delete, 3: note, 4: mark), bytes of the key (4), bytes of the value (4, zero for a delete and a
//! mark), key, value. A note has the name of an [attachment](super::Attachments) of the record in place
//! of the key, and its contents, or nothing, in place of the value. A mark is a watermark: the
//! attachments of all records up to a number (8, in place of the key) are durable. Neither reaches the
//! tree.
//! The nonce is secret, random, and new with every checkpoint: bytes that an earlier round or a
//! client's value left in the file never verify.

use std::io;

use crc_fast::{CrcAlgorithm, Digest};
use liteio_disk::{Disk, DiskFile, OpenMode};

use super::KvError;

/// Bytes in front of a record's operations.
const HEADER_BYTES: usize = 24;
const OPERATION_HEADER_BYTES: usize = 9;
/// A log that grew beyond this is cut back to it.
const SHRINK_BYTES: u64 = 64 << 20;
/// A log that is too short for a record grows by this at most.
const EXTEND_STEP_MAX: u64 = 1 << 20;
const EXTEND_PIECE: usize = 1 << 18;
/// Bytes read at once in the search for records behind the end.
const SEARCH_PIECE: usize = 1 << 20;
/// The bound of what that search verifies, in bytes: some 100 ms.
const WORK_MAX: u64 = 1 << 30;
const PUT: u8 = 1;
const DELETE: u8 = 2;
const NOTE: u8 = 3;
const MARK: u8 = 4;

/// Secret of one round of the log.
pub(super) type Nonce = [u8; 16];

/// A new nonce.
pub(super) fn new_nonce() -> Result<Nonce, KvError> {
    let mut nonce = Nonce::default();
    getrandom::fill(&mut nonce).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(nonce)
}

fn checksum(nonce: &Nonce, record: &[u8]) -> u64 {
    let mut digest = Digest::new(CrcAlgorithm::Crc64Nvme);
    digest.update(nonce);
    digest.update(&record[8..]);
    digest.finalize()
}

/// The record of one group, while it is being filled.
#[derive(Debug)]
pub(super) struct Record {
    buffer: Vec<u8>,
    operations: u64,
    notes: u64,
}

/// A length of a record, to cut it back to.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordFill {
    bytes: usize,
    operations: u64,
    notes: u64,
}

impl Record {
    pub(super) fn new() -> Self {
        Self { buffer: vec![0; HEADER_BYTES], operations: 0, notes: 0 }
    }

    /// Starts a new record in the same memory.
    pub(super) fn clear(&mut self) {
        self.buffer.truncate(HEADER_BYTES);
        self.buffer.shrink_to(4 << 20);
        self.operations = 0;
        self.notes = 0;
    }

    /// Bytes so far.
    pub(super) fn bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Puts and deletes so far.
    pub(super) fn operations(&self) -> u64 {
        self.operations
    }

    /// Attachments named so far.
    pub(super) fn notes(&self) -> u64 {
        self.notes
    }

    pub(super) fn fill(&self) -> RecordFill {
        RecordFill { bytes: self.buffer.len(), operations: self.operations, notes: self.notes }
    }

    pub(super) fn truncate(&mut self, fill: RecordFill) {
        self.buffer.truncate(fill.bytes);
        self.operations = fill.operations;
        self.notes = fill.notes;
    }

    pub(super) fn put(&mut self, key: &[u8], value: &[u8]) {
        self.operations += 1;
        self.push(PUT, key, value);
    }

    pub(super) fn delete(&mut self, key: &[u8]) {
        self.operations += 1;
        self.push(DELETE, key, &[]);
    }

    /// Notes an attachment of the puts in this record, with its contents or without.
    pub(super) fn note(&mut self, attachment: &[u8], contents: &[u8]) {
        self.notes += 1;
        self.push(NOTE, attachment, contents);
    }

    /// Appends the watermark: the attachments of all records up to `number` are durable.
    pub(super) fn mark(&mut self, number: u64) {
        self.push(MARK, &number.to_le_bytes(), &[]);
    }

    #[expect(clippy::cast_possible_truncation, reason = "a pair is at most 1 GiB")]
    fn push(&mut self, tag: u8, key: &[u8], value: &[u8]) {
        self.buffer.reserve(OPERATION_HEADER_BYTES + key.len() + value.len());
        self.buffer.push(tag);
        self.buffer.extend_from_slice(&(key.len() as u32).to_le_bytes());
        self.buffer.extend_from_slice(&(value.len() as u32).to_le_bytes());
        self.buffer.extend_from_slice(key);
        self.buffer.extend_from_slice(value);
    }

    fn seal(&mut self, nonce: &Nonce, number: u64) -> &[u8] {
        let operations = (self.buffer.len() - HEADER_BYTES) as u64;
        self.buffer[8..16].copy_from_slice(&number.to_le_bytes());
        self.buffer[16..24].copy_from_slice(&operations.to_le_bytes());
        let checksum = checksum(nonce, &self.buffer);
        self.buffer[..8].copy_from_slice(&checksum.to_le_bytes());
        &self.buffer
    }
}

/// One write of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation<'a> {
    Put { key: &'a [u8], value: &'a [u8] },
    Delete { key: &'a [u8] },
    Note { attachment: &'a [u8], contents: &'a [u8] },
    Mark { number: u64 },
}

/// The operations of a record that verified.
fn operations(mut bytes: &[u8]) -> impl Iterator<Item = Result<Operation<'_>, KvError>> {
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

/// A damaged record in the middle of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogDamage {
    /// The number of the damaged record, and its offset.
    pub(super) number: u64,
    pub(super) position: u64,
    /// Those of a record behind it that verifies.
    pub(super) whole_number: u64,
    pub(super) whole_position: u64,
}

/// The log file.
#[derive(Debug)]
pub(super) struct Log {
    file: Box<dyn DiskFile>,
    nonce: Nonce,
    /// Number of the last record.
    number: u64,
    /// Offset of the next record.
    position: u64,
    /// Bytes of the file. A record within them changes no metadata of the file system, which makes its
    /// sync twice as fast.
    file_bytes: u64,
    /// It grows to multiples of this.
    step_bytes: u64,
}

impl Log {
    /// Opens the file, creating it if it is missing; its name is durable after a sync of the
    /// directory. `bytes` is about how long the log becomes.
    pub(super) fn open(disk: &dyn Disk, path: &str, bytes: u64) -> Result<Self, KvError> {
        let file = disk.open(path, OpenMode::CreateOrWrite)?;
        let file_bytes = file.len()?;
        let step_bytes = bytes.clamp(1, EXTEND_STEP_MAX);
        let (nonce, number, position) = (Nonce::default(), 0, 0);
        Ok(Self { file, nonce, number, position, file_bytes, step_bytes })
    }

    /// `true` when there are records, current or obsolete.
    pub(super) fn has_records(&self) -> Result<bool, KvError> {
        let mut header = [0; HEADER_BYTES];
        self.file.read_at(&mut header, 0)?;
        Ok(header != [0; HEADER_BYTES])
    }

    /// Replays the records after record `number`: passes the operations of each, with the record's
    /// number, to `accept`, and if it accepts all of them, to `apply`. Ends at the first record that does
    /// not verify or is not accepted; appending continues there.
    pub(super) fn replay(
        &mut self,
        nonce: Nonce,
        number: u64,
        mut accept: impl FnMut(u64, Operation<'_>) -> Result<bool, KvError>,
        mut apply: impl FnMut(Operation<'_>) -> Result<(), KvError>,
    ) -> Result<(), KvError> {
        // Not a new round, which would cut a long log back: its records are yet to be read.
        self.rewind(nonce, number);
        let end = self.file.len()?;
        let mut header = [0; HEADER_BYTES];
        let mut record = Vec::new();
        while self.position + HEADER_BYTES as u64 <= end {
            self.read_exactly(&mut header, self.position)?;
            let field = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| header[at + i]));
            let room = end - self.position - HEADER_BYTES as u64;
            if field(8) != self.number + 1 || field(16) > room {
                break;
            }
            let Ok(bytes) = usize::try_from(field(16)) else { break };
            record.resize(HEADER_BYTES + bytes, 0);
            self.read_exactly(&mut record, self.position)?;
            if checksum(&nonce, &record) != field(0) {
                break;
            }
            for operation in operations(&record[HEADER_BYTES..]) {
                if !accept(self.number + 1, operation?)? {
                    return Ok(());
                }
            }
            for operation in operations(&record[HEADER_BYTES..]) {
                apply(operation?)?;
            }
            self.number += 1;
            self.position += record.len() as u64;
        }
        Ok(())
    }

    /// Looks behind the end of a [replay](Log::replay) for a record of the same round. In a round whose
    /// records were synced one before the next, a torn write is always the last: a whole record behind the
    /// end proves that one before it was damaged later, and that acknowledged updates would be lost.
    pub(super) fn find_damage(&self) -> Result<Option<LogDamage>, KvError> {
        let end = self.file.len()?;
        // So many records fit at most, which also passes over what earlier rounds left.
        let numbers = self.number + 1..=self.number + (end - self.position) / HEADER_BYTES as u64;
        let mut work_left = WORK_MAX;
        let mut piece = vec![0; SEARCH_PIECE + HEADER_BYTES];
        let mut record = Vec::new();
        let mut start = self.position + 1;
        while start + HEADER_BYTES as u64 <= end {
            let bytes = piece.len().min(usize::try_from(end - start).unwrap_or(piece.len()));
            self.read_exactly(&mut piece[..bytes], start)?;
            for at in 0..(bytes - HEADER_BYTES + 1).min(SEARCH_PIECE) {
                let field = |place: usize| {
                    u64::from_le_bytes(std::array::from_fn(|i| piece[at + place + i]))
                };
                let number = field(8);
                if !numbers.contains(&number) {
                    continue;
                }
                let position = start + at as u64;
                let length = HEADER_BYTES as u64 + field(16).min(end);
                if length > end - position {
                    continue;
                }
                // Values of clients may look like headers. None verifies, but each costs its length.
                let Some(left) = u64::checked_sub(work_left, length) else { return Ok(None) };
                work_left = left;
                record.resize(usize::try_from(length).unwrap_or(usize::MAX), 0);
                self.read_exactly(&mut record, position)?;
                if checksum(&self.nonce, &record) == field(0) {
                    return Ok(Some(LogDamage {
                        number: self.number + 1,
                        position: self.position,
                        whole_number: number,
                        whole_position: position,
                    }));
                }
            }
            start += SEARCH_PIECE as u64;
        }
        Ok(None)
    }

    /// Starts a new round at the first byte. Call it only after a checkpoint with this nonce and number:
    /// the records of the old round do not verify any more.
    pub(super) fn start(&mut self, nonce: Nonce, number: u64) {
        if self.position > SHRINK_BYTES {
            // A giant record made the file long. If truncating fails, the space is freed some other time.
            if self.file.set_len(SHRINK_BYTES).is_ok() {
                self.file_bytes = SHRINK_BYTES;
            }
        }
        self.rewind(nonce, number);
    }

    fn rewind(&mut self, nonce: Nonce, number: u64) {
        self.nonce = nonce;
        self.number = number;
        self.position = 0;
    }

    /// Extends the file with zeros to `bytes` and syncs it, so that records need no new space.
    pub(super) fn preallocate(&mut self, bytes: u64) -> Result<(), KvError> {
        if self.file_bytes < bytes {
            self.extend(bytes)?;
            self.file.sync_data()?;
        }
        Ok(())
    }

    fn extend(&mut self, bytes: u64) -> Result<(), KvError> {
        let zeros = vec![0; EXTEND_PIECE];
        while self.file_bytes < bytes {
            let rest = bytes - self.file_bytes;
            let piece = zeros.len().min(usize::try_from(rest).unwrap_or(EXTEND_PIECE));
            self.file.write_at(&zeros[..piece], self.file_bytes)?;
            self.file_bytes += piece as u64;
        }
        Ok(())
    }

    /// Appends the record. After a failure the next record goes to the same offset. If the record does not
    /// fit into the file, the file grows by a whole step, which has room for later records, too.
    pub(super) fn append(&mut self, record: &mut Record, sync: bool) -> Result<(), KvError> {
        let end = self.position + record.bytes() as u64;
        if end > self.file_bytes {
            // Without the space for a step the record may still fit.
            match self.extend(end.next_multiple_of(self.step_bytes)) {
                Ok(()) | Err(KvError::NoSpace) => {}
                Err(error) => return Err(error),
            }
        }
        let bytes = record.seal(&self.nonce, self.number + 1);
        self.file.write_at(bytes, self.position)?;
        self.file_bytes = self.file_bytes.max(end);
        if sync {
            self.sync()?;
        }
        self.number += 1;
        self.position = end;
        Ok(())
    }

    /// Syncs the file. A sync that fails for want of space is [`KvError::Poisoned`], not
    /// [`KvError::NoSpace`], which promises that nothing was kept: a restart may find the record.
    pub(super) fn sync(&mut self) -> Result<(), KvError> {
        self.file.sync_data().map_err(|error| KvError::Poisoned {
            reason: format!("the log was not synced: {error}"),
        })
    }

    /// Number of the last record.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Bytes of records since the last checkpoint.
    pub(super) fn bytes(&self) -> u64 {
        self.position
    }

    fn read_exactly(&self, buffer: &mut [u8], offset: u64) -> Result<(), KvError> {
        if self.file.read_at(buffer, offset)? == buffer.len() {
            return Ok(());
        }
        Err(KvError::from(io::Error::from(io::ErrorKind::UnexpectedEof)))
    }
}

#[cfg(test)]
mod tests {
    use liteio_disk::SimulatedDisk;

    use super::*;

    fn records(log: &mut Log, count: u8) {
        let mut record = Record::new();
        for i in 0..count {
            record.clear();
            record.put(&[i], &[i; 30]);
            record.delete(&[i, i]);
            log.append(&mut record, true).expect("appends");
        }
    }

    fn replay(disk: &SimulatedDisk, nonce: Nonce, number: u64) -> Vec<u8> {
        let mut found = Vec::new();
        let mut log = Log::open(disk, "log", 100).expect("opens");
        let all = |_, _: Operation<'_>| Ok(true);
        log.replay(nonce, number, all, |operation| {
            match operation {
                Operation::Put { key, value } => {
                    assert_eq!(value, &[key[0]; 30]);
                    found.push(key[0]);
                }
                Operation::Delete { key } => assert_eq!(key, &[found[found.len() - 1]; 2]),
                other => panic!("never written: {other:?}"),
            }
            Ok(())
        })
        .expect("replays");
        found
    }

    #[test]
    fn replays_what_follows_the_checkpoint_under_its_nonce_only() {
        let disk = SimulatedDisk::new(1);
        let mut log = Log::open(&disk, "log", 100).expect("opens");
        log.start([1; 16], 10);
        records(&mut log, 5);
        assert_eq!(replay(&disk, [1; 16], 10), [0, 1, 2, 3, 4]);
        assert!(replay(&disk, [2; 16], 10).is_empty(), "another nonce");
        assert!(replay(&disk, [1; 16], 9).is_empty(), "another number");
        // A new round: what lies behind its end is never taken for its own.
        log.start([3; 16], 15);
        records(&mut log, 2);
        assert_eq!(replay(&disk, [3; 16], 15), [0, 1]);
        assert!(replay(&disk, [1; 16], 10).is_empty());
    }

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

    fn damage(disk: &SimulatedDisk, nonce: Nonce, number: u64) -> Option<(u64, u64)> {
        let mut log = Log::open(disk, "log", 100).expect("opens");
        let all = |_, _: Operation<'_>| Ok(true);
        log.replay(nonce, number, all, |_| Ok(())).expect("replays");
        let damage = log.find_damage().expect("reads")?;
        assert!(damage.position < damage.whole_position, "{damage:?}");
        Some((damage.number, damage.whole_number))
    }

    #[test]
    fn a_changed_byte_is_damage_unless_it_is_in_the_last_record() {
        let disk = SimulatedDisk::new(1);
        let mut log = Log::open(&disk, "log", 100).expect("opens");
        // An earlier round, longer than the current one.
        log.start([7; 16], 0);
        records(&mut log, 9);
        log.start([1; 16], 9);
        records(&mut log, 4);
        assert_eq!(damage(&disk, [1; 16], 9), None);
        let record_bytes = log.bytes() / 4;
        for at in 0..log.bytes() {
            let mut byte = [0];
            log.file.read_at(&mut byte, at).expect("reads");
            log.file.write_at(&[byte[0] ^ 0x10], at).expect("writes");
            let record = at / record_bytes;
            let expected = (record < 3).then_some((10 + record, 11 + record));
            assert_eq!(damage(&disk, [1; 16], 9), expected, "byte {at}");
            log.file.write_at(&byte, at).expect("writes");
        }
        // Several records, and a whole sector.
        log.file.write_at(&vec![0; 2 * record_bytes as usize + 3], 0).expect("writes");
        assert_eq!(damage(&disk, [1; 16], 9), Some((10, 13)));
    }

    #[test]
    fn values_that_look_like_records_are_no_damage_and_no_endless_work() {
        let disk = SimulatedDisk::new(1);
        let mut log = Log::open(&disk, "log", 1 << 20).expect("opens");
        log.start([1; 16], 0);
        let fakes: Vec<u8> = (0..40_000_u64)
            .flat_map(|_| [7_u64, 3, 500_000].map(u64::to_le_bytes).concat())
            .collect();
        let mut record = Record::new();
        record.put(b"key", &fakes);
        log.append(&mut record, true).expect("appends");
        log.file.write_at(&[0xff], 30).expect("writes");
        assert_eq!(damage(&disk, [1; 16], 0), None);
    }

    #[test]
    fn a_changed_byte_ends_the_replay_before_its_record() {
        let disk = SimulatedDisk::new(1);
        let mut log = Log::open(&disk, "log", 100).expect("opens");
        log.start([1; 16], 0);
        records(&mut log, 3);
        let record_bytes = log.bytes() / 3;
        for at in 0..log.bytes() {
            let mut byte = [0];
            log.file.read_at(&mut byte, at).expect("reads");
            log.file.write_at(&[byte[0] ^ 0x10], at).expect("writes");
            let whole: Vec<u8> = (0..(at / record_bytes) as u8).collect();
            assert_eq!(replay(&disk, [1; 16], 0), whole, "byte {at}");
            log.file.write_at(&byte, at).expect("writes");
        }
    }
}
