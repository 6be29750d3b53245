//! The files below a directory, in the order that the keys of a bucket have.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::vec;

use super::write::is_unfinished;
use crate::error::Error;

/// A file, or a directory if directories are wanted.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    /// Relative path with slashes; a directory ends with one.
    pub(crate) key: String,
    pub(crate) metadata: Metadata,
}

/// A walk in progress. Entries come in the byte order of their keys, so that they can be merged
/// with a listing. Links to files are followed, links to directories are not. Unfinished downloads
/// are left out.
#[derive(Debug)]
pub(crate) struct Walk {
    /// The remaining names of each directory on the way down.
    open: Vec<vec::IntoIter<Name>>,
    recursive: bool,
    /// Keys that were left out so far: links to directories, pipes, sockets and devices.
    left_out: Vec<String>,
}

#[derive(Debug)]
struct Name {
    path: PathBuf,
    /// An error if the name is not text.
    key: Result<String, Error>,
    is_directory: bool,
}

impl Walk {
    /// # Errors
    /// The directory cannot be read.
    pub(crate) fn new(directory: &Path, recursive: bool) -> Result<Walk, Error> {
        Ok(Walk { open: vec![names(directory, "")?], recursive, left_out: Vec::new() })
    }

    /// The next file, or the error of one file, after which the walk goes on.
    pub(crate) fn next(&mut self) -> Option<Result<Found, Error>> {
        loop {
            let Some(name) = self.open.last_mut()?.next() else {
                self.open.pop();
                continue;
            };
            let key = match name.key {
                Ok(key) => key,
                Err(error) => return Some(Err(error)),
            };
            if name.is_directory && self.recursive {
                match names(&name.path, &key) {
                    Ok(names) => self.open.push(names),
                    Err(error) => return Some(Err(error)),
                }
                continue;
            }
            let metadata = match std::fs::metadata(&name.path) {
                Ok(metadata) => metadata,
                // It was deleted since the directory was read, or it is a dangling link.
                Err(error) => return Some(Err(Error::file(&name.path)(error))),
            };
            if metadata.is_file() || name.is_directory {
                return Some(Ok(Found { path: name.path, key, metadata }));
            }
            self.left_out.push(key);
        }
    }

    /// `true` if this name, or one above it, was left out so far: the walk does not say whether it
    /// exists.
    pub(crate) fn has_left_out(&self, key: &str) -> bool {
        self.left_out.iter().any(|it| {
            key.strip_prefix(it.as_str()).is_some_and(|it| it.is_empty() || it.starts_with('/'))
        })
    }
}

fn names(directory: &Path, prefix: &str) -> Result<vec::IntoIter<Name>, Error> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(Error::file(directory))? {
        let entry = entry.map_err(Error::file(directory))?;
        let path = entry.path();
        let is_directory = entry.file_type().map_err(Error::file(&path))?.is_dir();
        let name = entry.file_name();
        if name.to_str().is_some_and(is_unfinished) {
            continue;
        }
        let slash = if is_directory { "/" } else { "" };
        let sort_by = [name.as_encoded_bytes(), slash.as_bytes()].concat();
        let key = match name.to_str() {
            Some(name) => Ok(format!("{prefix}{name}{slash}")),
            None => {
                let reason = "the name is not UTF-8, so it cannot be a key; rename the file";
                Err(Error::file(&path)(io::Error::other(reason)))
            }
        };
        names.push((sort_by, Name { path, key, is_directory }));
    }
    names.sort_by(|(a, _), (b, _)| a.cmp(b));
    let names: Vec<Name> = names.into_iter().map(|(_, name)| name).collect();
    Ok(names.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_in_the_order_of_keys() {
        let directory = tempfile::tempdir().expect("a directory");
        for path in ["a/b", "a.txt", "a-b", "a0", "z/y/x", "empty"] {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            std::fs::write(path, "x").expect("written");
        }
        std::fs::create_dir(directory.path().join("nothing")).expect("made");
        let keys = |recursive| {
            let mut walk = Walk::new(directory.path(), recursive).expect("it can be read");
            let mut keys = Vec::new();
            while let Some(found) = walk.next() {
                keys.push(found.expect("all can be read").key);
            }
            keys
        };
        let all = keys(true);
        assert_eq!(all, ["a-b", "a.txt", "a/b", "a0", "empty", "z/y/x"]);
        assert!(all.is_sorted());
        assert_eq!(keys(false), ["a-b", "a.txt", "a/", "a0", "empty", "nothing/", "z/"]);
    }

    #[cfg(unix)]
    #[test]
    fn names_that_are_no_text_and_links_to_nothing_are_reported() {
        use std::os::unix::ffi::OsStrExt as _;
        use std::os::unix::fs::symlink;

        let directory = tempfile::tempdir().expect("a directory");
        let strange = directory.path().join(std::ffi::OsStr::from_bytes(b"a\xff"));
        std::fs::write(strange, "x").expect("written");
        std::fs::write(directory.path().join("b"), "x").expect("written");
        symlink("nowhere", directory.path().join("c")).expect("linked");
        symlink("b", directory.path().join("d")).expect("linked");
        symlink(".", directory.path().join("e")).expect("linked");
        let mut walk = Walk::new(directory.path(), true).expect("it can be read");
        let mut found = Vec::new();
        while let Some(next) = walk.next() {
            found.push(next.map(|it| it.key).map_err(|error| error.to_string()));
        }
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found[0].as_ref().is_err_and(|it| it.contains("UTF-8")));
        assert_eq!(found[1].as_deref(), Ok("b"));
        assert!(found[2].is_err());
        assert_eq!(found[3].as_deref(), Ok("d"));
        assert!(walk.has_left_out("e") && walk.has_left_out("e/b"));
        assert!(!walk.has_left_out("d") && !walk.has_left_out("ef"));
    }
}
