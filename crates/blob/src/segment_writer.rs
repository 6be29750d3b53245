//! Writing a blob whose length may be right for a segment.

use std::sync::Arc;

use bytes::Bytes;
use liteio_disk::Durability;

use super::buffer::{Buffer, PIECE_BYTES};
use super::file_state::Shared;
use super::file_writer::FileWriter;
use super::footer::{self, BLOCK_BYTES, Footer};
use super::segments::mark::{self, MARK_BYTES};
use super::segments::{BLOCK, Reserved};
use super::{BlobError, BlobId, BlobWriter, Seal, Sealed, SealedBlob};

const _: () = assert!(PIECE_BYTES.is_multiple_of(BLOCK_BYTES as usize));
const _: () = assert!(PIECE_BYTES.is_multiple_of(BLOCK));

/// A blob that goes to a segment, unless it is too long.
///
/// A body of up to a piece is in the buffer until it is sealed, so that its place has the right
/// length. For a longer one the expected length is reserved with its first piece.
#[derive(Debug)]
pub(crate) struct SegmentWriter {
    shared: Arc<Shared>,
    /// Random: the id of its file, if it gets one, and the nonce of the segment that is made for it.
    id: BlobId,
    expected_bytes: Option<u64>,
    /// Body bytes that are not written: the first `buffered` bytes of the buffer.
    buffer: Buffer,
    buffered: usize,
    block_checksums: Vec<u32>,
    /// Body bytes at the place, whole pieces.
    written: u64,
    reserved: Option<Reserved>,
    /// The file of a blob that is too long.
    file: Option<Box<FileWriter>>,
    failure: Option<BlobError>,
}

impl SegmentWriter {
    pub(crate) fn new(shared: Arc<Shared>, id: BlobId, expected_bytes: Option<u64>) -> Self {
        let buffer = shared.buffers.take();
        Self {
            shared,
            id,
            expected_bytes,
            buffer,
            buffered: 0,
            block_checksums: Vec::new(),
            written: 0,
            reserved: None,
            file: None,
            failure: None,
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.buffered == PIECE_BYTES {
                self.write_piece()?;
            }
            if let Some(file) = &mut self.file {
                return file.append(rest);
            }
            let (taken, after) = rest.split_at(rest.len().min(PIECE_BYTES - self.buffered));
            self.buffer[self.buffered..self.buffered + taken.len()].copy_from_slice(taken);
            self.buffered += taken.len();
            rest = after;
        }
        Ok(())
    }

    /// Writes the full buffer, behind which more follows.
    fn write_piece(&mut self) -> Result<(), BlobError> {
        let bytes = self.written + PIECE_BYTES as u64;
        if self.reserved.is_none() {
            let bytes_max = self.shared.segments.body_bytes_max();
            let fits = |expected: &u64| bytes < *expected && *expected <= bytes_max;
            if let Some(expected) = self.expected_bytes.filter(fits) {
                self.reserved = self.reserve(expected)?;
            }
        }
        // One byte more than this piece must fit, with the end of a frame.
        let blocks = mark::frame_blocks(bytes + 1);
        let is_within = |reserved: &Reserved| blocks.is_some_and(|it| it <= reserved.place.blocks);
        if !self.reserved.as_ref().is_some_and(is_within) {
            return self.move_to_file();
        }
        let piece = &self.buffer[..PIECE_BYTES];
        self.block_checksums.extend(checksums(piece));
        self.write_at(piece, self.way())?;
        self.written = bytes;
        self.buffered = 0;
        Ok(())
    }

    fn reserve(&self, body_bytes: u64) -> Result<Option<Reserved>, BlobError> {
        let Some(blocks) = mark::frame_blocks(body_bytes) else { return Ok(None) };
        self.shared
            .segments
            .reserve(blocks, self.nonce())
            .map_err(|error| self.shared.failed(error))
    }

    /// Random bytes for the segment that may be made for this blob.
    fn nonce(&self) -> u64 {
        let [.., a, b, c, d, e, f, g, h] = self.id.0;
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }

    /// The way of the pieces of a long body.
    fn way(&self) -> Way {
        let writers = |reserved: &Reserved| reserved.segment.with_live(|live| live.unsealed);
        let writers = self.reserved.as_ref().and_then(writers).unwrap_or(0);
        match self.shared.durability {
            Durability::Fsync if writers > FEW_WRITERS => Way::Direct,
            _ => Way::Cached,
        }
    }

    /// Writes whole blocks behind the written ones.
    fn write_at(&self, bytes: &[u8], way: Way) -> Result<(), BlobError> {
        let Some(Reserved { file, place, .. }) = &self.reserved else {
            unreachable!("a place is reserved before it is written to")
        };
        let offset = place.offset() + self.written;
        let written = match way {
            Way::Direct => file.write_uncached_at(bytes, offset),
            Way::Cached => file.write_at(bytes, offset),
        };
        written.map_err(|error| self.shared.failed(error))
    }

    /// Continues in a file: the body is longer than expected, or there is no segment.
    fn move_to_file(&mut self) -> Result<(), BlobError> {
        let shared = &self.shared;
        let file = shared.disk.create_temporary().map_err(|error| shared.failed(error))?;
        let mut writer = Box::new(FileWriter::new(Arc::clone(shared), self.id, file));
        if let Some(reserved) = self.reserved.take() {
            let Reserved { file, place, .. } = &reserved;
            let mut piece = shared.buffers.take();
            let mut offset = 0;
            while offset < self.written {
                let read = file.read_at(&mut piece[..PIECE_BYTES], place.offset() + offset);
                if read.map_err(|error| shared.failed(error))? < PIECE_BYTES {
                    let what = "what was written is not there";
                    return Err(BlobError::Corrupt { id: place.id(), what });
                }
                // The pieces were summed when they were written.
                let first = (offset / u64::from(BLOCK_BYTES)) as usize;
                let sums = checksums(&piece[..PIECE_BYTES]);
                if !sums.eq(self.block_checksums[first..].iter().copied().take(BLOCKS_OF_PIECE)) {
                    let what = "what was written is not what is read";
                    return Err(BlobError::Corrupt { id: place.id(), what });
                }
                writer.append(&piece[..PIECE_BYTES])?;
                offset += PIECE_BYTES as u64;
            }
        }
        writer.append(&self.buffer[..self.buffered])?;
        self.buffered = 0;
        self.file = Some(writer);
        Ok(())
    }

    /// Length of the body so far.
    fn body_bytes(&self) -> u64 {
        self.written + self.buffered as u64
    }

    /// Puts the end of the frame behind the body bytes in the buffer. Returns the number of bytes to
    /// write behind the written ones.
    fn end_frame(&mut self) -> usize {
        let body_bytes = self.body_bytes();
        let Some(blocks) = mark::frame_blocks(body_bytes) else {
            unreachable!("a long body has a file")
        };
        let Some(reserved) = &mut self.reserved else {
            unreachable!("a place is reserved before the end is written")
        };
        reserved.shorten(blocks);
        let place = reserved.place;
        self.block_checksums.extend(checksums(&self.buffer[..self.buffered]));
        let block_checksums = std::mem::take(&mut self.block_checksums);
        let footer = Footer { block_bytes: BLOCK_BYTES, block_checksums };
        let end = footer::encode(&place.id(), body_bytes, &footer);
        let bytes = (place.bytes() - self.written) as usize;
        let rest = &mut self.buffer[self.buffered..bytes];
        let (footer, rest) = rest.split_at_mut(end.len());
        footer.copy_from_slice(&end);
        let (zeros, mark) = rest.split_at_mut(rest.len() - MARK_BYTES);
        zeros.fill(0);
        mark.copy_from_slice(&mark::encode(&place, body_bytes));
        bytes
    }

    fn seal_in_segment(mut self, seal: Seal) -> Result<Sealed, BlobError> {
        let bytes = self.body_bytes();
        let is_short = self.written == 0;
        let in_buffer = self.end_frame();
        let shared = Arc::clone(&self.shared);
        let segments = &shared.segments;
        // As for files: a short body is left to the log if the caller prefers that. What is in the
        // buffer is written by the commit of its record, with others: the commit waits for the
        // device anyway, and this thread need not.
        let contents_to_note = match (shared.durability, seal) {
            (Durability::Os, _) | (_, Seal::Later) => Some(Bytes::new()),
            (Durability::Fsync, Seal::InLog)
                if is_short && bytes <= shared.logged_bytes_max as u64 =>
            {
                let file_bytes = mark::file_bytes(bytes) as usize;
                Some(Bytes::copy_from_slice(&self.buffer[..file_bytes]))
            }
            (Durability::Fsync, Seal::InLog | Seal::WithRecord) if is_short => Some(Bytes::new()),
            (Durability::Fsync, _) => None,
        };
        let is_left = is_short
            && matches!(seal, Seal::WithRecord | Seal::InLog)
            && segments.has_room_for_unwritten();
        if !is_left {
            let way = if is_short { Way::Cached } else { self.way() };
            self.write_at(&self.buffer[..in_buffer], way)?;
        }
        let Some(reserved) = self.reserved.take() else { unreachable!("the frame has a place") };
        let blob = SealedBlob { id: reserved.place.id(), bytes };
        if is_left {
            segments.write_later(reserved, self.buffer, in_buffer);
        } else {
            match contents_to_note {
                Some(_) => segments.add_dirty(&reserved),
                None => {
                    let synced = reserved.segment.sync(&*reserved.file);
                    synced.map_err(|error| shared.failed(error))?;
                }
            }
            reserved.keep();
        }
        Ok(Sealed { blob, contents_to_note })
    }
}

/// The way of a write to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// To the page cache, where the first reader finds it: a body of 1 MiB, written and read by one
    /// client, takes 0.6 of the time.
    Cached,
    /// Past the page cache, so that a sync has little to write. With long bodies of several clients
    /// in the page cache, one sync in a hundred took 60 to 130 ms instead of 30.
    Direct,
}

/// With more writers than these, long bodies are written past the page cache.
const FEW_WRITERS: u32 = 2;

/// Checksums of a piece.
const BLOCKS_OF_PIECE: usize = PIECE_BYTES / BLOCK_BYTES as usize;

impl BlobWriter for SegmentWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.write(bytes).inspect_err(|error| self.failure = Some(error.clone()))
    }

    fn seals_in_memory(&mut self) -> bool {
        if self.failure.is_some() || self.file.is_some() || self.written > 0 {
            return false;
        }
        if self.reserved.is_none() {
            // The end of an encrypted body is not there yet.
            let bytes = self.expected_bytes.unwrap_or(0).max(self.buffered as u64);
            let blocks = mark::frame_blocks(bytes);
            self.reserved = blocks.and_then(|it| self.shared.segments.reserve_now(it));
        }
        self.reserved.is_some() && self.shared.segments.has_room_for_unwritten()
    }

    fn seal(mut self: Box<Self>, seal: Seal) -> Result<Sealed, BlobError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if self.file.is_none() && self.reserved.is_none() {
            self.reserved = self.reserve(self.buffered as u64)?;
            if self.reserved.is_none() {
                self.move_to_file()?;
            }
        }
        match self.file.take() {
            Some(file) => file.seal(seal),
            None => self.seal_in_segment(seal),
        }
    }
}

fn checksums(piece: &[u8]) -> impl Iterator<Item = u32> {
    piece.chunks(BLOCK_BYTES as usize).map(footer::block_checksum)
}
