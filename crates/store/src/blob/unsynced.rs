//! Blobs that the kernel has and the device perhaps not, at [`Durability::Os`](crate::Durability::Os).

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::mem;

use liteio_disk::{Disk, DiskFile, OpenMode};
use parking_lot::Mutex;

use super::directory_sync::DirectorySync;
use super::{BlobId, file_path};

/// Blobs whose file is kept open until its sync: a file that was opened anew might not be told of a
/// write that failed. A process has few descriptors, so beyond this they are opened anew.
const OPEN_FILES_MAX: usize = 256;
/// Blobs that may wait. Whoever seals one more waits for a sync.
const BLOBS_MAX: usize = 1 << 16;
/// What the sync of a file costs beside its bytes, in bytes.
const SYNC_BYTES: u64 = 64 << 10;

/// Blobs that wait for their sync.
#[derive(Debug, Default)]
pub(super) struct Unsynced {
    /// Held by the sync that runs: who finds nothing left to sync must wait for its end.
    running: Mutex<()>,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    blobs: BTreeMap<BlobId, Blob>,
    open_files: usize,
    bytes: u64,
}

#[derive(Debug)]
struct Blob {
    file: Option<Box<dyn DiskFile>>,
    bytes: u64,
}

impl Unsynced {
    /// Adds a blob that has its name. `false` when too many wait.
    pub(super) fn add(&self, id: BlobId, file: Box<dyn DiskFile>, bytes: u64) -> bool {
        let mut waiting = self.waiting.lock();
        let file = (waiting.open_files < OPEN_FILES_MAX).then_some(file);
        waiting.add(id, Blob { file, bytes });
        waiting.blobs.len() < BLOBS_MAX
    }

    /// Leaves out a blob that was deleted.
    pub(super) fn forget(&self, id: &BlobId) {
        self.waiting.lock().remove(id);
    }

    /// Bytes that wait, and for each file what its sync costs.
    pub(super) fn bytes(&self) -> u64 {
        self.waiting.lock().bytes
    }

    /// Makes every blob durable that was added before the call: contents, then names.
    pub(super) fn sync(&self, disk: &dyn Disk, directories: &[DirectorySync]) -> io::Result<()> {
        let _alone = self.running.lock();
        let taken = mem::take(&mut *self.waiting.lock());
        let result = sync_all(&taken.blobs, disk, directories);
        if result.is_err() {
            let mut waiting = self.waiting.lock();
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
    directories: &[DirectorySync],
) -> io::Result<()> {
    for (id, blob) in blobs {
        match &blob.file {
            Some(file) => file.sync_data()?,
            None => match disk.open(&file_path::blob_path(id), OpenMode::Read) {
                Ok(file) => file.sync_data()?,
                // Deleted meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            },
        }
    }
    let indexes: BTreeSet<u8> = blobs.keys().map(|id| id.0[0]).collect();
    for index in indexes {
        directories[usize::from(index)].sync(disk, &file_path::directory_path(index))?;
    }
    Ok(())
}
