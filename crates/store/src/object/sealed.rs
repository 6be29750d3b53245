//! Reading an encrypted body.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use liteio_blob::{BlobId, BlobPiece, BlobReader, SPARE_BYTES};

use super::OpenError;
use super::remote::RemoteSource;
use crate::encryption::{
    BLOCK_BYTES, BodyKey, KeptBlock, KeptBlocks, Opener, PLAIN_BLOCK_BYTES, stored_bytes,
};
use crate::error::StoreError;
use crate::meta::content::Content;
use crate::store::Store;

/// A reader of the decrypted bytes of a range of one body, which is in its record or in one blob.
#[derive(Debug)]
pub(super) struct SealedReader {
    source: Source,
    /// Length of the ciphertext.
    stored_bytes: u64,
    opener: Opener,
    /// The range still to be returned, in bytes of the plaintext.
    rest: Range<u64>,
    kept_blocks: KeptBlocks,
    /// The decrypted block that the rest starts in, kept while short pieces are taken from it.
    kept: Option<(Bytes, KeptBlock)>,
}

#[derive(Debug)]
enum Source {
    Inline(Bytes),
    Blob(Arc<dyn BlobReader>),
    /// A body in a tier, and the offset of this one in it.
    Remote(RemoteSource, u64),
}

/// The way to read: waiting for the device, or from memory only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    Wait,
    MemoryOnly,
}

impl SealedReader {
    /// Opens `range` of a body of `plain_bytes` bytes, which must contain it.
    pub(super) fn open(
        store: &Store,
        content: &Content,
        plain_bytes: u64,
        range: Range<u64>,
        key: &BodyKey,
    ) -> Result<Self, OpenError> {
        let size = || StoreError::corrupt("the size of an encrypted body");
        let stored_bytes = stored_bytes(plain_bytes).ok_or_else(size)?;
        let source = match content {
            Content::Inline(bytes) if bytes.len() as u64 == stored_bytes => {
                Source::Inline(bytes.clone())
            }
            Content::Extents(extents) => match extents[..] {
                // Blocks are counted from the start of a blob, so the body must be a whole one.
                [extent] if extent.offset == 0 && extent.bytes == stored_bytes => {
                    let blobs = &store.shared().blobs;
                    Source::Blob(blobs.open(&BlobId(extent.blob), extent.blob_bytes)?)
                }
                _ => return Err(size().into()),
            },
            _ => return Err(size().into()),
        };
        Ok(Self::new(store, source, (stored_bytes, plain_bytes), range, key))
    }

    /// The same for a body of `plain_bytes` bytes at `offset` of a body in a tier.
    pub(super) fn open_remote(
        store: &Store,
        (source, offset): (RemoteSource, u64),
        plain_bytes: u64,
        range: Range<u64>,
        key: &BodyKey,
    ) -> Result<Self, OpenError> {
        let size = || StoreError::corrupt("the size of an encrypted body");
        let stored_bytes = stored_bytes(plain_bytes).ok_or_else(size)?;
        let source = Source::Remote(source, offset);
        Ok(Self::new(store, source, (stored_bytes, plain_bytes), range, key))
    }

    fn new(
        store: &Store,
        source: Source,
        (stored_bytes, plain_bytes): (u64, u64),
        range: Range<u64>,
        key: &BodyKey,
    ) -> Self {
        let opener = key.opener(plain_bytes);
        let kept_blocks = store.shared().kept_blocks.clone();
        Self { source, stored_bytes, opener, rest: range, kept_blocks, kept: None }
    }

    /// Bytes not returned yet.
    pub(super) fn remaining(&self) -> u64 {
        self.rest.end - self.rest.start
    }

    /// The next bytes of the range, at most `bytes_max`. `None` if they are not in memory and the
    /// read must not wait.
    pub(super) fn next(
        &mut self,
        bytes_max: u64,
        patience: Patience,
    ) -> Result<Option<Bytes>, StoreError> {
        let number = self.rest.start / PLAIN_BLOCK_BYTES;
        let (plain, leave) = match self.kept.take() {
            Some((plain, leave)) => (plain, Some(leave)),
            None => {
                let tail = self.tail(number, bytes_max, patience)?;
                match self.open_block(number, &tail, patience)? {
                    Some(plain) => (plain, None),
                    None => return Ok(None),
                }
            }
        };
        let first = self.rest.start - number * PLAIN_BLOCK_BYTES;
        let last = (self.rest.end - number * PLAIN_BLOCK_BYTES).min(plain.len() as u64);
        let end = last.min(first.saturating_add(bytes_max));
        if last <= first {
            return Err(StoreError::corrupt("an encrypted block is too short"));
        }
        self.rest.start += end - first;
        let range = first as usize..end as usize;
        // A short piece is copied, so that it does not keep the whole block alive.
        let piece = match range.len() * 2 < plain.len() {
            true => Bytes::copy_from_slice(&plain[range]),
            false => plain.slice(range),
        };
        // Keep the block for the next short piece, if the process-wide limit on kept blocks allows.
        if end < last {
            let leave = leave.or_else(|| self.kept_blocks.take());
            self.kept = leave.map(|leave| (plain, leave));
        }
        Ok(Some(piece))
    }

    /// The bytes after a block that are returned together with it, if they are the last ones and
    /// few. The tags of a body of whole pieces push its last few bytes into another block;
    /// returning them separately would cost as much as any piece.
    fn tail(&self, number: u64, bytes_max: u64, patience: Patience) -> Result<Bytes, StoreError> {
        let end = (number + 1) * PLAIN_BLOCK_BYTES;
        let length = self.rest.end.saturating_sub(end);
        let is_wanted =
            (1..=SPARE_BYTES as u64).contains(&length) && bytes_max >= PLAIN_BLOCK_BYTES + length;
        let block = match is_wanted {
            true => self.open_block(number + 1, &[], patience)?,
            false => None,
        };
        let mut tail = block.unwrap_or_default();
        tail.truncate(length as usize);
        Ok(tail)
    }

    /// The decrypted bytes of a block, followed by `tail`. `None` if they are not in memory and the
    /// read must not wait.
    fn open_block(
        &self,
        number: u64,
        tail: &[u8],
        patience: Patience,
    ) -> Result<Option<Bytes>, StoreError> {
        let start = number * BLOCK_BYTES;
        // All blocks have the same length, except the last one.
        let range = start..(start + BLOCK_BYTES).min(self.stored_bytes);
        let Some(sealed) = self.read(range, patience)? else { return Ok(None) };
        sealed.change(tail, |block| self.opener.open(number, block)).map(Some)
    }

    fn read(&self, range: Range<u64>, patience: Patience) -> Result<Option<BlobPiece>, StoreError> {
        let reader = match &self.source {
            Source::Inline(bytes) => {
                let bytes = bytes.slice(range.start as usize..range.end as usize);
                return Ok(Some(BlobPiece::Shared(bytes)));
            }
            Source::Remote(..) if patience == Patience::MemoryOnly => return Ok(None),
            Source::Remote(source, offset) => {
                let wanted = range.start + (self.rest.end - self.rest.start) + BLOCK_BYTES;
                let until = offset + wanted.min(self.stored_bytes);
                let bytes = source.read(offset + range.start..offset + range.end, until)?;
                return Ok(Some(BlobPiece::Shared(bytes)));
            }
            Source::Blob(reader) => reader,
        };
        let read = |range: Range<u64>| match patience {
            Patience::Wait => reader.read(range).map(Some),
            Patience::MemoryOnly => reader.try_read(range),
        };
        let Some(first) = read(range.clone())? else { return Ok(None) };
        if first.bytes() as u64 == range.end - range.start {
            return Ok(Some(first));
        }
        // Blobs of another format version may have other pieces: join them to a block.
        let mut block = first.freeze().to_vec();
        while (block.len() as u64) < range.end - range.start {
            let Some(more) = read(range.start + block.len() as u64..range.end)? else {
                return Ok(None);
            };
            block.extend_from_slice(&more.freeze());
        }
        Ok(Some(BlobPiece::Shared(block.into())))
    }
}
