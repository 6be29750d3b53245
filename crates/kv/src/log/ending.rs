//! The end of a log after its last whole record: nothing, a torn record, or damage.
//!
//! A record that does not verify was torn by a crash or damaged later. Frames of later records, or
//! its own, tell which: each states up to which record the log was known to be durable when it was
//! written. If that is beyond the readable records, acknowledged updates are damaged. Otherwise the
//! record at the end may have been torn. At `fsync` that can only be the very last one, which was
//! never acknowledged.

use liteio_disk::{Disk, OpenMode};

use super::file::Window;
use super::numbers::{BEHIND_BYTES, Numbers};
use super::record::{FRAME_BYTES, Frame, HEADER_BYTES, OLD_HEADER_BYTES};
use super::{LOG_FILES, Log, Version, is_unreadable};
use crate::KvError;

/// Bytes read at once.
const PIECE_BYTES: usize = 1 << 20;
/// Maximum bytes of old-version records that are verified: about 100 ms of work.
const OLD_WORK_MAX: u64 = 1 << 30;

/// The rest of a log from the first record that is not whole, or whose attachment is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedTail {
    /// The log file in which it begins.
    pub path: String,
    /// The number of that record.
    pub number: u64,
    /// Offset of its first byte in that file.
    pub position: u64,
    /// Bytes from there to the end of the last trace of a record, in all files.
    pub bytes: u64,
    /// The number of the newest record that left a trace.
    pub newest: u64,
    /// The file with a copy of these bytes; `None` if there was no space for it.
    pub copy: Option<String>,
}

/// The end of a replayed log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Nothing follows.
    Orderly,
    /// Traces follow, of a record that may never have been acknowledged.
    Torn(DroppedTail),
    /// Acknowledged updates cannot be read.
    Damaged {
        tail: DroppedTail,
        /// Number of the newest record that was durable.
        durable: u64,
    },
}

/// A part of a file of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    file: usize,
    start: u64,
    end: u64,
}

impl Log {
    /// Looks behind the end of a [replay](Log::replay) for traces of records of the same round.
    pub(crate) fn ending(&self) -> Result<(Ending, Vec<Part>), KvError> {
        let mut parts = Vec::new();
        let (mut durable, mut newest) = (self.number, 0);
        for file in self.order() {
            let start = self.files[file].position;
            let file_bytes = self.files[file].file_bytes;
            let mut end = start;
            self.scan(file, start, &mut |frame, at| {
                newest = newest.max(frame.number);
                // For the trailing frame of a record this goes too far, which is harmless.
                let behind = at.saturating_add(frame.bytes).saturating_add(2 * FRAME_BYTES as u64);
                end = end.max(behind.min(file_bytes));
                // The evidence: this record was durable when a later one was written.
                durable = durable.max(frame.durable);
                Ok(false)
            })?;
            if end > start {
                parts.push(Part { file, start, end });
            }
        }
        let Some(tail) = self.tail(&parts, newest) else { return Ok((Ending::Orderly, parts)) };
        // Durable beyond the last readable record: acknowledged updates were lost to damage.
        let ending = match durable > self.number {
            true => Ending::Damaged { tail, durable },
            false => Ending::Torn(tail),
        };
        Ok((ending, parts))
    }

    /// The files, beginning with the one in which the replay ended.
    fn order(&self) -> [usize; LOG_FILES] {
        std::array::from_fn(|index| (self.current + index) % LOG_FILES)
    }

    fn tail(&self, parts: &[Part], newest: u64) -> Option<DroppedTail> {
        let first = parts.first()?;
        Some(DroppedTail {
            path: self.files[first.file].path.clone(),
            number: self.number + 1,
            position: first.start,
            bytes: parts.iter().map(|part| part.end - part.start).sum(),
            newest,
            copy: None,
        })
    }

    /// The number and offset of the first whole record from `position` on, among the numbers after
    /// the end of the replay.
    pub(super) fn next_whole(
        &self,
        file: usize,
        position: u64,
    ) -> Result<Option<(u64, u64)>, KvError> {
        let mut found = None;
        let mut window = Window::default();
        self.scan(file, position, &mut |frame, at| {
            let position = at - 8;
            let is_whole = self.is_whole(&mut window, file, frame.number, position)?;
            found = is_whole.then_some((frame.number, position));
            Ok(is_whole)
        })?;
        Ok(found)
    }

    /// Calls `found` with every frame from `position` on whose number follows the end of the
    /// replay, and with its offset, until it returns `true`.
    fn scan(
        &self,
        file: usize,
        position: u64,
        found: &mut dyn FnMut(Frame, u64) -> Result<bool, KvError>,
    ) -> Result<(), KvError> {
        let end = self.files[file].file_bytes;
        // The highest number that the files have room for. The range also excludes records of
        // earlier rounds.
        let room: u64 = self.files.iter().map(|file| file.file_bytes).sum();
        let least = match self.round.version {
            Version::Current => HEADER_BYTES + FRAME_BYTES,
            Version::Old { .. } => OLD_HEADER_BYTES,
        };
        let numbers = Numbers::new(self.number + 1..=self.number + 1 + room / least as u64);
        let mut old_work = OLD_WORK_MAX;
        let mut piece = vec![0; PIECE_BYTES + FRAME_BYTES.max(BEHIND_BYTES)];
        // The checksum of a record precedes its frame.
        let mut start = position + 8;
        while start < end {
            let bytes = piece.len().min(usize::try_from(end - start).unwrap_or(piece.len()));
            self.files[file].read_sectors(&mut piece[..bytes], start)?;
            // A frame cut off by the end of the file is no frame.
            piece[bytes..].fill(0);
            let mut next = 0;
            while let Some(at) = numbers.find(&piece, next, bytes.min(PIECE_BYTES)) {
                next = at + 1;
                let number = u64::from_le_bytes(std::array::from_fn(|i| piece[at + i]));
                let position = start + at as u64;
                let frame = match self.round.version {
                    // Most places fail by the length already.
                    Version::Current => Some(&piece[at..])
                        .filter(|frame| Frame::length(frame) <= end)
                        .and_then(|frame| Frame::parse(frame, &self.round.nonce)),
                    Version::Old { in_order } => {
                        self.old_frame(file, number, position, in_order, &mut old_work)?
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

    /// The frame that a whole record of the old version would have, with its number at `position`.
    fn old_frame(
        &self,
        file: usize,
        number: u64,
        position: u64,
        in_order: bool,
        work: &mut u64,
    ) -> Result<Option<Frame>, KvError> {
        let mut bytes = [0; 8];
        let log_file = &self.files[file];
        if position + 16 <= log_file.file_bytes {
            log_file.read_sectors(&mut bytes, position + 8)?;
        }
        let bytes = u64::from_le_bytes(bytes);
        if bytes > log_file.file_bytes {
            return Ok(None);
        }
        // Values of clients may look like headers. None verifies, but checking each costs its
        // length.
        *work = work.saturating_sub(bytes + OLD_HEADER_BYTES as u64);
        if *work == 0 {
            return Ok(None);
        }
        let is_whole = self.is_whole(&mut Window::default(), file, number, position - 8)?;
        let durable = if in_order { number - 1 } else { 0 };
        Ok(is_whole.then_some(Frame { number, bytes, durable }))
    }

    /// `true` if the record `number` at `position` can be read and verifies.
    fn is_whole(
        &self,
        window: &mut Window,
        file: usize,
        number: u64,
        position: u64,
    ) -> Result<bool, KvError> {
        match self.read_record(window, file, number, position) {
            Err(KvError::Io(error)) if is_unreadable(&error) => Ok(false),
            found => Ok(found?.is_some()),
        }
    }

    /// The end of each file after a replay, and the number of the last record.
    pub(crate) fn ends(&self) -> Ends {
        Ends { number: self.number, positions: self.files.each_ref().map(|file| file.position) }
    }

    /// The whole records that a second replay left because it did not accept one, where the first
    /// replay ended at `whole`; with the `torn` parts behind them.
    pub(crate) fn rest(&self, whole: &Ends, torn: &[Part]) -> Option<(DroppedTail, Vec<Part>)> {
        if whole.number == self.number {
            return None;
        }
        let mut parts = Vec::new();
        for file in self.order() {
            let start = self.files[file].position;
            let behind = torn.iter().find(|part| part.file == file).map(|part| part.end);
            let end = whole.positions[file].max(behind.unwrap_or(0));
            if end > start {
                parts.push(Part { file, start, end });
            }
        }
        let tail = self.tail(&parts, whole.number)?;
        Some((tail, parts))
    }

    /// Copies the `parts` of `tail` to the file `path`, replacing an older copy. Without space for
    /// it there is no copy.
    pub(crate) fn keep(
        &self,
        disk: &dyn Disk,
        path: &str,
        parts: &[Part],
        tail: &mut DroppedTail,
    ) -> Result<(), KvError> {
        match self.copy(disk, path, parts) {
            Ok(()) => tail.copy = Some(path.to_owned()),
            Err(KvError::NoSpace) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn copy(&self, disk: &dyn Disk, path: &str, parts: &[Part]) -> Result<(), KvError> {
        disk.remove_if_there(path)?;
        let copy = disk.open(path, OpenMode::CreateOrWrite)?;
        let mut copied = 0;
        let mut piece = vec![0; PIECE_BYTES];
        for part in parts {
            let mut at = part.start;
            while at < part.end {
                let rest = usize::try_from(part.end - at).unwrap_or(PIECE_BYTES);
                let piece = &mut piece[..rest.min(PIECE_BYTES)];
                self.files[part.file].read_sectors(piece, at)?;
                copy.write_at(piece, copied)?;
                at += piece.len() as u64;
                copied += piece.len() as u64;
            }
        }
        // The copy must survive before the log is overwritten.
        Ok(copy.sync_data()?)
    }
}

/// The end of the records of each file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ends {
    number: u64,
    positions: [u64; LOG_FILES],
}
