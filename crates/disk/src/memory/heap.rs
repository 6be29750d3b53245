//! A file in the memory of the process, for systems whose kernel has none.

use std::any::Any;
use std::io;
use std::os::fd::BorrowedFd;

use parking_lot::RwLock;

use crate::DiskFile;
use crate::content::{Content, check_end};

/// A file of heap pages. It cannot be mapped, so every read copies.
#[derive(Debug, Default)]
pub(super) struct HeapFile {
    content: RwLock<Content>,
}

impl DiskFile for HeapFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        Ok(self.content.read().read(buf, offset))
    }

    fn try_read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
        self.read_at(buf, offset).map(Some)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        check_end(offset, buf.len() as u64)?;
        self.content.write().write(buf, offset);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.content.read().len())
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        check_end(0, bytes)?;
        self.content.write().set_len(bytes);
        Ok(())
    }

    /// Nothing outlives the process, so a sync has nothing to do.
    fn is_in_memory(&self) -> bool {
        true
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn start_writeback(&self, _offset: u64, _bytes: u64) {}

    /// Always succeeds: the file has no name, so no second handle can exist.
    fn try_lock(&self) -> io::Result<()> {
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_on_the_heap_is_read_and_written_like_any_other() {
        let file = HeapFile::default();
        file.write_at(b"vector", 10_000).expect("written");
        assert_eq!(file.len().expect("length"), 10_006);
        let mut bytes = [1; 8];
        assert_eq!(file.read_at(&mut bytes, 9_998).expect("read"), 8);
        assert_eq!(&bytes, b"\0\0vector");
        assert_eq!(file.try_read_at(&mut bytes, 10_003).expect("read"), Some(3));
        assert_eq!(file.read_at(&mut bytes, 1 << 40).expect("read"), 0);
        file.set_len(5).expect("cut");
        file.set_len(10_006).expect("extended");
        assert_eq!(file.read_at(&mut bytes, 9_998).expect("read"), 8);
        assert_eq!(bytes, [0; 8]);
        file.write_at(b"x", u64::MAX).expect_err("no file is that large");
        file.set_len(u64::MAX).expect_err("no file is that large");
        assert!(file.is_in_memory() && file.descriptor().is_none());
    }
}
