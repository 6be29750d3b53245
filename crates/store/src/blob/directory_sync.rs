//! One sync of a directory for many blobs.

use std::io;

use liteio_disk::Disk;
use parking_lot::{Condvar, Mutex};

/// Groups the syncs of one directory.
///
/// A sync covers the names that were there when it *began*. So a caller is served by any sync that
/// began after its call; while one is running, the callers that arrive wait for the next one, which
/// then serves them all.
#[derive(Debug, Default)]
pub(super) struct DirectorySync {
    progress: Mutex<Progress>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Progress {
    /// Syncs begun so far.
    begun: u64,
    /// The last sync that succeeded.
    succeeded: u64,
    is_running: bool,
}

impl DirectorySync {
    /// Makes every name durable that was in the directory `path` before the call.
    ///
    /// # Errors
    /// As [`Disk::sync_dir`]. A failure belongs to the caller that ran the sync; those who waited for
    /// it try again by themselves, which a poisoned disk refuses.
    pub(super) fn sync(&self, disk: &dyn Disk, path: &str) -> io::Result<()> {
        let mut progress = self.progress.lock();
        let needed = progress.begun + 1;
        while progress.succeeded < needed {
            if progress.is_running {
                self.changed.wait(&mut progress);
                continue;
            }
            progress.begun += 1;
            progress.is_running = true;
            let current = progress.begun;
            drop(progress);
            let result = disk.sync_dir(path);
            progress = self.progress.lock();
            progress.is_running = false;
            if result.is_ok() {
                progress.succeeded = current;
            }
            self.changed.notify_all();
            result?;
        }
        Ok(())
    }
}
