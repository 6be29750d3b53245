//! Blobs: the bytes of objects that are too large for their record.
//!
//! A sealed blob is immutable and identified by its [`BlobId`] alone; this module does not know the
//! records that reference it. [`FileBlobStore`] keeps long blobs as files of a disk and short ones
//! in [segments](segments), [`MemoryBlobStore`] in memory. With the feature `cluster` several servers share the blobs in
//! object storage (`remote`) or in a directory (`shared_directory`). All pass the same contract suite.
//!
//! # The states of a blob
//! ```text
//!             begin          append           seal: sync, link, sync the directory
//!  (no file) ──────► unnamed ──────► unnamed ─────────────────────────────────────► durable
//!                       │                │
//!                       │ dropped        │ seal with `Os`, or left to the log: link only
//!                       ▼                ▼                            sync
//!                     (gone)          noted in the log ────────────────────────────► durable
//!                                     record of its update       (later, `Unsynced`)
//! ```
//! That is a file. A blob in a segment is `unnamed` until its frame is written. A sync of the segment
//! makes it durable, at once or, if it is noted in the log, later.
//!
//! A record may reference a durable blob without further ado. It may reference a linked one only if
//! the same log record notes it: then a crash loses both or neither.

mod buffer;
mod directories;
mod error;
mod extents;
mod file;
mod file_path;
mod file_reader;
mod file_state;
mod file_writer;
mod footer;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod group_sync;
#[cfg(feature = "cluster")]
mod identity;
#[cfg(feature = "cluster")]
mod location;
pub mod lost;
mod memory;
mod piece;
#[cfg(feature = "cluster")]
mod remote;
mod segment_writer;
mod segments;
#[cfg(feature = "cluster")]
mod shared;
#[cfg(feature = "cluster")]
mod shared_directory;
#[cfg(feature = "cluster")]
mod shared_store;
#[cfg(any(test, feature = "test-util"))]
mod simulated;
mod unsynced;

#[cfg(any(test, all(feature = "test-util", feature = "cluster")))]
mod contract;
#[cfg(test)]
mod noted_tests;
#[cfg(test)]
mod tests;

use std::fmt::{self, Debug};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use liteio_disk::FileIdentity;

pub use buffer::{PIECE_BYTES, SPARE_BYTES, UNCACHED_PIECE_BYTES};
pub use error::BlobError;
pub use extents::{BlobExtent, ExtentReader};
pub use file::FileBlobStore;
#[cfg(feature = "cluster")]
pub use identity::ClusterId;
#[cfg(feature = "cluster")]
pub use location::{BlobAccess, BlobLocation, BucketLocation};
pub use memory::MemoryBlobStore;
pub use piece::BlobPiece;
pub use segments::Lengths;
#[cfg(all(feature = "cluster", any(test, feature = "test-util")))]
pub use shared::shared_blobs_contract;
#[cfg(feature = "cluster")]
pub use shared::{BlobCache, SharedBlobs};
#[cfg(any(test, feature = "test-util"))]
pub use simulated::{BlobCall, BlobFate, BlobFates, SimulatedBlobs};

/// Length of the number of a server's run, with which the ids of a shared blob store begin.
const RUN_BYTES: usize = 4;

/// The name of a blob: 16 bytes, never reused. The first byte selects its directory. In a store that several
/// servers share, the first four are the number of the run of the server that wrote it, big-endian, and the
/// fifth selects the directory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId(pub [u8; 16]);

impl BlobId {
    /// An id of this run, from 16 random bytes.
    pub fn of_run(run: u32, random: [u8; 16]) -> Self {
        let mut id = random;
        id[..RUN_BYTES].copy_from_slice(&run.to_be_bytes());
        Self(id)
    }

    /// The number of the run of the server that wrote this blob.
    pub fn run(&self) -> u32 {
        let [a, b, c, d, ..] = self.0;
        u32::from_be_bytes([a, b, c, d])
    }
}

impl fmt::Display for BlobId {
    /// 32 lower-case hexadecimal digits.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl Debug for BlobId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "BlobId({self})")
    }
}

/// A set of sealed blobs.
///
/// # The contract
/// - A blob exists once [`BlobWriter::seal`] has returned `Ok`: whole, and durable if
///   [`Sealed::contents_to_note`] is `None`. A writer that is dropped, or whose seal fails, leaves
///   nothing that can be opened, with one exception: after a failed sync, or a crash during the
///   seal, the whole blob may exist all the same. It is an orphan, which [`BlobStore::scan`] finds.
/// - The bytes of a blob never change. Every returned byte was verified against the checksum
///   written with it. Bytes that cannot be verified are [`BlobError::Corrupt`] or
///   [`BlobError::NotFound`], never other bytes.
/// - A reader opened before [`BlobStore::delete`] continues to read. Object storage and network file systems cannot
///   promise it: there deletion waits for readers (`Cluster::may_delete`).
/// - After a failed sync every write fails with [`BlobError::Poisoned`]; reads continue.
pub trait BlobStore: Debug + Send + Sync + 'static {
    /// The id for a new blob that gets a file, from 16 random bytes. The store replaces the first
    /// byte, to choose the directory in which creating the file is cheapest.
    fn next_id(&self, random: [u8; 16]) -> BlobId;

    /// Starts a blob. `expected_bytes` is the length of the body, if known; only a hint. The sealed
    /// blob has this id, or, in a segment, that of its place.
    ///
    /// # Errors
    /// [`BlobError::NoSpace`], [`BlobError::Poisoned`] or [`BlobError::Io`].
    fn begin(
        &self,
        id: BlobId,
        expected_bytes: Option<u64>,
    ) -> Result<Box<dyn BlobWriter>, BlobError>;

    /// The same for a blob of `bytes` bytes, which stays in memory until it is sealed, so that neither
    /// this nor an append waits for the disk. `None` if the blob must be begun as others.
    fn begin_in_memory(&self, _id: BlobId, _bytes: u64) -> Option<Box<dyn BlobWriter>> {
        None
    }

    /// `true` if [`BlobStore::make_room`] should be called soon, by a thread that may wait.
    fn is_room_low(&self) -> bool {
        false
    }

    /// Makes room ahead for blobs. What fails is tried again by the blob that needs the room. `random`
    /// is a random number.
    fn make_room(&self, _random: u64) {}

    /// Starts a blob that keeps this id, as one of a backup does. An existing one is replaced.
    ///
    /// # Errors
    /// [`BlobError::NoSpace`], [`BlobError::Poisoned`] or [`BlobError::Io`].
    fn begin_as(&self, id: BlobId) -> Result<Box<dyn BlobWriter>, BlobError> {
        self.begin(id, Some(u64::MAX))
    }

    /// Includes a whole blob in the next [`BlobStore::sync_all`], which an earlier process may have left
    /// unsynced.
    ///
    /// # Errors
    /// [`BlobError::NotFound`], [`BlobError::Poisoned`] or [`BlobError::Io`].
    fn sync_again(&self, _id: &BlobId, _body_bytes: u64) -> Result<(), BlobError> {
        Ok(())
    }

    /// Lets so many blobs as `from`, or more, be synced by one sync of the file system; `None` for each
    /// by itself. Not for a server that is written to: a failed write of another program would end its
    /// writing.
    fn sync_at_once(&self, _from: Option<usize>) {}

    /// Makes every blob durable that was sealed before the call.
    ///
    /// # Errors
    /// [`BlobError::Poisoned`] or [`BlobError::Io`].
    fn sync_all(&self) -> Result<(), BlobError> {
        Ok(())
    }

    /// Lets [`BlobStore::open`] find every blob that was sealed before the call, also one whose record
    /// is not committed.
    ///
    /// # Errors
    /// [`BlobError::NoSpace`], [`BlobError::Poisoned`] or [`BlobError::Io`].
    fn write_all(&self) -> Result<(), BlobError> {
        Ok(())
    }

    /// Opens a sealed blob whose body has `body_bytes` bytes. Damage may be found only by the first
    /// read, and in object storage also that the blob is missing.
    ///
    /// # Errors
    /// [`BlobError::NotFound`] if the blob does not exist, else [`BlobError::Io`].
    fn open(&self, id: &BlobId, body_bytes: u64) -> Result<Arc<dyn BlobReader>, BlobError>;

    /// Deletes a blob. A missing one is no error. A crash may bring it back as an orphan.
    ///
    /// # Errors
    /// [`BlobError::Poisoned`] or [`BlobError::Io`].
    fn delete(&self, id: &BlobId) -> Result<(), BlobError>;

    /// Calls `found` with every blob, in no particular order, with at most one directory in memory.
    /// Blobs sealed or deleted meanwhile may or may not be included. `found` may delete.
    ///
    /// # Errors
    /// [`BlobError::Io`].
    fn scan(&self, found: &mut dyn FnMut(BlobId)) -> Result<(), BlobError>;

    /// Deletes temporary files that writers of an earlier process left. Call it while no writer
    /// exists.
    ///
    /// # Errors
    /// [`BlobError::Poisoned`] or [`BlobError::Io`].
    fn clean_temporary(&self) -> Result<(), BlobError>;

    /// `true` if the blob has been written since this store was opened, so that the one that wrote
    /// it also deletes it if no record comes to reference it. May be `false` for such a blob while
    /// it is known by the id with which it was begun.
    fn is_own(&self, id: &BlobId) -> bool {
        let _ = id;
        false
    }

    /// Calls `found` with every blob that the run of one of several servers has written, as
    /// [`BlobStore::scan`] does.
    ///
    /// # Errors
    /// [`BlobError::Unavailable`] or [`BlobError::Io`].
    fn scan_run(&self, run: u32, found: &mut dyn FnMut(BlobId)) -> Result<(), BlobError> {
        self.scan(&mut |id| {
            if id.run() == run {
                found(id);
            }
        })
    }

    /// Deletes the temporary files that a run which is over has left.
    ///
    /// # Errors
    /// [`BlobError::Poisoned`] or [`BlobError::Io`].
    fn clean_run(&self, _run: u32) -> Result<(), BlobError> {
        Ok(())
    }

    /// Asks whether the blobs of several servers can be reached. It may take as long as a call.
    ///
    /// # Errors
    /// [`BlobError::Unavailable`] or [`BlobError::Io`].
    fn probe(&self) -> Result<(), BlobError> {
        Ok(())
    }

    /// Gives a blob a file of its own, with its id as the name, if it has none.
    ///
    /// # Errors
    /// [`BlobError::NoSpace`], [`BlobError::Poisoned`] or [`BlobError::Io`].
    fn make_file(&self, id: &BlobId) -> Result<(), BlobError> {
        let _ = id;
        Ok(())
    }

    /// Gives the space of deleted blobs back. `true` if some space waits for a later call: more may
    /// be deleted soon, or is being read.
    ///
    /// # Errors
    /// [`BlobError::Poisoned`] or [`BlobError::Io`].
    fn settle(&self) -> Result<bool, BlobError> {
        Ok(false)
    }

    /// Files that are open for more than one blob, with their identities. What is written to them
    /// after they have lost their names would be lost.
    fn written_files(&self) -> Vec<(String, FileIdentity)> {
        Vec::new()
    }

    /// Ends writing, and makes deletions durable. `false` if some blob may come back as an orphan.
    ///
    /// # Errors
    /// [`BlobError::Poisoned`] or [`BlobError::Io`].
    fn close(&self) -> Result<bool, BlobError> {
        Ok(true)
    }

    /// Number of blobs that are only in a backup yet.
    fn outstanding(&self) -> usize {
        0
    }

    /// Brings one of them. `false` if none is left.
    ///
    /// # Errors
    /// [`BlobError::Elsewhere`], [`BlobError::Corrupt`], and the errors of a write.
    fn bring_one(&self) -> Result<bool, BlobError> {
        Ok(false)
    }

    /// The ids of those that were brought since the last call.
    fn take_brought(&self) -> Vec<[u8; 16]> {
        Vec::new()
    }

    /// A store in memory with the same blobs, whose bytes are shared; `None` for blobs in files.
    fn clone_in_memory(&self) -> Option<MemoryBlobStore>;
}

/// A blob being written. Dropped before [`BlobWriter::seal`], it vanishes.
pub trait BlobWriter: Debug + Send {
    /// Appends to the body. After an error the blob is lost, and later calls repeat the error.
    ///
    /// # Errors
    /// [`BlobError::NoSpace`], [`BlobError::Poisoned`] or [`BlobError::Io`].
    fn append(&mut self, bytes: &[u8]) -> Result<(), BlobError>;

    /// `true` if a seal that leaves the blob to its record does not wait for the disk.
    fn seals_in_memory(&mut self) -> bool {
        false
    }

    /// Publishes the blob. `seal` is the most that the caller can leave to its record; a blob may be
    /// durable before that.
    ///
    /// # Errors
    /// [`BlobError::NoSpace`], [`BlobError::Poisoned`] or [`BlobError::Io`]; the blob then counts
    /// as never written.
    fn seal(self: Box<Self>, seal: Seal) -> Result<Sealed, BlobError>;
}

/// When a sealed blob gets the durability of [`Durability::Fsync`](liteio_disk::Durability::Fsync).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seal {
    /// Before the seal returns.
    Now,
    /// With the next [`BlobStore::sync_all`].
    Later,
    /// With the record that references it, whose commit syncs it.
    WithRecord,
    /// The same, and the log has the contents of a short blob, whose sync is not awaited.
    InLog,
}

/// The result of [`BlobWriter::seal`].
#[derive(Clone, Debug)]
pub struct Sealed {
    /// The blob.
    pub blob: SealedBlob,
    /// `None` if the blob has the promised durability. Otherwise the first update that references
    /// the blob must note it with these bytes, from which recovery
    /// writes its file again. They are empty of [`Seal::WithRecord`], and always with
    /// [`Durability::Os`](liteio_disk::Durability::Os), where a power cut may take the update together
    /// with its blob.
    pub contents_to_note: Option<Bytes>,
}

/// A sealed blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealedBlob {
    /// Its name.
    pub id: BlobId,
    /// Length of the body.
    pub bytes: u64,
}

/// An open blob. One reader serves any number of threads.
pub trait BlobReader: Debug + Send + Sync {
    /// The verified bytes at the start of `range`: at least one unless the range is empty, at most
    /// one piece. The caller continues after them.
    ///
    /// # Panics
    /// If the range ends after the body.
    ///
    /// # Errors
    /// [`BlobError::Corrupt`] or [`BlobError::Io`].
    fn read(&self, range: Range<u64>) -> Result<BlobPiece, BlobError>;

    /// [`BlobReader::read`] without waiting: `None` if the piece is not in memory.
    ///
    /// # Panics
    /// If the range ends after the body.
    ///
    /// # Errors
    /// [`BlobError::Corrupt`] or [`BlobError::Io`].
    fn try_read(&self, range: Range<u64>) -> Result<Option<BlobPiece>, BlobError>;
}
