//! Writing the file of a blob.

use std::sync::Arc;

use liteio_disk::DiskFile;

use super::buffer::{Buffer, PIECE_BYTES};
use super::file::Shared;
use super::footer::{self, BLOCK_BYTES, Footer};
use super::{BlobError, BlobId, BlobWriter, SealedBlob, file_path};
use crate::Durability;

/// Bytes after which the kernel is asked to start writing, so that the device works while the next
/// bytes are received and hashed, and the final sync has less to do.
const WRITEBACK_BYTES: u64 = 1 << 20;

const _: () = assert!(PIECE_BYTES.is_multiple_of(BLOCK_BYTES as usize));

#[derive(Debug)]
pub(super) struct FileWriter {
    shared: Arc<Shared>,
    id: BlobId,
    file: Box<dyn DiskFile>,
    /// Body bytes not yet in the file: the first `buffered` of the buffer. Never a full piece between
    /// two calls, except at the very end of a body.
    buffer: Buffer,
    buffered: usize,
    /// Body bytes in the file, in whole blocks.
    written: u64,
    /// Up to where the kernel was asked to write.
    flushed: u64,
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
            flushed: 0,
            block_checksums: Vec::new(),
            failure: None,
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.buffered == 0 && rest.len() >= PIECE_BYTES {
                // Whole pieces go to the file without being copied first.
                let (whole, after) = rest.split_at(rest.len() - rest.len() % PIECE_BYTES);
                for piece in whole.chunks(PIECE_BYTES) {
                    self.block_checksums.extend(checksums(piece));
                    self.write_to_file(piece)?;
                    self.written += piece.len() as u64;
                }
                rest = after;
                continue;
            }
            let (taken, after) = rest.split_at(rest.len().min(PIECE_BYTES - self.buffered));
            self.buffer[self.buffered..self.buffered + taken.len()].copy_from_slice(taken);
            self.buffered += taken.len();
            rest = after;
            if self.buffered == PIECE_BYTES {
                self.block_checksums.extend(checksums(&self.buffer[..PIECE_BYTES]));
                self.write_to_file(&self.buffer[..PIECE_BYTES])?;
                self.written += PIECE_BYTES as u64;
                self.buffered = 0;
            }
        }
        if self.written - self.flushed >= WRITEBACK_BYTES {
            if self.shared.durability == Durability::Fsync {
                self.file.start_writeback(self.flushed, self.written - self.flushed);
            }
            self.flushed = self.written;
        }
        Ok(())
    }

    fn write_to_file(&self, piece: &[u8]) -> Result<(), BlobError> {
        self.file.write_at(piece, self.written).map_err(|error| self.shared.failed(error))
    }

    /// Writes the rest of the body and the footer. Returns the length of the body.
    fn write_end(&mut self) -> Result<u64, BlobError> {
        let body_bytes = self.written + self.buffered as u64;
        self.block_checksums.extend(checksums(&self.buffer[..self.buffered]));
        let footer = Footer {
            block_bytes: BLOCK_BYTES,
            block_checksums: std::mem::take(&mut self.block_checksums),
        };
        let end = footer::encode(&self.id, body_bytes, &footer);
        let total = self.buffered + end.len();
        if let Some(room) = self.buffer.get_mut(self.buffered..total) {
            room.copy_from_slice(&end);
            self.write_to_file(&self.buffer[..total])?;
        } else {
            self.write_to_file(&self.buffer[..self.buffered])?;
            self.file.write_at(&end, body_bytes).map_err(|error| self.shared.failed(error))?;
        }
        Ok(body_bytes)
    }
}

impl BlobWriter for FileWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.write(bytes).inspect_err(|error| self.failure = Some(error.clone()))
    }

    fn seal(mut self: Box<Self>) -> Result<SealedBlob, BlobError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let bytes = self.write_end()?;
        let shared = &self.shared;
        let disk = &*shared.disk;
        // The order is the promise: contents, name, directory. Whoever then commits a record that
        // names the blob can rely on all three.
        if shared.durability == Durability::Fsync {
            self.file.sync_data().map_err(|error| shared.failed(error))?;
        }
        let path = file_path::blob_path(&self.id);
        disk.link(&*self.file, &path).map_err(|error| shared.failed(error))?;
        if shared.durability == Durability::Fsync {
            let index = self.id.0[0];
            let directory = file_path::directory_path(index);
            let sync = &shared.directory_syncs[usize::from(index)];
            if let Err(error) = sync.sync(disk, &directory) {
                // Nobody will hear of this blob. If it cannot be removed either, the sweep does it.
                let _ = disk.remove(&path);
                return Err(shared.failed(error));
            }
        } else if !shared.unsynced.add(self.id, self.file, bytes) {
            // The device is so far behind that whoever writes more must wait for it.
            shared.sync().map_err(|error| shared.failed(error))?;
        }
        Ok(SealedBlob { id: self.id, bytes })
    }
}

fn checksums(piece: &[u8]) -> impl Iterator<Item = u32> {
    piece.chunks(BLOCK_BYTES as usize).map(footer::block_checksum)
}
