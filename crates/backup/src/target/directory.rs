//! [`DirectoryTarget`]: a directory of this machine.
//!
//! An object is a file. It is written without a name, or below `tmp/` where the file system has no such
//! files, synced, and named by a link that never replaces another; a replaced one is linked below `tmp/`
//! first and renamed. Then the directory is synced.

use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use liteio_disk::{DirectoryLock, Disk, OpenMode, RealDisk};
use parking_lot::Mutex;

use super::name::{TEMPORARY, check, check_object, is_component, too_large};
use super::{Listed, PutMode, Target, TargetError};
use crate::limits::OBJECT_BYTES_MAX;

/// A directory of this machine, such as one of another disk or of NFS. One process writes to it, and
/// others swap: they lock a file below `tmp/`, which a network file system has to support. One that
/// does not exist is empty, and the first object creates it. Once it was there, it is never created again: its place is that
/// of a file system that is not mounted, or of a directory that was moved away.
#[derive(Debug)]
pub struct DirectoryTarget {
    root: PathBuf,
    state: Mutex<State>,
}

/// Knowledge about the directory, from earlier writes.
#[derive(Debug, Default)]
struct State {
    /// `true` once the directory was there.
    is_known: bool,
    /// `true` once files that an interrupted process left below `tmp/` are gone.
    is_clean: bool,
    /// Directories that were made, or found, and whose names are durable.
    durable: HashSet<String>,
}

/// The file in `tmp/` that is locked by a swap, and is no leftover.
const LOCK_FILE: &str = "lock";
/// Attempts to lock it, a swap of another process taking some milliseconds, and the pause between
/// two.
const LOCK_ATTEMPTS: u32 = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// Number in the name of the next replacement.
static NEXT_REPLACEMENT: AtomicU64 = AtomicU64::new(0);

impl DirectoryTarget {
    /// The target in the directory `root`, an absolute path.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), state: Mutex::default() }
    }

    /// The directory for reading; `None` if it does not exist. Every call opens it: the directory may have
    /// been mounted since the last one, and a disk that failed to sync writes no more.
    fn reader(&self) -> Result<Option<RealDisk>, TargetError> {
        match RealDisk::open_existing(&self.root) {
            Ok(disk) => {
                self.state.lock().is_known = true;
                Ok(Some(disk))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.told(&error)),
        }
    }

    /// The directory for writing, with the directory `parent` in it, whose name is durable.
    fn writer(&self, parent: &str) -> io::Result<RealDisk> {
        let is_known = self.state.lock().is_known;
        let disk = match is_known {
            true => RealDisk::open_existing(&self.root)?,
            false => RealDisk::open(&self.root)?,
        };
        // Held over the calls, so that a directory is durable before another thread counts on it.
        let mut state = self.state.lock();
        state.is_known = true;
        // By the first write only: who reads, as a restore does, must not disturb the process that writes.
        if !state.is_clean {
            remove_leftovers(&disk)?;
            state.is_clean = true;
        }
        for directory in ancestors(parent) {
            if !state.durable.contains(directory) {
                disk.create_dir(directory)?;
                disk.sync_dir(parent_of(directory))?;
                state.durable.insert(directory.to_owned());
            }
        }
        Ok(disk)
    }

    /// Locks the directory against the swaps of other processes and threads.
    fn lock(&self) -> Result<DirectoryLock, TargetError> {
        let directory = self.root.join(TEMPORARY);
        let made = self.writer("").and_then(|disk| disk.create_dir(TEMPORARY));
        made.map_err(|error| self.failed(&error))?;
        let mut attempts = 0;
        loop {
            match DirectoryLock::acquire(&directory) {
                Ok(lock) => return Ok(lock),
                Err(error)
                    if error.kind() == ErrorKind::ResourceBusy && attempts < LOCK_ATTEMPTS =>
                {
                    attempts += 1;
                    std::thread::park_timeout(LOCK_PAUSE);
                }
                Err(error) => return Err(self.told(&error)),
            }
        }
    }

    /// The error of a write. Another directory may have taken the place of the one that was known.
    fn failed(&self, error: &io::Error) -> TargetError {
        self.state.lock().durable.clear();
        self.told(error)
    }

    fn told(&self, error: &io::Error) -> TargetError {
        let shown = self.shown();
        let reason = |remedy: &str| format!("cannot use {shown}: {error}; {remedy}");
        match error.kind() {
            ErrorKind::PermissionDenied => {
                TargetError::Refused(reason("give this user the right to write there"))
            }
            ErrorKind::ReadOnlyFilesystem => {
                TargetError::Refused(reason("mount its file system for writing"))
            }
            ErrorKind::NotADirectory | ErrorKind::IsADirectory => {
                TargetError::Refused(reason("choose a directory that only backups write to"))
            }
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                TargetError::Broken(reason("make room there"))
            }
            _ => TargetError::Broken(reason("see that its file system is mounted and works")),
        }
    }

    fn store(&self, name: &str, bytes: &[u8], mode: PutMode) -> io::Result<()> {
        let parent = parent_of(name);
        let disk = self.writer(parent)?;
        let file = disk.create_temporary()?;
        file.write_at(bytes, 0)?;
        file.sync_data()?;
        match mode {
            PutMode::New => match disk.link(&*file, name) {
                // A sync of the directory may have failed behind the link, so that what exists was not
                // durable yet. The caller may rely on it.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    disk.sync_dir(parent)?;
                    Err(error)
                }
                result => result,
            }?,
            PutMode::Replace => {
                disk.create_dir(TEMPORARY)?;
                let number = NEXT_REPLACEMENT.fetch_add(1, Ordering::Relaxed);
                let replacement = format!("{TEMPORARY}/new-{}-{number}", std::process::id());
                disk.link(&*file, &replacement)?;
                disk.rename(&replacement, name)?;
            }
        }
        disk.sync_dir(parent)
    }

    /// Walks a directory in the order of names. `path` is empty or ends with a slash.
    fn walk(disk: &RealDisk, path: &str, walk: &mut Walk<'_>) -> io::Result<ControlFlow<()>> {
        let entries = match disk.list(path.trim_end_matches('/')) {
            // Nobody removes directories but the user.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(ControlFlow::Continue(()));
            }
            entries => entries?,
        };
        // Names of others, such as `lost+found`, are no objects.
        let ours = entries
            .into_iter()
            .filter(|it| is_component(&it.name) && !(path.is_empty() && it.name == TEMPORARY));
        // With its slash, a directory stands where the names in it stand.
        let mut names: Vec<String> = ours
            .map(|it| {
                if it.is_dir { format!("{path}{}/", it.name) } else { format!("{path}{}", it.name) }
            })
            .collect();
        names.sort_unstable();
        for name in names {
            if !walk.may_have(&name) {
                continue;
            }
            let flow = match name.ends_with('/') {
                true => Self::walk(disk, &name, walk)?,
                false => match disk.open(&name, OpenMode::Read).and_then(|file| file.len()) {
                    Ok(bytes) => (walk.found)(Listed { name, bytes }),
                    // Deleted since it was listed.
                    Err(error) if error.kind() == ErrorKind::NotFound => continue,
                    Err(error) => return Err(error),
                },
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// The part of a directory that is listed.
struct Walk<'a> {
    prefix: &'a str,
    after: &'a str,
    found: &'a mut dyn FnMut(Listed) -> ControlFlow<()>,
}

impl Walk<'_> {
    /// `true` if this file, or any file in this directory, is to be found.
    fn may_have(&self, name: &str) -> bool {
        match name.ends_with('/') {
            true => {
                let is_on_the_way = self.prefix.starts_with(name) || name.starts_with(self.prefix);
                // All its names come before `after`, unless that is one of them.
                is_on_the_way && (name > self.after || self.after.starts_with(name))
            }
            false => name.starts_with(self.prefix) && name > self.after,
        }
    }
}

impl Target for DirectoryTarget {
    fn put(&self, name: &str, bytes: Bytes, mode: PutMode) -> Result<(), TargetError> {
        check_object(name, &bytes)?;
        match self.store(name, &bytes, mode) {
            Err(error) if mode == PutMode::New && error.kind() == ErrorKind::AlreadyExists => {
                Err(TargetError::exists(name))
            }
            result => result.map_err(|error| self.failed(&error)),
        }
    }

    fn swap(&self, name: &str, old: Option<&Bytes>, bytes: Bytes) -> Result<(), TargetError> {
        check_object(name, &bytes)?;
        let _alone = self.lock()?;
        match (self.get(name), old) {
            (Ok(found), _) if found == bytes => return Ok(()),
            (Ok(found), Some(old)) if found == *old => {}
            (Err(TargetError::NotFound { .. }), None) => {}
            (Ok(_), _) => return Err(TargetError::exists(name)),
            (Err(error), _) => return Err(error),
        }
        self.put(name, bytes, PutMode::Replace)
    }

    fn get(&self, name: &str) -> Result<Bytes, TargetError> {
        check(name)?;
        let Some(disk) = self.reader()? else { return Err(TargetError::not_found(name)) };
        match read(&disk, name) {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(bytes)) => Err(too_large(name, bytes)),
            Err(error) if is_missing(&error) => Err(TargetError::not_found(name)),
            Err(error) if is_of_device(&error) => Err(TargetError::Unreadable {
                name: name.to_owned(),
                reason: format!("{}: {error}", self.shown()),
                request_id: None,
            }),
            Err(error) => Err(self.told(&error)),
        }
    }

    fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        found: &mut dyn FnMut(Listed) -> ControlFlow<()>,
    ) -> Result<(), TargetError> {
        let Some(disk) = self.reader()? else { return Ok(()) };
        let mut walk = Walk { prefix, after: after.unwrap_or_default(), found };
        Self::walk(&disk, "", &mut walk).map(drop).map_err(|error| self.told(&error))
    }

    fn delete(&self, name: &str) -> Result<(), TargetError> {
        check(name)?;
        let Some(disk) = self.reader()? else { return Ok(()) };
        // Synced, so that a power cut does not bring back what a later deletion depends on.
        match disk.remove(name).and_then(|()| disk.sync_dir(parent_of(name))) {
            Err(error) if is_missing(&error) => Ok(()),
            result => result.map_err(|error| self.told(&error)),
        }
    }

    fn shown(&self) -> String {
        format!("file://{}", self.root.display())
    }
}

/// The bytes of a file, or its size if that is too large.
fn read(disk: &RealDisk, name: &str) -> io::Result<Result<Bytes, u64>> {
    let file = disk.open(name, OpenMode::Read)?;
    let length = file.len()?;
    if length > OBJECT_BYTES_MAX {
        return Ok(Err(length));
    }
    let mut bytes = vec![0; length as usize];
    let read = file.read_at(&mut bytes, 0)?;
    match read as u64 == length {
        true => Ok(Ok(bytes.into())),
        false => Err(io::Error::other(format!("{name} became shorter while it was read"))),
    }
}

/// `true` if there is no file of that name. The name may be that of a directory, or lead through a file.
fn is_missing(error: &io::Error) -> bool {
    use ErrorKind::{IsADirectory, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | IsADirectory)
}

/// `true` for the error of a device that cannot read a part of a file (EIO). Errors of the disk have the one of the system as text.
fn is_of_device(error: &io::Error) -> bool {
    error.to_string().contains("(os error 5)")
}

fn remove_leftovers(disk: &RealDisk) -> io::Result<()> {
    let leftovers = match disk.list(TEMPORARY) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        leftovers => leftovers?,
    };
    let disk: &dyn Disk = disk;
    for leftover in leftovers.into_iter().filter(|it| !it.is_dir && it.name != LOCK_FILE) {
        disk.remove_if_there(&format!("{TEMPORARY}/{}", leftover.name))?;
    }
    Ok(())
}

/// The directory of a name; empty for the root.
fn parent_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// A directory and those above it, from the top down, without the root.
fn ancestors(directory: &str) -> impl Iterator<Item = &str> {
    let ends = directory.match_indices('/').map(|(at, _)| at);
    let ends = ends.chain((!directory.is_empty()).then_some(directory.len()));
    ends.map(|end| &directory[..end])
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::target::contract;

    fn names(target: &DirectoryTarget) -> Vec<String> {
        contract::names(target, "", None)
    }

    #[test]
    fn a_directory_keeps_the_contract() {
        let root = tempfile::tempdir().expect("a temporary directory");
        contract::target_contract(&DirectoryTarget::new(&root.path().join("not/yet/there")));
    }

    #[test]
    fn files_and_directories_are_private() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let directory = root.path().join("backup");
        let target = DirectoryTarget::new(&directory);
        target.put("a/b", Bytes::from_static(b"1"), PutMode::New).expect("stored");
        target.put("a/b", Bytes::from_static(b"2"), PutMode::Replace).expect("replaced");
        let mode = |path: &str| {
            let metadata = fs::metadata(directory.join(path)).expect(path);
            metadata.permissions().mode() & 0o7777
        };
        assert_eq!([mode(""), mode("a"), mode("a/b")], [0o700, 0o700, 0o600]);
    }

    #[test]
    fn leftovers_are_no_objects_and_the_first_write_removes_them() {
        let root = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(root.path().join("tmp")).expect("made");
        fs::write(root.path().join("tmp/new-1-0"), "half").expect("written");
        fs::write(root.path().join(".hidden~"), "of another").expect("written");
        let target = DirectoryTarget::new(root.path());
        assert_eq!(names(&target), [""; 0]);
        assert!(root.path().join("tmp/new-1-0").exists(), "reading changes nothing");
        target.put("a", Bytes::new(), PutMode::New).expect("stored");
        assert_eq!(names(&target), ["a"]);
        assert!(!root.path().join("tmp/new-1-0").exists());
    }

    #[test]
    fn an_error_of_the_device_is_of_one_object_and_others_are_not() {
        assert!(is_of_device(&io::Error::from_raw_os_error(5)));
        for other in [2, 13, 116] {
            assert!(!is_of_device(&io::Error::from_raw_os_error(other)), "{other}");
        }
    }

    #[test]
    fn a_missing_directory_is_empty_and_reading_does_not_create_it() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let target = DirectoryTarget::new(&root.path().join("absent"));
        assert_eq!(names(&target), [""; 0]);
        assert_eq!(target.get("a"), Err(TargetError::not_found("a")));
        target.delete("a").expect("nothing to do");
        assert!(!root.path().join("absent").exists());
    }

    #[test]
    fn a_file_in_place_of_the_directory_is_refused_until_it_is_gone() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let path = root.path().join("backup");
        fs::write(&path, "a file").expect("written");
        let target = DirectoryTarget::new(&path);
        let put = || target.put("a/b", Bytes::new(), PutMode::New);
        let Err(TargetError::Refused(reason)) = put() else { panic!("not refused") };
        assert!(reason.contains("choose a directory") && !reason.contains('\n'), "{reason}");
        fs::remove_file(&path).expect("removed");
        put().expect("stored");
    }

    #[test]
    fn a_directory_that_is_moved_away_is_not_made_again() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let (path, aside) = (root.path().join("backup"), root.path().join("aside"));
        let target = DirectoryTarget::new(&path);
        let put = |name: &str| target.put(name, Bytes::new(), PutMode::New);
        put("a/b").expect("stored");
        fs::rename(&path, &aside).expect("moved");
        for name in ["a/c", "d/e"] {
            let Err(TargetError::Broken(reason)) = put(name) else { panic!("stored") };
            assert!(reason.contains("see that its file system is mounted"), "{reason}");
            let swapped = target.swap("lease", None, Bytes::from_static(b"1"));
            assert!(matches!(swapped, Err(TargetError::Broken(_))), "{swapped:?}");
            assert!(!path.exists());
        }
        fs::rename(&aside, &path).expect("moved back");
        put("a/c").expect("stored");
        assert_eq!(names(&target), ["a/b", "a/c"]);
        // Nor is one that was only read.
        let reader = DirectoryTarget::new(&path);
        reader.get("a/b").expect("there");
        fs::rename(&path, &aside).expect("moved");
        reader.put("f", Bytes::new(), PutMode::New).expect_err("gone");
        assert!(!path.exists());
    }
}
