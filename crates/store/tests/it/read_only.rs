//! A disk that is only read, and tells which of its sectors were.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex};

use liteio_disk::{DirEntry, Disk, DiskFile, Health, OpenMode, SimulatedDisk};

pub(crate) const SECTOR_BYTES: usize = 512;

/// The sectors that were read, by the path of their file.
pub(crate) type Sectors = BTreeMap<String, BTreeSet<usize>>;

/// A disk as if it were mounted read-only, and full: it refuses every change, and to open a file for
/// writing.
#[derive(Debug)]
pub(crate) struct ReadOnlyDisk {
    disk: SimulatedDisk,
    read: Arc<Mutex<Sectors>>,
}

impl ReadOnlyDisk {
    pub(crate) fn new(disk: &SimulatedDisk) -> Self {
        Self { disk: disk.clone(), read: Arc::default() }
    }

    /// The sectors that are read from now on.
    pub(crate) fn read(&self) -> Arc<Mutex<Sectors>> {
        Arc::clone(&self.read)
    }
}

fn refused<T>() -> io::Result<T> {
    Err(io::ErrorKind::ReadOnlyFilesystem.into())
}

impl Disk for ReadOnlyDisk {
    fn open(&self, path: &str, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        if mode != OpenMode::Read {
            return refused();
        }
        let file = self.disk.open(path, mode)?;
        Ok(Box::new(ReadOnlyFile { file, path: path.to_owned(), read: self.read() }))
    }

    fn create_temporary(&self) -> io::Result<Box<dyn DiskFile>> {
        refused()
    }

    fn link(&self, _file: &dyn DiskFile, _path: &str) -> io::Result<()> {
        refused()
    }

    fn rename(&self, _from: &str, _to: &str) -> io::Result<()> {
        refused()
    }

    fn remove(&self, _path: &str) -> io::Result<()> {
        refused()
    }

    fn create_dir(&self, _path: &str) -> io::Result<()> {
        refused()
    }

    fn sync_dir(&self, _path: &str) -> io::Result<()> {
        refused()
    }

    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>> {
        self.disk.list(path)
    }

    fn free_bytes(&self) -> io::Result<u64> {
        Ok(0)
    }

    fn health(&self) -> &Health {
        self.disk.health()
    }
}

#[derive(Debug)]
struct ReadOnlyFile {
    file: Box<dyn DiskFile>,
    path: String,
    read: Arc<Mutex<Sectors>>,
}

impl DiskFile for ReadOnlyFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let count = self.file.read_at(buf, offset)?;
        let (start, end) = (offset as usize, offset as usize + count);
        let mut read = self.read.lock().expect("no panic while it is locked");
        let sectors = read.entry(self.path.clone()).or_default();
        sectors.extend(start / SECTOR_BYTES..end.div_ceil(SECTOR_BYTES));
        Ok(count)
    }

    fn try_read_at(&self, _buf: &mut [u8], _offset: u64) -> io::Result<Option<usize>> {
        Ok(None)
    }

    fn write_at(&self, _buf: &[u8], _offset: u64) -> io::Result<()> {
        refused()
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn set_len(&self, _bytes: u64) -> io::Result<()> {
        refused()
    }

    fn sync_data(&self) -> io::Result<()> {
        refused()
    }

    fn start_writeback(&self, _offset: u64, _bytes: u64) {}

    fn try_lock(&self) -> io::Result<()> {
        refused()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
