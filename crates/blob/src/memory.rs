//! Blobs in memory: the memory backend, and the reference implementation for the file backend.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use parking_lot::RwLock;

use super::{
    BlobError, BlobId, BlobPiece, BlobReader, BlobStore, BlobWriter, Seal, Sealed, SealedBlob,
};

/// Bytes of a body per segment. A longer body grows by segments, so that bytes are never moved.
const SEGMENT_BYTES: usize = 1 << 20;

/// Blobs in memory. Nothing survives the process.
#[derive(Debug, Default)]
pub struct MemoryBlobStore {
    sealed: Arc<RwLock<HashMap<BlobId, Arc<MemoryBlob>>>>,
    /// The run that ids begin with, of one of several stores over the same blobs.
    run: Option<u32>,
}

/// All segments except the last have [`SEGMENT_BYTES`].
#[derive(Debug)]
struct MemoryBlob {
    id: BlobId,
    bytes: u64,
    segments: Vec<Bytes>,
}

impl MemoryBlobStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same blobs, as the server with this run writes them.
    pub fn of_run(&self, run: u32) -> Self {
        Self { sealed: Arc::clone(&self.sealed), run: Some(run) }
    }
}

impl Clone for MemoryBlobStore {
    /// Another store with the same blobs, whose bytes are shared.
    fn clone(&self) -> Self {
        let sealed = self.sealed.read().clone();
        Self { sealed: Arc::new(RwLock::new(sealed)), run: self.run }
    }
}

impl BlobStore for MemoryBlobStore {
    fn next_id(&self, random: [u8; 16]) -> BlobId {
        self.run.map_or(BlobId(random), |run| BlobId::of_run(run, random))
    }

    fn begin(
        &self,
        id: BlobId,
        expected_bytes: Option<u64>,
    ) -> Result<Box<dyn BlobWriter>, BlobError> {
        Ok(Box::new(MemoryWriter {
            sealed: Arc::clone(&self.sealed),
            blob: MemoryBlob { id, bytes: 0, segments: Vec::new() },
            current: BytesMut::new(),
            expected_bytes,
        }))
    }

    fn begin_in_memory(&self, id: BlobId, bytes: u64) -> Option<Box<dyn BlobWriter>> {
        self.begin(id, Some(bytes)).ok()
    }

    fn open(&self, id: &BlobId, body_bytes: u64) -> Result<Arc<dyn BlobReader>, BlobError> {
        let blob = self.sealed.read().get(id).cloned().ok_or(BlobError::NotFound { id: *id })?;
        if blob.bytes != body_bytes {
            return Err(BlobError::Corrupt {
                id: *id,
                what: "its length differs from the length in its record",
            });
        }
        Ok(blob)
    }

    fn delete(&self, id: &BlobId) -> Result<(), BlobError> {
        let removed = self.sealed.write().remove(id);
        // Freed outside of the lock.
        drop(removed);
        Ok(())
    }

    fn scan(&self, found: &mut dyn FnMut(BlobId)) -> Result<(), BlobError> {
        // A copy, because `found` may delete blobs.
        let ids: Vec<BlobId> = self.sealed.read().keys().copied().collect();
        ids.into_iter().for_each(found);
        Ok(())
    }

    fn clean_temporary(&self) -> Result<(), BlobError> {
        Ok(())
    }

    fn clone_in_memory(&self) -> Option<MemoryBlobStore> {
        Some(self.clone())
    }
}

#[derive(Debug)]
struct MemoryWriter {
    sealed: Arc<RwLock<HashMap<BlobId, Arc<MemoryBlob>>>>,
    blob: MemoryBlob,
    current: BytesMut,
    expected_bytes: Option<u64>,
}

impl MemoryWriter {
    /// Reserves room for the expected rest, at most a segment. Without a hint it grows by doubling.
    fn reserve(&mut self, wanted: usize) {
        let expected = self.expected_bytes.map_or(0, |bytes| bytes.saturating_sub(self.blob.bytes));
        let segment = usize::try_from(expected).unwrap_or(SEGMENT_BYTES).min(SEGMENT_BYTES);
        self.current.reserve(segment.max(wanted));
    }
}

impl BlobWriter for MemoryWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = SEGMENT_BYTES - self.current.len();
            let (taken, after) = rest.split_at(rest.len().min(room));
            if self.current.is_empty() {
                self.reserve(taken.len());
            }
            self.current.extend_from_slice(taken);
            self.blob.bytes += taken.len() as u64;
            rest = after;
            if self.current.len() == SEGMENT_BYTES {
                self.blob.segments.push(std::mem::take(&mut self.current).freeze());
            }
        }
        Ok(())
    }

    fn seals_in_memory(&mut self) -> bool {
        true
    }

    fn seal(mut self: Box<Self>, _: Seal) -> Result<Sealed, BlobError> {
        if !self.current.is_empty() {
            // Copied to its exact length if doubling has left much room.
            let last = if self.current.capacity() / 2 > self.current.len() {
                Bytes::copy_from_slice(&self.current)
            } else {
                std::mem::take(&mut self.current).freeze()
            };
            self.blob.segments.push(last);
        }
        let blob = self.blob;
        let sealed = SealedBlob { id: blob.id, bytes: blob.bytes };
        self.sealed.write().insert(blob.id, Arc::new(blob));
        Ok(Sealed { blob: sealed, contents_to_note: None })
    }
}

impl BlobReader for MemoryBlob {
    fn read(&self, range: Range<u64>) -> Result<BlobPiece, BlobError> {
        assert!(range.end <= self.bytes, "{range:?} is not within {} bytes", self.bytes);
        if range.is_empty() {
            return Ok(BlobPiece::Shared(Bytes::new()));
        }
        let segment_bytes = SEGMENT_BYTES as u64;
        let index = (range.start / segment_bytes) as usize;
        let segment_start = range.start - range.start % segment_bytes;
        // A piece ends with its segment at the latest.
        let end = range.end.min(segment_start + segment_bytes);
        let within = (range.start - segment_start) as usize..(end - segment_start) as usize;
        Ok(BlobPiece::Shared(self.segments[index].slice(within)))
    }

    fn try_read(&self, range: Range<u64>) -> Result<Option<BlobPiece>, BlobError> {
        self.read(range).map(Some)
    }
}
