//! Every other Unix: named temporary files, ordinary reads and writes, heap memory.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs as calls;
use rustix::io::retry_on_intr;

use super::{Calls, link_and_unlink};

#[derive(Debug)]
pub(crate) struct Portable;

impl Calls for Portable {
    fn has_unnamed_files() -> bool {
        false
    }

    fn create_unnamed(_directory: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>> {
        Ok(None)
    }

    fn link_unnamed(
        _file: BorrowedFd<'_>,
        _directory: BorrowedFd<'_>,
        _path: &str,
    ) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn rename_without_replacing(directory: BorrowedFd<'_>, from: &str, to: &str) -> io::Result<()> {
        // macOS has a single call, which its volumes for other systems (exFAT) need: they have no
        // hard links.
        #[cfg(target_vendor = "apple")]
        {
            use calls::{RenameFlags, renameat_with};
            use rustix::io::Errno;
            match renameat_with(directory, from, directory, to, RenameFlags::NOREPLACE) {
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
                result => return Ok(result?),
            }
        }
        link_and_unlink(directory, from, to)
    }

    fn exchange(_one: &Path, _other: &Path) -> io::Result<bool> {
        Ok(false)
    }

    /// POSIX has no non-waiting read of a file, so every read may wait.
    fn read_cached(
        _file: BorrowedFd<'_>,
        _buf: &mut [u8],
        _offset: u64,
    ) -> io::Result<Option<usize>> {
        Ok(None)
    }

    fn open_uncached(_file: BorrowedFd<'_>) -> Option<OwnedFd> {
        None
    }

    fn start_writeback(_file: BorrowedFd<'_>, _offset: u64, _bytes: u64) {}

    fn reserve(_file: BorrowedFd<'_>, _offset: u64, _bytes: u64) {}

    /// POSIX has no call that makes a hole.
    fn discard(_file: BorrowedFd<'_>, _offset: u64, _bytes: u64) -> io::Result<bool> {
        Ok(false)
    }

    fn is_in_memory(_file: BorrowedFd<'_>) -> bool {
        false
    }

    fn maps_writes(_file: BorrowedFd<'_>) -> bool {
        false
    }

    fn sync_data(file: BorrowedFd<'_>) -> io::Result<()> {
        sync(file)
    }

    fn sync_directory(directory: BorrowedFd<'_>) -> io::Result<()> {
        sync(directory)
    }

    /// POSIX has `sync` only, which need not wait and reports nothing.
    fn sync_file_system(_directory: BorrowedFd<'_>) -> io::Result<bool> {
        Ok(false)
    }

    /// `None`: on macOS the descriptor of `shm_open` cannot be written to, nor resized a second
    /// time.
    fn memory_descriptor(_name: &str) -> io::Result<Option<OwnedFd>> {
        Ok(None)
    }
}

/// Syncs by `F_FULLFSYNC`: on macOS `fsync` leaves the bytes in the cache of the device. Volumes
/// without the call, such as network volumes, get `fsync`.
#[cfg(target_vendor = "apple")]
fn sync(file: BorrowedFd<'_>) -> io::Result<()> {
    use rustix::io::Errno;
    match retry_on_intr(|| calls::fcntl_fullfsync(file)) {
        Err(Errno::INVAL | Errno::NOTSUP | Errno::NOTTY) => {
            Ok(retry_on_intr(|| calls::fsync(file))?)
        }
        result => Ok(result?),
    }
}

#[cfg(not(target_vendor = "apple"))]
fn sync(file: BorrowedFd<'_>) -> io::Result<()> {
    Ok(retry_on_intr(|| calls::fsync(file))?)
}
