//! [`SharedDirectoryBlobStore`]: blobs as files of a directory that several servers use at once, on NFS, CephFS or
//! another network file system.
//!
//! The files are those of [`FileBlobStore`], each blob in one of its own. Nothing is decided by the file system:
//! names are made of the number of the server's run and of random bytes, so that no two servers ever make
//! the same one, temporary files are below `tmp/RUN/`, and a start deletes only those of its own run.
//!
//! A deleted file goes on being read on a local file system. On NFS it is a stale handle, which is told as
//! [`BlobError::Unavailable`]; deletion waits for readers elsewhere (`Cluster::may_delete`).

use std::io;
use std::path::Path;
use std::sync::Arc;

use liteio_disk::{Disk, OpenMode, RealDisk};

use super::file::{self, FileBlobStore, TEMPORARY_DIRECTORY, Use};
use super::file_path::Fanout;
use super::identity::{self, ClusterId, IDENTITY, IDENTITY_BYTES_MAX};
use super::shared::SharedBlobStore;
use super::{
    BlobError, BlobId, BlobReader, BlobStore, BlobWriter, Lengths, MemoryBlobStore, Seal, Sealed,
};
use crate::Durability;

/// Blobs as files of a shared directory.
#[derive(Debug)]
pub(crate) struct SharedDirectoryBlobStore {
    files: FileBlobStore,
    disk: Arc<dyn Disk>,
    shown: String,
    /// The number of this server's run.
    run: u32,
}

impl SharedDirectoryBlobStore {
    /// Opens the blobs of a directory, which must exist, and makes what is missing in it. Temporary files of
    /// this run are deleted: a run that is opened again has no writers.
    ///
    /// # Errors
    /// One line that says what to change.
    pub(crate) fn open(path: &Path, run: u32) -> Result<Self, String> {
        let refused = |error: &dyn std::fmt::Display| {
            format!(
                "the directory of blobs {} cannot be used: {error}: mount it, and let this user write there",
                path.display()
            )
        };
        let disk = RealDisk::open_shared(path, &name_of(run)).map_err(|error| refused(&error))?;
        let shown = format!("file://{}", path.display());
        Self::on(Arc::new(disk), shown, run).map_err(|error| refused(&error))
    }

    /// The same on a disk.
    ///
    /// # Errors
    /// [`BlobError::NoSpace`], [`BlobError::Poisoned`] or [`BlobError::Io`].
    pub(super) fn on(disk: Arc<dyn Disk>, shown: String, run: u32) -> Result<Self, BlobError> {
        let used =
            Use { fanout: Fanout::BEHIND_RUN, temporary: temporary_of(run), is_shared: true };
        // Another server has no log of this one: whatever is sealed is durable, and in a file of its own.
        let own = Arc::clone(&disk);
        let files = FileBlobStore::open_for(used, own, Durability::Fsync, 0, Lengths::new(0))?;
        files.clean_temporary()?;
        Ok(Self { files, disk, shown, run })
    }

    fn read_contents(&self) -> io::Result<Option<Vec<u8>>> {
        let file = match self.disk.open(IDENTITY, OpenMode::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut contents = vec![0; file.len()?.min(IDENTITY_BYTES_MAX) as usize];
        let length = file.read_at(&mut contents, 0)?;
        contents.truncate(length);
        Ok(Some(contents))
    }

    fn create_contents(&self, contents: &str) -> io::Result<()> {
        let file = self.disk.create_temporary()?;
        file.write_at(contents.as_bytes(), 0)?;
        file.sync_data()?;
        match self.disk.link(&*file, IDENTITY) {
            // Made meanwhile, or by this call, whose answer the network lost: the contents decide.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            linked => linked?,
        }
        self.disk.sync_dir("")
    }
}

fn name_of(run: u32) -> String {
    format!("{run:08x}")
}

fn temporary_of(run: u32) -> String {
    format!("{TEMPORARY_DIRECTORY}/{}", name_of(run))
}

/// A writer whose seal is durable whatever its caller would leave to a record.
#[derive(Debug)]
struct DurableWriter(Box<dyn BlobWriter>);

impl BlobWriter for DurableWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.0.append(bytes)
    }

    fn seal(self: Box<Self>, _: Seal) -> Result<Sealed, BlobError> {
        self.0.seal(Seal::Now)
    }
}

impl BlobStore for SharedDirectoryBlobStore {
    fn next_id(&self, random: [u8; 16]) -> BlobId {
        // The byte behind the run chooses the directory, at random: many servers share them, and a sync is of
        // one server.
        BlobId::of_run(self.run, random)
    }

    fn begin(
        &self,
        id: BlobId,
        expected_bytes: Option<u64>,
    ) -> Result<Box<dyn BlobWriter>, BlobError> {
        Ok(Box::new(DurableWriter(self.files.begin(id, expected_bytes)?)))
    }

    fn begin_as(&self, id: BlobId) -> Result<Box<dyn BlobWriter>, BlobError> {
        Ok(Box::new(DurableWriter(self.files.begin_as(id)?)))
    }

    fn open(&self, id: &BlobId, body_bytes: u64) -> Result<Arc<dyn BlobReader>, BlobError> {
        self.files.open(id, body_bytes)
    }

    fn delete(&self, id: &BlobId) -> Result<(), BlobError> {
        self.files.delete(id)
    }

    fn scan(&self, found: &mut dyn FnMut(BlobId)) -> Result<(), BlobError> {
        self.files.scan(found)
    }

    fn clean_temporary(&self) -> Result<(), BlobError> {
        self.files.clean_temporary()
    }

    fn is_own(&self, id: &BlobId) -> bool {
        id.run() == self.run
    }

    fn close(&self) -> Result<bool, BlobError> {
        self.files.close()
    }

    fn clone_in_memory(&self) -> Option<MemoryBlobStore> {
        None
    }
}

impl SharedBlobStore for SharedDirectoryBlobStore {
    fn scan_run(&self, run: u32, found: &mut dyn FnMut(BlobId)) -> Result<(), BlobError> {
        self.files.scan(&mut |id| {
            if id.run() == run {
                found(id);
            }
        })
    }

    fn clean_run(&self, run: u32) -> Result<(), BlobError> {
        match file::remove_files(&*self.disk, &temporary_of(run)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(BlobError::from_write(&*self.disk, error))
            }
            _ => Ok(()),
        }
    }

    fn read_identity(&self) -> Result<Option<ClusterId>, BlobError> {
        let contents = self.read_contents().map_err(|error| BlobError::Io(Arc::new(error)))?;
        let id = contents.map(|contents| identity::decode(&contents, &self.shown)).transpose();
        id.map_err(|reason| BlobError::Unavailable { reason })
    }

    fn create_identity(&self, id: &ClusterId) -> Result<bool, BlobError> {
        if let Some(found) = self.read_identity()? {
            return Ok(found == *id);
        }
        let created = self.create_contents(&identity::encode(id));
        created.map_err(|error| BlobError::from_write(&*self.disk, error))?;
        Ok(self.read_identity()? == Some(*id))
    }

    fn shown(&self) -> &str {
        &self.shown
    }
}
