//! Reading the bytes of an object.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::parts::{find_part, read_part};
use crate::blob::{BlobError, BlobExtent, BlobId, ExtentReader};
use crate::error::StoreError;
use crate::kv::{Read, Snapshot};
use crate::meta::content::{Content, Extent, slice_extents};
use crate::meta::reference;
use crate::name::UploadId;
use crate::process::{Pin, Pins, Shared};
use crate::store::Store;

/// The selected bytes of an object. Later writes and deletes do not affect it.
#[derive(Debug)]
pub struct ObjectReader {
    range: Range<u64>,
    /// Position in the object of the next byte.
    position: u64,
    piece: Piece,
    /// The longest piece to return, if that is shorter than pieces are by themselves.
    piece_bytes_max: u64,
    /// The source of the next piece, for an object of parts.
    parts: Option<Parts>,
    /// Keeps content that is opened later from being deleted meanwhile.
    _pin: Option<Pin>,
    shared: Arc<Shared>,
}

/// The bytes of one record: inline, extents, or the parts that follow.
#[derive(Debug)]
enum Piece {
    Inline(Bytes),
    Extents(ExtentReader),
}

#[derive(Debug)]
struct Parts {
    store: Store,
    list: UploadId,
    /// The part behind the piece.
    next: u16,
}

/// The reason why a reader could not be opened.
#[derive(Debug)]
pub(crate) enum OpenError {
    /// A blob is missing: it was deleted with its record since the snapshot, or it is lost.
    Missing(StoreError),
    Failed(StoreError),
}

impl OpenError {
    pub(crate) fn into_inner(self) -> StoreError {
        match self {
            Self::Missing(error) | Self::Failed(error) => error,
        }
    }
}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

impl ObjectReader {
    /// Opens `range` of an object with `content`, as `snapshot` shows it. The caller is in a section of
    /// [`Pins`].
    pub(crate) fn open(
        store: &Store,
        snapshot: &Snapshot,
        content: &Content,
        range: Range<u64>,
    ) -> Result<Self, OpenError> {
        let position = range.start;
        let (piece, parts) = match content {
            _ if range.is_empty() => (Piece::Inline(Bytes::new()), None),
            Content::Inline(_) | Content::Extents(_) => {
                (Piece::open(store, slice(content, &range))?, None)
            }
            Content::Parts { list, count, .. } => {
                let number = find_part(snapshot, list, *count, position)?;
                let piece = Piece::open_part(store, snapshot, list, number, &range)?;
                let parts = Parts { store: store.clone(), list: *list, next: number + 1 };
                (piece, Some(parts))
            }
        };
        // The first extent is open by now; content that is opened later is pinned.
        let is_open = match content {
            Content::Inline(_) => true,
            Content::Extents(extents) => extents.len() <= 1,
            Content::Parts { .. } => range.is_empty(),
        };
        let pin = (!is_open).then(|| Pins::pin(store.shared(), reference::ids(content).collect()));
        let shared = Arc::clone(store.shared());
        Ok(Self { range, position, piece, piece_bytes_max: u64::MAX, parts, _pin: pin, shared })
    }

    /// The bytes of the object that it reads, from first to last.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    /// Bytes not returned yet.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.range.end - self.position
    }

    /// Limits the pieces that follow to so many bytes, at least one; `None` lifts the limit. Short pieces
    /// are read slower, since whole blocks are verified, but hold no buffer. Bytes of a record, which are
    /// at most [`INLINE_BYTES_MAX`](crate::limits::INLINE_BYTES_MAX), are one piece whatever the limit.
    pub fn limit_pieces(&mut self, bytes_max: Option<u64>) {
        self.piece_bytes_max = bytes_max.unwrap_or(u64::MAX).max(1);
    }

    /// The next piece, if it is in memory. The outer `None` means that the read would wait: call
    /// [`ObjectReader::next`] on a thread that may block. The inner `None` is the end.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`].
    pub fn try_next(&mut self) -> Result<Option<Option<Bytes>>, StoreError> {
        self.try_read().inspect_err(|error| self.shared.counters.failed_read(error))
    }

    fn try_read(&mut self) -> Result<Option<Option<Bytes>>, StoreError> {
        if self.remaining() == 0 {
            return Ok(Some(None));
        }
        let bytes_max = self.piece_bytes_max;
        let bytes = match &mut self.piece {
            Piece::Inline(bytes) if !bytes.is_empty() => Some(std::mem::take(bytes)),
            Piece::Extents(reader) if reader.remaining() > 0 => match reader.try_next(bytes_max)? {
                Some(bytes) => bytes,
                None => return Ok(None),
            },
            // The next part must be opened first.
            Piece::Inline(_) | Piece::Extents(_) => return Ok(None),
        };
        self.advance(bytes).map(Some)
    }

    /// The next piece, verified; `None` at the end. May wait for the disk.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`].
    #[expect(clippy::should_implement_trait, reason = "every step can fail, so it is no iterator")]
    pub fn next(&mut self) -> Result<Option<Bytes>, StoreError> {
        self.read().inspect_err(|error| self.shared.counters.failed_read(error))
    }

    fn read(&mut self) -> Result<Option<Bytes>, StoreError> {
        if self.remaining() == 0 {
            return Ok(None);
        }
        if self.piece.is_empty() {
            self.open_next_part()?;
        }
        let bytes_max = self.piece_bytes_max;
        let bytes = match &mut self.piece {
            Piece::Inline(bytes) => Some(std::mem::take(bytes)),
            Piece::Extents(reader) => reader.next(bytes_max)?,
        };
        self.advance(bytes)
    }

    fn advance(&mut self, bytes: Option<Bytes>) -> Result<Option<Bytes>, StoreError> {
        match bytes {
            Some(bytes) if !bytes.is_empty() && bytes.len() as u64 <= self.remaining() => {
                self.position += bytes.len() as u64;
                Ok(Some(bytes))
            }
            _ => Err(StoreError::corrupt("an object's bytes are not as many as its size says")),
        }
    }

    fn open_next_part(&mut self) -> Result<(), StoreError> {
        let Some(parts) = &mut self.parts else {
            return Err(StoreError::corrupt("an object's bytes are fewer than its size says"));
        };
        let snapshot = parts.store.snapshot()?;
        let rest = self.position..self.range.end;
        let opened = Piece::open_part(&parts.store, &snapshot, &parts.list, parts.next, &rest);
        // Pinned content is not deleted, so a missing blob is damage.
        self.piece = opened.map_err(OpenError::into_inner)?;
        parts.next += 1;
        Ok(())
    }
}

impl Piece {
    fn open(store: &Store, content: Content) -> Result<Self, OpenError> {
        match content {
            Content::Inline(bytes) => Ok(Self::Inline(bytes)),
            Content::Extents(extents) => {
                let extents = extents.iter().map(to_blob_extent).collect();
                let blobs = std::sync::Arc::clone(&store.shared().blobs);
                match ExtentReader::open(blobs, extents) {
                    Ok(reader) => Ok(Self::Extents(reader)),
                    Err(error @ BlobError::NotFound { .. }) => {
                        Err(OpenError::Missing(error.into()))
                    }
                    Err(error) => Err(OpenError::Failed(error.into())),
                }
            }
            Content::Parts { .. } => {
                Err(OpenError::Failed(StoreError::corrupt("a part consists of parts")))
            }
        }
    }

    /// Opens the bytes that part `number` has of `range` of the object.
    fn open_part(
        store: &Store,
        from: &impl Read,
        list: &UploadId,
        number: u16,
        range: &Range<u64>,
    ) -> Result<Self, OpenError> {
        let part = read_part(from, list, number, range.start)?;
        let (start, end) = (part.facts.start, part.facts.start + part.facts.bytes);
        let within = range.start - start..range.end.min(end) - start;
        Self::open(store, slice(&part.content, &within))
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Inline(bytes) => bytes.is_empty(),
            Self::Extents(reader) => reader.remaining() == 0,
        }
    }
}

/// The `range` of inline bytes or extents, which must be within them.
pub(crate) fn slice(content: &Content, range: &Range<u64>) -> Content {
    match content {
        Content::Inline(bytes) => {
            let length = bytes.len();
            let position = |at: u64| usize::try_from(at).map_or(length, |at| at.min(length));
            Content::Inline(bytes.slice(position(range.start)..position(range.end)))
        }
        Content::Extents(extents) => Content::Extents(slice_extents(extents, range)),
        Content::Parts { .. } => content.clone(),
    }
}

fn to_blob_extent(extent: &Extent) -> BlobExtent {
    let Extent { blob, blob_bytes, offset, bytes } = *extent;
    BlobExtent { blob: BlobId(blob), blob_bytes, offset, bytes }
}
