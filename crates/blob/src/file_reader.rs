//! Reading the file of a blob, or its frame in a segment.

use std::io;
use std::ops::Range;
use std::sync::OnceLock;

use bytes::Bytes;
use liteio_disk::DiskFile;

use super::buffer::{BUFFER_BYTES, Buffer, BufferPool, PIECE_BYTES};
use super::footer::{self, BLOCK_BYTES, Footer, TAIL_BYTES, footer_bytes};
use super::segments::Window;
use super::{BlobError, BlobId, BlobPiece, BlobReader};

/// Bytes of the first of the two reads of a piece that is not in memory. Linux reads ahead four times as
/// much as a first read takes, and more with each further window: while these are small, the device
/// works beside the reader. A body of 10 MiB is read in 5 to 10 % less time, its first piece in half of it.
const FIRST_READ_BYTES: usize = 64 << 10;

/// The place of the bytes of a blob.
#[derive(Debug)]
pub(super) enum Source {
    File(Box<dyn DiskFile>),
    Segment(Window),
}

impl Source {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read_at(buf, offset),
            Self::Segment(window) => window.read_at(buf, offset),
        }
    }

    fn try_read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
        match self {
            Self::File(file) => file.try_read_at(buf, offset),
            Self::Segment(window) => window.try_read_at(buf, offset),
        }
    }

    fn len(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => file.len(),
            Self::Segment(window) => Ok(window.len()),
        }
    }
}

#[derive(Debug)]
pub(super) struct FileReader {
    id: BlobId,
    body_bytes: u64,
    file: Source,
    buffers: BufferPool,
    /// The footer, read and verified with the first piece.
    footer: OnceLock<Footer>,
}

/// The way to read: waiting for the device, or from memory only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patience {
    Wait,
    MemoryOnly,
}

/// The reason for returning no bytes.
enum Refusal {
    /// The bytes are not in memory, and the read must not wait for the device.
    WouldWait,
    Failed(BlobError),
}

impl From<BlobError> for Refusal {
    fn from(error: BlobError) -> Self {
        Refusal::Failed(error)
    }
}

impl BlobReader for FileReader {
    fn read(&self, range: Range<u64>) -> Result<BlobPiece, BlobError> {
        match self.piece(&range, Patience::Wait) {
            Ok(piece) => Ok(piece),
            Err(Refusal::Failed(error)) => Err(error),
            Err(Refusal::WouldWait) => unreachable!("a read that may wait does not refuse to"),
        }
    }

    fn try_read(&self, range: Range<u64>) -> Result<Option<BlobPiece>, BlobError> {
        match self.piece(&range, Patience::MemoryOnly) {
            Ok(piece) => Ok(Some(piece)),
            Err(Refusal::Failed(error)) => Err(error),
            Err(Refusal::WouldWait) => Ok(None),
        }
    }
}

impl FileReader {
    pub(super) fn new(id: BlobId, body_bytes: u64, file: Source, buffers: BufferPool) -> Self {
        Self { id, body_bytes, file, buffers, footer: OnceLock::new() }
    }

    fn piece(&self, range: &Range<u64>, patience: Patience) -> Result<BlobPiece, Refusal> {
        assert!(range.end <= self.body_bytes, "{range:?} is not within {} bytes", self.body_bytes);
        if range.is_empty() {
            return Ok(BlobPiece::Shared(Bytes::new()));
        }
        let mut buffer = self.buffers.take();
        let footer = match self.footer.get() {
            Some(footer) => footer,
            None => {
                if let Some(start) = self.read_with_footer(range, &mut buffer, patience)? {
                    return Ok(within(buffer, start, range.clone()));
                }
                self.read_footer(patience)?
            }
        };
        // Round out to whole blocks, since a checksum covers a block, and stop at one piece.
        let block_bytes = u64::from(footer.block_bytes);
        let start = range.start - range.start % block_bytes;
        let end = range.end.min(start + PIECE_BYTES as u64);
        let end = end.next_multiple_of(block_bytes).min(self.body_bytes);
        let blocks = &mut buffer[..(end - start) as usize];
        let first_bytes = if patience == Patience::Wait { FIRST_READ_BYTES } else { usize::MAX };
        let (first, rest) = blocks.split_at_mut(first_bytes.min(blocks.len()));
        self.fill(first, start, patience)?;
        self.fill(rest, start + first.len() as u64, patience)?;
        self.verify(footer, start, blocks)?;
        Ok(within(buffer, start, range.start..range.end.min(end)))
    }

    /// Reads blocks and footer with one call, if a first read reaches the last block and everything
    /// fits in the buffer. Most blobs are read whole, and many are one piece.
    ///
    /// Returns the offset in the body of the first byte in the buffer; `None` if the read must be
    /// done in two steps.
    fn read_with_footer(
        &self,
        range: &Range<u64>,
        buffer: &mut Buffer,
        patience: Patience,
    ) -> Result<Option<u64>, Refusal> {
        let block_bytes = u64::from(BLOCK_BYTES);
        let start = range.start - range.start % block_bytes;
        let body = self.body_bytes - start;
        let total = body.saturating_add(footer_bytes(self.body_bytes, BLOCK_BYTES));
        // The footer follows the last block, so one call can read both only at the end.
        let reaches_the_end =
            range.end.div_ceil(block_bytes) == self.body_bytes.div_ceil(block_bytes);
        if !reaches_the_end || total > BUFFER_BYTES as u64 {
            return Ok(None);
        }
        let bytes = &mut buffer[..total as usize];
        match self.fill(bytes, start, patience) {
            Ok(()) => {}
            Err(Refusal::WouldWait) => return Err(Refusal::WouldWait),
            // Reading in two steps finds the damage, or another block length.
            Err(Refusal::Failed(_)) => return Ok(None),
        }
        let (blocks, end) = bytes.split_at(body as usize);
        let Ok(footer) = footer::decode(&self.id, self.body_bytes, end) else { return Ok(None) };
        self.verify(&footer, start, blocks)?;
        // Another thread may have set it already; it decoded the same bytes.
        let _ = self.footer.set(footer);
        Ok(Some(start))
    }

    fn read_footer(&self, patience: Patience) -> Result<&Footer, Refusal> {
        let file_bytes = self.file.len().map_err(|error| BlobError::from_read(self.id, error))?;
        let block_bytes = self.block_bytes(file_bytes, patience)?;
        // Compared before allocating: the length comes from a record, which may be damaged.
        let bytes = footer_bytes(self.body_bytes, block_bytes);
        if self.body_bytes.checked_add(bytes) != Some(file_bytes) {
            return Err(self.corrupt("the length of its file is wrong").into());
        }
        let mut end = vec![0; bytes as usize];
        self.fill(&mut end, self.body_bytes, patience)?;
        let footer = footer::decode(&self.id, self.body_bytes, &end)?;
        Ok(self.footer.get_or_init(|| footer))
    }

    /// The block length that fits the length of the file, else the one that the file's tail
    /// declares.
    fn block_bytes(&self, file_bytes: u64, patience: Patience) -> Result<u32, Refusal> {
        let expected = self.body_bytes.checked_add(footer_bytes(self.body_bytes, BLOCK_BYTES));
        if expected == Some(file_bytes) {
            return Ok(BLOCK_BYTES);
        }
        let Some(offset) = file_bytes.checked_sub(TAIL_BYTES as u64) else {
            return Err(self.corrupt("its file is too short").into());
        };
        let mut tail = [0; TAIL_BYTES];
        self.fill(&mut tail, offset, patience)?;
        let declared = footer::declared_block_bytes(&tail);
        declared.ok_or_else(|| self.corrupt("it does not end as a blob does").into())
    }

    /// Fills `buf` from `offset`. A short file is damage.
    fn fill(&self, buf: &mut [u8], offset: u64, patience: Patience) -> Result<(), Refusal> {
        let read = match patience {
            Patience::Wait => self.file.read_at(buf, offset).map(Some),
            Patience::MemoryOnly => self.file.try_read_at(buf, offset),
        };
        match read.map_err(|error| BlobError::from_read(self.id, error))? {
            None => Err(Refusal::WouldWait),
            Some(count) if count < buf.len() => Err(self.corrupt("its file is too short").into()),
            Some(_) => Ok(()),
        }
    }

    /// Verifies whole blocks, the first of which starts at `start` in the body.
    fn verify(&self, footer: &Footer, start: u64, blocks: &[u8]) -> Result<(), BlobError> {
        let first = (start / u64::from(footer.block_bytes)) as usize;
        let blocks = blocks.chunks(footer.block_bytes as usize);
        let checksums = footer.block_checksums.get(first..first + blocks.len());
        let is_sound = checksums.is_some_and(|checksums| {
            blocks.zip(checksums).all(|(block, sum)| footer::block_checksum(block) == *sum)
        });
        if is_sound {
            return Ok(());
        }
        Err(self.corrupt("a block does not match its checksum"))
    }

    fn corrupt(&self, what: &'static str) -> BlobError {
        BlobError::Corrupt { id: self.id, what }
    }
}

/// The bytes `range` of the body, from a buffer that starts at `start` in the body.
fn within(buffer: Buffer, start: u64, range: Range<u64>) -> BlobPiece {
    let range = (range.start - start) as usize..(range.end - start) as usize;
    BlobPiece::Buffered { buffer, range }
}
