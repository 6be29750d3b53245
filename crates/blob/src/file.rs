//! Blobs as files of a disk, and short ones in segments.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use liteio_disk::{Disk, Durability, FileIdentity, OpenMode};

use super::buffer::{BUFFER_BYTES, BufferPool, PIECE_BYTES, UNCACHED_PIECE_BYTES};
use super::directories::{DIRECTORIES, Directories};
use super::file_path::{self, Fanout};
use super::file_reader::{FileReader, Source};
use super::file_state::Shared;
use super::file_writer::FileWriter;
use super::segment_writer::SegmentWriter;
use super::segments::{Lengths, Segments};
use super::unsynced::Unsynced;
use super::{BlobError, BlobId, BlobReader, BlobStore, BlobWriter, MemoryBlobStore};

/// The directory of temporary files, for disks without unnamed files.
pub(super) const TEMPORARY_DIRECTORY: &str = "tmp";

/// Blobs per directory before the next directory is used: blobs sealed at the same time should be
/// in one directory, to share its sync.
const RUN_BLOBS: u64 = 1024;

/// Blobs as files of a disk, below `blobs/`, and in [segments](super::segments).
#[derive(Debug)]
pub struct FileBlobStore {
    shared: Arc<Shared>,
    /// Number of ids given out.
    given: AtomicU64,
    /// Directory of the first run, chosen at random once.
    first_directory: OnceLock<u8>,
}

/// The use of a directory: by this process alone, or by several.
#[derive(Debug)]
pub(super) struct Use {
    pub(super) fanout: Fanout,
    /// Directory of the temporary files of this process.
    pub(super) temporary: String,
    /// `true` if other processes make directories, too.
    pub(super) is_shared: bool,
}

impl Use {
    fn alone() -> Self {
        let temporary = TEMPORARY_DIRECTORY.to_owned();
        Self { fanout: Fanout::FIRST, temporary, is_shared: false }
    }
}

impl FileBlobStore {
    /// Opens the blobs of `disk`, and creates the missing directories.
    ///
    /// # Errors
    /// [`BlobError::NoSpace`], [`BlobError::Poisoned`] or [`BlobError::Io`].
    pub fn open(
        disk: Arc<dyn Disk>,
        durability: Durability,
        logged_bytes_max: usize,
        lengths: Lengths,
    ) -> Result<Self, BlobError> {
        Self::open_for(Use::alone(), disk, durability, logged_bytes_max, lengths)
    }

    /// The same for a directory that is used as `used` says.
    ///
    /// # Errors
    /// The same.
    pub(super) fn open_for(
        used: Use,
        disk: Arc<dyn Disk>,
        durability: Durability,
        logged_bytes_max: usize,
        lengths: Lengths,
    ) -> Result<Self, BlobError> {
        let directories = open_directories(&*disk, &used);
        let directories = directories.map_err(|error| BlobError::from_write(&*disk, error))?;
        let segments = Segments::open(Arc::clone(&disk), lengths);
        let segments = segments.map_err(|error| BlobError::Io(Arc::new(error)))?;
        let shared = Shared {
            disk,
            durability,
            logged_bytes_max,
            segments,
            buffers: BufferPool::new(BUFFER_BYTES),
            uncached_buffers: BufferPool::new(UNCACHED_PIECE_BYTES),
            directories,
            temporary: used.temporary,
            is_shared: used.is_shared,
            unsynced: Unsynced::default(),
        };
        Ok(Self {
            shared: Arc::new(shared),
            given: AtomicU64::new(0),
            first_directory: OnceLock::new(),
        })
    }

    /// Starts a blob that gets a file whatever its length, with this id as its name. An existing file
    /// is replaced.
    ///
    /// # Errors
    /// [`BlobError::NoSpace`], [`BlobError::Poisoned`] or [`BlobError::Io`].
    pub fn begin_file(&self, id: BlobId) -> Result<Box<dyn BlobWriter>, BlobError> {
        let shared = &self.shared;
        let removed = shared.disk.remove_if_there(&shared.directories.path(&id));
        removed.map_err(|error| shared.failed(error))?;
        let file = shared.disk.create_temporary().map_err(|error| shared.failed(error))?;
        Ok(Box::new(FileWriter::new(Arc::clone(shared), id, file)))
    }

    /// Gives a blob a file of its own by `link`, which gives a file that is a whole blob the path that it gets. An existing
    /// file is replaced. The next [`FileBlobStore::sync`] includes the contents. `false` if there is no such file, or if it cannot be
    /// linked: the bytes have to be copied. The name is durable after [`FileBlobStore::sync_directories`]. With `is_durable` the
    /// contents are already: a sync of each file would take milliseconds for nothing.
    ///
    /// # Errors
    /// [`BlobError::NoSpace`], [`BlobError::Poisoned`] or [`BlobError::Io`].
    pub fn link_file(
        &self,
        id: &BlobId,
        body_bytes: u64,
        is_durable: bool,
        link: &dyn Fn(&str) -> io::Result<()>,
    ) -> Result<bool, BlobError> {
        let shared = &self.shared;
        let failed = |error| shared.failed(error);
        shared.directories.prepare(&*shared.disk, id).map_err(failed)?;
        let path = shared.directories.path(id);
        let linked = match link(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                shared.disk.remove_if_there(&path).map_err(failed)?;
                link(&path)
            }
            linked => linked,
        };
        if linked.is_err() {
            shared.disk.health().check().map_err(failed)?;
            return Ok(false);
        }
        if is_durable {
            return Ok(true);
        }
        let file = shared.disk.open(&path, OpenMode::Read).map_err(failed)?;
        if !shared.unsynced.add(*id, file, body_bytes) {
            shared.sync().map_err(failed)?;
        }
        Ok(true)
    }

    /// Makes the names of all files durable.
    ///
    /// # Errors
    /// Any error of the disk.
    pub fn sync_directories(&self) -> io::Result<()> {
        let Shared { disk, directories, .. } = &*self.shared;
        directories.present().try_for_each(|index| directories.sync(&**disk, index))
    }

    /// `true` if a blob has a file of its own.
    ///
    /// # Errors
    /// [`BlobError::Io`].
    pub fn has_file(&self, id: &BlobId) -> Result<bool, BlobError> {
        match self.shared.disk.open(&self.shared.directories.path(id), OpenMode::Read) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(BlobError::from_read(*id, error)),
        }
    }

    /// Makes every blob durable that was sealed before the call.
    ///
    /// # Errors
    /// Any error of the disk. Blobs that were not synced stay in the list for the next call.
    pub fn sync(&self) -> io::Result<()> {
        self.shared.sync()
    }

    /// Writes those of `blobs` whose seals have left them to their record, and, with `is_synced`, makes
    /// them durable.
    ///
    /// # Errors
    /// Any error of the disk. The blobs may be lost.
    pub fn write_with_record(&self, blobs: &[BlobId], is_synced: bool) -> io::Result<()> {
        let segments = &self.shared.segments;
        segments.write(blobs)?;
        // Files are synced when they are sealed, or have their contents in the log.
        if is_synced { segments.sync_written() } else { Ok(()) }
    }

    /// Bytes of blobs that wait for [`FileBlobStore::sync`], plus an allowance for each file's
    /// sync.
    pub fn unsynced_bytes(&self) -> u64 {
        self.shared.unsynced.bytes() + self.shared.segments.unsynced_bytes()
    }

    /// Recovers a blob after a crash: writes it again from `contents`, or, if these are empty,
    /// verifies the file. `true` if the blob is whole; the next [`FileBlobStore::sync`] then
    /// includes it.
    ///
    /// With `contents`, an existing file is replaced, and a frame written again, even if it
    /// verifies. After a failed sync the kernel marks pages clean that the device does not have: they
    /// can be read, but would never be written.
    ///
    /// # Errors
    /// [`BlobError::NoSpace`], [`BlobError::Poisoned`] or [`BlobError::Io`] if the file cannot be
    /// written or read. Without contents, a missing or damaged file is `false`.
    pub fn recover(
        &self,
        id: &BlobId,
        body_bytes: u64,
        contents: &[u8],
    ) -> Result<bool, BlobError> {
        if !contents.is_empty() {
            let restored = match self.shared.segments.restore(id, body_bytes, contents) {
                Ok(false) => self.make_anew(id, contents, false),
                restored => restored.map(drop),
            };
            restored.map_err(|error| self.shared.failed(error))?;
        }
        // Verified in both cases: the contents came from a log that may be damaged, too.
        match self.read_through(id, body_bytes) {
            Ok(()) => {}
            Err(BlobError::NotFound { .. } | BlobError::Corrupt { .. }) if contents.is_empty() => {
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
        self.sync_again(id, body_bytes)?;
        Ok(true)
    }

    fn make_anew(&self, id: &BlobId, contents: &[u8], is_synced: bool) -> io::Result<()> {
        let disk = &self.shared.disk;
        let path = self.shared.directories.path(id);
        // A new file, not the old one overwritten: its pages may be marked clean.
        disk.remove_if_there(&path)?;
        let file = disk.create_temporary()?;
        file.write_at(contents, 0)?;
        if is_synced {
            file.sync_data()?;
        }
        self.shared.directories.link(&**disk, &*file, id).map(drop)
    }

    fn read_through(&self, id: &BlobId, body_bytes: u64) -> Result<(), BlobError> {
        let reader = self.open(id, body_bytes)?;
        let mut position = 0;
        while position < body_bytes {
            position += reader.read(position..body_bytes)?.bytes() as u64;
        }
        Ok(())
    }
}

fn open_directories(disk: &dyn Disk, used: &Use) -> io::Result<Directories> {
    disk.create_dir(TEMPORARY_DIRECTORY)?;
    disk.create_dir(&used.temporary)?;
    let directories = Directories::open(disk, used.fanout)?;
    // Durable before the first blob: with the name of its directory, a file would be lost.
    disk.sync_dir("")?;
    Ok(directories)
}

/// Removes the files in a directory.
pub(super) fn remove_files(disk: &dyn Disk, directory: &str) -> io::Result<()> {
    let entries = disk.list(directory)?;
    let mut files = entries.iter().filter(|entry| !entry.is_dir);
    files.try_for_each(|entry| disk.remove_if_there(&format!("{directory}/{}", entry.name)))
}

impl BlobStore for FileBlobStore {
    fn next_id(&self, random: [u8; 16]) -> BlobId {
        // Ids are random except for one byte, which walks through the directories in runs.
        let place = self.shared.directories.place();
        let first = *self.first_directory.get_or_init(|| random[place]);
        let run = self.given.fetch_add(1, Ordering::Relaxed) / RUN_BLOBS;
        let mut id = random;
        id[place] = first.wrapping_add((run % DIRECTORIES as u64) as u8);
        BlobId(id)
    }

    fn begin(
        &self,
        id: BlobId,
        expected_bytes: Option<u64>,
    ) -> Result<Box<dyn BlobWriter>, BlobError> {
        let shared = &self.shared;
        // A body of unknown length may turn out to be short.
        let bytes_max = shared.segments.body_bytes_max();
        if bytes_max > 0 && expected_bytes.unwrap_or(0) <= bytes_max {
            let shared = Arc::clone(shared);
            return Ok(Box::new(SegmentWriter::new(shared, id, expected_bytes)));
        }
        let file = shared.disk.create_temporary().map_err(|error| shared.failed(error))?;
        Ok(Box::new(FileWriter::new(Arc::clone(shared), id, file)))
    }

    fn begin_as(&self, id: BlobId) -> Result<Box<dyn BlobWriter>, BlobError> {
        self.begin_file(id)
    }

    fn begin_in_memory(&self, id: BlobId, bytes: u64) -> Option<Box<dyn BlobWriter>> {
        let shared = &self.shared;
        let is_short = bytes <= shared.segments.body_bytes_max().min(PIECE_BYTES as u64);
        is_short.then(|| -> Box<dyn BlobWriter> {
            Box::new(SegmentWriter::new(Arc::clone(shared), id, Some(bytes)))
        })
    }

    fn is_room_low(&self) -> bool {
        self.shared.segments.is_room_low()
    }

    fn make_room(&self, random: u64) {
        self.shared.segments.prepare(random);
    }

    fn sync_again(&self, id: &BlobId, body_bytes: u64) -> Result<(), BlobError> {
        let in_segment = self.shared.segments.recovered(id, body_bytes);
        if in_segment.map_err(|error| self.shared.failed(error))? {
            return Ok(());
        }
        let file = self.shared.disk.open(&self.shared.directories.path(id), OpenMode::Read);
        let file = file.map_err(|error| BlobError::from_read(*id, error))?;
        // Back-pressure as in `seal`: too many blobs wait, so sync now.
        if !self.shared.unsynced.add(*id, file, body_bytes) {
            self.shared.sync().map_err(|error| self.shared.failed(error))?;
        }
        Ok(())
    }

    fn sync_at_once(&self, from: Option<usize>) {
        self.shared.unsynced.sync_at_once(from);
    }

    fn sync_all(&self) -> Result<(), BlobError> {
        self.sync().map_err(|error| self.shared.failed(error))
    }

    fn write_all(&self) -> Result<(), BlobError> {
        self.shared.segments.write_all().map_err(|error| self.shared.failed(error))
    }

    fn open(&self, id: &BlobId, body_bytes: u64) -> Result<Arc<dyn BlobReader>, BlobError> {
        let source = match self.shared.segments.window(id, body_bytes)? {
            Some(window) => Source::Segment(window),
            None => {
                let file = self.shared.disk.open(&self.shared.directories.path(id), OpenMode::Read);
                Source::File(file.map_err(|error| BlobError::from_read(*id, error))?)
            }
        };
        let buffers = self.shared.buffers.clone();
        Ok(Arc::new(FileReader::new(*id, body_bytes, source, buffers)))
    }

    fn delete(&self, id: &BlobId) -> Result<(), BlobError> {
        if self.shared.segments.delete(id).map_err(|error| self.shared.failed(error))? {
            return Ok(());
        }
        // A deleted blob needs no sync.
        self.shared.unsynced.forget(id);
        // Not synced: a crash may bring the file back as an orphan, which the sweep removes.
        match self.shared.disk.remove(&self.shared.directories.path(id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.shared.failed(error)),
            _ => Ok(()),
        }
    }

    fn scan(&self, found: &mut dyn FnMut(BlobId)) -> Result<(), BlobError> {
        let scanned = self.shared.segments.scan(found);
        scanned.map_err(|error| BlobError::Io(Arc::new(error)))?;
        if self.shared.is_shared {
            let found = self.shared.directories.look_again(&*self.shared.disk);
            found.map_err(|error| BlobError::Io(Arc::new(error)))?;
        }
        for index in self.shared.directories.present() {
            let entries = self.shared.disk.list(&file_path::directory_path(index));
            let entries = entries.map_err(|error| BlobError::Io(Arc::new(error)))?;
            entries
                .iter()
                .filter_map(|entry| self.shared.directories.parse_name(index, &entry.name))
                .for_each(&mut *found);
        }
        Ok(())
    }

    fn clean_temporary(&self) -> Result<(), BlobError> {
        let disk = &self.shared.disk;
        let removed = remove_files(&**disk, &self.shared.temporary);
        removed.map_err(|error| self.shared.failed(error))?;
        // Space that cannot be given back now is given back by a later start.
        let _ = self.shared.segments.trim();
        Ok(())
    }

    fn is_own(&self, id: &BlobId) -> bool {
        self.shared.segments.is_own(id)
    }

    fn make_file(&self, id: &BlobId) -> Result<(), BlobError> {
        let shared = &self.shared;
        let contents = shared.segments.contents(id);
        let Some(contents) = contents.map_err(|error| BlobError::from_read(*id, error))? else {
            return Ok(());
        };
        self.make_anew(id, &contents, true).map_err(|error| shared.failed(error))?;
        shared.segments.delete(id).map(drop).map_err(|error| shared.failed(error))
    }

    fn settle(&self) -> Result<bool, BlobError> {
        self.shared.segments.settle().map_err(|error| self.shared.failed(error))
    }

    fn written_files(&self) -> Vec<(String, FileIdentity)> {
        self.shared.segments.written_files()
    }

    fn close(&self) -> Result<bool, BlobError> {
        self.shared.segments.close().map_err(|error| self.shared.failed(error))
    }

    fn clone_in_memory(&self) -> Option<MemoryBlobStore> {
        None
    }
}
