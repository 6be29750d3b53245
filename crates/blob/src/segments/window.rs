//! A frame as the file that its blob would have.

use std::io;
use std::sync::Arc;

use liteio_disk::DiskFile;

use super::readers::Reader;

/// The bytes of a frame that are the file of its blob.
#[derive(Debug)]
pub(crate) struct Window {
    pub(super) file: Arc<dyn DiskFile>,
    /// Offset of the frame.
    pub(super) offset: u64,
    /// Length without zeros and mark.
    pub(super) bytes: u64,
    /// Keeps the space of the frame.
    pub(super) _reader: Reader,
}

impl Window {
    /// See [`DiskFile::read_at`].
    pub(crate) fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let count = self.within(buf, offset);
        self.file.read_at(&mut buf[..count], self.offset.saturating_add(offset))
    }

    /// See [`DiskFile::try_read_at`].
    pub(crate) fn try_read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
        let count = self.within(buf, offset);
        self.file.try_read_at(&mut buf[..count], self.offset.saturating_add(offset))
    }

    /// Length in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.bytes
    }

    /// The number of bytes of `buf` that are before the end.
    fn within(&self, buf: &[u8], offset: u64) -> usize {
        let rest = self.bytes.saturating_sub(offset);
        usize::try_from(rest).map_or(buf.len(), |rest| rest.min(buf.len()))
    }
}
