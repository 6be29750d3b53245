//! A simulated disk with callbacks, so that a test can act in the middle of an operation.

use std::fmt;
use std::io;

use super::SimulatedDisk;
use crate::{DirEntry, Disk, DiskFile, FileIdentity, Health, OpenMode};

/// A moment at which a [`HookedDisk`] calls its hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment<'a> {
    /// Before a file is opened.
    Open(&'a str, OpenMode),
    /// After a temporary file got this name.
    Linked(&'a str),
    /// After the names in this directory were synced, before the caller learns of it.
    Synced(&'a str),
}

/// A [`SimulatedDisk`] that calls a closure at every [`Moment`], on the thread of the operation and
/// without holding a lock.
pub struct HookedDisk {
    disk: SimulatedDisk,
    hook: Box<dyn Fn(Moment<'_>) + Send + Sync>,
}

impl HookedDisk {
    /// A handle of `disk` with a hook. Other handles of the disk have none.
    #[must_use]
    pub fn new(disk: &SimulatedDisk, hook: impl Fn(Moment<'_>) + Send + Sync + 'static) -> Self {
        Self { disk: disk.clone(), hook: Box::new(hook) }
    }
}

impl fmt::Debug for HookedDisk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("HookedDisk").field(&self.disk).finish()
    }
}

#[deny(clippy::missing_trait_methods)]
impl Disk for HookedDisk {
    fn open(&self, path: &str, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        (self.hook)(Moment::Open(path, mode));
        self.disk.open(path, mode)
    }

    fn create_temporary(&self) -> io::Result<Box<dyn DiskFile>> {
        self.disk.create_temporary()
    }

    fn link(&self, file: &dyn DiskFile, path: &str) -> io::Result<()> {
        self.disk.link(file, path)?;
        (self.hook)(Moment::Linked(path));
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn create_dir(&self, path: &str) -> io::Result<()> {
        self.disk.create_dir(path)
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        self.disk.sync_dir(path)?;
        (self.hook)(Moment::Synced(path));
        Ok(())
    }

    fn sync_everything(&self) -> io::Result<bool> {
        self.disk.sync_everything()
    }

    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>> {
        self.disk.list(path)
    }

    fn identity(&self, path: &str) -> io::Result<FileIdentity> {
        self.disk.identity(path)
    }

    fn free_bytes(&self) -> io::Result<u64> {
        self.disk.free_bytes()
    }

    fn capacity_bytes(&self) -> io::Result<Option<u64>> {
        self.disk.capacity_bytes()
    }

    fn is_in_place(&self) -> bool {
        self.disk.is_in_place()
    }

    fn health(&self) -> &Health {
        self.disk.health()
    }
}
