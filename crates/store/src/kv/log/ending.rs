//! The ending of a log behind its last whole record: nothing, a record that was not completed, or damage.
//!
//! A record that does not verify was torn by a crash or damaged later. Frames of later records, or of its own,
//! tell which: each says up to which record the log was known to be durable when it was written. If that is
//! more than what can be read, acknowledged updates are damaged. If it is not, the record at the end may have
//! been torn: at `fsync` only the very last one, which nobody need have been told of.

use std::io::ErrorKind;

use liteio_disk::{Disk, OpenMode};

use super::record::{FRAME_BYTES, Frame, OLD_HEADER_BYTES};
use super::{Log, Version, is_unreadable};
use crate::kv::KvError;

/// Bytes read at once.
const PIECE_BYTES: usize = 1 << 20;
/// Zeros that are passed over at once.
const RUN_BYTES: usize = 256;
/// The bound of what is verified of records of the old version, in bytes: some 100 ms.
const OLD_WORK_MAX: u64 = 1 << 30;

/// The rest of a log from a record on that is not whole, or whose attachment is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedTail {
    /// Its number.
    pub number: u64,
    /// Offset of its first byte in the log.
    pub position: u64,
    /// Bytes from there to behind the last trace of a record.
    pub bytes: u64,
    /// The number of the newest record of which there is a trace.
    pub newest: u64,
    /// The file with these bytes, unless there was no space for it.
    pub copy: Option<String>,
}

/// The end of a log that was replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::kv) enum Ending {
    /// Nothing follows.
    Orderly,
    /// Something follows that may never have been acknowledged.
    Torn(DroppedTail),
    /// Acknowledged updates cannot be read.
    Damaged {
        tail: DroppedTail,
        /// Number of the newest record that was durable.
        durable: u64,
    },
}

impl Log {
    /// Looks behind the end of a [replay](Log::replay) for traces of records of the same round.
    pub(in crate::kv) fn ending(&self) -> Result<Ending, KvError> {
        let (number, position) = (self.number + 1, self.position);
        let mut tail = DroppedTail { number, position, bytes: 0, newest: 0, copy: None };
        let mut durable = self.number;
        self.scan(&mut |frame, at| {
            tail.newest = tail.newest.max(frame.number);
            // Of a frame at the end of its record this is too much, which does no harm.
            let behind = at.saturating_add(frame.bytes).saturating_add(2 * FRAME_BYTES as u64);
            tail.bytes = tail.bytes.max(behind.min(self.file_bytes) - position);
            durable = durable.max(frame.durable);
            Ok(false)
        })?;
        Ok(match tail.newest {
            _ if durable > self.number => Ending::Damaged { tail, durable },
            0 => Ending::Orderly,
            _ => Ending::Torn(tail),
        })
    }

    /// The number and the offset of the first whole record behind the end of a replay.
    pub(super) fn next_whole(&self) -> Result<Option<(u64, u64)>, KvError> {
        let mut found = None;
        let mut record = Vec::new();
        self.scan(&mut |frame, at| {
            let position = at - 8;
            let is_whole = self.is_whole(&mut record, frame.number, position)?;
            found = is_whole.then_some((frame.number, position));
            Ok(is_whole)
        })?;
        Ok(found)
    }

    /// Calls `found` with every frame behind the end of a replay, and its offset, until it returns `true`.
    fn scan(
        &self,
        found: &mut dyn FnMut(Frame, u64) -> Result<bool, KvError>,
    ) -> Result<(), KvError> {
        let end = self.file_bytes;
        // So many records fit at most, which also passes over what earlier rounds left.
        let room = end.saturating_sub(self.position);
        let numbers = self.number + 1..=self.number + 1 + room / OLD_HEADER_BYTES as u64;
        let mut old_work = OLD_WORK_MAX;
        let mut piece = vec![0; PIECE_BYTES + RUN_BYTES];
        // The checksum of a record stands in front of its frame.
        let mut start = self.position + 8;
        while start < end {
            let bytes = piece.len().min(usize::try_from(end - start).unwrap_or(piece.len()));
            self.read_sectors(&mut piece[..bytes], start)?;
            // What the end of the file cuts is no frame.
            piece[bytes..].fill(0);
            let mut next = 0;
            while next < bytes.min(PIECE_BYTES) {
                let at = next;
                next += 1;
                let number = u64::from_le_bytes(std::array::from_fn(|i| piece[at + i]));
                if !numbers.contains(&number) {
                    // Most of a log that is not full. No number in a run of zeros is one of ours.
                    if number == 0 && piece[at..at + RUN_BYTES] == [0; RUN_BYTES] {
                        next = at + RUN_BYTES - 7;
                    }
                    continue;
                }
                let position = start + at as u64;
                let frame = match self.round.version {
                    Version::Current => Frame::parse(&piece[at..], &self.round.nonce),
                    Version::Old { in_order } => {
                        self.old_frame(number, position, in_order, &mut old_work)?
                    }
                };
                if let Some(frame) = frame
                    && found(frame, position)?
                {
                    return Ok(());
                }
            }
            start += PIECE_BYTES as u64;
        }
        Ok(())
    }

    /// The frame that a whole record of the old version would have, whose number is at `position`.
    fn old_frame(
        &self,
        number: u64,
        position: u64,
        in_order: bool,
        work: &mut u64,
    ) -> Result<Option<Frame>, KvError> {
        let mut bytes = [0; 8];
        if position + 16 <= self.file_bytes {
            self.read_sectors(&mut bytes, position + 8)?;
        }
        let bytes = u64::from_le_bytes(bytes);
        if bytes > self.file_bytes {
            return Ok(None);
        }
        // Values of clients may look like headers. None verifies, but each costs its length.
        *work = work.saturating_sub(bytes + OLD_HEADER_BYTES as u64);
        if *work == 0 {
            return Ok(None);
        }
        let is_whole = self.is_whole(&mut Vec::new(), number, position - 8)?;
        let durable = if in_order { number - 1 } else { 0 };
        Ok(is_whole.then_some(Frame { number, bytes, durable }))
    }

    /// `true` if the record `number` at `position` can be read and verifies.
    fn is_whole(&self, record: &mut Vec<u8>, number: u64, position: u64) -> Result<bool, KvError> {
        match self.read_record(record, number, position) {
            Err(KvError::Io(error)) if is_unreadable(&error) => Ok(false),
            found => Ok(found?.is_some()),
        }
    }

    /// The whole records that a replay left, which ended with the number and at the offset of `whole`, because it
    /// did not accept one.
    pub(in crate::kv) fn rest(&self, whole: (u64, u64)) -> Option<DroppedTail> {
        let (newest, end) = whole;
        let (number, position) = (self.number + 1, self.position);
        let bytes = end.saturating_sub(position);
        (bytes > 0).then_some(DroppedTail { number, position, bytes, newest, copy: None })
    }

    /// Copies the bytes of `tail` to the file `path`, in place of an older copy. Without space for it there
    /// is none.
    pub(in crate::kv) fn keep(
        &self,
        disk: &dyn Disk,
        path: &str,
        tail: &mut DroppedTail,
    ) -> Result<(), KvError> {
        match self.copy(disk, path, tail) {
            Ok(()) => tail.copy = Some(path.to_owned()),
            Err(KvError::NoSpace) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn copy(&self, disk: &dyn Disk, path: &str, tail: &DroppedTail) -> Result<(), KvError> {
        match disk.remove(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let file = disk.open(path, OpenMode::CreateOrWrite)?;
        let mut copied = 0;
        let mut piece = vec![0; PIECE_BYTES];
        while copied < tail.bytes {
            let rest = usize::try_from(tail.bytes - copied).unwrap_or(PIECE_BYTES);
            let piece = &mut piece[..rest.min(PIECE_BYTES)];
            self.read_sectors(piece, tail.position + copied)?;
            file.write_at(piece, copied)?;
            copied += piece.len() as u64;
        }
        Ok(file.sync_data()?)
    }
}
