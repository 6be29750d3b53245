//! System calls that differ between systems, behind one trait.
//!
//! [`Linux`] uses the calls of Linux. `Portable` uses POSIX calls, and `F_FULLFSYNC` on macOS.
//! The rest of the crate calls [`System`], an alias of one of the two: `Linux` on Linux, `Portable`
//! elsewhere, and with the feature `portable` also on Linux, so that tests there run its code. Both
//! keep every promise of this crate; `Portable` is only slower.

#[cfg(all(target_os = "linux", any(test, not(feature = "portable"))))]
mod linux;
#[cfg(any(test, not(target_os = "linux"), feature = "portable"))]
mod portable;
#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{self as calls, AtFlags, Mode};

#[cfg(all(target_os = "linux", any(test, not(feature = "portable"))))]
use self::linux::Linux;
#[cfg(any(test, not(target_os = "linux"), feature = "portable"))]
use self::portable::Portable;

/// The system that this build runs on.
#[cfg(all(target_os = "linux", not(feature = "portable")))]
pub(crate) type System = Linux;
#[cfg(any(not(target_os = "linux"), feature = "portable"))]
pub(crate) type System = Portable;

/// Permissions of new files: read and write for the server's own user, nothing for others.
pub(crate) const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// The calls. Paths are relative to `directory`.
pub(crate) trait Calls {
    /// `true` if [`Calls::create_unnamed`] is worth trying.
    fn has_unnamed_files() -> bool;

    /// A new file without a name in the file system of `directory`; `None` if that is not
    /// supported.
    fn create_unnamed(directory: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>>;

    /// Gives a file of [`Calls::create_unnamed`] a name. Fails with `AlreadyExists` if it is taken.
    fn link_unnamed(file: BorrowedFd<'_>, directory: BorrowedFd<'_>, path: &str) -> io::Result<()>;

    /// Renames a file. Fails with `AlreadyExists` if the new name is taken. A crash may leave both
    /// names.
    fn rename_without_replacing(directory: BorrowedFd<'_>, from: &str, to: &str) -> io::Result<()>;

    /// Exchanges two directories, each of which has the other's path afterwards; `false`, without an
    /// effect, if the system or the file system cannot.
    fn exchange(one: &Path, other: &Path) -> io::Result<bool>;

    /// Reads from the page cache. `None` if not all bytes are in it, or the system has no such
    /// call.
    fn read_cached(file: BorrowedFd<'_>, buf: &mut [u8], offset: u64) -> io::Result<Option<usize>>;

    /// A second descriptor of the same file whose writes bypass the page cache; `None` if not
    /// supported.
    fn open_uncached(file: BorrowedFd<'_>) -> Option<OwnedFd>;

    /// A hint to start writing dirty pages back without waiting for them.
    fn start_writeback(file: BorrowedFd<'_>, offset: u64, bytes: u64);

    /// A hint to allocate space within or behind the file without changing its length.
    fn reserve(file: BorrowedFd<'_>, offset: u64, bytes: u64);

    /// Makes a range read as zeros and gives its space back; `false`, without an effect, if the file
    /// system cannot.
    fn discard(file: BorrowedFd<'_>, offset: u64, bytes: u64) -> io::Result<bool>;

    /// `true` if the file is known to be on no device, as on tmpfs.
    fn is_in_memory(file: BorrowedFd<'_>) -> bool;

    /// `true` if overwriting bytes through a map needs no new space.
    fn maps_writes(file: BorrowedFd<'_>) -> bool;

    /// Makes the bytes and the length of a file durable on the device.
    fn sync_data(file: BorrowedFd<'_>) -> io::Result<()>;

    /// Makes the names in a directory durable on the device.
    fn sync_directory(directory: BorrowedFd<'_>) -> io::Result<()>;

    /// Makes everything durable that was written to the file system of `directory`; `false`, without
    /// an effect, if an error may be missed. `directory` was opened before the first write.
    fn sync_file_system(directory: BorrowedFd<'_>) -> io::Result<bool>;

    /// A new file in memory; `None` if the system has none that can be mapped.
    fn memory_descriptor(name: &str) -> io::Result<Option<OwnedFd>>;
}

/// [`Calls::rename_without_replacing`] for systems and file systems without a single call for it.
fn link_and_unlink(directory: BorrowedFd<'_>, from: &str, to: &str) -> io::Result<()> {
    // Link first: it fails if the name is taken, and a crash in between leaves two names, never
    // none.
    calls::linkat(directory, from, directory, to, AtFlags::empty())?;
    // The file has its new name, so the operation has succeeded. An old name that cannot be removed
    // is a leftover in `tmp/`, which the next start deletes.
    let _ = calls::unlinkat(directory, from, AtFlags::empty());
    Ok(())
}
