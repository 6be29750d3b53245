//! Files that live in memory only.

mod heap;

use std::any::Any;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;

use self::heap::HeapFile;
use crate::DiskFile;
use crate::platform::{Calls, System};
use crate::real::read_fully;

/// An empty file without a disk behind it. It is written and read like any other, syncs cost
/// nothing, and it is gone when dropped. On Linux it can be mapped; elsewhere it has no descriptor.
/// Tools that inspect the process show `name`.
///
/// # Errors
/// The error of the system if no descriptor or memory is left.
pub fn memory_file(name: &str) -> io::Result<Box<dyn DiskFile>> {
    Ok(match System::memory_descriptor(name)? {
        Some(descriptor) => Box::new(MemoryFile { file: File::from(descriptor) }),
        None => Box::new(HeapFile::default()),
    })
}

/// A file that the kernel keeps in memory.
#[derive(Debug)]
struct MemoryFile {
    file: File,
}

impl DiskFile for MemoryFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        read_fully(&self.file, buf, offset)
    }

    fn try_read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
        self.read_at(buf, offset).map(Some)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(buf, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }

    /// Nothing outlives the process, so a sync has nothing to do.
    fn is_in_memory(&self) -> bool {
        true
    }

    fn reserve(&self, offset: u64, bytes: u64) {
        System::reserve(self.file.as_fd(), offset, bytes);
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
        Some(self.file.as_fd())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
