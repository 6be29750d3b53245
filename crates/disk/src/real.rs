//! The disk that is a directory of the file system.

use std::any::Any;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rustix::fs::{self as calls, AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::{Errno, ReadWriteFlags, retry_on_intr};

use crate::{DirEntry, Disk, DiskFile, Health, OpenMode, UNCACHED_ALIGNMENT, lock, path};

/// Files are the server's own: nobody else has business with them.
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
const DIRECTORY_MODE: Mode = Mode::RWXU;

/// Where temporary files get a name if the file system has none without.
const TEMPORARY_DIRECTORY: &str = "tmp";

/// A directory of the file system. Clones share its health.
#[derive(Clone, Debug)]
pub struct RealDisk {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// All paths start here, so the disk stays the same when the directory is moved.
    root: OwnedFd,
    health: Health,
    /// Whether temporary files are made without a name. Given up at the first refusal.
    has_unnamed_files: AtomicBool,
    next_temporary: AtomicU64,
}

impl RealDisk {
    /// Opens the directory `root`; it is created if it is missing. Nothing in it is touched.
    ///
    /// # Errors
    /// Why the directory cannot be created or opened, with its path.
    pub fn open(root: &Path) -> io::Result<Self> {
        create_durably(root).map_err(|error| explain(root, &error))?;
        Self::open_existing(root)
    }

    /// Opens the directory `root`, which must be there.
    ///
    /// # Errors
    /// Why the directory cannot be opened, with its path.
    pub fn open_existing(root: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = calls::open(root, flags, Mode::empty())
            .map_err(|error| explain(root, &error.into()))?;
        Ok(Self {
            shared: Arc::new(Shared {
                root,
                health: Health::new(),
                // A file without a name is linked by its name in /proc, which a bare container may
                // lack.
                has_unnamed_files: AtomicBool::new(Path::new("/proc/self/fd").exists()),
                next_temporary: AtomicU64::new(0),
            }),
        })
    }

    fn file(&self, file: OwnedFd, name: &str, temporary: Option<Temporary>) -> Box<dyn DiskFile> {
        Box::new(RealFile {
            file: File::from(file),
            name: name.into(),
            shared: Arc::clone(&self.shared),
            temporary: temporary.map(Mutex::new),
            uncached: OnceLock::new(),
        })
    }

    fn open_directory(&self, path: &str) -> io::Result<OwnedFd> {
        path::check_directory(path)?;
        let path = if path.is_empty() { "." } else { path };
        self.open_at(path, OFlags::RDONLY | OFlags::DIRECTORY)
    }

    fn open_at(&self, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC;
        Ok(retry_on_intr(|| calls::openat(&self.shared.root, path, flags, FILE_MODE))?)
    }

    fn create_named_temporary(&self) -> io::Result<Box<dyn DiskFile>> {
        loop {
            let number = self.shared.next_temporary.fetch_add(1, Ordering::Relaxed);
            let name = format!("{TEMPORARY_DIRECTORY}/{}-{number}", std::process::id());
            match self.open_at(&name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL) {
                // Left behind by a dead process of the same id.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
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
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
        match retry_on_intr(|| calls::openat(&self.shared.root, ".", flags, FILE_MODE)) {
            Ok(file) => Ok(self.file(file, "a temporary file", Some(Temporary::Unnamed))),
            // ISDIR and INVAL come from kernels and file systems that do not know the flag at all.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOSYS) => {
                self.shared.has_unnamed_files.store(false, Ordering::Relaxed);
                self.create_named_temporary()
            }
            Err(error) => Err(error.into()),
        }
    }

    fn link(&self, file: &dyn DiskFile, path: &str) -> io::Result<()> {
        self.shared.health.check()?;
        path::check_file(path)?;
        let file = file
            .as_any()
            .downcast_ref::<RealFile>()
            .filter(|file| Arc::ptr_eq(&file.shared, &self.shared))
            .ok_or_else(|| not_linkable("a file of another disk"))?;
        let temporary = file.temporary.as_ref().ok_or_else(|| not_linkable("a named file"))?;
        // Held over the call, so that two threads cannot both give it a name.
        let mut temporary = temporary.lock();
        let root = &self.shared.root;
        match &*temporary {
            Temporary::Linked => return Err(not_linkable("a temporary file that has a name")),
            Temporary::Unnamed => {
                let by_descriptor = format!("/proc/self/fd/{}", file.file.as_raw_fd());
                calls::linkat(calls::CWD, by_descriptor, root, path, AtFlags::SYMLINK_FOLLOW)?;
            }
            Temporary::Named(name) => {
                match calls::renameat_with(root, name, root, path, RenameFlags::NOREPLACE) {
                    Ok(()) => {}
                    // Network file systems cannot rename without replacing, but they can link.
                    Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                        calls::linkat(root, name, root, path, AtFlags::empty())?;
                        // The file has its name; a second one in `tmp/` is swept at the next start.
                        let _ = calls::unlinkat(root, name, AtFlags::empty());
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
        *temporary = Temporary::Linked;
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.shared.health.check()?;
        path::check_file(from)?;
        path::check_file(to)?;
        Ok(calls::renameat(&self.shared.root, from, &self.shared.root, to)?)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.shared.health.check()?;
        path::check_file(path)?;
        Ok(calls::unlinkat(&self.shared.root, path, AtFlags::empty())?)
    }

    fn create_dir(&self, path: &str) -> io::Result<()> {
        self.shared.health.check()?;
        path::check_directory(path)?;
        if path.is_empty() {
            return Ok(());
        }
        match calls::mkdirat(&self.shared.root, path, DIRECTORY_MODE) {
            // A file of that name is an error; opening says so.
            Err(Errno::EXIST) => self.open_directory(path).map(drop),
            result => Ok(result?),
        }
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        self.shared.health.check()?;
        // Not being able to open it loses nothing; only a failed sync does.
        let directory = self.open_directory(path)?;
        retry_on_intr(|| calls::fsync(&directory)).map_err(|error| {
            let error = io::Error::from(error);
            let health = &self.shared.health;
            health.poison(format!("the sync of the directory {path:?} failed: {error}"));
            error
        })
    }

    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>> {
        let directory = self.open_directory(path)?;
        let mut entries = Vec::new();
        for entry in calls::Dir::read_from(&directory)? {
            let entry = entry?;
            // Whatever is not UTF-8 is not ours. It cannot be opened by this name, but it is there.
            let name = entry.file_name().to_string_lossy();
            if matches!(&*name, "." | "..") {
                continue;
            }
            let is_dir = match entry.file_type() {
                calls::FileType::Directory => true,
                calls::FileType::Unknown => {
                    match calls::statat(&directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                        Ok(stat) => calls::FileType::from_raw_mode(stat.st_mode).is_dir(),
                        // Removed since.
                        Err(Errno::NOENT) => continue,
                        Err(error) => return Err(error.into()),
                    }
                }
                _ => false,
            };
            entries.push(DirEntry { name: name.into_owned(), is_dir });
        }
        Ok(entries)
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let numbers = calls::fstatvfs(&self.shared.root)?;
        Ok(numbers.f_bavail.saturating_mul(numbers.f_frsize))
    }

    fn health(&self) -> &Health {
        &self.shared.health
    }
}

/// What a temporary file still is.
#[derive(Debug)]
enum Temporary {
    Unnamed,
    /// Its path below `tmp/`, to be removed unless it gets another.
    Named(String),
    /// An ordinary file by now.
    Linked,
}

#[derive(Debug)]
struct RealFile {
    file: File,
    /// For messages: the path when it was opened.
    name: Box<str>,
    shared: Arc<Shared>,
    temporary: Option<Mutex<Temporary>>,
    /// The same file once more, for writes past the page cache; `None` if the file system has none.
    uncached: OnceLock<Option<File>>,
}

impl RealFile {
    fn uncached(&self) -> Option<&File> {
        let open = || {
            let by_descriptor = format!("/proc/self/fd/{}", self.file.as_raw_fd());
            let flags = OFlags::WRONLY | OFlags::DIRECT | OFlags::CLOEXEC;
            calls::open(by_descriptor, flags, Mode::empty()).ok().map(File::from)
        };
        self.uncached.get_or_init(open).as_ref()
    }
}

/// Fills `buf` from `offset` on; fewer bytes only where the file ends.
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

/// See [`DiskFile::reserve`].
#[cfg(target_os = "linux")]
pub(crate) fn reserve(file: &File, offset: u64, bytes: u64) {
    // Who then writes is told what is wrong.
    let _ = calls::fallocate(file, calls::FallocateFlags::KEEP_SIZE, offset, bytes);
}

impl DiskFile for RealFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        read_fully(&self.file, buf, offset)
    }

    fn try_read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
        let wanted = buf.len();
        let mut slices = [IoSliceMut::new(buf)];
        let result = retry_on_intr(|| {
            rustix::io::preadv2(&self.file, &mut slices, offset, ReadWriteFlags::NOWAIT)
        });
        match result {
            Ok(count) if count == wanted => Ok(Some(count)),
            // Either the file ends here, or memory holds no more of it.
            Ok(count) if offset.saturating_add(count as u64) >= self.len()? => Ok(Some(count)),
            Ok(_) | Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.shared.health.check()?;
        self.file.write_all_at(buf, offset)
    }

    fn write_uncached_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.shared.health.check()?;
        let is_aligned = buf.as_ptr().addr().is_multiple_of(UNCACHED_ALIGNMENT)
            && buf.len().is_multiple_of(UNCACHED_ALIGNMENT)
            && offset.is_multiple_of(UNCACHED_ALIGNMENT as u64);
        if let Some(file) = self.uncached().filter(|_| is_aligned) {
            match file.write_all_at(buf, offset) {
                // Some file systems find out only now that they cannot.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
                result => return result,
            }
        }
        self.file.write_all_at(buf, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.shared.health.check()?;
        self.file.set_len(bytes)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.shared.health.check()?;
        // Through the descriptor that wrote: one opened later might not be told of an earlier loss.
        retry_on_intr(|| calls::fdatasync(self.file.as_fd())).map_err(|error| {
            let error = io::Error::from(error);
            self.shared.health.poison(format!("the sync of {} failed: {error}", self.name));
            error
        })
    }

    /// `sync_file_range` cannot be called without `unsafe`. This advice does the same on Linux and
    /// was measured to: it starts writing the dirty pages and drops only those that were clean
    /// before, which the pages just written are not.
    fn start_writeback(&self, offset: u64, bytes: u64) {
        // No length would mean up to the end.
        if let Some(bytes) = NonZeroU64::new(bytes) {
            let _ = calls::fadvise(&self.file, offset, Some(bytes), calls::Advice::DontNeed);
        }
    }

    #[cfg(target_os = "linux")]
    fn reserve(&self, offset: u64, bytes: u64) {
        if self.shared.health.check().is_ok() {
            reserve(&self.file, offset, bytes);
        }
    }

    #[cfg(target_os = "linux")]
    fn is_in_memory(&self) -> bool {
        // tmpfs and ramfs, in the kernel's linux/magic.h.
        calls::fstatfs(&self.file).is_ok_and(|it| matches!(it.f_type, 0x0102_1994 | 0x8584_58f6))
    }

    fn try_lock(&self) -> io::Result<()> {
        let operation = calls::FlockOperation::NonBlockingLockExclusive;
        match retry_on_intr(|| calls::flock(&self.file, operation)) {
            Ok(()) => Ok(()),
            Err(Errno::WOULDBLOCK) => Err(lock::file_in_use(&self.name)),
            Err(error) => Err(error.into()),
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
        if let Some(Temporary::Named(name)) = self.temporary.as_mut().map(Mutex::get_mut) {
            // One that cannot be removed is swept at the next start, as after a crash.
            let _ = calls::unlinkat(&self.shared.root, name.as_str(), AtFlags::empty());
        }
    }
}

fn not_linkable(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{what} cannot be linked"))
}

/// Creates `directory` with its parents and makes the new names durable.
fn create_durably(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    let parent = match directory.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    create_durably(parent)?;
    match std::fs::create_dir(directory) {
        // Another process was faster. A file of that name is found out when it is opened.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        result => result?,
    }
    File::open(parent)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::is_poisoned;

    fn disk_with_named_temporaries() -> (tempfile::TempDir, RealDisk) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let disk = RealDisk::open(directory.path()).expect("opens");
        disk.create_dir(TEMPORARY_DIRECTORY).expect("created");
        disk.shared.has_unnamed_files.store(false, Ordering::Relaxed);
        (directory, disk)
    }

    #[test]
    fn a_file_on_tmpfs_is_in_memory_and_so_is_one_without_a_disk() {
        // Where Linux has it at all, it is a tmpfs.
        if let Ok(directory) = tempfile::tempdir_in("/dev/shm") {
            let disk = RealDisk::open(directory.path()).expect("opens");
            assert!(disk.create_temporary().expect("created").is_in_memory());
        }
        assert!(crate::memory_file("body").expect("created").is_in_memory());
        let sources = RealDisk::open(std::path::Path::new(env!("CARGO_MANIFEST_DIR")));
        let manifest = sources.expect("opens").open("Cargo.toml", OpenMode::Read).expect("opens");
        let kind = calls::statfs(env!("CARGO_MANIFEST_DIR")).expect("a file system").f_type;
        assert_eq!(manifest.is_in_memory(), kind == 0x0102_1994);
    }

    #[test]
    fn without_unnamed_files_a_temporary_file_lives_in_tmp_until_linked_or_dropped() {
        let (_directory, disk) = disk_with_named_temporaries();
        let file = disk.create_temporary().expect("created");
        let other = disk.create_temporary().expect("created");
        assert_eq!(disk.list(TEMPORARY_DIRECTORY).expect("listed").len(), 2);
        file.write_at(b"body", 0).expect("written");
        disk.link(&*file, "a").expect("linked");
        let taken = disk.link(&*other, "a").expect_err("taken");
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
        let again = disk.link(&*file, "b").expect_err("has a name");
        assert_eq!(again.kind(), io::ErrorKind::InvalidInput);
        drop((file, other));
        assert_eq!(disk.list(TEMPORARY_DIRECTORY).expect("listed"), []);
        assert_eq!(disk.open("a", OpenMode::Read).expect("opens").len().expect("length"), 4);
    }

    #[test]
    fn a_name_left_behind_by_a_dead_process_is_stepped_over() {
        let (directory, disk) = disk_with_named_temporaries();
        let left = format!("{TEMPORARY_DIRECTORY}/{}-0", std::process::id());
        std::fs::write(directory.path().join(&left), "left behind").expect("written");
        let file = disk.create_temporary().expect("created");
        assert!(file.is_empty().expect("length"));
    }

    #[test]
    fn the_end_of_the_file_is_no_reason_to_wait() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let disk = RealDisk::open(directory.path()).expect("opens");
        let file = disk.open("a", OpenMode::CreateOrWrite).expect("created");
        file.write_at(&[1; 9000], 0).expect("written");
        let read = |offset| file.try_read_at(&mut [0; 1000], offset).expect("readable");
        // A file system that cannot say what is in memory never answers.
        if read(0).is_some() {
            assert_eq!([read(0), read(8500), read(9000)], [Some(1000), Some(500), Some(0)]);
        }
    }

    #[test]
    fn a_failed_file_sync_poisons_the_disk() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let disk = RealDisk::open(directory.path()).expect("opens");
        let good = disk.open("good", OpenMode::CreateOrWrite).expect("created");
        // A pipe cannot be synced.
        let (reader, _writer) = io::pipe().expect("a pipe");
        let bad = disk.file(reader.into(), "bad", None);
        let error = bad.sync_data().expect_err("not a file");
        assert!(!is_poisoned(&error), "the first error is the cause itself: {error}");
        assert!(disk.health().reason().is_some_and(|reason| reason.contains("bad")));
        assert!(is_poisoned(&good.write_at(b"x", 0).expect_err("refused")));
        assert!(is_poisoned(&good.sync_data().expect_err("refused")));
    }

    #[test]
    fn a_failed_directory_sync_poisons_the_disk_but_a_missing_directory_does_not() {
        // The process file system lets nobody sync its directories.
        let disk = RealDisk::open(Path::new("/proc/self")).expect("opens");
        let missing = disk.sync_dir("missing").expect_err("missing");
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        assert!(disk.health().check().is_ok());
        disk.sync_dir("").expect_err("cannot be synced");
        assert!(is_poisoned(&disk.sync_dir("").expect_err("refused")));
    }

    #[test]
    fn missing_parents_of_the_root_are_created() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let root = directory.path().join("a/b/c");
        RealDisk::open(&root).expect("created");
        RealDisk::open(&root).expect("opened again");
        std::fs::write(root.join("file"), "").expect("written");
        let error = RealDisk::open(&root.join("file")).expect_err("not a directory");
        assert!(error.to_string().contains("a/b/c/file"), "{error}");
    }
}
