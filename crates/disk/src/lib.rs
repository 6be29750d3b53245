//! Durable files: a directory tree with the few operations that a durable store needs.
//!
//! [`Disk`] has files that are read and written at an offset, syncs, a hard link into place, and syncs
//! of directories. [`RealDisk`] is the file system. `SimulatedDisk` (feature `test-util`) is its twin
//! in memory, which loses unsynced writes, fails, or crashes on demand, so that crash tests are
//! ordinary fast tests. [`OverlayDisk`] keeps in memory what is changed on another disk, which it only
//! reads. [`DirectoryLock`] excludes a second process. [`RandomSource`] is chance, passed in as the disk is.
//!
//! Creating a file that after a power cut is complete or does not exist:
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
//! - After any failed sync the page cache can no longer be trusted: [`Health`] is poisoned and every
//!   later write and sync through the same disk fails with [`is_poisoned`] until it is reopened.
//!   Reads go on.
//!
//! # Systems
//! Linux is tested. Elsewhere temporary files have names in `tmp/`, there are no non-waiting reads, and no
//! write bypasses the page cache; the promise is the same. On macOS a sync is
//! `F_FULLFSYNC`. That code is type-checked and has not run there. The feature `portable` selects it on
//! Linux too, for tests: it changes no interface and no promise, only speed.

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
#[cfg(feature = "test-util")]
mod simulated;

use std::fmt::Debug;
use std::io;
use std::os::fd::BorrowedFd;

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
#[cfg(feature = "test-util")]
pub use simulated::{Fault, HookedDisk, Moment, SimulatedDisk};

/// The alignment of addresses, lengths and offsets of a write past the page cache: pages and blocks of
/// every common device are no larger.
pub const UNCACHED_ALIGNMENT: usize = 4096;

/// The directory, below the root of a disk, of temporary files that have a name.
const TEMPORARY_DIRECTORY: &str = "tmp";

/// The failures that an acknowledged write survives. Disks do not use it: it is a setting of the layers that
/// write through one, which all offer the same levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// A power cut: everything that the write needs was synced before the acknowledgement.
    #[default]
    Fsync,
    /// The end of the process, `kill -9` included: the write is in the page cache. A power cut loses
    /// writes that were not synced since.
    Os,
}

/// The mode of [`Disk::open`]: reading or writing, and creating a missing file or not.
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

    /// Creates a temporary file: one without a name (`O_TMPFILE`), or, where the system or the file
    /// system has none, one with a unique name in `tmp/`, a directory that is created when it is
    /// missing. It is removed when it is dropped without [`Disk::link`]. A crash leaves the names in
    /// `tmp/`: the owner of the directory removes them all at start.
    fn create_temporary(&self) -> io::Result<Box<dyn DiskFile>>;

    /// Gives a temporary file the name `path`. Fails with `AlreadyExists` when the name is taken;
    /// it never replaces. The name is durable after [`Disk::sync_dir`] of the parent.
    fn link(&self, file: &dyn DiskFile, path: &str) -> io::Result<()>;

    /// Renames the file `from` to `to`, replacing `to`. Durable after syncing both directories.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file. `NotFound` when it is not there.
    fn remove(&self, path: &str) -> io::Result<()>;

    /// Creates a directory; its parent must exist. An existing directory is fine.
    fn create_dir(&self, path: &str) -> io::Result<()>;

    /// Makes the names in the directory `path` durable.
    fn sync_dir(&self, path: &str) -> io::Result<()>;

    /// Names in the directory `path`, in no particular order.
    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>>;

    /// The identity of the file or directory at `path`: another one has another, also one that was made
    /// again with the same name. A disk that cannot tell gives the same for all.
    fn identity(&self, path: &str) -> io::Result<FileIdentity> {
        self.open(path, OpenMode::Read).map(|_| FileIdentity::default())
    }

    /// Bytes that an unprivileged writer can still store.
    fn free_bytes(&self) -> io::Result<u64>;

    /// Bytes of the device; `None` where that says nothing.
    ///
    /// # Errors
    /// Those of asking for it.
    fn capacity_bytes(&self) -> io::Result<Option<u64>> {
        Ok(None)
    }

    /// The poison flag of this disk.
    fn health(&self) -> &Health;
}

impl dyn Disk {
    /// Removes a file if it is there.
    ///
    /// # Errors
    /// Those of [`Disk::remove`], but `NotFound`.
    pub fn remove_if_there(&self, path: &str) -> io::Result<()> {
        match self.remove(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }
}

/// The identity of a file on this machine while it exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileIdentity {
    device: u64,
    inode: u64,
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// The name, without any directory.
    pub name: String,
    /// `true` for a directory.
    pub is_dir: bool,
}

/// An open file. Reads and writes are positional, so one handle serves many threads.
pub trait DiskFile: Debug + Send + Sync + 'static {
    /// Reads into `buf` from `offset`. Returns the number of bytes, which is smaller only at the end of the
    /// file.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Like [`DiskFile::read_at`], but from the page cache only: `None` if the call might have to wait
    /// for the device, if only for a part of `buf`. Always `None` on systems without such a call.
    fn try_read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<Option<usize>>;

    /// Writes all of `buf` at `offset`. After an error any part of it may have been written.
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()>;

    /// Like [`DiskFile::write_at`], but past the page cache (`O_DIRECT`) if the file system can: for many
    /// bytes that are not read again soon. This avoids a copy and the allocation of pages, but waits for
    /// the device. An ordinary write unless the address of `buf`, its length and `offset` are multiples of
    /// [`UNCACHED_ALIGNMENT`]. Not durable before [`DiskFile::sync_data`] either.
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

    /// A hint to start writing dirty pages back without waiting (`sync_file_range`), so that a later
    /// [`DiskFile::sync_data`] has less to do. Only a hint: it guarantees nothing.
    fn start_writeback(&self, offset: u64, bytes: u64);

    /// Locks the file exclusively, until the handle is dropped; `ResourceBusy` while another handle of the
    /// same file has the lock, also one of this process.
    fn try_lock(&self) -> io::Result<()>;

    /// The descriptor of this file, for mapping it for reading; `None` when there is none, as on the
    /// simulated disk. Nothing may be written through it: that would bypass [`Health`].
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// `true` if the file is known to be on no device, as on tmpfs: a sync costs nothing then.
    fn is_in_memory(&self) -> bool {
        false
    }

    /// A hint to allocate the space for `bytes` from `offset` at once, before many small writes there.
    /// The length does not change. Only a hint: it guarantees nothing.
    fn reserve(&self, offset: u64, bytes: u64) {
        let _ = (offset, bytes);
    }

    /// A hint that many small writes within the first `bytes` are to come, which exist: they need not be calls of the
    /// system then. They are in the page cache as after any other write. The hint
    /// ends where the file is cut. Only a hint: it guarantees nothing.
    fn expect_small_writes(&self, bytes: u64) {
        let _ = bytes;
    }

    /// For [`Disk::link`]: the concrete file.
    fn as_any(&self) -> &dyn std::any::Any;
}
