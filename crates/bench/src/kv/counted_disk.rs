//! A counting disk: the bytes that a key space writes to its log and to its tree.

#![deny(clippy::missing_trait_methods)]

use std::any::Any;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use liteio_disk::{DirEntry, Disk, DiskFile, FileIdentity, Health, OpenMode, RealDisk};

use super::engine::Written;

static LOG_BYTES: AtomicU64 = AtomicU64::new(0);
static TREE_BYTES: AtomicU64 = AtomicU64::new(0);

/// Bytes that this process has written through any [`CountedDisk`].
pub(super) fn written() -> Written {
    Written {
        log_bytes: LOG_BYTES.load(Ordering::Relaxed),
        tree_bytes: TREE_BYTES.load(Ordering::Relaxed),
    }
}

/// A disk that counts written bytes. A file with `log` in its name is the log.
#[derive(Debug)]
pub(super) struct CountedDisk {
    disk: RealDisk,
}

#[derive(Debug)]
struct CountedFile {
    file: Box<dyn DiskFile>,
    bytes: &'static AtomicU64,
}

impl CountedDisk {
    pub(super) fn new(disk: RealDisk) -> CountedDisk {
        CountedDisk { disk }
    }
}

fn counted(file: Box<dyn DiskFile>, path: &str) -> Box<dyn DiskFile> {
    let bytes = if path.contains("log") { &LOG_BYTES } else { &TREE_BYTES };
    Box::new(CountedFile { file, bytes })
}

impl Disk for CountedDisk {
    fn open(&self, path: &str, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        Ok(counted(self.disk.open(path, mode)?, path))
    }

    fn create_temporary(&self) -> io::Result<Box<dyn DiskFile>> {
        Ok(counted(self.disk.create_temporary()?, ""))
    }

    fn link(&self, file: &dyn DiskFile, path: &str) -> io::Result<()> {
        self.disk.link(file, path)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn create_dir(&self, path: &str) -> io::Result<()> {
        self.disk.create_dir(path)
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        self.disk.sync_dir(path)
    }

    fn sync_everything(&self) -> io::Result<bool> {
        self.disk.sync_everything()
    }

    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>> {
        self.disk.list(path)
    }

    fn identity(&self, path: &str) -> io::Result<FileIdentity> {
        self.disk.identity(path)
    }

    fn free_bytes(&self) -> io::Result<u64> {
        self.disk.free_bytes()
    }

    fn capacity_bytes(&self) -> io::Result<Option<u64>> {
        self.disk.capacity_bytes()
    }

    fn is_in_place(&self) -> bool {
        self.disk.is_in_place()
    }

    fn health(&self) -> &Health {
        self.disk.health()
    }
}

impl CountedFile {
    fn count(&self, bytes: &[u8]) {
        self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    }
}

impl DiskFile for CountedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buf, offset)
    }

    fn try_read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
        self.file.try_read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.count(buf);
        self.file.write_at(buf, offset)
    }

    fn write_uncached_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.count(buf);
        self.file.write_uncached_at(buf, offset)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn is_empty(&self) -> io::Result<bool> {
        self.file.is_empty()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn start_writeback(&self, offset: u64, bytes: u64) {
        self.file.start_writeback(offset, bytes);
    }

    fn try_lock(&self) -> io::Result<()> {
        self.file.try_lock()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.file.descriptor()
    }

    fn is_in_memory(&self) -> bool {
        self.file.is_in_memory()
    }

    fn reserve(&self, offset: u64, bytes: u64) {
        self.file.reserve(offset, bytes);
    }

    fn discard(&self, offset: u64, bytes: u64) -> io::Result<bool> {
        self.file.discard(offset, bytes)
    }

    fn expect_small_writes(&self, bytes: u64) {
        self.file.expect_small_writes(bytes);
    }

    fn as_any(&self) -> &dyn Any {
        self.file.as_any()
    }
}
