//! The fan-out directories of blobs. Each is created with its first blob.

use std::io;
use std::sync::atomic::{AtomicU8, Ordering};

use liteio_disk::{Disk, DiskFile};

use super::BlobId;
use super::file_path::{self, BLOBS_DIRECTORY, Fanout};
use super::group_sync::GroupSync;

/// Number of directories: one for each value of a byte of an id.
pub(super) const DIRECTORIES: usize = 256;

/// States of a directory, in the order in which it passes them:
///
/// ```text
/// MISSING ── link: create_dir ──► MADE ── sync: its names, then blobs/ ──► DURABLE
/// ```
const MISSING: u8 = 0;
const MADE: u8 = 1;
const DURABLE: u8 = 2;

/// The directories with their states.
#[derive(Debug)]
pub(super) struct Directories {
    fanout: Fanout,
    /// Indexed by the byte at `fanout` of an id.
    all: Box<[Directory; DIRECTORIES]>,
    /// Syncs of `blobs/`, which has the names of the directories.
    parent: GroupSync,
}

#[derive(Debug, Default)]
struct Directory {
    sync: GroupSync,
    state: AtomicU8,
}

impl Directories {
    /// Finds the directories of `disk`, and creates `blobs/`.
    ///
    /// # Errors
    /// The errors of [`Disk::create_dir`], [`Disk::list`] and [`Disk::sync_dir`].
    pub(super) fn open(disk: &dyn Disk, fanout: Fanout) -> io::Result<Self> {
        disk.create_dir(BLOBS_DIRECTORY)?;
        let mut all = Box::new(std::array::from_fn(|_| Directory::default()));
        let entries = disk.list(BLOBS_DIRECTORY)?;
        for entry in entries.iter().filter(|entry| entry.is_dir) {
            if let Some(index) = file_path::parse_directory(&entry.name) {
                all[usize::from(index)].state = AtomicU8::new(DURABLE);
            }
        }
        // The process that created them may have ended before its sync. The first start has none,
        // and a sync takes up to a tenth of its time.
        if !entries.is_empty() {
            disk.sync_dir(BLOBS_DIRECTORY)?;
        }
        Ok(Self { fanout, all, parent: GroupSync::default() })
    }

    /// Finds directories that other processes have made. They may not be durable yet.
    ///
    /// # Errors
    /// The errors of [`Disk::list`].
    pub(super) fn look_again(&self, disk: &dyn Disk) -> io::Result<()> {
        let entries = disk.list(BLOBS_DIRECTORY)?;
        let names = entries.iter().filter(|entry| entry.is_dir).map(|entry| &*entry.name);
        for index in names.filter_map(file_path::parse_directory) {
            self.found(index);
        }
        Ok(())
    }

    /// Notes that a directory is there. Another thread may have synced it even: never step back from
    /// DURABLE.
    fn found(&self, index: u8) {
        let state = &self.all[usize::from(index)].state;
        let _ = state.compare_exchange(MISSING, MADE, Ordering::AcqRel, Ordering::Acquire);
    }

    /// The index of the directory of a blob.
    pub(super) fn index(&self, id: &BlobId) -> u8 {
        self.fanout.index(id)
    }

    /// The place of the byte of an id that chooses its directory.
    pub(super) fn place(&self) -> usize {
        self.fanout.0
    }

    /// The path of a blob.
    pub(super) fn path(&self, id: &BlobId) -> String {
        self.fanout.path(id)
    }

    /// The id of the file `name` in the directory `index`; `None` if the file is not ours.
    pub(super) fn parse_name(&self, index: u8, name: &str) -> Option<BlobId> {
        self.fanout.parse_name(index, name)
    }

    /// Gives `file` the name of the blob, and creates the directory if it is missing. Returns the
    /// path, which is durable after [`Directories::sync`].
    ///
    /// # Errors
    /// The errors of [`Disk::create_dir`] and [`Disk::link`].
    pub(super) fn link(
        &self,
        disk: &dyn Disk,
        file: &dyn DiskFile,
        id: &BlobId,
    ) -> io::Result<String> {
        self.prepare(disk, id)?;
        let path = self.path(id);
        disk.link(file, &path)?;
        Ok(path)
    }

    /// Creates the directory of a blob if it is missing.
    ///
    /// # Errors
    /// The errors of [`Disk::create_dir`].
    pub(super) fn prepare(&self, disk: &dyn Disk, id: &BlobId) -> io::Result<()> {
        let index = self.index(id);
        let state = &self.all[usize::from(index)].state;
        if state.load(Ordering::Acquire) == MISSING {
            disk.create_dir(&file_path::directory_path(index))?;
            self.found(index);
        }
        Ok(())
    }

    /// Makes every name durable that was in the directory `index` before the call, and the name of
    /// the directory itself. A file is lost together with the name of its directory.
    ///
    /// # Errors
    /// The errors of [`Disk::sync_dir`].
    pub(super) fn sync(&self, disk: &dyn Disk, index: u8) -> io::Result<()> {
        let directory = &self.all[usize::from(index)];
        // Inside out: the file's name first, then the directory's. Neither order loses anything,
        // since the caller acknowledges after both.
        let path = file_path::directory_path(index);
        directory.sync.sync(|| disk.sync_dir(&path))?;
        if directory.state.load(Ordering::Acquire) != DURABLE {
            self.parent.sync(|| disk.sync_dir(BLOBS_DIRECTORY))?;
            directory.state.store(DURABLE, Ordering::Release);
        }
        Ok(())
    }

    /// Makes every name and everything else durable that was on the disk before the call; `false`,
    /// without an effect, if the disk cannot.
    ///
    /// # Errors
    /// The errors of [`Disk::sync_everything`].
    pub(super) fn sync_everything(&self, disk: &dyn Disk) -> io::Result<bool> {
        // Those that are made during the sync are not durable behind it.
        let made: Vec<u8> = self.present().collect();
        let is_synced = disk.sync_everything()?;
        if is_synced {
            for index in made {
                self.all[usize::from(index)].state.store(DURABLE, Ordering::Release);
            }
        }
        Ok(is_synced)
    }

    /// The existing directories.
    pub(super) fn present(&self) -> impl Iterator<Item = u8> {
        let is_there =
            |index: &u8| self.all[usize::from(*index)].state.load(Ordering::Acquire) != MISSING;
        (0..=u8::MAX).filter(is_there)
    }
}
