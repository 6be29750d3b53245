//! [`TreeFile`]: the identity of the file of the tree, which a compaction replaces.

use std::io;
use std::sync::Arc;

use liteio_disk::{Disk, FileIdentity};
use parking_lot::Mutex;

/// The file that the tree is in, for whoever looks whether somebody else has replaced it.
#[derive(Debug)]
pub struct TreeFile {
    disk: Arc<dyn Disk>,
    path: String,
    /// Held while the file is replaced.
    identity: Mutex<Option<FileIdentity>>,
}

impl TreeFile {
    pub(super) fn new(disk: Arc<dyn Disk>, path: String) -> Self {
        let identity = Mutex::new(disk.identity(&path).ok());
        Self { disk, path, identity }
    }

    /// Replaces the file by `replace`.
    pub(super) fn replace<E>(&self, replace: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let mut identity = self.identity.lock();
        let result = replace();
        *identity = self.disk.identity(&self.path).ok();
        result
    }

    /// `true` if the name is that of the file that is open.
    ///
    /// # Errors
    /// Those of looking at the name.
    pub fn is_in_place(&self) -> io::Result<bool> {
        let identity = self.identity.lock();
        let found = self.disk.identity(&self.path)?;
        Ok(identity.is_none_or(|identity| identity == found))
    }
}
