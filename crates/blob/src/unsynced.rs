//! Blobs that are synced later: their bytes are in the page cache, and perhaps not on the device.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};

use liteio_disk::{Disk, DiskFile, OpenMode};
use parking_lot::Mutex;

use super::BlobId;
use super::directories::Directories;

/// Number of files kept open until their sync: a descriptor opened later can miss the error of a
/// failed write. Descriptors are scarce, so files beyond this number are opened again for their
/// sync.
const OPEN_FILES_MAX: usize = 256;
/// Number of blobs that may wait. Sealing one more waits for a sync.
const BLOBS_MAX: usize = 1 << 16;
/// Cost of syncing a file apart from its bytes, in bytes.
const SYNC_BYTES: u64 = 64 << 10;

/// Blobs that wait for their sync.
#[derive(Debug)]
pub(super) struct Unsynced {
    /// Held during a sync. A caller with nothing left to sync still waits for the running one,
    /// which may have taken its blobs.
    running: Mutex<()>,
    waiting: Mutex<Waiting>,
    /// Number of waiting blobs from which on the whole file system is synced instead of each file. A
    /// sync of a file takes milliseconds of the device, and one of the file system as long as the bytes
    /// of all programs.
    at_once: AtomicUsize,
}

impl Default for Unsynced {
    fn default() -> Self {
        let (running, waiting) = (Mutex::default(), Mutex::default());
        Self { running, waiting, at_once: AtomicUsize::new(usize::MAX) }
    }
}

#[derive(Debug, Default)]
struct Waiting {
    blobs: BTreeMap<BlobId, Blob>,
    open_files: usize,
    bytes: u64,
    /// Bytes of the blobs that the running sync has taken out.
    syncing_bytes: u64,
}

#[derive(Debug)]
struct Blob {
    file: Option<Box<dyn DiskFile>>,
    bytes: u64,
}

impl Unsynced {
    /// Adds a blob that has its name. `false` if too many blobs wait.
    pub(super) fn add(&self, id: BlobId, file: Box<dyn DiskFile>, bytes: u64) -> bool {
        let mut waiting = self.waiting.lock();
        let file = (waiting.open_files < OPEN_FILES_MAX).then_some(file);
        waiting.add(id, Blob { file, bytes });
        waiting.blobs.len() < BLOBS_MAX
    }

    /// Implements [`BlobStore::sync_at_once`](super::BlobStore::sync_at_once).
    pub(super) fn sync_at_once(&self, from: Option<usize>) {
        self.at_once.store(from.unwrap_or(usize::MAX), Ordering::Relaxed);
    }

    /// Removes a deleted blob.
    pub(super) fn forget(&self, id: &BlobId) {
        self.waiting.lock().remove(id);
    }

    /// Bytes that are not synced yet, plus the cost of each file's sync. Blobs being synced count,
    /// since a call of [`Unsynced::sync`] would wait for them.
    pub(super) fn bytes(&self) -> u64 {
        let waiting = self.waiting.lock();
        waiting.bytes + waiting.syncing_bytes
    }

    /// Makes every blob durable that was added before the call: contents, then names.
    pub(super) fn sync(&self, disk: &dyn Disk, directories: &Directories) -> io::Result<()> {
        let _alone = self.running.lock();
        let taken = {
            // Taken out, so that seals can add blobs during the sync.
            let mut waiting = self.waiting.lock();
            let taken = mem::take(&mut *waiting);
            waiting.syncing_bytes = taken.bytes;
            taken
        };
        // Not under the lock of the list: syncs take long, and seals must go on.
        let is_at_once = taken.blobs.len() >= self.at_once.load(Ordering::Relaxed);
        let result = match is_at_once {
            true => directories.sync_everything(disk),
            false => Ok(false),
        };
        let result = match result {
            Ok(false) => sync_all(&taken.blobs, disk, directories),
            result => result.map(drop),
        };
        let mut waiting = self.waiting.lock();
        waiting.syncing_bytes = 0;
        if result.is_err() {
            // Put back: nothing is known to be durable, so the next sync takes all of them again.
            taken.blobs.into_iter().for_each(|(id, blob)| waiting.add(id, blob));
        }
        result
    }
}

impl Waiting {
    fn add(&mut self, id: BlobId, blob: Blob) {
        self.remove(&id);
        self.open_files += usize::from(blob.file.is_some());
        self.bytes += blob.bytes + SYNC_BYTES;
        self.blobs.insert(id, blob);
    }

    fn remove(&mut self, id: &BlobId) {
        if let Some(blob) = self.blobs.remove(id) {
            self.open_files -= usize::from(blob.file.is_some());
            self.bytes -= blob.bytes + SYNC_BYTES;
        }
    }
}

fn sync_all(
    blobs: &BTreeMap<BlobId, Blob>,
    disk: &dyn Disk,
    directories: &Directories,
) -> io::Result<()> {
    for (id, blob) in blobs {
        match &blob.file {
            Some(file) => file.sync_data()?,
            None => match disk.open(&directories.path(id), OpenMode::Read) {
                Ok(file) => file.sync_data()?,
                // Deleted meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            },
        }
    }
    // Contents of all files first, then each directory once.
    let indexes: BTreeSet<u8> = blobs.keys().map(|id| directories.index(id)).collect();
    for index in indexes {
        directories.sync(disk, index)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::any::Any;
    use std::os::fd::BorrowedFd;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    use liteio_disk::SimulatedDisk;

    use super::*;
    use crate::file_path::{self, Fanout};

    /// Notes during its sync what is said to be unsynced.
    #[derive(Debug)]
    struct Witness {
        unsynced: Arc<Unsynced>,
        seen: Arc<AtomicU64>,
    }

    impl DiskFile for Witness {
        fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
            Ok(0)
        }
        fn try_read_at(&self, _: &mut [u8], _: u64) -> io::Result<Option<usize>> {
            Ok(None)
        }
        fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
            Ok(())
        }
        fn len(&self) -> io::Result<u64> {
            Ok(0)
        }
        fn set_len(&self, _: u64) -> io::Result<()> {
            Ok(())
        }
        fn sync_data(&self) -> io::Result<()> {
            self.seen.store(self.unsynced.bytes(), Ordering::SeqCst);
            Ok(())
        }
        fn start_writeback(&self, _: u64, _: u64) {}
        fn try_lock(&self) -> io::Result<()> {
            Ok(())
        }
        fn descriptor(&self) -> Option<BorrowedFd<'_>> {
            None
        }
        fn as_any(&self) -> &dyn Any {
            self
        }
    }

    #[test]
    fn what_is_being_synced_counts_until_it_is() {
        let disk = SimulatedDisk::new(1);
        let directories = Directories::open(&disk, Fanout::FIRST).expect("opened");
        disk.create_dir(&file_path::directory_path(0)).expect("made");
        let unsynced = Arc::new(Unsynced::default());
        let seen = Arc::new(AtomicU64::new(0));
        let witness = Witness { unsynced: Arc::clone(&unsynced), seen: Arc::clone(&seen) };
        assert!(unsynced.add(BlobId([0; 16]), Box::new(witness), 1000));
        let before = unsynced.bytes();
        unsynced.sync(&disk, &directories).expect("synced");
        assert_eq!(seen.load(Ordering::SeqCst), before);
        assert_eq!(unsynced.bytes(), 0);
    }
}
