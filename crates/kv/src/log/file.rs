//! One file of the log.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use liteio_disk::{Disk, DiskFile, OpenMode};

use super::record::{FRAME_BYTES, HEADER_BYTES};
use super::{Frame, Nonce, is_unreadable};
use crate::KvError;

const EXTEND_PIECE: usize = 1 << 18;
/// Bytes read at once.
const WINDOW_BYTES: usize = 1 << 20;
/// Unit of read failures: a device, or the page cache in front of it, reads a sector whole or not
/// at all.
const SECTOR_BYTES: u64 = 4096;

/// A file.
#[derive(Debug)]
pub(super) struct LogFile {
    pub(super) file: Arc<dyn DiskFile>,
    pub(super) path: String,
    /// Offset of the next record.
    pub(super) position: u64,
    /// Bytes of the file. A record within them changes no file-system metadata, which makes its
    /// sync twice as fast.
    pub(super) file_bytes: u64,
    /// Bytes of the file that are known to be durable.
    pub(super) durable_bytes: u64,
    /// `true` if it has records that no sync covers.
    pub(super) is_unsynced: bool,
    /// `true` if many small writes come between two syncs. A write that is synced alone must not go
    /// through a memory map: that would dirty its whole piece of the page cache, up to 256 KiB.
    has_small_writes: bool,
}

/// A part of a file in memory, reused by the next read.
#[derive(Debug, Default)]
pub(super) struct Window {
    start: u64,
    bytes: Vec<u8>,
}

impl Window {
    pub(super) fn get(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }
}

impl LogFile {
    pub(super) fn open(disk: &dyn Disk, path: String) -> Result<Self, KvError> {
        let file: Arc<dyn DiskFile> = disk.open(&path, OpenMode::CreateOrWrite)?.into();
        let file_bytes = file.len()?;
        let (position, durable_bytes, is_unsynced) = (0, 0, false);
        let has_small_writes = false;
        Ok(Self { file, path, position, file_bytes, durable_bytes, is_unsynced, has_small_writes })
    }

    /// Prepares the file for many small writes between two syncs.
    pub(super) fn expect_small_writes(&mut self) {
        self.has_small_writes = true;
        self.file.expect_small_writes(self.file_bytes);
    }

    /// The number of the record at the first byte, of whatever round; 0 if there is none.
    pub(super) fn first_number(&self) -> Result<u64, KvError> {
        let mut bytes = [0; 16];
        self.file.read_at(&mut bytes, 0)?;
        Ok(u64::from_le_bytes(std::array::from_fn(|i| bytes[8 + i])))
    }

    /// The bytes of a frame at `offset`; `None` if the file ends before.
    fn frame_at(&self, offset: u64) -> Result<Option<[u8; FRAME_BYTES]>, KvError> {
        let mut bytes = [0; FRAME_BYTES];
        let read = self.file.read_at(&mut bytes, offset)?;
        Ok((read == FRAME_BYTES).then_some(bytes))
    }

    /// `true` if the first record was written under this nonce.
    pub(super) fn begins_with_a_frame_of(&self, nonce: &Nonce) -> bool {
        let frame = self.frame_at(8);
        frame.is_ok_and(|frame| frame.is_some_and(|bytes| Frame::parse(&bytes, nonce).is_some()))
    }

    /// `true` if a record was written whole at the first byte, of whatever round: its frame stands in front of its
    /// operations and behind them. The beginning of a torn one alone does not tell its round.
    pub(super) fn begins_with_equal_frames(&self) -> Result<bool, KvError> {
        let Some(frame) = self.frame_at(8)? else { return Ok(false) };
        let operations_bytes = u64::from_le_bytes(std::array::from_fn(|i| frame[8 + i]));
        if operations_bytes > self.file_bytes {
            return Ok(false);
        }
        Ok(self.frame_at(HEADER_BYTES as u64 + operations_bytes)? == Some(frame))
    }

    /// Truncates the file; a failure leaves it as it was.
    pub(super) fn set_len(&mut self, bytes: u64) {
        if self.file.set_len(bytes).is_ok() {
            self.file_bytes = bytes;
            self.durable_bytes = self.durable_bytes.min(bytes);
        }
    }

    /// Extends the file with zeros.
    pub(super) fn extend(&mut self, bytes: u64) -> Result<(), KvError> {
        let zeros = vec![0; EXTEND_PIECE];
        while self.file_bytes < bytes {
            let rest = bytes - self.file_bytes;
            let piece = zeros.len().min(usize::try_from(rest).unwrap_or(EXTEND_PIECE));
            // Written, not only allocated: later records change no metadata, and their sync is
            // cheaper.
            self.file.write_at(&zeros[..piece], self.file_bytes)?;
            self.file_bytes += piece as u64;
        }
        if self.has_small_writes {
            self.file.expect_small_writes(self.file_bytes);
        }
        Ok(())
    }

    /// Extends the file and syncs it.
    pub(super) fn preallocate(&mut self, bytes: u64) -> Result<(), KvError> {
        if self.file_bytes < bytes {
            self.extend(bytes)?;
            self.sync_whole()?;
        }
        Ok(())
    }

    /// Syncs the file with its length.
    pub(super) fn sync_whole(&mut self) -> Result<(), KvError> {
        self.file.sync_data()?;
        self.durable_bytes = self.file_bytes;
        Ok(())
    }

    /// A hint: a sync follows that of other files.
    pub(super) fn start_writeback(&self) {
        self.file.start_writeback(0, self.file_bytes);
    }

    /// Reads `bytes` bytes at `offset`, and reads ahead. Returns their range in the window.
    pub(super) fn read(
        &self,
        window: &mut Window,
        offset: u64,
        bytes: usize,
    ) -> Result<Range<usize>, KvError> {
        let known = window.start..window.start + window.bytes.len() as u64;
        if offset < known.start || offset + bytes as u64 > known.end {
            let rest = usize::try_from(self.file_bytes - offset).unwrap_or(WINDOW_BYTES);
            // Read ahead, because records follow each other.
            let all = rest.min(WINDOW_BYTES).max(bytes);
            window.start = offset;
            window.bytes.resize(all, 0);
            match self.read_exactly(&mut window.bytes, offset) {
                // The unreadable sector may lie in the read-ahead only: retry with the requested
                // bytes.
                Err(KvError::Io(error)) if is_unreadable(&error) && all > bytes => {
                    window.bytes.truncate(bytes);
                    let read = self.read_exactly(&mut window.bytes, offset);
                    if read.is_err() {
                        window.bytes.clear();
                    }
                    read?;
                }
                Err(error) => {
                    window.bytes.clear();
                    return Err(error);
                }
                Ok(()) => {}
            }
        }
        let start = (offset - window.start) as usize;
        Ok(start..start + bytes)
    }

    fn read_exactly(&self, buffer: &mut [u8], offset: u64) -> Result<(), KvError> {
        match self.file.read_at(buffer, offset) {
            Ok(read) if read == buffer.len() => Ok(()),
            Ok(_) => Err(KvError::from(io::Error::from(io::ErrorKind::UnexpectedEof))),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads with zeros in place of unreadable sectors: zeros do not verify.
    pub(super) fn read_sectors(&self, buffer: &mut [u8], offset: u64) -> Result<(), KvError> {
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
