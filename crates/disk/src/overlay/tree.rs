//! The names of an overlay: those that changed, over those of the disk below.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use rustix::io::Errno;

use super::file::Node;
use crate::{DirEntry, Disk, OpenMode};

/// The disk below, and by their paths the names that differ from it or are in use.
pub(super) struct Tree {
    below: Arc<dyn Disk>,
    entries: BTreeMap<String, Entry>,
}

enum Entry {
    /// Made here, or known to be below.
    Directory,
    /// Changed, or open: all handles of a file share its node.
    File(Arc<Node>),
    /// A whiteout: it may be below, and is not seen.
    Removed,
}

/// The kind of what has a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Directory,
    File,
}

impl Tree {
    pub(super) fn new(below: Arc<dyn Disk>) -> Self {
        Self { below, entries: BTreeMap::new() }
    }

    /// The kind of what is called `path`; `None` if nothing is.
    pub(super) fn kind(&mut self, path: &str) -> io::Result<Option<Kind>> {
        if path.is_empty() {
            return Ok(Some(Kind::Directory));
        }
        match self.entries.get(path) {
            Some(Entry::Directory) => return Ok(Some(Kind::Directory)),
            Some(Entry::File(_)) => return Ok(Some(Kind::File)),
            Some(Entry::Removed) => return Ok(None),
            None => {}
        }
        match self.below.list(path) {
            Ok(_) => {
                self.entries.insert(path.to_owned(), Entry::Directory);
                Ok(Some(Kind::Directory))
            }
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                found(self.below.open(path, OpenMode::Read)).map(|it| it.map(|_| Kind::File))
            }
            Err(error) => found(Err(error)),
        }
    }

    /// The node of the file `path`.
    pub(super) fn file(&mut self, path: &str) -> io::Result<Arc<Node>> {
        match self.entries.get(path) {
            Some(Entry::File(node)) => return Ok(Arc::clone(node)),
            Some(Entry::Removed) => return Err(Errno::NOENT.into()),
            Some(Entry::Directory) => return Err(Errno::ISDIR.into()),
            None => {}
        }
        let file = self.below.open(path, OpenMode::Read)?;
        // The file system opens directories, too.
        if self.kind(path)? == Some(Kind::Directory) {
            return Err(Errno::ISDIR.into());
        }
        let node = Arc::new(Node::over(file)?);
        self.entries.insert(path.to_owned(), Entry::File(Arc::clone(&node)));
        Ok(node)
    }

    /// Gives a file the name `path`, whatever had it.
    pub(super) fn insert(&mut self, path: &str, node: Arc<Node>) -> io::Result<Arc<Node>> {
        self.check_parent(path)?;
        self.entries.insert(path.to_owned(), Entry::File(Arc::clone(&node)));
        Ok(node)
    }

    pub(super) fn insert_directory(&mut self, path: &str) -> io::Result<()> {
        self.check_parent(path)?;
        self.entries.insert(path.to_owned(), Entry::Directory);
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &str) {
        self.entries.insert(path.to_owned(), Entry::Removed);
    }

    /// Called by the handle of `path` before it ends: a file that is as it is below need not be remembered
    /// once nobody has it open.
    pub(super) fn forget_unchanged(&mut self, path: &str, node: &Arc<Node>) {
        let is_last = match self.entries.get(path) {
            // The references of the entry and of the handle.
            Some(Entry::File(known)) => Arc::ptr_eq(known, node) && Arc::strong_count(node) == 2,
            _ => false,
        };
        if is_last && !node.is_changed() {
            self.entries.remove(path);
        }
    }

    /// Refuses what is not a directory.
    pub(super) fn check_directory(&mut self, path: &str) -> io::Result<()> {
        match self.kind(path)? {
            Some(Kind::Directory) => Ok(()),
            Some(Kind::File) => Err(Errno::NOTDIR.into()),
            None => Err(Errno::NOENT.into()),
        }
    }

    fn check_parent(&mut self, path: &str) -> io::Result<()> {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        self.check_directory(parent)
    }

    pub(super) fn list(&mut self, path: &str) -> io::Result<Vec<DirEntry>> {
        self.check_directory(path)?;
        let below = found(self.below.list(path))?.unwrap_or_default();
        let mut names: BTreeMap<String, bool> =
            below.into_iter().map(|entry| (entry.name, entry.is_dir)).collect();
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let within = self.entries.range(prefix.clone()..);
        for (path, entry) in within.take_while(|(path, _)| path.starts_with(&prefix)) {
            let name = &path[prefix.len()..];
            match entry {
                _ if name.contains('/') => None,
                Entry::Directory => names.insert(name.to_owned(), true),
                Entry::File(_) => names.insert(name.to_owned(), false),
                Entry::Removed => names.remove(name),
            };
        }
        Ok(names.into_iter().map(|(name, is_dir)| DirEntry { name, is_dir }).collect())
    }
}

/// `None` for what is not found.
fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}
