//! The watch over the data directory: writes stop once its files are no longer the open ones.
//!
//! A file that is removed or replaced while it is open accepts writes and syncs as before, but its
//! bytes are gone with the process. So a thread checks the names every [`WATCH_INTERVAL`], as does
//! [`Store::health`](crate::Store::health), and poisons the disk if one is missing or differs.
//! Writes acknowledged since the removal are lost.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use liteio_blob::BlobStore;
use liteio_disk::{Disk, FileIdentity};
use liteio_kv::TreeFile;
use parking_lot::{Condvar, Mutex};

use crate::directory;
use crate::error::StoreError;
use crate::limits::WATCH_INTERVAL;

/// Files that stay the same while a store is open, unless [`Watch::replace`] replaces them.
const FILES: [&str; 4] = [directory::FORMAT_FILE, "lock", "meta.redb.log", "meta.redb.log2"];
const BLOBS: &str = "blobs";

/// The names of an open data directory, with their identities at the start.
#[derive(Debug)]
struct Watched {
    disk: Arc<dyn Disk>,
    /// The tree file, which the store itself replaces by compaction.
    tree: Option<Arc<TreeFile>>,
    files: Mutex<Vec<(&'static str, FileIdentity)>>,
    blobs: Arc<dyn BlobStore>,
    /// Largest number of blob directories (two-digit names, and the one of segments) seen so far.
    /// The store never removes one.
    blob_directories: Mutex<usize>,
}

impl Watched {
    /// Watches the files that exist at the start.
    fn new(disk: Arc<dyn Disk>, tree: Option<Arc<TreeFile>>, blobs: Arc<dyn BlobStore>) -> Self {
        let identity = |name| disk.identity(name).ok().map(|identity| (name, identity));
        let files = FILES.into_iter().chain([BLOBS]).filter_map(identity).collect();
        Self { disk, tree, files: Mutex::new(files), blobs, blob_directories: Mutex::new(0) }
    }

    /// Poisons the disk if a name is missing or belongs to another file.
    fn check(&self) {
        if let Err(lost) = self.find_lost() {
            self.disk.health().poison(format!(
                "{lost}: writes since then are lost, because the data directory was removed or changed \
                 under the server; restart it on the right one"
            ));
        }
    }

    fn find_lost(&self) -> Result<(), String> {
        let written = self.blobs.written_files();
        let is_in_place = |name: &str, known: &FileIdentity| {
            self.disk.identity(name).map(|found| found == *known)
        };
        // One that is not written any more may have been removed since it was listed.
        let is_written = |name: &str, known: &FileIdentity| match is_in_place(name, known) {
            Ok(true) => Ok(true),
            other => match self.blobs.written_files().iter().any(|(path, _)| path == name) {
                true => other,
                false => Ok(true),
            },
        };
        let files = self.files.lock();
        let files = files.iter().map(|(name, known)| (*name, is_in_place(name, known)));
        let tree = self.tree.iter().map(|tree| ("meta.redb", tree.is_in_place()));
        let written = written.iter().map(|(name, known)| (&**name, is_written(name, known)));
        for (name, is_in_place) in files.chain(tree).chain(written) {
            match is_in_place {
                Ok(true) => {}
                Ok(false) => {
                    return Err(format!("{name} is another file than the one that is open"));
                }
                Err(error) if is_gone(&error) => return Err(error.to_string()),
                // Any other error, such as a lack of descriptors or memory, proves nothing: check
                // again later.
                Err(_) => {}
            }
        }
        let listed = match self.disk.list(BLOBS) {
            Ok(entries) => {
                let is_ours = |name: &str| name.len() == 2 || name == "segments";
                entries.iter().filter(|entry| entry.is_dir && is_ours(&entry.name)).count()
            }
            Err(error) if is_gone(&error) => return Err(error.to_string()),
            Err(_) => return Ok(()),
        };
        let mut known = self.blob_directories.lock();
        if listed < *known {
            return Err(format!("{} of {known} directories of blobs are missing", *known - listed));
        }
        *known = listed;
        Ok(())
    }
}

fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    matches!(error.kind(), NotFound | NotADirectory | PermissionDenied)
}

/// The thread that checks the names; dropping this ends it.
#[derive(Debug)]
pub(crate) struct Watch {
    watched: Arc<Watched>,
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`StoreError::Io`] if no thread can be started.
    pub(crate) fn start(
        disk: Arc<dyn Disk>,
        tree: Option<Arc<TreeFile>>,
        blobs: Arc<dyn BlobStore>,
    ) -> Result<Self, StoreError> {
        let watched = Arc::new(Watched::new(disk, tree, blobs));
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let for_thread = (Arc::clone(&watched), Arc::clone(&stop));
        let thread = thread::Builder::new().name("liteio-watch".to_owned());
        let thread = thread.spawn(move || look(&for_thread.0, &for_thread.1))?;
        Ok(Self { watched, stop, thread: Some(thread) })
    }

    /// Checks the names now.
    pub(crate) fn check(&self) {
        self.watched.check();
    }

    /// Runs `replace`, which replaces the file `name` by another one, to be watched from now on.
    pub(crate) fn replace<T>(&self, name: &str, replace: impl FnOnce() -> T) -> T {
        let Watched { disk, files, .. } = &*self.watched;
        // No check comes between the replacement and its identity.
        let mut files = files.lock();
        let replaced = replace();
        if let Some((_, known)) = files.iter_mut().find(|(watched, _)| *watched == name)
            && let Ok(found) = disk.identity(name)
        {
            *known = found;
        }
        replaced
    }
}

fn look(watched: &Watched, (is_stopped, changed): &(Mutex<bool>, Condvar)) {
    loop {
        let mut is_stopped = is_stopped.lock();
        if !*is_stopped {
            changed.wait_for(&mut is_stopped, WATCH_INTERVAL);
        }
        if *is_stopped {
            return;
        }
        drop(is_stopped);
        watched.check();
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let (is_stopped, changed) = &*self.stop;
        *is_stopped.lock() = true;
        changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // The panic hook has reported a panic of the thread already.
            let _ = thread.join();
        }
    }
}
