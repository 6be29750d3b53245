//! The names of an overlay: changed names over the names of the disk below.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use rustix::io::Errno;

use super::file::Node;
use crate::{DirEntry, Disk, OpenMode};

/// The disk below, and by path every name that differs from it or is open.
pub(super) struct Tree {
    below: Arc<dyn Disk>,
    entries: BTreeMap<String, Entry>,
}

enum Entry {
    /// Created here, or known to exist below.
    Directory,
    /// Changed, or open. All handles of a file share its node.
    File(Arc<Node>),
    /// A whiteout: hides a name that the disk below may have.
    Removed,
}

/// The kind of a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Directory,
    File,
}

impl Tree {
    pub(super) fn new(below: Arc<dyn Disk>) -> Self {
        Self { below, entries: BTreeMap::new() }
    }

    /// The kind of `path`; `None` if it does not exist.
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
        // `Disk` has no `stat`. Listing tells the cases apart: success is a directory,
        // `NotADirectory` a file or a path through a file, which opening then decides.
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
        // `open` of the file system succeeds for directories too.
        if self.kind(path)? == Some(Kind::Directory) {
            return Err(Errno::ISDIR.into());
        }
        let node = Arc::new(Node::over(file)?);
        self.entries.insert(path.to_owned(), Entry::File(Arc::clone(&node)));
        Ok(node)
    }

    /// Gives a file the name `path`, replacing a previous file or whiteout.
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

    /// Called by a handle of `path` while it is dropped: an unchanged file without other handles
    /// need not stay in the tree.
    pub(super) fn forget_unchanged(&mut self, path: &str, node: &Arc<Node>) {
        let is_last = match self.entries.get(path) {
            // Two references remain: the entry's and the dropped handle's. Both are counted under
            // the tree's lock, and a new handle needs that lock, so the count cannot grow
            // meanwhile.
            Some(Entry::File(known)) => Arc::ptr_eq(known, node) && Arc::strong_count(node) == 2,
            _ => false,
        };
        if is_last && !node.is_changed() {
            self.entries.remove(path);
        }
    }

    /// Fails if `path` is not a directory.
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

/// Turns `NotFound` into `None`.
fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}
