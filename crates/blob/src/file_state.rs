//! [`Shared`]: the state that a store in files shares with its writers.

use std::io;
use std::sync::Arc;

use liteio_disk::{Disk, Durability};

use super::BlobError;
use super::buffer::BufferPool;
use super::directories::Directories;
use super::segments::Segments;
use super::unsynced::Unsynced;

/// State shared by the store and its writers.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) durability: Durability,
    /// With [`Durability::Fsync`]: bodies up to this length may be left to the log and synced
    /// later.
    pub(super) logged_bytes_max: usize,
    pub(super) segments: Segments,
    /// Buffers of [`BUFFER_BYTES`](super::buffer::BUFFER_BYTES).
    pub(super) buffers: BufferPool,
    /// Buffers of [`UNCACHED_PIECE_BYTES`](super::UNCACHED_PIECE_BYTES).
    pub(super) uncached_buffers: BufferPool,
    pub(super) directories: Directories,
    /// Directory of the temporary files of this process.
    pub(super) temporary: String,
    /// `true` if other processes make directories, too.
    pub(super) is_shared: bool,
    /// Blobs that are not synced yet.
    pub(super) unsynced: Unsynced,
}

impl Shared {
    /// Translates a failed write, link, removal or sync.
    pub(super) fn failed(&self, error: io::Error) -> BlobError {
        BlobError::from_write(&*self.disk, error)
    }

    /// Makes every blob durable that was sealed before the call.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.segments.sync()?;
        self.unsynced.sync(&*self.disk, &self.directories)
    }
}
