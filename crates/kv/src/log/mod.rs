//! The write-ahead log: the updates that neither the tree nor a run has yet, in two alternating
//! files.
//!
//! ```text
//!   PATH.log    1 2 3 ... 90 │                   181 182 ──► appended
//!   PATH.log2                 91 92 ... 180 │               waits for its drain
//! ```
//! A file is filled from its first byte. When its updates are to be drained, the log continues in
//! the other file. The old records there are in the tree or a run by then; they have lower numbers,
//! so recovery ignores them.
//!
//! # Format
//! Records follow each other without gaps; integers are little-endian. A record is a CRC-64/NVME of
//! the nonce and all that follows (8), frame (28), operations, the same frame again. A frame is the
//! number of the record (8), bytes of operations (8), the number of the newest record that was
//! known to be durable (8), CRC-32C of the nonce and these (4). An operation is a tag (1: put, 2:
//! delete, 3: note, 4: mark), bytes of the key (4), bytes of the value (4, zero for a delete and a
//! mark), key, value. A note has the name of an [attachment](super::Attachments) of the record in
//! place of the key, and its contents, or nothing, in place of the value. A mark is a watermark:
//! the attachments of all records up to a number (8, in place of the key) are durable. Neither
//! reaches the tree.
//!
//! The nonce is secret and random, so the bytes of a client's value never verify as a record. It is
//! renewed after every unclean end of the log, so that whole records behind a torn one do not
//! verify either. Older records in the same file have lower numbers.
//!
//! Records of the old version have a frame without its last two fields, and no frame at the end.
//! They are read, and the next round uses the current version.

mod ending;
mod file;
mod numbers;
mod record;
#[cfg(test)]
mod tests;

use std::io;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::time::{Duration, Instant};

use liteio_disk::{Disk, DiskFile, RandomSource as _, SystemRandom};

pub use self::ending::DroppedTail;
pub(super) use self::ending::Ending;
use self::file::{LogFile, Window};
use self::record::{FRAME_BYTES, Frame, HEADER_BYTES, OLD_HEADER_BYTES, checksum};
pub(super) use self::record::{OPERATION_HEADER_BYTES, Operation, Record, RecordFill, operations};
use super::KvError;

/// Files of the log.
pub(super) const LOG_FILES: usize = 2;
/// Maximum step by which a file grows when a record does not fit.
const EXTEND_STEP_MAX: u64 = 1 << 20;

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
        SystemRandom.fill(&mut nonce)?;
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
    /// Bytes before the operations of a record, and after them.
    fn overhead(self) -> (usize, usize) {
        match self {
            Self::Old { .. } => (OLD_HEADER_BYTES, 0),
            Self::Current => (HEADER_BYTES, FRAME_BYTES),
        }
    }
}

/// The secret nonce of the records of a log.
pub(super) type Nonce = [u8; 16];

/// The paths of the files of the log of the tree `path`.
pub(super) fn paths(path: &str) -> [String; LOG_FILES] {
    [format!("{path}.log"), format!("{path}.log2")]
}

/// The log.
#[derive(Debug)]
pub(super) struct Log {
    files: [LogFile; LOG_FILES],
    /// The index of the file that is appended to.
    current: usize,
    round: Round,
    /// Number of the last record.
    number: u64,
    /// Number of the newest record known to be durable.
    durable: u64,
    /// Files grow to multiples of this.
    step_bytes: u64,
}

/// The log files that a sync has to write, and the number up to which records are durable after it.
pub(super) struct ToSync {
    pub(super) files: Vec<Arc<dyn DiskFile>>,
    pub(super) number: u64,
}

impl ToSync {
    /// Syncs the files. A failed sync is [`KvError::Poisoned`], even for lack of space:
    /// [`KvError::NoSpace`] promises that nothing was kept, but a restart may find the records.
    pub(super) fn sync(&self) -> Result<(), KvError> {
        self.files.iter().try_for_each(|file| sync(&**file))
    }
}

fn sync(file: &dyn DiskFile) -> Result<(), KvError> {
    file.sync_data()
        .map_err(|error| KvError::Poisoned { reason: format!("the log was not synced: {error}") })
}

impl Log {
    /// Opens the files, creating missing ones; their names are durable after a sync of the
    /// directory. `bytes` is the expected length of each.
    pub(super) fn open(disk: &dyn Disk, path: &str, bytes: u64) -> Result<Self, KvError> {
        let [first, second] = paths(path);
        let files = [LogFile::open(disk, first)?, LogFile::open(disk, second)?];
        let round = Round { nonce: Nonce::default(), number: 0, version: Version::Current };
        let step_bytes = bytes.clamp(1, EXTEND_STEP_MAX);
        Ok(Self { files, current: 0, round, number: 0, durable: 0, step_bytes })
    }

    /// `true` when there are records, current or obsolete.
    pub(super) fn has_records(&self) -> Result<bool, KvError> {
        for file in &self.files {
            if file.first_number()? != 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Fails if a file is shorter than its recorded size, or begins with a record that cannot
    /// follow the round: then the tree or the log was replaced or truncated.
    pub(super) fn check(&self, round: &Round, bytes: [u64; LOG_FILES]) -> Result<(), String> {
        for (file, bytes) in self.files.iter().zip(bytes) {
            let (path, found) = (&file.path, file.file_bytes);
            if found < bytes {
                return Err(format!(
                    "{path} was cut, or removed: it has {found} of at least {bytes} bytes."
                ));
            }
        }
        // An unreadable first sector is reported by the replay.
        let first_numbers = self.files.each_ref().map(|file| file.first_number().unwrap_or(0));
        if first_numbers.contains(&(round.number + 1)) {
            // The other file may begin with a torn record.
            return Ok(());
        }
        for (file, first) in self.files.iter().zip(first_numbers) {
            let path = &file.path;
            if first <= round.number + 1 || file.begins_with_a_frame_of(&round.nonce) {
                continue;
            }
            // A first record beyond the next number, under another nonce: it belongs to a round that the
            // tree does not know, or is damaged. Unless its writing failed within the first frame: then a
            // power cut may have kept these few bytes and none of the other file, of which no sync covers
            // any at `os`. The replay looks for traces of more.
            let is_foreign = match round.version {
                Version::Old { .. } => true,
                Version::Current => file.begins_with_equal_frames().unwrap_or(true),
            };
            if is_foreign {
                return Err(format!(
                    "{path} begins at byte 0 with record {first}, but the tree ends with record {}: one of them \
                     is damaged, or an older copy.",
                    round.number,
                ));
            }
        }
        Ok(())
    }

    /// Replays the records of a round: passes the operations of each, with the record's number, to
    /// `accept`, and if it accepts all of them, to `apply`, with the index of the file. Ends at the
    /// first record that is not accepted or does not verify; appending continues there. With
    /// `salvage`, records that do not verify are skipped as long as whole ones follow. Returns the
    /// numbers of skipped records.
    ///
    /// # Errors
    /// [`KvError::Corrupt`] for a record that the device cannot read, unless it is skipped: it is
    /// unknown whether a record is there.
    pub(super) fn replay(
        &mut self,
        round: &Round,
        salvage: bool,
        mut accept: impl FnMut(u64, Operation<'_>) -> Result<bool, KvError>,
        mut apply: impl FnMut(usize, u64, Operation<'_>) -> Result<(), KvError>,
    ) -> Result<Vec<RangeInclusive<u64>>, KvError> {
        self.start(round);
        let mut passed_over = Vec::new();
        let mut unread: Vec<usize> = (0..LOG_FILES).collect();
        // The files are read in the order of their first records, each at most once.
        while let Some(next) = self.next_file(&unread, salvage)? {
            unread.retain(|index| *index != next);
            self.current = next;
            let is_accepted =
                self.replay_file(salvage, &mut accept, &mut apply, &mut passed_over)?;
            if !is_accepted {
                break;
            }
        }
        Ok(passed_over)
    }

    /// The file of `unread` with the next record; with `salvage`, else the file with the lowest
    /// later record.
    fn next_file(&self, unread: &[usize], salvage: bool) -> Result<Option<usize>, KvError> {
        let mut later = None;
        for index in unread {
            let first = match self.files[*index].first_number() {
                Err(KvError::Io(error)) if is_unreadable(&error) => {
                    if !salvage {
                        let (path, number) = (&self.files[*index].path, self.number + 1);
                        return Err(unreadable(path, 0, number, &error));
                    }
                    None
                }
                first => Some(first?),
            };
            if first == Some(self.number + 1) {
                return Ok(Some(*index));
            }
            // If the beginning of a file is damaged, only its first whole record tells its place in
            // the order.
            let found = match salvage {
                true => self.next_whole(*index, 0)?.map(|(number, _)| number),
                false => None,
            };
            if let Some(number) = found
                && later.is_none_or(|(other, _)| number < other)
            {
                later = Some((number, *index));
            }
        }
        Ok(later.map(|(_, index)| index))
    }

    /// Replays one file. `false` if a record was not accepted.
    fn replay_file(
        &mut self,
        salvage: bool,
        accept: &mut impl FnMut(u64, Operation<'_>) -> Result<bool, KvError>,
        apply: &mut impl FnMut(usize, u64, Operation<'_>) -> Result<(), KvError>,
        passed_over: &mut Vec<RangeInclusive<u64>>,
    ) -> Result<bool, KvError> {
        let current = self.current;
        let mut window = Window::default();
        loop {
            let position = self.files[current].position;
            let found = self.read_record(&mut window, current, self.number + 1, position);
            let found = match found {
                Err(KvError::Io(error)) if is_unreadable(&error) && salvage => None,
                Err(KvError::Io(error)) if is_unreadable(&error) => {
                    let path = &self.files[current].path;
                    return Err(unreadable(path, position, self.number + 1, &error));
                }
                found => found?,
            };
            let Some((content, bytes)) = found else {
                match if salvage { self.next_whole(current, position)? } else { None } {
                    Some((number, position)) => {
                        // Salvage: continue at the next whole record, and report the gap.
                        passed_over.push(self.number + 1..=number - 1);
                        self.number = number - 1;
                        self.files[current].position = position;
                        continue;
                    }
                    None => return Ok(true),
                }
            };
            // All operations are checked before the first is applied: a record is replayed whole or
            // not at all.
            for operation in operations(window.get(content.clone())) {
                if !accept(self.number + 1, operation?)? {
                    return Ok(false);
                }
            }
            for operation in operations(window.get(content)) {
                apply(current, self.number + 1, operation?)?;
            }
            self.number += 1;
            self.files[current].position += bytes;
        }
    }

    /// Reads and verifies the record `number` at `position` of a file. Returns the range of its
    /// operations in the window, and its bytes; `None` if it does not verify.
    fn read_record(
        &self,
        window: &mut Window,
        file: usize,
        number: u64,
        position: u64,
    ) -> Result<Option<(Range<usize>, u64)>, KvError> {
        let file = &self.files[file];
        let (header_bytes, frame_bytes) = self.round.version.overhead();
        let overhead = (header_bytes + frame_bytes) as u64;
        let room = file.file_bytes.saturating_sub(position);
        if room < overhead {
            return Ok(None);
        }
        let field =
            |record: &[u8], at: usize| u64::from_le_bytes(std::array::from_fn(|i| record[at + i]));
        let header = file.read(window, position, header_bytes)?;
        let header = window.get(header);
        // Checked before the checksum: the length is not trusted beyond the end of the file, or a
        // torn header could ask for any amount of memory.
        if field(header, 8) != number || field(header, 16) > room - overhead {
            return Ok(None);
        }
        let Ok(bytes) = usize::try_from(field(header, 16) + overhead) else { return Ok(None) };
        let record = file.read(window, position, bytes)?;
        let content = record.start + header_bytes..record.end - frame_bytes;
        let record = window.get(record);
        // The checksum covers the whole record, so a torn write of any of its sectors is detected.
        let is_whole = checksum(&self.round.nonce, record) == field(record, 0);
        Ok(is_whole.then_some((content, bytes as u64)))
    }

    /// Starts a round at the first byte of the first file. Call it only after a checkpoint with
    /// this round: the records of the old round then do not verify any more, or have lower numbers.
    pub(super) fn start(&mut self, round: &Round) {
        self.round = *round;
        self.number = round.number;
        self.durable = round.number;
        self.current = 0;
        self.files.iter_mut().for_each(|file| file.position = 0);
    }

    /// Continues in the other file, at its first byte: all of its records are in the tree or a run.
    pub(super) fn switch(&mut self) {
        self.current = (self.current + 1) % LOG_FILES;
        self.files[self.current].position = 0;
    }

    /// Truncates files that are longer than `bytes`. Call it only when no record is needed and a
    /// checkpoint permits that length.
    pub(super) fn shrink(&mut self, bytes: u64) {
        let other = (self.current + 1) % LOG_FILES;
        self.files[other].position = 0;
        for file in &mut self.files {
            // On failure the space is freed another time.
            if file.position == 0 && file.file_bytes > bytes {
                file.set_len(bytes);
            }
        }
    }

    /// Extends the current file with zeros to `bytes` and syncs it, so that records need no new
    /// space.
    pub(super) fn preallocate(&mut self, bytes: u64) -> Result<(), KvError> {
        self.files[self.current].preallocate(bytes)
    }

    /// Extends both files of a new log, without a sync. Returns their sizes, which [`Log::sync_made`] makes durable.
    pub(super) fn make(
        &mut self,
        bytes: u64,
        other_bytes: u64,
    ) -> Result<[u64; LOG_FILES], KvError> {
        let other = (self.current + 1) % LOG_FILES;
        for (file, bytes) in [(self.current, bytes), (other, other_bytes)] {
            self.files[file].extend(bytes)?;
            self.files[file].start_writeback();
        }
        Ok(self.files.each_ref().map(|file| file.file_bytes))
    }

    /// Syncs both files of a new log.
    pub(super) fn sync_made(&mut self) -> Result<(), KvError> {
        self.files.iter_mut().try_for_each(LogFile::sync_whole)
    }

    /// Appends the record. After a failure the next record goes to the same offset. If the record
    /// does not fit into the file, the file grows by a whole step, with room for later records,
    /// too. Returns the duration of the sync, if one was requested.
    pub(super) fn append(
        &mut self,
        record: &mut Record,
        is_synced: bool,
    ) -> Result<Option<Duration>, KvError> {
        let file = &mut self.files[self.current];
        let end = file.position + record.bytes() as u64;
        if end > file.file_bytes {
            // A step may not fit on the device where the record still does.
            match file.extend(end.next_multiple_of(self.step_bytes)) {
                Ok(()) | Err(KvError::NoSpace) => {}
                Err(error) => return Err(error),
            }
        }
        let bytes = record.seal(&self.round.nonce, self.number + 1, self.durable);
        // The position moves only after success, so that a failed record is overwritten by the
        // next.
        file.file.write_at(bytes, file.position)?;
        file.file_bytes = file.file_bytes.max(end);
        file.is_unsynced = true;
        let mut took = None;
        if is_synced {
            let begun = Instant::now();
            self.sync()?;
            took = Some(begun.elapsed());
            // Noted in the next record: it proves to a recovery that this one was durable.
            self.durable = self.number + 1;
        }
        self.number += 1;
        self.files[self.current].position = end;
        Ok(took)
    }

    /// Makes durable all records and the lengths of the files.
    pub(super) fn sync(&mut self) -> Result<(), KvError> {
        for file in &mut self.files {
            if file.is_unsynced {
                sync(&*file.file)?;
                file.is_unsynced = false;
                // `sync_data` covers the length, so the checkpoint may rely on it.
                file.durable_bytes = file.file_bytes;
            }
        }
        self.durable = self.number;
        Ok(())
    }

    /// Makes the replayed records durable: the last run may have ended before their sync.
    pub(super) fn sync_replayed(&mut self) -> Result<(), KvError> {
        self.files.iter_mut().for_each(|file| file.is_unsynced = true);
        self.sync()
    }

    /// Takes the files to sync, so that the sync runs in parallel with further appends.
    pub(super) fn take_unsynced(&mut self) -> ToSync {
        let mut files = Vec::new();
        for file in &mut self.files {
            if std::mem::take(&mut file.is_unsynced) {
                files.push(Arc::clone(&file.file));
            }
        }
        ToSync { files, number: self.number }
    }

    /// Notes that a sync taken by [`Log::take_unsynced`] has succeeded.
    pub(super) fn synced(&mut self, number: u64) {
        self.durable = self.durable.max(number);
    }

    /// Number of the last record.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The current round.
    pub(super) fn round(&self) -> Round {
        self.round
    }

    /// The file that is appended to.
    pub(super) fn current(&self) -> usize {
        self.current
    }

    /// Prepares the files for many small writes between two syncs.
    pub(super) fn expect_small_writes(&mut self) {
        self.files.iter_mut().for_each(LogFile::expect_small_writes);
    }

    /// Sets the sizes that the checkpoint guarantees.
    pub(super) fn set_durable_bytes(&mut self, bytes: [u64; LOG_FILES]) {
        for (file, bytes) in self.files.iter_mut().zip(bytes) {
            // A truncated file that is being repaired has fewer.
            file.durable_bytes = bytes.min(file.file_bytes);
        }
    }

    /// Guaranteed sizes of the files from the next checkpoint on. A smaller file is damaged.
    pub(super) fn durable_bytes(&self) -> [u64; LOG_FILES] {
        self.files.each_ref().map(|file| file.durable_bytes)
    }

    /// Bytes of records in the file that is appended to.
    pub(super) fn bytes(&self) -> u64 {
        self.files[self.current].position
    }
}

fn unreadable(path: &str, position: u64, number: u64, error: &io::Error) -> KvError {
    KvError::Corrupt(format!(
        "{path} cannot be read at byte {position}, where record {number} is if there is one: {error}. Nothing was \
         changed: try again, or run `liteio repair` to keep what can be read",
    ))
}

/// `true` if the device reported that it cannot read the sectors (`EIO`).
pub(crate) fn is_unreadable(error: &io::Error) -> bool {
    const EIO: i32 = 5;
    let inner = error.get_ref().and_then(|inner| inner.source());
    let inner = inner.and_then(|inner| inner.downcast_ref::<Arc<io::Error>>());
    [Some(error), inner.map(|inner| &**inner)]
        .into_iter()
        .flatten()
        .any(|error| error.raw_os_error() == Some(EIO))
}
