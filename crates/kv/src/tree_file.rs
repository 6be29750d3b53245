//! [`TreeFile`]: the identities of the files of the tree and of the runs, which drains replace.

use std::io;
use std::sync::Arc;

use liteio_disk::{Disk, FileIdentity};
use parking_lot::Mutex;

use crate::run::RunName;

/// The identities of the open files, for checks that no other process has replaced or removed one.
#[derive(Debug)]
pub struct TreeFile {
    disk: Arc<dyn Disk>,
    path: String,
    /// Held while a file is replaced.
    files: Mutex<Files>,
}

/// Identities; `None` where the disk could not tell them.
#[derive(Debug)]
struct Files {
    tree: Option<FileIdentity>,
    runs: Vec<(String, Option<FileIdentity>)>,
}

impl TreeFile {
    pub(super) fn new(disk: Arc<dyn Disk>, path: String) -> Self {
        let tree = disk.identity(&path).ok();
        let files = Mutex::new(Files { tree, runs: Vec::new() });
        Self { disk, path, files }
    }

    /// Runs `replace`, which replaces the file of the tree, and notes the new identity.
    pub(super) fn replace<E>(&self, replace: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let mut files = self.files.lock();
        let result = replace();
        files.tree = self.disk.identity(&self.path).ok();
        result
    }

    /// Sets the current runs. Files of earlier runs may be removed afterwards.
    pub(super) fn set_runs(&self, names: &[RunName]) {
        let mut files = self.files.lock();
        let known = std::mem::take(&mut files.runs);
        let runs = names.iter().map(|name| {
            let path = name.path(&self.path);
            let identity = known.iter().find(|(known, _)| *known == path);
            let identity = identity.map_or_else(|| self.disk.identity(&path).ok(), |(_, it)| *it);
            (path, identity)
        });
        files.runs = runs.collect();
    }

    /// `true` if the paths still name the open files.
    ///
    /// # Errors
    /// Errors of the disk while it looks up a path.
    pub fn is_in_place(&self) -> io::Result<bool> {
        let files = self.files.lock();
        let tree = (&self.path, files.tree);
        for (path, identity) in
            std::iter::once(tree).chain(files.runs.iter().map(|(path, it)| (path, *it)))
        {
            let found = self.disk.identity(path)?;
            if identity.is_some_and(|identity| identity != found) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
