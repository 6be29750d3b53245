//! The copy-on-write disk: changes stay in memory, over a disk that is only read.

mod file;
mod patches;
mod tree;

use std::fmt;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::io::Errno;

use self::file::{Node, OverlayFile};
use self::tree::{Kind, Tree};
use crate::{DirEntry, Disk, DiskFile, FileIdentity, Health, OpenMode, path};

/// A copy-on-write layer over another disk. Everything that is written, created, linked, renamed,
/// removed or truncated stays in memory, and is gone with the last handle. Code that changes a
/// directory, such as recovery, can so run without leaving a trace. Clones are handles of the same
/// layer.
///
/// Only written blocks of 4 KiB take memory. Syncs do nothing, and space is unlimited. Changes that
/// others make to files of the disk below show through where no block covers them. Directories
/// cannot be renamed here, and files have no descriptor.
#[derive(Clone)]
pub struct OverlayDisk {
    shared: Arc<Shared>,
}

struct Shared {
    /// Its own flag: nothing is written to the disk below, so that disk's flag says nothing about
    /// the overlay.
    health: Health,
    tree: Mutex<Tree>,
}

impl OverlayDisk {
    /// A disk that looks like `below` until it is changed.
    #[must_use]
    pub fn new(below: Arc<dyn Disk>) -> Self {
        let tree = Mutex::new(Tree::new(below));
        Self { shared: Arc::new(Shared { health: Health::new(), tree }) }
    }

    fn handle(&self, node: Arc<Node>, path: &str, mode: OpenMode) -> Box<dyn DiskFile> {
        let is_writable = mode != OpenMode::Read;
        Box::new(OverlayFile::new(Arc::clone(&self.shared), node, Some(path), is_writable))
    }
}

#[deny(clippy::missing_trait_methods)]
impl Disk for OverlayDisk {
    fn open(&self, path: &str, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        path::check_file(path)?;
        let mut tree = self.shared.tree.lock();
        let node = match mode {
            OpenMode::Read | OpenMode::Write => tree.file(path)?,
            OpenMode::CreateOrWrite => {
                self.shared.health.check()?;
                match tree.kind(path)? {
                    Some(_) => tree.file(path)?,
                    None => tree.insert(path, Arc::new(Node::empty()))?,
                }
            }
        };
        drop(tree);
        Ok(self.handle(node, path, mode))
    }

    fn create_temporary(&self) -> io::Result<Box<dyn DiskFile>> {
        self.shared.health.check()?;
        let node = Arc::new(Node::temporary());
        Ok(Box::new(OverlayFile::new(Arc::clone(&self.shared), node, None, true)))
    }

    fn link(&self, file: &dyn DiskFile, path: &str) -> io::Result<()> {
        self.shared.health.check()?;
        path::check_file(path)?;
        let node = file
            .as_any()
            .downcast_ref::<OverlayFile>()
            .filter(|file| file.is_of(&self.shared))
            .ok_or_else(|| not_linkable("a file of another disk"))?
            .node();
        // The lock is held over check and insertion, so that two threads cannot link one file
        // twice.
        let mut tree = self.shared.tree.lock();
        if !node.is_linkable() {
            return Err(not_linkable("a file with a name"));
        }
        if tree.kind(path)?.is_some() {
            return Err(Errno::EXIST.into());
        }
        let node = tree.insert(path, Arc::clone(node))?;
        node.set_linked();
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.shared.health.check()?;
        path::check_file(from)?;
        path::check_file(to)?;
        let mut tree = self.shared.tree.lock();
        let node = tree.file(from)?;
        if tree.kind(to)? == Some(Kind::Directory) {
            return Err(Errno::ISDIR.into());
        }
        // The name differs from the disk below from now on, so the tree must keep the node even if
        // nothing is written to it.
        node.set_changed();
        // Insert first: a failure (a missing parent) leaves the old name in place.
        tree.insert(to, node)?;
        if from != to {
            tree.remove(from);
        }
        Ok(())
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.shared.health.check()?;
        path::check_file(path)?;
        let mut tree = self.shared.tree.lock();
        match tree.kind(path)? {
            Some(Kind::File) => tree.remove(path),
            Some(Kind::Directory) => return Err(Errno::ISDIR.into()),
            None => return Err(Errno::NOENT.into()),
        }
        Ok(())
    }

    fn create_dir(&self, path: &str) -> io::Result<()> {
        self.shared.health.check()?;
        path::check_directory(path)?;
        let mut tree = self.shared.tree.lock();
        match tree.kind(path)? {
            Some(Kind::Directory) => Ok(()),
            Some(Kind::File) => Err(Errno::NOTDIR.into()),
            None => tree.insert_directory(path),
        }
    }

    /// Makes nothing durable, but a missing directory is an error as on every disk.
    fn sync_dir(&self, path: &str) -> io::Result<()> {
        self.shared.health.check()?;
        path::check_directory(path)?;
        self.shared.tree.lock().check_directory(path)
    }

    fn sync_everything(&self) -> io::Result<bool> {
        // Nothing reaches the disk below.
        self.shared.health.check()?;
        Ok(true)
    }

    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>> {
        path::check_directory(path)?;
        self.shared.tree.lock().list(path)
    }

    fn identity(&self, path: &str) -> io::Result<FileIdentity> {
        self.open(path, OpenMode::Read).map(|_| FileIdentity::default())
    }

    /// Unlimited: changes are in memory.
    fn free_bytes(&self) -> io::Result<u64> {
        Ok(u64::MAX)
    }

    fn capacity_bytes(&self) -> io::Result<Option<u64>> {
        // No device: changes are in memory.
        Ok(None)
    }

    fn is_in_place(&self) -> bool {
        // Changes have no place: they are in memory.
        true
    }

    fn health(&self) -> &Health {
        &self.shared.health
    }
}

fn not_linkable(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{what} cannot be linked"))
}

impl fmt::Debug for OverlayDisk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The content would fill pages, and the lock may be held.
        formatter.debug_struct("OverlayDisk").finish_non_exhaustive()
    }
}
