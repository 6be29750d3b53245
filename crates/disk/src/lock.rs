//! The lock that excludes a second process from a data directory.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, retry_on_intr};

/// The name of the lock file in the data directory.
const LOCK_FILE: &str = "lock";

/// The lock of a data directory, released when dropped: exclusive for a writer, shared among
/// readers.
///
/// It is an `flock` on the file `lock`. The kernel releases it when the process ends, in whatever
/// way, so a leftover file is harmless. The file holds the process id of the last exclusive holder,
/// for the error message of a second process.
#[derive(Debug)]
pub struct DirectoryLock {
    file: File,
}

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        // Closing a file releases its `flock` only with the last copy of the descriptor. A child
        // that another thread has forked holds a copy until it executes its program, so the lock is
        // released explicitly. On an error that copy decides.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl DirectoryLock {
    /// Takes the lock of the existing directory `root`.
    ///
    /// # Errors
    /// `ResourceBusy`, with directory and holder in the message, if the directory is in use, also
    /// by this process; otherwise the error of creating or writing the lock file.
    pub fn acquire(root: &Path) -> io::Result<Self> {
        let explain = |action: &str, error: io::Error| explain(root, action, &error);
        // Not truncated: until the lock is taken, the content belongs to the holder.
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(root.join(LOCK_FILE))
            .map_err(|error| explain("cannot open", error))?;
        match try_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(in_use(root, &mut file)),
            Err(error) => return Err(explain("cannot lock", error.into())),
        }
        // Overwrite first, truncate afterwards: that needs no new space, so a directory that was
        // used before opens on a full disk. A concurrent reader sees the new id on the first line.
        let holder = format!("{}\n", std::process::id());
        file.write_all_at(holder.as_bytes(), 0)
            .and_then(|()| file.set_len(holder.len() as u64))
            .map_err(|error| explain("cannot write", error))?;
        Ok(Self { file })
    }

    /// Takes the lock of the existing directory `root` shared with other readers, and writes
    /// nothing. `None` if there is no lock file, or this process may not read it; nothing excludes
    /// a writer then.
    ///
    /// # Errors
    /// `ResourceBusy`, with directory and holder in the message, if a writer has the directory;
    /// otherwise the error of opening or locking the lock file.
    pub fn share(root: &Path) -> io::Result<Option<Self>> {
        let mut file = match File::open(root.join(LOCK_FILE)) {
            Ok(file) => file,
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => return Ok(None),
                _ => return Err(explain(root, "cannot open", &error)),
            },
        };
        match try_lock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(Some(Self { file })),
            Err(Errno::WOULDBLOCK) => Err(in_use(root, &mut file)),
            Err(error) => Err(explain(root, "cannot lock", &error.into())),
        }
    }
}

fn try_lock(file: &File, operation: FlockOperation) -> Result<(), Errno> {
    retry_on_intr(|| flock(file, operation))
}

fn explain(root: &Path, action: &str, error: &io::Error) -> io::Error {
    let message = format!("{action} the lock file in {}: {error}", root.display());
    io::Error::new(error.kind(), message)
}

/// The error for a file that another handle has locked.
pub(crate) fn file_in_use(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::ResourceBusy, format!("{name} is in use"))
}

fn in_use(root: &Path, file: &mut File) -> io::Error {
    let directory = root.display();
    let busy = |holder: String| {
        io::Error::new(
            io::ErrorKind::ResourceBusy,
            format!("{directory} is in use by {holder}: stop it, or name another directory"),
        )
    };
    // The id in the file belongs to the last writer. If a shared lock succeeds, the holders are
    // readers, who leave no id.
    if try_lock(file, FlockOperation::NonBlockingLockShared).is_ok() {
        return busy("another process that reads it".to_owned());
    }
    let mut content = String::new();
    // The holder may not have written its id yet; the message then has none.
    let holder = match file.take(32).read_to_string(&mut content) {
        Ok(_) => content.lines().next().and_then(|line| line.parse::<u32>().ok()),
        Err(_) => None,
    };
    busy(match holder {
        Some(id) if id == std::process::id() => format!("this process ({id})"),
        Some(id) => format!("process {id}"),
        None => "another process".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_opening_is_told_who_holds_the_directory_until_the_first_is_dropped() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let first = DirectoryLock::acquire(directory.path()).expect("free");
        let error = DirectoryLock::acquire(directory.path()).expect_err("taken");
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
        let message = error.to_string();
        assert!(message.contains(&std::process::id().to_string()), "{message}");
        assert!(message.contains(&directory.path().display().to_string()), "{message}");
        drop(first);
        DirectoryLock::acquire(directory.path()).expect("free again");
    }

    /// A child process has a copy of every file between its beginning and its program.
    #[test]
    fn a_copy_of_its_file_in_a_child_process_keeps_nobody_out() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let first = DirectoryLock::acquire(directory.path()).expect("free");
        let _in_child = first.file.try_clone().expect("a copy");
        drop(first);
        DirectoryLock::acquire(directory.path()).expect("free again");
    }

    #[test]
    fn the_id_of_a_dead_holder_is_replaced_by_a_shorter_one() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(directory.path().join(LOCK_FILE), "4294967295000\nleft behind\n")
            .expect("written");
        let _lock = DirectoryLock::acquire(directory.path()).expect("free");
        let content = std::fs::read_to_string(directory.path().join(LOCK_FILE)).expect("readable");
        assert_eq!(content, format!("{}\n", std::process::id()));
    }

    #[test]
    fn readers_share_the_directory_and_keep_writers_away() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path();
        assert!(DirectoryLock::share(path).expect("nothing to lock").is_none());
        assert!(!path.join(LOCK_FILE).exists());
        let writer = DirectoryLock::acquire(path).expect("free");
        let error = DirectoryLock::share(path).expect_err("taken");
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
        assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
        drop(writer);
        let readers = [(); 2].map(|()| DirectoryLock::share(path).expect("free").expect("there"));
        let error = DirectoryLock::acquire(path).expect_err("taken");
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
        assert!(error.to_string().contains("another process that reads it"), "{error}");
        drop(readers);
        DirectoryLock::acquire(path).expect("free again");
    }

    #[test]
    fn a_missing_directory_is_named() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let missing = directory.path().join("missing");
        let error = DirectoryLock::acquire(&missing).expect_err("missing");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("missing"), "{error}");
    }
}
