//! An open file of the real disk.

use std::any::Any;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, MutexGuard};
use rustix::fs::{self as calls, AtFlags};
use rustix::io::{Errno, retry_on_intr};

use super::Shared;
use super::failure::failed;
use super::mapped::Mapped;
use crate::platform::{Calls, System};
use crate::{DiskFile, Guarded, UNCACHED_ALIGNMENT, lock};

/// State of a temporary file.
///
/// ```text
/// Unnamed ──┐
///           ├─ link ──► Linked     dropped before: the file is deleted
/// Named   ──┘
/// ```
#[derive(Debug)]
pub(super) enum Temporary {
    /// No name: the kernel deletes it with the last descriptor.
    Unnamed,
    /// A path below `tmp/`: the handle deletes it, or after a crash the next start.
    Named(String),
    /// Linked: an ordinary file.
    Linked,
}

#[derive(Debug)]
pub(super) struct RealFile {
    file: File,
    /// The path that was opened, for messages.
    name: Box<str>,
    shared: Arc<Shared>,
    /// `None` for a file that was opened by name.
    temporary: Option<Mutex<Temporary>>,
    /// A second descriptor for writes that bypass the page cache; `None` if the file system has
    /// none. Opened at the first such write.
    uncached: OnceLock<Option<File>>,
    /// The memory map for small writes.
    mapped: Mutex<Mapped>,
    is_locked: AtomicBool,
}

impl RealFile {
    pub(super) fn new(
        file: OwnedFd,
        name: &str,
        shared: Arc<Shared>,
        temporary: Option<Temporary>,
    ) -> Self {
        Self {
            file: File::from(file),
            name: name.into(),
            shared,
            temporary: temporary.map(Mutex::new),
            uncached: OnceLock::new(),
            mapped: Mutex::default(),
            is_locked: AtomicBool::new(false),
        }
    }

    pub(super) fn is_of(&self, shared: &Arc<Shared>) -> bool {
        Arc::ptr_eq(&self.shared, shared)
    }

    pub(super) fn temporary(&self) -> Option<MutexGuard<'_, Temporary>> {
        Some(self.temporary.as_ref()?.lock())
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn failed(&self, operation: &'static str) -> impl FnOnce(io::Error) -> io::Error {
        failed(operation, &self.name)
    }

    fn uncached(&self) -> Option<&File> {
        let open = || System::open_uncached(self.file.as_fd()).map(File::from);
        self.uncached.get_or_init(open).as_ref()
    }
}

/// Fills `buf` from `offset`; returns fewer bytes only at the end of the file.
pub(crate) fn read_fully(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < buf.len() {
        match file.read_at(&mut buf[done..], offset.saturating_add(done as u64)) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

impl DiskFile for RealFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        read_fully(&self.file, buf, offset).map_err(self.failed("read"))
    }

    fn try_read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
        System::read_cached(self.file.as_fd(), buf, offset).map_err(self.failed("read"))
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.shared.health.check()?;
        if self.mapped.lock().write(self.file.as_fd(), buf, offset) {
            return Ok(());
        }
        self.file.write_all_at(buf, offset).map_err(self.failed("write"))
    }

    fn write_uncached_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.shared.health.check()?;
        let is_aligned = buf.as_ptr().addr().is_multiple_of(UNCACHED_ALIGNMENT)
            && buf.len().is_multiple_of(UNCACHED_ALIGNMENT)
            && offset.is_multiple_of(UNCACHED_ALIGNMENT as u64);
        if let Some(file) = self.uncached().filter(|_| is_aligned) {
            match file.write_all_at(buf, offset) {
                // Some file systems accept O_DIRECT at `open` and refuse the first write.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
                result => return result.map_err(self.failed("write")),
            }
        }
        self.file.write_all_at(buf, offset).map_err(self.failed("write"))
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata().map_err(self.failed("ask for the length of"))?.len())
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.shared.health.check()?;
        // The window goes before the pages do: a write through a map behind the new end would raise
        // SIGBUS.
        self.mapped.lock().cut(bytes);
        self.file.set_len(bytes).map_err(self.failed("resize"))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.shared.health.check()?;
        // Synced through the descriptor that wrote: a descriptor opened later can miss an earlier
        // write error.
        System::sync_data(self.file.as_fd()).map_err(|error| {
            self.shared.health.poison(format!("the sync of {} failed: {error}", self.name));
            self.failed("sync")(error)
        })
    }

    fn start_writeback(&self, offset: u64, bytes: u64) {
        System::start_writeback(self.file.as_fd(), offset, bytes);
    }

    fn reserve(&self, offset: u64, bytes: u64) {
        if self.shared.health.check().is_ok() {
            System::reserve(self.file.as_fd(), offset, bytes);
        }
    }

    fn discard(&self, offset: u64, bytes: u64) -> io::Result<bool> {
        self.shared.health.check()?;
        System::discard(self.file.as_fd(), offset, bytes).map_err(self.failed("discard bytes of"))
    }

    fn expect_small_writes(&self, bytes: u64) {
        // Without the guard a full disk or a device error under the map would end the process.
        let is_possible = Guarded::is_possible() && System::maps_writes(self.file.as_fd());
        self.mapped.lock().expect(if is_possible { bytes } else { 0 });
    }

    fn is_in_memory(&self) -> bool {
        System::is_in_memory(self.file.as_fd())
    }

    fn try_lock(&self) -> io::Result<()> {
        let operation = calls::FlockOperation::NonBlockingLockExclusive;
        match retry_on_intr(|| calls::flock(&self.file, operation)) {
            Ok(()) => {
                self.is_locked.store(true, Ordering::Relaxed);
                Ok(())
            }
            Err(Errno::WOULDBLOCK) => Err(lock::file_in_use(&self.name)),
            Err(error) => Err(self.failed("lock")(error.into())),
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.file.as_fd())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for RealFile {
    fn drop(&mut self) {
        if *self.is_locked.get_mut() {
            // As for `DirectoryLock`: a child process may hold a copy of the descriptor.
            let _ = calls::flock(&self.file, calls::FlockOperation::Unlock);
        }
        if let Some(Temporary::Named(name)) = self.temporary.as_mut().map(Mutex::get_mut) {
            // A name that cannot be removed is swept at the next start, as after a crash.
            let _ = calls::unlinkat(&self.shared.root, name.as_str(), AtFlags::empty());
        }
    }
}
