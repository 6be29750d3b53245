//! Directories that take the place of others, as a whole.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::platform::{Calls, System};

/// Puts the directory `new` in the place of `old`, durably. What was `old` has the path of `new`
/// afterwards. Both are in one parent directory. Nothing is lost at any moment: where the file system
/// cannot exchange two names at once, `old` has no directory for a moment, and the path of `new` with
/// `.replaced` behind it has the former one.
///
/// # Errors
/// Any error of the file system.
pub fn replace_directory(new: &Path, old: &Path) -> io::Result<()> {
    let parent = old.parent().unwrap_or(Path::new("/"));
    if !old.exists() {
        fs::rename(new, old)?;
    } else if !System::exchange(new, old)? {
        let aside = with_suffix(new, ".replaced");
        fs::rename(old, &aside)?;
        fs::rename(new, old)?;
        System::sync_directory(File::open(parent)?.as_fd())?;
        fs::rename(&aside, new)?;
    }
    System::sync_directory(File::open(parent)?.as_fd())
}

/// Renames a directory within its parent directory, durably.
///
/// # Errors
/// Any error of the file system.
pub fn rename_directory(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    let parent = to.parent().unwrap_or(Path::new("/"));
    System::sync_directory(File::open(parent)?.as_fd())
}

/// Removes a directory with everything in it, the file `last` after all others: an interrupted removal leaves the file, by
/// which the caller knows the directory, or an empty directory.
///
/// # Errors
/// Any error of the file system.
pub fn remove_directory(path: &Path, last: &str) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_name() == last {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    // Durable before the file that tells what they are.
    System::sync_directory(File::open(path)?.as_fd())?;
    match fs::remove_file(path.join(last)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::remove_dir(path)
}

/// `true` if the directory is the root of a file system, so that it cannot be renamed.
///
/// # Errors
/// Any error of the file system but `NotFound`.
pub fn is_mount_point(path: &Path) -> io::Result<bool> {
    let device = |path: &Path| fs::metadata(path).map(|it| it.dev());
    let Some(parent) = path.parent() else { return Ok(true) };
    match device(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        own => Ok(own? != device(parent)?),
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_takes_the_place_of_another_one() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let (new, old) = (root.path().join("new"), root.path().join("old"));
        let make = |path: &Path, text: &str| {
            fs::create_dir(path).expect("made");
            fs::write(path.join("file"), text).expect("written");
        };
        let read = |path: &Path| fs::read_to_string(path.join("file")).expect("readable");
        make(&new, "1");
        replace_directory(&new, &old).expect("moved");
        assert_eq!((read(&old).as_str(), new.exists()), ("1", false));
        make(&new, "2");
        replace_directory(&new, &old).expect("exchanged");
        assert_eq!((read(&old), read(&new)), ("2".to_owned(), "1".to_owned()));
        fs::create_dir_all(new.join("below/deep")).expect("made");
        fs::write(new.join("other"), "").expect("written");
        remove_directory(&new, "file").expect("removed");
        assert!(!new.exists());
        rename_directory(&old, &new).expect("renamed");
        assert_eq!(read(&new), "2");
        assert!(!is_mount_point(&new).expect("there") && !is_mount_point(&old).expect("missing"));
        assert!(is_mount_point(Path::new("/")).expect("there"));
    }

    #[test]
    fn a_file_has_two_names_in_two_directories() {
        use crate::{Disk as _, OpenMode, RealDisk};
        let root = tempfile::tempdir().expect("a temporary directory");
        let disk = |name: &str| RealDisk::open(&root.path().join(name)).expect("opens");
        let (one, two) = (disk("one"), disk("two"));
        one.open("a", OpenMode::CreateOrWrite).expect("made").write_at(b"1", 0).expect("written");
        two.link_from(&one, "a", "b").expect("linked");
        let again = two.link_from(&one, "a", "b").expect_err("taken");
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        let missing = two.link_from(&one, "c", "d").expect_err("missing");
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        one.remove("a").expect("removed");
        let mut bytes = [0];
        two.open("b", OpenMode::Read).expect("there").read_at(&mut bytes, 0).expect("read");
        assert_eq!(bytes, *b"1");
    }
}
