//! [`RemoteBlobStore`]: blobs as objects of a bucket of S3, Google Cloud Storage or Azure, which several servers share.
//!
//! | Module | Content |
//! |---|---|
//! | `blocks` | the object of a blob: blocks with their checksums |
//! | `bucket` | the bucket, and the names of objects |
//! | `call` | waiting, repeating, and the kinds of failures |
//! | `writer` | one PUT, or an upload in parts |
//! | `fetch`, `reader`, `ahead` | ranged GETs, read ahead within a bound |
//! | `cache` | chunks on a local disk |
//! | `connect`, `http` | the services and the connections to them |
//!
//! A read or write of a thread waits for a task of this store's own runtime, so its callers are threads that may
//! block, and no runtime of theirs is used.
//!
//! Object storage has no open files: a blob that is deleted is gone for its readers, too. Deletion waits for
//! them elsewhere (`Cluster::may_delete`). A missing blob is found by the first read, not when it is opened, which
//! would cost another request.

mod ahead;
mod blocks;
mod bucket;
mod cache;
mod call;
mod connect;
#[cfg(test)]
mod faulty;
mod fetch;
mod http;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use liteio_disk::Disk;
use object_store::path::Path;
use object_store::{
    GetOptions, ObjectStore as _, ObjectStoreExt as _, PutMode, PutOptions, PutPayload,
};
use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;

use self::ahead::Ahead;
use self::blocks::BODY_BYTES_MAX;
use self::bucket::{Bucket, Remote};
use self::cache::BlockCache;
use self::call::{Attempts, Failure, Patience, judge, persist, wait};
use self::reader::RemoteReader;
use self::writer::RemoteWriter;
use super::identity::{self, ClusterId, IDENTITY_BYTES_MAX};
use super::location::{BlobAccess, BucketLocation};
use super::shared_store::SharedBlobStore;
use super::{BlobError, BlobId, BlobReader, BlobStore, BlobWriter, MemoryBlobStore};
use crate::PIECE_BYTES;

/// Threads of the runtime: requests of all readers and writers, and TLS.
const THREADS: usize = 2;
/// Chunks that wait for readers, of all together, beyond one for each: 256 MiB.
const AHEAD_CHUNKS: u64 = 1024;
/// Parts that are sent at the same time, of all writers: 128 MiB. Two writers keep a fast line busy.
const PARTS: usize = 16;
/// Ids of a listing that wait for the caller.
const LISTED: usize = 1024;
/// Time for which an end waits for uploads to be aborted.
const CLOSING: Duration = Duration::from_secs(5);

/// Blobs as objects of a bucket.
#[derive(Debug)]
pub(crate) struct RemoteBlobStore {
    shared: Arc<Shared>,
    /// The number of this server's run.
    run: u32,
}

/// State shared by the store, its readers and its writers. Tasks have what they need of it: the last owner of the
/// runtime is no task.
#[derive(Debug)]
struct Shared {
    remote: Arc<Remote>,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    ahead: Ahead,
    parts: Arc<Semaphore>,
    cache: Option<Arc<BlockCache>>,
    /// Deletions and aborts that nobody waits for.
    background: Mutex<JoinSet<()>>,
}

/// A cache on a local disk, and most bytes of its files.
pub(crate) struct CacheSpace {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) bytes_max: u64,
}

impl RemoteBlobStore {
    /// The blobs below a location. Nothing is sent yet.
    ///
    /// # Errors
    /// One line that says what to change.
    pub(crate) fn open(
        location: &BucketLocation,
        access: &BlobAccess,
        run: u32,
    ) -> Result<Self, String> {
        let bucket = connect::bucket(location, access)?;
        let shown = location.to_string();
        let prefix = location.prefix().to_owned();
        Self::over(bucket, shown, prefix, run, Patience::default())
    }

    fn over(
        bucket: Arc<dyn Bucket>,
        shown: String,
        prefix: String,
        run: u32,
        patience: Patience,
    ) -> Result<Self, String> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("liteio-blobs")
            .enable_all()
            .build()
            .map_err(|error| format!("cannot start the threads of the blob store: {error}"))?;
        let shared = Shared {
            remote: Arc::new(Remote { bucket, shown, prefix, patience }),
            runtime: Some(runtime),
            ahead: Ahead::new(AHEAD_CHUNKS),
            parts: Arc::new(Semaphore::new(PARTS)),
            cache: None,
            background: Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared), run })
    }

    /// The same store with a cache, of the cluster `cluster`. Called before the store is used.
    ///
    /// # Errors
    /// The errors of the disk; `ResourceBusy` if another server uses the directory.
    pub(crate) fn with_cache(self, space: CacheSpace, cluster: &ClusterId) -> io::Result<Self> {
        let cache = BlockCache::open(space.disk, cluster, space.bytes_max)?;
        let Ok(shared) = Arc::try_unwrap(self.shared).map(|mut shared| {
            shared.cache = Some(Arc::new(cache));
            shared
        }) else {
            return Err(io::Error::other("the blob store is in use already"));
        };
        Ok(Self { shared: Arc::new(shared), run: self.run })
    }

    /// Calls `found` with the blobs in a directory. A listing that is cut goes on behind its last name, which is
    /// possible in the order of names.
    fn list(&self, run: Option<u32>, found: &mut dyn FnMut(BlobId)) -> Result<(), BlobError> {
        let (to, mut ids) = mpsc::channel(LISTED);
        let remote = Arc::clone(&self.shared.remote);
        let listing = async move {
            let directory = remote.directory(run);
            let mut last: Option<Path> = None;
            let mut attempts = Attempts::new(remote.patience);
            'answers: loop {
                let mut objects = match &last {
                    Some(last) => remote.bucket.list_with_offset(Some(&directory), last),
                    None => remote.bucket.list(Some(&directory)),
                };
                let failure = loop {
                    let object = match timeout(remote.patience.attempt, objects.next()).await {
                        Ok(None) => return Ok(()),
                        Ok(Some(Ok(object))) => object.location,
                        Ok(Some(Err(error))) => break judge(error),
                        Err(_) => break Failure::Transient("no answer to a listing".to_owned()),
                    };
                    if last.as_ref().is_some_and(|last| *last >= object) {
                        let reason = "it does not list objects in the order of their names";
                        return Err(Failure::Refused(reason.to_owned()));
                    }
                    attempts.progress();
                    if let Some(id) = remote.id_of(&object)
                        && to.send(id).await.is_err()
                    {
                        return Ok(());
                    }
                    last = Some(object);
                };
                match failure {
                    Failure::Transient(_) if attempts.pause().await => continue 'answers,
                    failure => return Err(failure),
                }
            }
        };
        let listing = self.shared.runtime().spawn(listing);
        // `found` is called outside of the task: it may call this store.
        while let Some(id) = wait(ids.recv()) {
            found(id);
        }
        joined(wait(listing)).map_err(|failure| self.shared.remote.told(failure))
    }
}

impl Shared {
    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("it is not dropped")
    }

    /// Waits for a call, which is made by a task.
    fn run<T: Send + 'static>(&self, call: impl Future<Output = T> + Send + 'static) -> T {
        match wait(self.runtime().spawn(call)) {
            Ok(value) => value,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// Waits until one more part may be sent.
    fn room_for_a_part(&self) -> OwnedSemaphorePermit {
        let room = wait(Arc::clone(&self.parts).acquire_owned());
        room.expect("the semaphore is never closed")
    }

    fn in_background(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut background = self.background.lock();
        while background.try_join_next().is_some() {}
        background.spawn_on(work, self.runtime().handle());
    }

    /// Deletes a blob whose seal failed, although a request of it may have had an effect.
    fn delete_in_background(&self, id: BlobId) {
        let remote = Arc::clone(&self.remote);
        self.in_background(async move {
            let object = remote.object(&id);
            // What stays is an orphan, which is found by its run.
            let _ = persist(remote.patience, || remote.bucket.delete(&object)).await;
        });
    }

    /// Waits for the work in the background, for a bounded time.
    fn settle(&self) {
        let mut background = std::mem::take(&mut *self.background.lock());
        self.run(async move {
            let _ =
                timeout(CLOSING, async { while background.join_next().await.is_some() {} }).await;
        });
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The last owner may be a task of another runtime, which must not wait for threads.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The result of a task. Tasks of this store end before it does, or are given up with their result.
fn joined<T>(result: Result<Result<T, Failure>, JoinError>) -> Result<T, Failure> {
    match result {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(Failure::Transient("the blob store was closed".to_owned())),
    }
}

impl BlobStore for RemoteBlobStore {
    fn next_id(&self, random: [u8; 16]) -> BlobId {
        BlobId::of_run(self.run, random)
    }

    fn begin(
        &self,
        id: BlobId,
        expected_bytes: Option<u64>,
    ) -> Result<Box<dyn BlobWriter>, BlobError> {
        let shared = Arc::clone(&self.shared);
        Ok(Box::new(RemoteWriter::new(shared, id, expected_bytes.unwrap_or(0))))
    }

    fn begin_in_memory(&self, id: BlobId, bytes: u64) -> Option<Box<dyn BlobWriter>> {
        // Nothing is sent before the seal, or more bytes.
        (bytes <= PIECE_BYTES as u64).then(|| self.begin(id, Some(bytes)).ok())?
    }

    fn open(&self, id: &BlobId, body_bytes: u64) -> Result<Arc<dyn BlobReader>, BlobError> {
        if body_bytes > BODY_BYTES_MAX {
            return Err(bucket::wrong_length(id));
        }
        Ok(Arc::new(RemoteReader::new(Arc::clone(&self.shared), *id, body_bytes)))
    }

    fn delete(&self, id: &BlobId) -> Result<(), BlobError> {
        let (remote, object) = (Arc::clone(&self.shared.remote), self.shared.remote.object(id));
        let delete = async move {
            match persist(remote.patience, || remote.bucket.delete(&object)).await {
                Err(Failure::Missing) => Ok(()),
                deleted => deleted.map_err(|failure| remote.told(failure)),
            }
        };
        self.shared.run(delete)
    }

    fn scan(&self, found: &mut dyn FnMut(BlobId)) -> Result<(), BlobError> {
        self.list(None, found)
    }

    fn clean_temporary(&self) -> Result<(), BlobError> {
        // Unfinished uploads of a dead process are left to the rule of the bucket.
        Ok(())
    }

    fn is_own(&self, id: &BlobId) -> bool {
        id.run() == self.run
    }

    fn close(&self) -> Result<bool, BlobError> {
        self.shared.settle();
        Ok(true)
    }

    fn clone_in_memory(&self) -> Option<MemoryBlobStore> {
        None
    }

    fn scan_run(&self, run: u32, found: &mut dyn FnMut(BlobId)) -> Result<(), BlobError> {
        self.list(Some(run), found)
    }

    fn probe(&self) -> Result<(), BlobError> {
        self.probe_identity()
    }

    fn clean_run(&self, _run: u32) -> Result<(), BlobError> {
        Ok(())
    }
}

impl SharedBlobStore for RemoteBlobStore {
    fn read_identity(&self) -> Result<Option<ClusterId>, BlobError> {
        let (remote, object) = (Arc::clone(&self.shared.remote), self.shared.remote.identity());
        let shown = self.shared.remote.shown.clone();
        let read = async move {
            let get = || async {
                let answer = remote.bucket.get_opts(&object, GetOptions::default()).await?;
                match answer.meta.size > IDENTITY_BYTES_MAX {
                    true => Ok(Vec::new()),
                    false => answer.bytes().await.map(Into::into),
                }
            };
            match persist(remote.patience, get).await {
                Ok(contents) => Ok(Some(contents)),
                Err(Failure::Missing) => Ok(None),
                Err(failure) => Err(remote.told(failure)),
            }
        };
        let contents: Option<Vec<u8>> = self.shared.run(read)?;
        let id = contents.map(|contents| identity::decode(&contents, &shown)).transpose();
        id.map_err(|reason| BlobError::Unavailable { reason })
    }

    fn create_identity(&self, id: &ClusterId) -> Result<bool, BlobError> {
        if let Some(found) = self.read_identity()? {
            return Ok(found == *id);
        }
        let (remote, object) = (Arc::clone(&self.shared.remote), self.shared.remote.identity());
        let contents = PutPayload::from(identity::encode(id));
        let create = async move {
            let put = || {
                let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
                remote.bucket.put_opts(&object, contents.clone(), options)
            };
            match persist(remote.patience, put).await {
                // Perhaps by an attempt whose answer was lost.
                Ok(_) | Err(Failure::Exists) => Ok(()),
                Err(failure) => Err(remote.told(failure)),
            }
        };
        self.shared.run(create)?;
        // Read back: a service that does not know the condition replaces what is there, and of two callers both would
        // believe to have made it.
        Ok(self.read_identity()? == Some(*id))
    }

    fn shown(&self) -> &str {
        &self.shared.remote.shown
    }
}
