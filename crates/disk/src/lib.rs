//! Durable files: a directory tree with the few operations that a durable store needs.
//!
//! A [`Disk`] has files that are read and written at an offset, file syncs, a hard link that
//! publishes a temporary file, and directory syncs. Everything above this crate reaches the device
//! through that trait, so a crash test swaps in another implementation instead of pulling a plug.
//!
//! | Module | Content |
//! |---|---|
//! | `real/` | [`RealDisk`]: a directory of the file system. `file` is an open file; `mapped` sends small writes through a shared memory map |
//! | `platform/` | System calls that differ between systems: `linux`, and `portable` for every other Unix. The feature `portable` selects the latter on Linux too |
//! | `simulated/` | `SimulatedDisk` (feature `test-util`): the twin in memory, which loses unsynced writes, fails or crashes on demand. `HookedDisk` runs test code in the middle of an operation |
//! | `overlay/` | [`OverlayDisk`]: a copy-on-write layer in memory over a disk that is only read. `patches` holds the changed blocks of a file |
//! | `memory/` | [`memory_file`]: a file without a disk, kept by the kernel (memfd) or on the heap (`content/`) |
//! | `guard` | The `SIGBUS` handler, installed by [`map_files`]: an I/O error under a memory map becomes an error of that file |
//! | `health` | [`Health`]: the poison flag, which refuses writes after a failed sync |
//! | `lock` | [`DirectoryLock`]: excludes a second writing process; readers share it |
//! | `replace` | Directories that take the place of others, as a whole |
//! | `path` | The check of relative paths |
//! | `effort` | The number of seeds that randomized tests run (feature `test-util`) |
//!
//! The crate knows no other crate of the workspace: no records, no objects, no vectors. `unsafe`
//! code is in `guard` and `real/mapped` only.
//!
//! An example: create a file that after a power cut is either complete or absent.
//!
//! ```
//! use liteio_disk::{Disk, DiskFile, OpenMode, RealDisk};
//!
//! # let directory = tempfile::tempdir()?;
//! let disk = RealDisk::open(directory.path())?;
//!
//! // Contents, then name, then directory.
//! let file = disk.create_temporary()?;
//! file.write_at(b"body", 0)?;
//! file.sync_data()?;
//! disk.link(&*file, "a")?;
//! disk.sync_dir("")?;
//!
//! let mut bytes = [0; 4];
//! disk.open("a", OpenMode::Read)?.read_at(&mut bytes, 0)?;
//! assert_eq!(&bytes, b"body");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # The promise
//! - Bytes written are durable once [`DiskFile::sync_data`] has returned `Ok` for a file whose
//!   *name* is durable.
//! - A name (created, linked, renamed or removed) is durable once [`Disk::sync_dir`] of its
//!   directory has returned `Ok`.
//! - Both are durable once [`Disk::sync_everything`] has returned `Ok(true)`.
//! - After any failed sync the page cache can no longer be trusted: [`Health`] is poisoned and
//!   every later write and sync through the same disk fails with [`is_poisoned`] until it is
//!   reopened. Reads go on.
//!
//! # Systems
//! Linux is tested. On other systems temporary files have names in `tmp/`, a read may always wait
//! for the device, and no write bypasses the page cache; the promise is the same. On macOS a sync
//! is `F_FULLFSYNC`. The macOS code is type-checked but has never run there. The feature `portable`
//! selects the portable code on Linux too, for tests: it changes speed, but no interface and no
//! promise.

mod clock;
mod content;
#[cfg(feature = "test-util")]
pub mod effort;
mod guard;
mod health;
mod lock;
mod memory;
mod overlay;
mod path;
mod platform;
mod random;
mod real;
mod replace;
#[cfg(feature = "test-util")]
mod simulated;

use std::fmt::Debug;
use std::io;
use std::os::fd::BorrowedFd;

#[cfg(any(test, feature = "test-util"))]
pub use clock::ManualClock;
pub use clock::{Clock, ShiftedClock, SystemClock};
pub use content::pieces;
pub use guard::{Guarded, map_files};
pub use health::{Health, is_poisoned};
pub use lock::DirectoryLock;
pub use memory::memory_file;
pub use overlay::OverlayDisk;
#[cfg(feature = "test-util")]
pub use random::SeededRandom;
pub use random::{RandomSource, SystemRandom};
pub use real::RealDisk;
pub use replace::{is_mount_point, remove_directory, rename_directory, replace_directory};
#[cfg(feature = "test-util")]
pub use simulated::{Fault, HookedDisk, Moment, SimulatedDisk};

/// Alignment of addresses, lengths and offsets of writes that bypass the page cache. Memory pages
/// and device blocks are at most this large on common hardware.
pub const UNCACHED_ALIGNMENT: usize = 4096;

/// Directory of named temporary files, below the root of a disk.
const TEMPORARY_DIRECTORY: &str = "tmp";

/// Failures that an acknowledged write survives. Disks do not use it. It is a setting of the layers
/// that write through a disk, and is defined here so that all of them offer the same levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// A power cut: everything that the write needs was synced before the acknowledgement.
    #[default]
    Fsync,
    /// The end of the process, also by `kill -9`: the write is in the page cache. A power cut loses
    /// writes that were not synced since.
    Os,
}

/// Mode of [`Disk::open`]: access, and whether a missing file is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// An existing file, for reading only.
    Read,
    /// An existing file, for reading and writing.
    Write,
    /// A file for reading and writing; created empty if it is missing.
    CreateOrWrite,
}

/// A directory tree, addressed by paths relative to its root with `/` between names, such as
/// `blobs/3f/0123`. The empty path is the root itself.
///
/// Paths are made by our own code only, never from a client's key.
pub trait Disk: Debug + Send + Sync + 'static {
    /// Opens the file at `path`.
    fn open(&self, path: &str, mode: OpenMode) -> io::Result<Box<dyn DiskFile>>;

    /// Creates a temporary file. It has no name (`O_TMPFILE`) where the system and the file system
    /// support that, else a unique name in `tmp/`, a directory that is created on demand. Dropping
    /// the handle before [`Disk::link`] deletes the file. A crash leaves the names in `tmp/`, so
    /// the owner of the directory deletes all of them at start.
    fn create_temporary(&self) -> io::Result<Box<dyn DiskFile>>;

    /// Gives a temporary file the name `path`. Fails with `AlreadyExists` if the name is taken, and
    /// never replaces a file. The name is durable after [`Disk::sync_dir`] of the parent directory.
    fn link(&self, file: &dyn DiskFile, path: &str) -> io::Result<()>;

    /// Renames the file `from` to `to`, replacing `to`. Durable after syncing both directories.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file. Fails with `NotFound` if it does not exist.
    fn remove(&self, path: &str) -> io::Result<()>;

    /// Creates a directory; its parent must exist. An existing directory is fine.
    fn create_dir(&self, path: &str) -> io::Result<()>;

    /// Makes the names in the directory `path` durable.
    fn sync_dir(&self, path: &str) -> io::Result<()>;

    /// Makes everything durable that was written to the disk before the call, contents and names, by
    /// one call of the system (`syncfs`). `false`, without an effect, if the file system has none whose
    /// success can be relied on: then each file and each directory has to be synced. A failure poisons
    /// the disk. It may be the failure of a file that another program has written to the same file
    /// system, and the call waits for the bytes of all of them.
    fn sync_everything(&self) -> io::Result<bool> {
        Ok(false)
    }

    /// The names in the directory `path`, in no particular order.
    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>>;

    /// Identity of the file or directory at `path`. A file that is deleted and created again under
    /// the same name has another identity. A disk without identities returns the default for every
    /// path.
    fn identity(&self, path: &str) -> io::Result<FileIdentity> {
        self.open(path, OpenMode::Read).map(|_| FileIdentity::default())
    }

    /// Bytes that an unprivileged writer can still store.
    fn free_bytes(&self) -> io::Result<u64>;

    /// Size of the device in bytes; `None` if the disk has no device behind it.
    ///
    /// # Errors
    /// The error of the system.
    fn capacity_bytes(&self) -> io::Result<Option<u64>> {
        Ok(None)
    }

    /// `false` once the path of the disk leads elsewhere than to the open directory: it was renamed, or a file system was unmounted,
    /// or mounted over it. Everything goes to the open directory nevertheless, but the next process would not find it.
    fn is_in_place(&self) -> bool {
        true
    }

    /// The poison flag of this disk.
    fn health(&self) -> &Health;
}

impl dyn Disk {
    /// Removes a file if it exists.
    ///
    /// # Errors
    /// The errors of [`Disk::remove`], except `NotFound`.
    pub fn remove_if_there(&self, path: &str) -> io::Result<()> {
        match self.remove(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }
}

/// Identity of a file: unique on this machine for as long as the file exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileIdentity {
    device: u64,
    inode: u64,
}

/// One name in a directory listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// The name, without any directory.
    pub name: String,
    /// `true` for a directory.
    pub is_dir: bool,
}

/// An open file. Reads and writes are positional, so one handle serves many threads.
pub trait DiskFile: Debug + Send + Sync + 'static {
    /// Reads into `buf` from `offset`. Returns the number of bytes, which is smaller than `buf`
    /// only at the end of the file.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Like [`DiskFile::read_at`], but from the page cache only. `None` if any part of `buf` might
    /// have to wait for the device; always `None` on systems without such a call.
    fn try_read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<Option<usize>>;

    /// Writes all of `buf` at `offset`. After an error any part of it may have been written.
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()>;

    /// Like [`DiskFile::write_at`], but bypasses the page cache (`O_DIRECT`) if the file system
    /// can. For large writes that are not read again soon: it avoids a copy and the allocation of
    /// pages, but waits for the device. An ordinary write if the address of `buf`, its length or
    /// `offset` is no multiple of [`UNCACHED_ALIGNMENT`]. Like any write it is durable only after
    /// [`DiskFile::sync_data`].
    fn write_uncached_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.write_at(buf, offset)
    }

    /// Length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// `true` if the length is 0.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Truncates the file, or extends it with zeros, to `bytes`.
    fn set_len(&self, bytes: u64) -> io::Result<()>;

    /// Makes everything written so far, and the length, durable (`fdatasync`; on macOS
    /// `F_FULLFSYNC`). A failure poisons the disk.
    fn sync_data(&self) -> io::Result<()>;

    /// A hint to start writing dirty pages back without waiting (`sync_file_range`), so that a
    /// later [`DiskFile::sync_data`] has less to do. Only a hint: it guarantees nothing.
    fn start_writeback(&self, offset: u64, bytes: u64);

    /// Locks the file exclusively until the handle is dropped. Fails with `ResourceBusy` while
    /// another handle, of this process or another one, has the lock.
    fn try_lock(&self) -> io::Result<()>;

    /// The descriptor of this file, for mapping it read-only; `None` if it has none, as on the
    /// simulated disk. Never write through it: that would bypass [`Health`].
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// `true` if the file is known to be on no device, as on tmpfs, so that a sync costs nothing.
    fn is_in_memory(&self) -> bool {
        false
    }

    /// A hint to allocate space for `bytes` from `offset` at once, before many small writes there.
    /// The length of the file does not change. Only a hint: it guarantees nothing.
    fn reserve(&self, offset: u64, bytes: u64) {
        let _ = (offset, bytes);
    }

    /// Lets `bytes` bytes from `offset`, all within the file, read as zeros, and gives their space
    /// back. The length of the file does not change. Durable after [`DiskFile::sync_data`]. `false`
    /// if the file system cannot give space back; then nothing has changed.
    fn discard(&self, offset: u64, bytes: u64) -> io::Result<bool> {
        let _ = (offset, bytes);
        Ok(false)
    }

    /// A hint that many small writes within the first `bytes` follow; the file has at least that
    /// length. The disk may then copy into a memory map instead of calling the system. The bytes
    /// are in the page cache as after any other write. Truncating the file ends the hint. Only a
    /// hint: it guarantees nothing.
    fn expect_small_writes(&self, bytes: u64) {
        let _ = bytes;
    }

    /// The concrete type of the file, for [`Disk::link`].
    fn as_any(&self) -> &dyn std::any::Any;
}
