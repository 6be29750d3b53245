//! [`SimulatedBlobs`]: blobs in memory for tests, as object storage keeps them: calls fail, answers are lost,
//! what is sent may arrive later, and a blob that is deleted is gone for its readers, too.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{
    BlobError, BlobId, BlobPiece, BlobReader, BlobStore, BlobWriter, MemoryBlobStore, Seal, Sealed,
};

/// A call of a server to its blobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlobCall {
    /// Sending a whole blob.
    Put,
    /// Reading bytes.
    Get,
    /// Deleting a blob.
    Delete,
    /// Listing the blobs.
    List,
}

/// The fate of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlobFate {
    /// It happens.
    Happens,
    /// It fails without an effect.
    Fails,
    /// It happens, and its answer is lost.
    AnswerLost,
    /// Of a put: its answer is lost, and it arrives with [`SimulatedBlobs::deliver_late`].
    Late,
}

/// Decides what becomes of calls, and may keep the caller waiting.
pub trait BlobFates: Debug + Send + Sync + 'static {
    /// The fate of a call of the server with this run. Called before the call has its effect.
    fn fate(&self, run: u32, call: BlobCall) -> BlobFate;
}

/// Blobs that several servers share.
#[derive(Clone, Debug)]
pub struct SimulatedBlobs {
    blobs: Arc<MemoryBlobStore>,
    fates: Arc<dyn BlobFates>,
    late: Arc<Mutex<Vec<Box<dyn BlobWriter>>>>,
}

impl SimulatedBlobs {
    /// No blobs yet.
    #[must_use]
    pub fn new(fates: Arc<dyn BlobFates>) -> Self {
        Self { blobs: Arc::new(MemoryBlobStore::new()), fates, late: Arc::default() }
    }

    /// Number of blobs.
    #[must_use]
    pub fn count(&self) -> usize {
        let mut count = 0;
        // Memory does not fail.
        let _ = self.blobs.scan(&mut |_| count += 1);
        count
    }

    /// Lets the puts that are late arrive.
    pub fn deliver_late(&self) {
        for late in std::mem::take(&mut *self.late.lock()) {
            let _ = late.seal(Seal::Now);
        }
    }

    /// The blobs, as the server with this run uses them.
    pub fn of_run(&self, run: u32) -> Arc<dyn BlobStore> {
        Arc::new(OfRun { own: self.blobs.of_run(run), all: self.clone(), run })
    }
}

/// The blobs as one server uses them.
#[derive(Debug)]
struct OfRun {
    own: MemoryBlobStore,
    all: SimulatedBlobs,
    run: u32,
}

impl OfRun {
    /// A call with the fate that it meets.
    fn call<T>(
        &self,
        call: BlobCall,
        effect: impl FnOnce() -> Result<T, BlobError>,
    ) -> Result<T, BlobError> {
        match self.all.fates.fate(self.run, call) {
            BlobFate::Happens => effect(),
            BlobFate::AnswerLost => effect().and(Err(unavailable())),
            BlobFate::Fails | BlobFate::Late => Err(unavailable()),
        }
    }
}

fn unavailable() -> BlobError {
    BlobError::Unavailable { reason: "The simulated blobs do not answer.".to_owned() }
}

impl BlobStore for OfRun {
    fn next_id(&self, random: [u8; 16]) -> BlobId {
        self.own.next_id(random)
    }

    fn begin(
        &self,
        id: BlobId,
        expected_bytes: Option<u64>,
    ) -> Result<Box<dyn BlobWriter>, BlobError> {
        let blob = self.own.begin(id, expected_bytes)?;
        Ok(Box::new(Writer { blob, all: self.all.clone(), run: self.run }))
    }

    fn open(&self, id: &BlobId, body_bytes: u64) -> Result<Arc<dyn BlobReader>, BlobError> {
        // Nothing is asked before the first read.
        let blobs = Self { own: self.own.of_run(self.run), all: self.all.clone(), run: self.run };
        Ok(Arc::new(Reader { blobs, id: *id, bytes: body_bytes }))
    }

    fn delete(&self, id: &BlobId) -> Result<(), BlobError> {
        self.call(BlobCall::Delete, || self.own.delete(id))
    }

    fn scan(&self, found: &mut dyn FnMut(BlobId)) -> Result<(), BlobError> {
        self.call(BlobCall::List, || Ok(()))?;
        self.own.scan(found)
    }

    fn clean_temporary(&self) -> Result<(), BlobError> {
        Ok(())
    }

    fn clone_in_memory(&self) -> Option<MemoryBlobStore> {
        self.own.clone_in_memory()
    }
}

#[derive(Debug)]
struct Writer {
    blob: Box<dyn BlobWriter>,
    all: SimulatedBlobs,
    run: u32,
}

impl BlobWriter for Writer {
    fn append(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.blob.append(bytes)
    }

    fn seal(self: Box<Self>, seal: Seal) -> Result<Sealed, BlobError> {
        match self.all.fates.fate(self.run, BlobCall::Put) {
            BlobFate::Happens => self.blob.seal(seal),
            BlobFate::AnswerLost => self.blob.seal(seal).and(Err(unavailable())),
            BlobFate::Fails => Err(unavailable()),
            BlobFate::Late => {
                self.all.late.lock().push(self.blob);
                Err(unavailable())
            }
        }
    }
}

#[derive(Debug)]
struct Reader {
    blobs: OfRun,
    id: BlobId,
    bytes: u64,
}

impl BlobReader for Reader {
    fn read(&self, range: Range<u64>) -> Result<BlobPiece, BlobError> {
        let Self { blobs, id, bytes } = self;
        blobs.call(BlobCall::Get, || blobs.own.open(id, *bytes)?.read(range))
    }

    fn try_read(&self, _: Range<u64>) -> Result<Option<BlobPiece>, BlobError> {
        Ok(None)
    }
}
