//! Reading a body that is in one or several blobs.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::{BlobError, BlobId, BlobReader, BlobStore};

/// A range of bytes within a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobExtent {
    /// The blob.
    pub blob: BlobId,
    /// Length of the whole blob.
    pub blob_bytes: u64,
    /// Offset of the first byte within the blob.
    pub offset: u64,
    /// Number of bytes. The range is within the blob.
    pub bytes: u64,
}

impl BlobExtent {
    /// The first part of the range, at most `bytes_max` bytes.
    fn first(&self, bytes_max: u64) -> Range<u64> {
        self.offset..self.offset + self.bytes.min(bytes_max)
    }
}

/// A reader of the bytes of extents, piece by piece. One blob is open at a time; the caller keeps
/// the others from being deleted (by a pin).
#[derive(Debug)]
pub struct ExtentReader {
    store: Arc<dyn BlobStore>,
    rest: VecDeque<BlobExtent>,
    /// The reader of the first extent of `rest`, once it is open.
    reader: Option<Arc<dyn BlobReader>>,
    remaining: u64,
}

impl ExtentReader {
    /// A reader over `extents`. The first blob is opened at once, so that a missing one is found
    /// before the response begins.
    ///
    /// # Errors
    /// The errors of [`BlobStore::open`]; [`BlobError::Corrupt`] if an extent is not within its
    /// blob.
    pub fn open(store: Arc<dyn BlobStore>, extents: Vec<BlobExtent>) -> Result<Self, BlobError> {
        // Extents come from a record, which may be damaged: checked for overflow and against the
        // blob's length.
        let mut remaining = 0_u64;
        for extent in &extents {
            let is_within = extent.offset.checked_add(extent.bytes);
            let total = remaining.checked_add(extent.bytes);
            match (is_within, total) {
                (Some(end), Some(total)) if end <= extent.blob_bytes => remaining = total,
                _ => {
                    let what = "an extent is not within it";
                    return Err(BlobError::Corrupt { id: extent.blob, what });
                }
            }
        }
        let rest = extents.into_iter().filter(|extent| extent.bytes > 0).collect();
        let mut reader = Self { store, rest, reader: None, remaining };
        reader.open_first()?;
        Ok(reader)
    }

    /// Bytes not returned yet.
    pub fn remaining(&self) -> u64 {
        self.remaining
    }

    /// The next piece, verified, of at most `bytes_max`; `None` at the end. May wait for the
    /// device.
    ///
    /// # Errors
    /// The errors of [`BlobStore::open`] and [`BlobReader::read`]. The next call tries the same
    /// bytes again.
    pub fn next(&mut self, bytes_max: u64) -> Result<Option<Bytes>, BlobError> {
        self.open_first()?;
        let (Some(reader), Some(extent)) = (&self.reader, self.rest.front()) else {
            return Ok(None);
        };
        let piece = reader.read(extent.first(bytes_max))?.freeze();
        self.advance(piece.len() as u64);
        Ok(Some(piece))
    }

    /// [`ExtentReader::next`] without waiting. The outer `None` means that the piece is not in
    /// memory, or that the next blob must be opened first.
    ///
    /// # Errors
    /// The errors of [`ExtentReader::next`].
    pub fn try_next(&mut self, bytes_max: u64) -> Result<Option<Option<Bytes>>, BlobError> {
        let Some(extent) = self.rest.front() else { return Ok(Some(None)) };
        let Some(reader) = &self.reader else { return Ok(None) };
        let Some(piece) = reader.try_read(extent.first(bytes_max))? else {
            return Ok(None);
        };
        let piece = piece.freeze();
        self.advance(piece.len() as u64);
        Ok(Some(Some(piece)))
    }

    fn open_first(&mut self) -> Result<(), BlobError> {
        if let (None, Some(extent)) = (&self.reader, self.rest.front()) {
            self.reader = Some(self.store.open(&extent.blob, extent.blob_bytes)?);
        }
        Ok(())
    }

    fn advance(&mut self, bytes: u64) {
        self.remaining -= bytes;
        let Some(extent) = self.rest.front_mut() else { return };
        assert!(0 < bytes && bytes <= extent.bytes, "a piece is within what was asked for");
        extent.offset += bytes;
        extent.bytes -= bytes;
        if extent.bytes == 0 {
            let done = self.rest.pop_front();
            // Consecutive extents of one blob, as copies of ranges create them, share its reader.
            let same = self.rest.front().zip(done).is_some_and(|(next, done)| {
                (next.blob, next.blob_bytes) == (done.blob, done.blob_bytes)
            });
            if !same {
                self.reader = None;
            }
        }
    }
}
