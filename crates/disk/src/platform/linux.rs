//! Linux: files without names, reads that do not wait, writes past the page cache.

use std::io::{self, IoSliceMut};
use std::num::NonZeroU64;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    self as calls, Advice, AtFlags, FallocateFlags, MemfdFlags, Mode, OFlags, RenameFlags,
};
use rustix::io::{Errno, ReadWriteFlags, retry_on_intr};

use super::{Calls, FILE_MODE, link_and_unlink};

/// Magic numbers of file systems, from the kernel's `linux/magic.h`. ext2 and ext3 share the number
/// of ext4.
const EXT: u64 = 0xef53;
const XFS: u64 = 0x5846_5342;
const BTRFS: u64 = 0x9123_683e;
const TMPFS: u64 = 0x0102_1994;
const RAMFS: u64 = 0x8584_58f6;

#[derive(Debug)]
pub(crate) struct Linux;

impl Calls for Linux {
    /// Linking an unnamed file goes through its entry in `/proc`, which a bare container may lack.
    fn has_unnamed_files() -> bool {
        Path::new("/proc/self/fd").exists()
    }

    fn create_unnamed(directory: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>> {
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
        match retry_on_intr(|| calls::openat(directory, ".", flags, FILE_MODE)) {
            Ok(file) => Ok(Some(file)),
            // ISDIR and INVAL come from kernels and file systems that do not know `O_TMPFILE` at
            // all.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOSYS) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn link_unnamed(file: BorrowedFd<'_>, directory: BorrowedFd<'_>, path: &str) -> io::Result<()> {
        // Linking by descriptor alone (AT_EMPTY_PATH) requires CAP_DAC_READ_SEARCH.
        let entry = descriptor_path(file);
        Ok(calls::linkat(calls::CWD, entry, directory, path, AtFlags::SYMLINK_FOLLOW)?)
    }

    fn rename_without_replacing(directory: BorrowedFd<'_>, from: &str, to: &str) -> io::Result<()> {
        match calls::renameat_with(directory, from, directory, to, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(()),
            // Network file systems cannot rename without replacing, but can link.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                link_and_unlink(directory, from, to)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn exchange(one: &Path, other: &Path) -> io::Result<bool> {
        match calls::renameat_with(calls::CWD, one, calls::CWD, other, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(true),
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn read_cached(file: BorrowedFd<'_>, buf: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
        let wanted = buf.len();
        let mut slices = [IoSliceMut::new(buf)];
        let result = retry_on_intr(|| {
            rustix::io::preadv2(file, &mut slices, offset, ReadWriteFlags::NOWAIT)
        });
        match result {
            Ok(count) if count == wanted => Ok(Some(count)),
            // A short read has two reasons: the file ends here, or the page cache has no more of
            // it. The length decides.
            Ok(count) if offset.saturating_add(count as u64) >= length(file)? => Ok(Some(count)),
            Ok(_) | Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn open_uncached(file: BorrowedFd<'_>) -> Option<OwnedFd> {
        let flags = OFlags::WRONLY | OFlags::DIRECT | OFlags::CLOEXEC;
        // Flags such as O_DIRECT belong to the open file description, so the file is opened a
        // second time; an unnamed file has a path only in `/proc`.
        calls::open(descriptor_path(file), flags, Mode::empty()).ok()
    }

    /// `sync_file_range` cannot be called without `unsafe`. On Linux this advice has the same
    /// effect, which was measured: it starts writeback of dirty pages, and drops only pages that
    /// were clean before, which the pages just written are not.
    fn start_writeback(file: BorrowedFd<'_>, offset: u64, bytes: u64) {
        // A length of zero would mean "up to the end of the file".
        if let Some(bytes) = NonZeroU64::new(bytes) {
            let _ = calls::fadvise(file, offset, Some(bytes), Advice::DontNeed);
        }
    }

    fn reserve(file: BorrowedFd<'_>, offset: u64, bytes: u64) {
        // An error is ignored: the write that follows reports a full disk.
        let _ = calls::fallocate(file, FallocateFlags::KEEP_SIZE, offset, bytes);
    }

    fn discard(file: BorrowedFd<'_>, offset: u64, bytes: u64) -> io::Result<bool> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match retry_on_intr(|| calls::fallocate(file, flags, offset, bytes)) {
            Ok(()) => Ok(true),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn is_in_memory(file: BorrowedFd<'_>) -> bool {
        calls::fstatfs(file).is_ok_and(|it| matches!(it.f_type as u64, TMPFS | RAMFS))
    }

    /// Copy-on-write file systems need new space for every overwrite, and report a full disk under
    /// a map by a signal. XFS overwrites in place, except extents that a file shares with a reflink
    /// copy.
    fn maps_writes(file: BorrowedFd<'_>) -> bool {
        calls::fstatfs(file).is_ok_and(|it| matches!(it.f_type as u64, EXT | XFS | TMPFS))
    }

    fn sync_data(file: BorrowedFd<'_>) -> io::Result<()> {
        Ok(retry_on_intr(|| calls::fdatasync(file))?)
    }

    fn sync_directory(directory: BorrowedFd<'_>) -> io::Result<()> {
        Ok(retry_on_intr(|| calls::fsync(directory))?)
    }

    /// Before Linux 5.8 `syncfs` does not report that a file could not be written. File systems in user
    /// space and on the network may forget to tell their server, so only known ones count.
    fn sync_file_system(directory: BorrowedFd<'_>) -> io::Result<bool> {
        let kind = calls::fstatfs(directory)?.f_type as u64;
        if !matches!(kind, EXT | XFS | BTRFS | TMPFS) || !reports_failed_writes() {
            return Ok(false);
        }
        retry_on_intr(|| calls::syncfs(directory))?;
        Ok(true)
    }

    fn memory_descriptor(name: &str) -> io::Result<Option<OwnedFd>> {
        Ok(Some(calls::memfd_create(name, MemfdFlags::CLOEXEC)?))
    }
}

/// `true` if `syncfs` reports failed writes: since Linux 5.8.
fn reports_failed_writes() -> bool {
    let name = rustix::system::uname();
    is_since(name.release().to_str().unwrap_or_default(), (5, 8))
}

/// `true` if a release such as `6.1.0-13-amd64` is `version` or later; `false` for an unknown one.
pub(super) fn is_since(release: &str, version: (u32, u32)) -> bool {
    let mut numbers = release.split(|digit: char| !digit.is_ascii_digit());
    let mut next = || numbers.next()?.parse().ok();
    next().zip(next()).is_some_and(|found| found >= version)
}

fn descriptor_path(file: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn length(file: BorrowedFd<'_>) -> io::Result<u64> {
    Ok(calls::fstat(file)?.st_size as u64)
}
