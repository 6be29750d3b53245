//! The lock that excludes a second process from a data directory.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

/// The name of the lock file in the data directory.
const LOCK_FILE: &str = "lock";

/// The exclusive lock of a data directory, released when dropped.
///
/// It is an `flock` on the file `lock`, which therefore may stay behind: the kernel releases the lock
/// when the process ends, however it ends. The file holds the process id of the holder, for the error
/// of a second process.
#[derive(Debug)]
pub struct DirectoryLock {
    // Closing the file releases the lock.
    _file: File,
}

impl DirectoryLock {
    /// Takes the lock of the existing directory `root`.
    ///
    /// # Errors
    /// `ResourceBusy`, with directory and holder in the message, if the directory is in use, also by this
    /// process; otherwise the error of creating or writing the lock file.
    pub fn acquire(root: &Path) -> io::Result<Self> {
        let explain = |action: &str, error: io::Error| {
            let kind = error.kind();
            io::Error::new(kind, format!("{action} the lock file in {}: {error}", root.display()))
        };
        // Not truncated: until the lock is ours, the content is the holder's.
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(root.join(LOCK_FILE))
            .map_err(|error| explain("cannot open", error))?;
        match rustix::io::retry_on_intr(|| flock(&file, FlockOperation::NonBlockingLockExclusive)) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(in_use(root, &mut file)),
            Err(error) => return Err(explain("cannot lock", error.into())),
        }
        // Overwrites the old content before truncating, which needs no space, so a used directory can be
        // opened on a full disk. A reader in between sees the new id on the first line.
        let holder = format!("{}\n", std::process::id());
        file.write_all_at(holder.as_bytes(), 0)
            .and_then(|()| file.set_len(holder.len() as u64))
            .map_err(|error| explain("cannot write", error))?;
        Ok(Self { _file: file })
    }
}

/// The refusal of a file that another handle has locked.
pub(crate) fn file_in_use(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::ResourceBusy, format!("{name} is in use"))
}

fn in_use(root: &Path, file: &mut File) -> io::Error {
    let mut content = String::new();
    // The holder may not have written its id yet; then the message is without it.
    let holder = match file.take(32).read_to_string(&mut content) {
        Ok(_) => content.lines().next().and_then(|line| line.parse::<u32>().ok()),
        Err(_) => None,
    };
    let holder = match holder {
        Some(id) if id == std::process::id() => format!("this process ({id})"),
        Some(id) => format!("process {id}"),
        None => "another process".to_owned(),
    };
    let directory = root.display();
    io::Error::new(io::ErrorKind::ResourceBusy, format!("{directory} is in use by {holder}"))
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
    fn a_missing_directory_is_named() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let missing = directory.path().join("missing");
        let error = DirectoryLock::acquire(&missing).expect_err("missing");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("missing"), "{error}");
    }
}
