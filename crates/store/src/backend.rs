//! The place of the data of several servers: a database, and blobs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use liteio_kv::database::Database;

#[cfg(feature = "cluster")]
use liteio_blob::SharedBlobs;
#[cfg(any(test, feature = "test-util"))]
use liteio_blob::SimulatedBlobs;
use liteio_blob::{BlobStore, MemoryBlobStore};

/// A database that several servers share.
pub type ClusterDatabase = Arc<dyn Database>;

/// The database and the blobs of a store that several servers share.
#[derive(Clone)]
pub struct ClusterBackend {
    /// The database.
    pub database: ClusterDatabase,
    /// The blobs.
    pub blobs: ClusterBlobs,
    /// The name of this server, for people.
    pub server_name: String,
    /// Time for which deleted bodies are kept, beside their readers: at least as long as what the database may
    /// lose in a failover, or between two of its backups.
    pub deletion_grace: Duration,
}

impl fmt::Debug for ClusterBackend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ClusterBackend")
            .field("server_name", &self.server_name)
            .finish_non_exhaustive()
    }
}

/// Blobs that several servers share.
#[derive(Clone)]
pub struct ClusterBlobs(Blobs);

#[derive(Clone)]
enum Blobs {
    /// In memory of this process, for several stores in it.
    Memory(Arc<MemoryBlobStore>),
    #[cfg(any(test, feature = "test-util"))]
    Simulated(SimulatedBlobs),
    #[cfg(feature = "cluster")]
    Shared(SharedBlobs),
}

impl ClusterBlobs {
    /// Blobs in memory of this process, for tests with several stores in it. Clones are the same blobs.
    #[must_use]
    pub fn memory() -> Self {
        Self(Blobs::Memory(Arc::new(MemoryBlobStore::new())))
    }

    /// The blobs, as the server with this run writes them.
    pub(crate) fn of_run(&self, run: u32) -> Arc<dyn BlobStore> {
        match &self.0 {
            Blobs::Memory(blobs) => Arc::new(blobs.of_run(run)),
            #[cfg(any(test, feature = "test-util"))]
            Blobs::Simulated(blobs) => blobs.of_run(run),
            #[cfg(feature = "cluster")]
            Blobs::Shared(blobs) => blobs.blobs(),
        }
    }
}

#[cfg(feature = "cluster")]
impl From<SharedBlobs> for ClusterBlobs {
    fn from(blobs: SharedBlobs) -> Self {
        Self(Blobs::Shared(blobs))
    }
}

#[cfg(any(test, feature = "test-util"))]
impl From<SimulatedBlobs> for ClusterBlobs {
    fn from(blobs: SimulatedBlobs) -> Self {
        Self(Blobs::Simulated(blobs))
    }
}
