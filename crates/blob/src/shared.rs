//! [`SharedBlobs`]: a blob store that several servers use at once.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use liteio_disk::RealDisk;

use super::identity::{self, ClusterId};
use super::location::{BlobAccess, BlobLocation};
use super::remote::{CacheSpace, RemoteBlobStore};
use super::shared_directory::SharedDirectoryBlobStore;
use super::shared_store::SharedBlobStore;
use super::{BlobError, BlobStore};

/// A cache of blobs on a local disk.
#[derive(Clone, Debug)]
pub struct BlobCache {
    /// A directory for this server alone. It is made if it is missing.
    pub directory: PathBuf,
    /// Most bytes of its files.
    pub bytes_max: u64,
}

/// Blobs in object storage or in a shared directory.
#[derive(Clone)]
pub struct SharedBlobs {
    blobs: Arc<dyn SharedBlobStore>,
}

impl SharedBlobs {
    /// The blobs at `location`, as the server with this run uses them: a number that no other server has, or ever
    /// had. Of object storage nothing is asked yet. A directory must exist: an empty mount point would look
    /// like a cluster without blobs.
    ///
    /// # Errors
    /// One line that says what to change.
    pub fn open(location: &BlobLocation, access: &BlobAccess, run: u32) -> Result<Self, String> {
        let blobs: Arc<dyn SharedBlobStore> = match location {
            BlobLocation::Bucket(bucket) => Arc::new(RemoteBlobStore::open(bucket, access, run)?),
            BlobLocation::Directory(path) => Arc::new(SharedDirectoryBlobStore::open(path, run)?),
        };
        Ok(Self { blobs })
    }

    /// The same with a cache, of the cluster `id`. The network file system of a directory has its own.
    ///
    /// # Errors
    /// One line that says what to change.
    pub fn open_with_cache(
        location: &BlobLocation,
        access: &BlobAccess,
        run: u32,
        cache: &BlobCache,
        id: &ClusterId,
    ) -> Result<Self, String> {
        let BlobLocation::Bucket(bucket) = location else {
            let reason = "a cache of blobs is for object storage: a shared directory has the cache of its file system";
            return Err(reason.to_owned());
        };
        let blobs = RemoteBlobStore::open(bucket, access, run)?.with_cache(space(cache)?, id);
        let refused = |error| refused_cache(&cache.directory, &error);
        Ok(Self { blobs: Arc::new(blobs.map_err(refused)?) })
    }

    /// The cluster that the blobs belong to; `None` if none was created there.
    ///
    /// # Errors
    /// [`BlobError::Unavailable`] or [`BlobError::Io`], with what to do.
    pub fn cluster(&self) -> Result<Option<ClusterId>, BlobError> {
        self.blobs.read_identity()
    }

    /// Gives the blobs to a cluster. They may belong to it already.
    ///
    /// # Errors
    /// [`BlobError::Unavailable`] if they belong to another cluster, or the blob store does not answer;
    /// [`BlobError::Io`].
    pub fn create_cluster(&self, id: &ClusterId) -> Result<(), BlobError> {
        match self.blobs.create_identity(id)? {
            true => Ok(()),
            false => self.check(id),
        }
    }

    /// Checks that the blob store answers and belongs to this cluster, at the start of a server.
    ///
    /// # Errors
    /// [`BlobError::Unavailable`] or [`BlobError::Io`], with one line that says what to do.
    pub fn check(&self, id: &ClusterId) -> Result<(), BlobError> {
        let found = self.blobs.read_identity()?;
        match identity::mismatch(found, id, self.blobs.shown()) {
            Some(reason) => Err(BlobError::Unavailable { reason }),
            None => Ok(()),
        }
    }

    /// The location without secrets.
    #[must_use]
    pub fn shown(&self) -> &str {
        self.blobs.shown()
    }

    /// The blobs, for the store that uses them.
    #[must_use]
    pub fn blobs(&self) -> Arc<dyn BlobStore> {
        self.blobs.clone()
    }
}

/// Runs the contract of blob stores; `open` returns an empty one each time, in object storage.
#[cfg(any(test, feature = "test-util"))]
pub fn shared_blobs_contract(open: &dyn Fn() -> SharedBlobs) {
    super::contract::suite(&|| open().blobs(), super::contract::Promises::OfObjectStorage);
}

impl fmt::Debug for SharedBlobs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("SharedBlobs").field(&self.shown()).finish()
    }
}

fn space(cache: &BlobCache) -> Result<CacheSpace, String> {
    let disk = RealDisk::open(&cache.directory);
    let disk = disk.map_err(|error| refused_cache(&cache.directory, &error))?;
    Ok(CacheSpace { disk: Arc::new(disk), bytes_max: cache.bytes_max })
}

fn refused_cache(directory: &Path, error: &std::io::Error) -> String {
    let directory = directory.display();
    match error.kind() {
        std::io::ErrorKind::ResourceBusy => {
            format!(
                "another server uses the cache of blobs in {directory}: give each server its own directory"
            )
        }
        _ => format!("the cache of blobs in {directory} cannot be used: {error}"),
    }
}
