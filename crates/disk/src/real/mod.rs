//! The disk that is a directory of the file system.

mod failure;
mod file;
mod mapped;
#[cfg(test)]
mod tests;

use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::fs::{self as calls, AtFlags, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

use self::failure::failed;
use self::file::{RealFile, Temporary};
use crate::platform::{Calls, FILE_MODE, System};
use crate::{DirEntry, Disk, DiskFile, FileIdentity, Health, OpenMode, TEMPORARY_DIRECTORY, path};

pub(crate) use self::file::read_fully;

/// Name of an unnamed file in messages.
const TEMPORARY: &str = "a temporary file";

/// Permissions of new directories: all for the server's own user, nothing for others.
const DIRECTORY_MODE: Mode = Mode::RWXU;

/// A directory of the file system. Clones share its health.
#[derive(Clone, Debug)]
pub struct RealDisk {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// All paths start here, so the disk stays the same when the directory is moved or renamed.
    root: OwnedFd,
    /// The path that `root` was opened by, absolute if the system tells the current directory.
    path: PathBuf,
    health: Health,
    /// Directory of named temporary files.
    temporary: String,
    /// `true` until creating an unnamed file is refused for the first time.
    has_unnamed_files: AtomicBool,
}

/// Number in the name of the next named temporary file. One counter for all disks of the process: a
/// handle that outlives its disk must not delete the file of a later disk of the same directory.
static NEXT_TEMPORARY: AtomicU64 = AtomicU64::new(0);

impl RealDisk {
    /// Opens the directory `root`, creating it if it is missing. Its content is not touched.
    ///
    /// # Errors
    /// The reason why the directory cannot be created or opened, with its path.
    pub fn open(root: &Path) -> io::Result<Self> {
        create_durably(root, PRIVATE).map_err(|error| explain(root, &error))?;
        Self::open_existing(root)
    }

    /// Opens the directory `root`, which must exist.
    ///
    /// # Errors
    /// The reason why the directory cannot be opened, with its path.
    pub fn open_existing(root: &Path) -> io::Result<Self> {
        Self::open_with(root, TEMPORARY_DIRECTORY.to_owned(), System::has_unnamed_files())
    }

    /// Opens the directory `root`, which must exist, and which other processes use too, also on other
    /// machines. Every temporary file has a name, in the directory `tmp/OWN`: `own`, which is one component of a
    /// path, tells whose it is. Deleting the temporary files of a process is left to the caller.
    ///
    /// # Errors
    /// The reason why the directory cannot be opened, with its path.
    pub fn open_shared(root: &Path, own: &str) -> io::Result<Self> {
        let temporary = format!("{TEMPORARY_DIRECTORY}/{own}");
        path::check_file(&temporary)?;
        // Whether a file system has files without a name differs from one machine to the next.
        Self::open_with(root, temporary, false)
    }

    fn open_with(root: &Path, temporary: String, has_unnamed_files: bool) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let path = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        let root = calls::open(root, flags, Mode::empty())
            .map_err(|error| explain(root, &error.into()))?;
        Ok(Self {
            shared: Arc::new(Shared {
                root,
                path,
                health: Health::new(),
                temporary,
                has_unnamed_files: AtomicBool::new(has_unnamed_files),
            }),
        })
    }

    /// Gives the file `path` of another directory a second name in this one, `to`. Both names are of
    /// the same bytes from then on, so neither may be written to. The name is durable after
    /// [`Disk::sync_dir`] of its parent directory.
    ///
    /// # Errors
    /// `NotFound`, `AlreadyExists`; `CrossesDevices`, `TooManyLinks` and others where the file system
    /// cannot do it, so that the bytes have to be copied.
    pub fn link_from(&self, other: &RealDisk, path: &str, to: &str) -> io::Result<()> {
        self.shared.health.check()?;
        path::check_file(path)?;
        path::check_file(to)?;
        let (from, into) = (&other.shared.root, &self.shared.root);
        calls::linkat(from, path, into, to, AtFlags::empty()).map_err(failed("link", to))
    }

    fn file(&self, file: OwnedFd, name: &str, temporary: Option<Temporary>) -> Box<dyn DiskFile> {
        Box::new(RealFile::new(file, name, Arc::clone(&self.shared), temporary))
    }

    fn open_directory(&self, path: &str) -> io::Result<OwnedFd> {
        path::check_directory(path)?;
        let path = if path.is_empty() { "." } else { path };
        self.open_at(path, OFlags::RDONLY | OFlags::DIRECTORY)
    }

    fn open_at(&self, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC;
        retry_on_intr(|| calls::openat(&self.shared.root, path, flags, FILE_MODE))
            .map_err(failed("open", path))
    }

    fn create_named_temporary(&self) -> io::Result<Box<dyn DiskFile>> {
        let directory = &self.shared.temporary;
        let mut is_retried = false;
        loop {
            let number = NEXT_TEMPORARY.fetch_add(1, Ordering::Relaxed);
            let name = format!("{directory}/{}-{number}", std::process::id());
            match self.open_at(&name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL) {
                // Left behind by a dead process with the same id: try the next number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound && !is_retried => {
                    is_retried = true;
                    // `tmp` first, in which the directory may be.
                    self.create_dir(TEMPORARY_DIRECTORY)?;
                    self.create_dir(directory)?;
                }
                Err(error) => return Err(error),
                Ok(file) => {
                    let temporary = Temporary::Named(name.clone());
                    return Ok(self.file(file, &name, Some(temporary)));
                }
            }
        }
    }
}

fn explain(root: &Path, error: &io::Error) -> io::Error {
    let message = format!("cannot open the directory {}: {error}", root.display());
    io::Error::new(error.kind(), message)
}

impl Disk for RealDisk {
    fn open(&self, path: &str, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        path::check_file(path)?;
        let flags = match mode {
            OpenMode::Read => OFlags::RDONLY,
            OpenMode::Write => OFlags::RDWR,
            OpenMode::CreateOrWrite => {
                self.shared.health.check()?;
                OFlags::RDWR | OFlags::CREATE
            }
        };
        Ok(self.file(self.open_at(path, flags)?, path, None))
    }

    fn create_temporary(&self) -> io::Result<Box<dyn DiskFile>> {
        self.shared.health.check()?;
        if !self.shared.has_unnamed_files.load(Ordering::Relaxed) {
            return self.create_named_temporary();
        }
        let unnamed = System::create_unnamed(self.shared.root.as_fd());
        match unnamed.map_err(failed("create", TEMPORARY))? {
            Some(file) => Ok(self.file(file, TEMPORARY, Some(Temporary::Unnamed))),
            None => {
                self.shared.has_unnamed_files.store(false, Ordering::Relaxed);
                self.create_named_temporary()
            }
        }
    }

    fn link(&self, file: &dyn DiskFile, path: &str) -> io::Result<()> {
        self.shared.health.check()?;
        path::check_file(path)?;
        let file = file
            .as_any()
            .downcast_ref::<RealFile>()
            .filter(|file| file.is_of(&self.shared))
            .ok_or_else(|| not_linkable("a file of another disk"))?;
        // Locked over the call, so that two threads cannot both name the file.
        let mut temporary = file.temporary().ok_or_else(|| not_linkable("a named file"))?;
        let root = self.shared.root.as_fd();
        match &*temporary {
            Temporary::Linked => return Err(not_linkable("a temporary file that has a name")),
            Temporary::Unnamed => System::link_unnamed(file.as_fd(), root, path),
            Temporary::Named(name) => System::rename_without_replacing(root, name, path),
        }
        .map_err(failed("link", path))?;
        *temporary = Temporary::Linked;
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.shared.health.check()?;
        path::check_file(from)?;
        path::check_file(to)?;
        calls::renameat(&self.shared.root, from, &self.shared.root, to)
            .map_err(failed("rename", from))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.shared.health.check()?;
        path::check_file(path)?;
        match calls::unlinkat(&self.shared.root, path, AtFlags::empty()) {
            // Linux reports ISDIR; POSIX requires PERM.
            Err(Errno::PERM) if self.open_directory(path).is_ok() => Err(Errno::ISDIR),
            result => result,
        }
        .map_err(failed("remove", path))
    }

    fn create_dir(&self, path: &str) -> io::Result<()> {
        self.shared.health.check()?;
        path::check_directory(path)?;
        if path.is_empty() {
            return Ok(());
        }
        match calls::mkdirat(&self.shared.root, path, DIRECTORY_MODE) {
            // The name may belong to a file, which is an error: opening it as a directory tells.
            Err(Errno::EXIST) => self.open_directory(path).map(drop),
            result => result.map_err(failed("create", path)),
        }
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        self.shared.health.check()?;
        // A directory that cannot be opened has lost nothing; only a failed sync poisons the disk.
        let directory = self.open_directory(path)?;
        System::sync_directory(directory.as_fd()).map_err(|error| {
            let health = &self.shared.health;
            health.poison(format!("the sync of the directory {path:?} failed: {error}"));
            failed("sync", path)(error)
        })
    }

    fn sync_everything(&self) -> io::Result<bool> {
        self.shared.health.check()?;
        System::sync_file_system(self.shared.root.as_fd()).map_err(|error| {
            self.shared.health.poison(format!("the sync of the file system failed: {error}"));
            failed("sync", "")(error)
        })
    }

    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>> {
        let directory = self.open_directory(path)?;
        let mut entries = Vec::new();
        for entry in calls::Dir::read_from(&directory).map_err(failed("list", path))? {
            let entry = entry.map_err(failed("list", path))?;
            // A name that is not UTF-8 is not ours. It is listed, but cannot be opened by the
            // replaced text.
            let name = entry.file_name().to_string_lossy();
            if matches!(&*name, "." | "..") {
                continue;
            }
            let is_dir = match entry.file_type() {
                calls::FileType::Directory => true,
                calls::FileType::Unknown => {
                    match calls::statat(&directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                        Ok(stat) => calls::FileType::from_raw_mode(stat.st_mode).is_dir(),
                        // Removed since it was listed.
                        Err(Errno::NOENT) => continue,
                        Err(error) => return Err(failed("list", path)(error)),
                    }
                }
                _ => false,
            };
            entries.push(DirEntry { name: name.into_owned(), is_dir });
        }
        Ok(entries)
    }

    fn identity(&self, path: &str) -> io::Result<FileIdentity> {
        path::check_file(path)?;
        let found = calls::statat(&self.shared.root, path, AtFlags::SYMLINK_NOFOLLOW);
        let found = found.map_err(failed("find", path))?;
        Ok(FileIdentity { device: found.st_dev as u64, inode: found.st_ino })
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let numbers = calls::fstatvfs(&self.shared.root);
        let numbers = numbers.map_err(failed("ask for the free space of", ""))?;
        Ok(numbers.f_bavail.saturating_mul(numbers.f_frsize))
    }

    fn capacity_bytes(&self) -> io::Result<Option<u64>> {
        let numbers = calls::fstatvfs(&self.shared.root);
        let numbers = numbers.map_err(failed("ask for the size of the device", ""))?;
        Ok(Some(numbers.f_blocks.saturating_mul(numbers.f_frsize)))
    }

    fn is_in_place(&self) -> bool {
        let Ok(open) = calls::fstat(&self.shared.root) else { return true };
        match calls::stat(self.shared.path.as_path()) {
            Ok(there) => (there.st_dev, there.st_ino) == (open.st_dev, open.st_ino),
            // Any other error, such as a lack of memory, proves nothing.
            Err(error) => !matches!(error, Errno::NOENT | Errno::NOTDIR),
        }
    }

    fn health(&self) -> &Health {
        &self.shared.health
    }
}

fn not_linkable(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{what} cannot be linked"))
}

/// Mode of a created data directory: access for its owner only. The mode of an existing one is left
/// as it is.
const PRIVATE: u32 = 0o700;
/// Mode of created parent directories, less the umask.
const ORDINARY: u32 = 0o777;

/// Creates `directory` with its parents, from the top down, and makes each new name durable before
/// the next one is created below it.
fn create_durably(directory: &Path, mode: u32) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    let parent = match directory.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    create_durably(parent, ORDINARY)?;
    match DirBuilder::new().mode(mode).create(directory) {
        // Another process was faster. If the name belongs to a file, opening it reports that.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        result => result?,
    }
    System::sync_directory(File::open(parent)?.as_fd())
}
