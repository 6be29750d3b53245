//! # Format
//! Records lie one behind the other, integers are little-endian: CRC-64/NVME of the nonce and all that
//! follows (8), frame (28), operations, the same frame again. A frame is the number of the record (8), bytes
//! of operations (8), the number of the newest record that was known to be durable (8), CRC-32C of the
//! nonce and these (4). An operation is a tag (1: put, 2: delete, 3: note, 4: mark), bytes of the key (4),
//! bytes of the value (4, zero for a delete and a mark), key, value. A note has the name of an
//! [attachment](super::Attachments) of the record in place of the key, and its contents, or nothing, in place
//! of the value. A mark is a watermark: the attachments of all records up to a number (8, in place of the
//! key) are durable. Neither reaches the tree.
//!
//! The nonce is secret, random, and new with every checkpoint: bytes that an earlier round or a
//! client's value left in the file never verify.
//!
//! Records of the old version have a frame without its last two fields, and none behind. They are read, and
//! the round that follows is of the current version.

mod ending;
mod record;
#[cfg(test)]
mod tests;

use std::io;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use liteio_disk::{Disk, DiskFile, OpenMode};

pub use self::ending::DroppedTail;
pub(super) use self::ending::Ending;
use self::record::{FRAME_BYTES, HEADER_BYTES, OLD_HEADER_BYTES, checksum, operations};
pub(super) use self::record::{Operation, Record, RecordFill};
use super::KvError;

/// A log that grew beyond this is cut back to it.
const SHRINK_BYTES: u64 = 64 << 20;
/// A log that is too short for a record grows by this at most.
const EXTEND_STEP_MAX: u64 = 1 << 20;
const EXTEND_PIECE: usize = 1 << 18;
/// The unit that a device, or the page cache in front of it, reads as a whole or not at all.
const SECTOR_BYTES: u64 = 4096;

/// The records between two checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Round {
    /// Number of the record before the first.
    pub(super) number: u64,
    pub(super) nonce: Nonce,
    pub(super) version: Version,
}

impl Round {
    /// A new round behind the record `number`.
    pub(super) fn new(number: u64) -> Result<Self, KvError> {
        let mut nonce = Nonce::default();
        getrandom::fill(&mut nonce).map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self { number, nonce, version: Version::Current })
    }
}

/// The version of the records of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// `in_order`: each record was synced before the next was appended.
    Old {
        in_order: bool,
    },
    Current,
}

impl Version {
    /// Bytes in front of the operations of a record, and behind them.
    fn overhead(self) -> (usize, usize) {
        match self {
            Self::Old { .. } => (OLD_HEADER_BYTES, 0),
            Self::Current => (HEADER_BYTES, FRAME_BYTES),
        }
    }
}

/// Secret of one round of the log.
pub(super) type Nonce = [u8; 16];

/// The log file.
#[derive(Debug)]
pub(super) struct Log {
    file: Box<dyn DiskFile>,
    round: Round,
    /// Number of the last record.
    number: u64,
    /// Number of the newest record known to be durable.
    durable: u64,
    /// Offset of the next record.
    position: u64,
    /// Bytes of the file. A record within them changes no metadata of the file system, which makes its
    /// sync twice as fast.
    file_bytes: u64,
    /// Bytes of the file that are known to be durable.
    durable_bytes: u64,
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
        Ok(Self {
            file,
            round: Round { nonce: Nonce::default(), number: 0, version: Version::Current },
            number: 0,
            durable: 0,
            position: 0,
            file_bytes,
            durable_bytes: 0,
            step_bytes,
        })
    }

    /// `true` when there are records, current or obsolete.
    pub(super) fn has_records(&self) -> Result<bool, KvError> {
        Ok(self.first_number()? != 0)
    }

    /// The number of the record at the first byte, whatever round it is of.
    pub(super) fn first_number(&self) -> Result<u64, KvError> {
        let mut bytes = [0; 16];
        self.file.read_at(&mut bytes, 0)?;
        Ok(u64::from_le_bytes(std::array::from_fn(|i| bytes[8 + i])))
    }

    /// Replays the records of a round: passes the operations of each, with the record's number, to
    /// `accept`, and if it accepts all of them, to `apply`. Ends at the first record that is not accepted, or
    /// does not verify; appending continues there. With `salvage` records that do not verify are passed over,
    /// as long as there are whole ones behind them. Returns their numbers.
    ///
    /// # Errors
    /// [`KvError::Corrupt`] for a record that the device cannot read, unless it is passed over: nobody knows
    /// whether there is one.
    pub(super) fn replay(
        &mut self,
        round: &Round,
        salvage: bool,
        mut accept: impl FnMut(u64, Operation<'_>) -> Result<bool, KvError>,
        mut apply: impl FnMut(Operation<'_>) -> Result<(), KvError>,
    ) -> Result<Vec<RangeInclusive<u64>>, KvError> {
        // Not a new round, which would cut a long log back: its records are yet to be read.
        self.rewind(round);
        let mut passed_over = Vec::new();
        let mut record = Vec::new();
        loop {
            let found = self.read_record(&mut record, self.number + 1, self.position);
            let found = match found {
                Err(KvError::Io(error)) if is_unreadable(&error) && salvage => None,
                Err(KvError::Io(error)) if is_unreadable(&error) => {
                    return Err(self.unreadable(&error));
                }
                found => found?,
            };
            let Some(content) = found else {
                match if salvage { self.next_whole()? } else { None } {
                    Some((number, position)) => {
                        passed_over.push(self.number + 1..=number - 1);
                        (self.number, self.position) = (number - 1, position);
                        continue;
                    }
                    None => return Ok(passed_over),
                }
            };
            for operation in operations(&record[content.clone()]) {
                if !accept(self.number + 1, operation?)? {
                    return Ok(passed_over);
                }
            }
            for operation in operations(&record[content]) {
                apply(operation?)?;
            }
            self.number += 1;
            self.position += record.len() as u64;
        }
    }

    /// Reads all records of the round again, of the log `path`, without a crash since they were written.
    ///
    /// # Errors
    /// [`KvError::Corrupt`] if one does not verify any more; the errors of reading.
    pub(super) fn reread(&mut self, path: &str) -> Result<(), KvError> {
        let (round, number) = (self.round, self.number);
        self.replay(&round, false, |_, _| Ok(true), |_| Ok(()))?;
        self.expect_whole(path, number)
    }

    /// Fails if a replay of the log `path` ended before the record `number`, which was written.
    pub(super) fn expect_whole(&self, path: &str, number: u64) -> Result<(), KvError> {
        if self.number >= number {
            return Ok(());
        }
        Err(KvError::Corrupt(format!(
            "record {} of {path} at byte {} is damaged, and records up to {number} were acknowledged. \
             Nothing was changed: copy what can still be read, then stop the server and run `liteio repair`",
            self.number + 1,
            self.position,
        )))
    }

    /// Reads the record `number` at `position`, if a read does not fail. Returns where in it its operations are, if it verifies.
    fn read_record(
        &self,
        record: &mut Vec<u8>,
        number: u64,
        position: u64,
    ) -> Result<Option<Range<usize>>, KvError> {
        let (header_bytes, frame_bytes) = self.round.version.overhead();
        let overhead = (header_bytes + frame_bytes) as u64;
        let room = self.file_bytes.saturating_sub(position);
        if room < overhead {
            return Ok(None);
        }
        record.resize(header_bytes, 0);
        self.read_exactly(record, position)?;
        let field =
            |record: &[u8], at: usize| u64::from_le_bytes(std::array::from_fn(|i| record[at + i]));
        if field(record, 8) != number || field(record, 16) > room - overhead {
            return Ok(None);
        }
        let Ok(bytes) = usize::try_from(field(record, 16) + overhead) else { return Ok(None) };
        record.resize(bytes, 0);
        self.read_exactly(record, position)?;
        let is_whole = checksum(&self.round.nonce, record) == field(record, 0);
        Ok(is_whole.then_some(header_bytes..bytes - frame_bytes))
    }

    fn unreadable(&self, error: &io::Error) -> KvError {
        KvError::Corrupt(format!(
            "the log cannot be read at byte {}, where record {} is if there is one: {error}. Nothing was \
             changed: try again, or run `liteio repair` to keep what can be read",
            self.position,
            self.number + 1,
        ))
    }

    /// Starts a new round at the first byte. Call it only after a checkpoint with this round: the records of
    /// the old one do not verify any more.
    pub(super) fn start(&mut self, round: &Round) {
        if self.position > SHRINK_BYTES {
            // A giant record made the file long. If truncating fails, the space is freed some other time.
            if self.file.set_len(SHRINK_BYTES).is_ok() {
                self.file_bytes = SHRINK_BYTES;
            }
        }
        self.rewind(round);
    }

    fn rewind(&mut self, round: &Round) {
        self.round = *round;
        self.number = round.number;
        self.durable = round.number;
        self.position = 0;
    }

    /// Extends the file with zeros to `bytes` and syncs it, so that records need no new space.
    pub(super) fn preallocate(&mut self, bytes: u64) -> Result<(), KvError> {
        if self.file_bytes < bytes {
            self.extend(bytes)?;
            self.file.sync_data()?;
            self.durable_bytes = self.file_bytes;
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
        let bytes = record.seal(&self.round.nonce, self.number + 1, self.durable);
        self.file.write_at(bytes, self.position)?;
        self.file_bytes = self.file_bytes.max(end);
        if sync {
            self.sync()?;
            self.durable = self.number + 1;
            self.durable_bytes = self.file_bytes;
        }
        self.number += 1;
        self.position = end;
        Ok(())
    }

    /// Syncs the file. A sync that fails for want of space is [`KvError::Poisoned`], not
    /// [`KvError::NoSpace`], which promises that nothing was kept: a restart may find the record.
    fn sync(&mut self) -> Result<(), KvError> {
        self.file.sync_data().map_err(|error| KvError::Poisoned {
            reason: format!("the log was not synced: {error}"),
        })
    }

    /// Makes the length of the file durable.
    pub(super) fn sync_length(&mut self) -> Result<(), KvError> {
        self.sync()?;
        self.durable_bytes = self.file_bytes;
        Ok(())
    }

    /// Number of the last record.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Bytes that the file has for certain from the next checkpoint on. Fewer are damage.
    pub(super) fn durable_bytes(&self) -> u64 {
        self.durable_bytes.min(SHRINK_BYTES)
    }

    /// Bytes of the file.
    pub(super) fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Bytes of records since the last checkpoint.
    pub(super) fn bytes(&self) -> u64 {
        self.position
    }

    fn read_exactly(&self, buffer: &mut [u8], offset: u64) -> Result<(), KvError> {
        match self.file.read_at(buffer, offset) {
            Ok(read) if read == buffer.len() => Ok(()),
            Ok(_) => Err(KvError::from(io::Error::from(io::ErrorKind::UnexpectedEof))),
            Err(error) => Err(error.into()),
        }
    }

    /// As [`Log::read_exactly`], with zeros in place of sectors that the device cannot read: they do not verify.
    fn read_sectors(&self, buffer: &mut [u8], offset: u64) -> Result<(), KvError> {
        match self.read_exactly(buffer, offset) {
            Err(KvError::Io(error)) if is_unreadable(&error) => {}
            read => return read,
        }
        let mut rest = buffer;
        let mut offset = offset;
        while !rest.is_empty() {
            let bytes = (SECTOR_BYTES - offset % SECTOR_BYTES).min(rest.len() as u64);
            let (sector, behind) = rest.split_at_mut(bytes as usize);
            match self.read_exactly(sector, offset) {
                Err(KvError::Io(error)) if is_unreadable(&error) => sector.fill(0),
                read => read?,
            }
            offset += bytes;
            rest = behind;
        }
        Ok(())
    }
}

/// `true` if the device could not read what it was asked for.
pub(in crate::kv) fn is_unreadable(error: &io::Error) -> bool {
    const EIO: i32 = 5;
    let inner = error.get_ref().and_then(|inner| inner.source());
    let inner = inner.and_then(|inner| inner.downcast_ref::<Arc<io::Error>>());
    [Some(error), inner.map(|inner| &**inner)]
        .into_iter()
        .flatten()
        .any(|error| error.raw_os_error() == Some(EIO))
}
