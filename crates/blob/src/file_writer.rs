//! Writing the file of a blob.

use std::sync::Arc;

use bytes::Bytes;
use liteio_disk::{DiskFile, Durability};

use super::buffer::{Buffer, PIECE_BYTES, UNCACHED_PIECE_BYTES};
use super::file_state::Shared;
use super::footer::{self, BLOCK_BYTES, Footer};
use super::{BlobError, BlobId, BlobWriter, Seal, Sealed, SealedBlob};

/// Bytes of a body that are written through the page cache, where the next reader finds them. At
/// this length writeback is started, and the rest of the body is written past the page cache while
/// the next bytes are received and hashed, which takes longer than the writes. So the final sync
/// has little to do, nothing is copied to the page cache, and no pages are allocated for bytes that
/// are rarely read again soon. On a virtual machine, a page that was not in use costs up to ten
/// times the copy.
const CACHED_BYTES_MAX: u64 = 1 << 20;

const _: () = assert!(PIECE_BYTES.is_multiple_of(BLOCK_BYTES as usize));
const _: () = assert!(UNCACHED_PIECE_BYTES.is_multiple_of(BLOCK_BYTES as usize));
const _: () = assert!(CACHED_BYTES_MAX.is_multiple_of(PIECE_BYTES as u64));

#[derive(Debug)]
pub(super) struct FileWriter {
    shared: Arc<Shared>,
    id: BlobId,
    file: Box<dyn DiskFile>,
    /// Body bytes that are not in the file yet: the first `buffered` bytes of the buffer. Less than
    /// a full piece between two calls.
    buffer: Buffer,
    buffered: usize,
    /// Body bytes in the file, a multiple of the block length.
    written: u64,
    block_checksums: Vec<u32>,
    failure: Option<BlobError>,
}

impl FileWriter {
    pub(super) fn new(shared: Arc<Shared>, id: BlobId, file: Box<dyn DiskFile>) -> Self {
        let buffer = shared.buffers.take();
        Self {
            shared,
            id,
            file,
            buffer,
            buffered: 0,
            written: 0,
            block_checksums: Vec::new(),
            failure: None,
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = match self.is_uncached() {
                true => self.write_uncached(rest)?,
                false => self.write_cached(rest)?,
            };
        }
        Ok(())
    }

    /// `true` if the next piece is written past the page cache.
    fn is_uncached(&self) -> bool {
        self.shared.durability == Durability::Fsync && self.written >= CACHED_BYTES_MAX
    }

    /// Consumes up to one piece and returns the remaining bytes.
    fn write_cached<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], BlobError> {
        // A whole piece is written to the file without a copy.
        if self.buffered == 0
            && let Some((piece, rest)) = bytes.split_at_checked(PIECE_BYTES)
        {
            self.block_checksums.extend(checksums(piece));
            self.write_to_file(piece)?;
            self.piece_written(PIECE_BYTES);
            return Ok(rest);
        }
        let rest = self.fill_buffer(bytes, PIECE_BYTES);
        if self.buffered == PIECE_BYTES {
            let piece = &self.buffer[..PIECE_BYTES];
            self.block_checksums.extend(checksums(piece));
            self.write_to_file(piece)?;
            self.piece_written(PIECE_BYTES);
        }
        Ok(rest)
    }

    /// Consumes up to one piece and returns the remaining bytes.
    fn write_uncached<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], BlobError> {
        if self.buffer.len() < UNCACHED_PIECE_BYTES {
            // The buffer is empty: this is the first uncached piece, and `CACHED_BYTES_MAX` is a
            // multiple of a piece.
            self.buffer = self.shared.uncached_buffers.take();
        }
        let rest = self.fill_buffer(bytes, UNCACHED_PIECE_BYTES);
        if self.buffered == UNCACHED_PIECE_BYTES {
            let piece = &self.buffer[..UNCACHED_PIECE_BYTES];
            self.block_checksums.extend(checksums(piece));
            let written = self.file.write_uncached_at(piece, self.written);
            written.map_err(|error| self.shared.failed(error))?;
            self.piece_written(UNCACHED_PIECE_BYTES);
        }
        Ok(rest)
    }

    fn fill_buffer<'a>(&mut self, bytes: &'a [u8], piece_bytes: usize) -> &'a [u8] {
        let (taken, rest) = bytes.split_at(bytes.len().min(piece_bytes - self.buffered));
        self.buffer[self.buffered..self.buffered + taken.len()].copy_from_slice(taken);
        self.buffered += taken.len();
        rest
    }

    fn piece_written(&mut self, bytes: usize) {
        self.written += bytes as u64;
        self.buffered = 0;
        if self.written == CACHED_BYTES_MAX && self.shared.durability == Durability::Fsync {
            self.file.start_writeback(0, CACHED_BYTES_MAX);
        }
    }

    fn write_to_file(&self, bytes: &[u8]) -> Result<(), BlobError> {
        self.file.write_at(bytes, self.written).map_err(|error| self.shared.failed(error))
    }

    /// Writes the rest of the body and the footer. Returns the length of the body and, if the whole
    /// file is in the buffer, the length of the file.
    fn write_end(&mut self) -> Result<(u64, Option<usize>), BlobError> {
        let body_bytes = self.written + self.buffered as u64;
        self.block_checksums.extend(checksums(&self.buffer[..self.buffered]));
        let footer = Footer {
            block_bytes: BLOCK_BYTES,
            block_checksums: std::mem::take(&mut self.block_checksums),
        };
        let end = footer::encode(&self.id, body_bytes, &footer);
        let total = self.buffered + end.len();
        // One write for the last bytes and the footer, if both fit in the buffer.
        if let Some(room) = self.buffer.get_mut(self.buffered..total) {
            room.copy_from_slice(&end);
            self.write_to_file(&self.buffer[..total])?;
            return Ok((body_bytes, (self.written == 0).then_some(total)));
        }
        self.write_to_file(&self.buffer[..self.buffered])?;
        self.file.write_at(&end, body_bytes).map_err(|error| self.shared.failed(error))?;
        Ok((body_bytes, None))
    }

    /// Makes the blob durable in the order contents, name, directory. A record committed afterwards
    /// can rely on all three.
    fn publish_durably(&self) -> Result<(), BlobError> {
        let shared = &self.shared;
        self.file.sync_data().map_err(|error| shared.failed(error))?;
        let path = self.publish()?;
        let index = shared.directories.index(&self.id);
        shared.directories.sync(&*shared.disk, index).map_err(|error| {
            // The caller gets the error. If the file cannot be removed either, the sweep does it.
            let _ = shared.disk.remove(&path);
            shared.failed(error)
        })
    }

    /// Gives the file its name.
    fn publish(&self) -> Result<String, BlobError> {
        let linked = self.shared.directories.link(&*self.shared.disk, &*self.file, &self.id);
        linked.map_err(|error| self.shared.failed(error))
    }
}

impl BlobWriter for FileWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.write(bytes).inspect_err(|error| self.failure = Some(error.clone()))
    }

    fn seal(mut self: Box<Self>, seal: Seal) -> Result<Sealed, BlobError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let (bytes, in_buffer) = self.write_end()?;
        let blob = SealedBlob { id: self.id, bytes };
        // Three ways to seal:
        //
        //   `Os`, or `Later`              link only, synced later; noted without contents
        //   `Fsync`, short, few writers   link only, synced later; noted with contents, from
        //                                 which the log can restore it
        //   `Fsync` otherwise             sync, link, sync the directory; no note
        let is_logged = seal == Seal::InLog && bytes <= self.shared.logged_bytes_max as u64;
        let in_buffer = match (self.shared.durability, in_buffer) {
            (Durability::Os, _) => None,
            (Durability::Fsync, _) if seal == Seal::Later => None,
            (Durability::Fsync, Some(length)) if is_logged => Some(length),
            (Durability::Fsync, _) => {
                self.publish_durably()?;
                return Ok(Sealed { blob, contents_to_note: None });
            }
        };
        self.publish()?;
        // Copied, so that a pending commit does not hold the longer buffer.
        let contents = in_buffer
            .map_or_else(Bytes::new, |length| Bytes::copy_from_slice(&self.buffer[..length]));
        let Self { shared, id, file, .. } = *self;
        if !shared.unsynced.add(id, file, bytes) {
            // Back-pressure: the device is so far behind that this writer must wait for a sync.
            shared.sync().map_err(|error| shared.failed(error))?;
        }
        Ok(Sealed { blob, contents_to_note: Some(contents) })
    }
}

fn checksums(piece: &[u8]) -> impl Iterator<Item = u32> {
    piece.chunks(BLOCK_BYTES as usize).map(footer::block_checksum)
}
