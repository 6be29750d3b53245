//! Reading the bytes of an object.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use liteio_blob::{BlobError, BlobExtent, BlobId, ExtentReader};
use liteio_kv::{Read, Snapshot};

use super::body::StagedBody;
use super::parts::{find_part, read_part};
use super::remote::{RemoteReader, RemoteSource};
use super::sealed::{Patience, SealedReader};
use crate::encryption::{BodyKey, EncryptionKey, object_body_key, part_body_key};
use crate::error::StoreError;
use crate::meta::body;
use crate::meta::content::{Content, Extent, slice_extents};
use crate::meta::upload::PartRecord;
use crate::name::UploadId;
use crate::process::{Kept, Opened, Shared};
use crate::store::Store;

/// A reader of the selected bytes of an object. Later writes and deletes do not affect it.
#[derive(Debug)]
pub struct ObjectReader {
    range: Range<u64>,
    /// Position of the next byte in the object.
    position: u64,
    piece: Piece,
    /// Longest piece to return, if shorter than the natural pieces.
    piece_bytes_max: u64,
    /// The following parts, for an object of parts.
    parts: Option<Box<Parts>>,
    /// Keeps content from deletion that is opened later.
    kept: Kept,
    shared: Arc<Shared>,
}

/// The bytes of one record.
#[derive(Debug)]
enum Piece {
    Inline(Bytes),
    Extents(ExtentReader),
    Sealed(Box<SealedReader>),
    Remote(RemoteReader),
}

/// The content of an object's record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<'a> {
    pub(crate) content: &'a Content,
    /// Size of the object.
    pub(crate) bytes: u64,
    /// The data key, if the object is encrypted.
    pub(crate) data_key: Option<&'a EncryptionKey>,
}

#[derive(Debug)]
struct Parts {
    store: Store,
    list: UploadId,
    /// The number of the part after the current piece.
    next: u16,
    /// The data key, if the object is encrypted.
    data_key: Option<EncryptionKey>,
    /// The body of the object, if it is in a tier.
    remote: Option<RemoteSource>,
}

/// The reason why a reader could not be opened.
#[derive(Debug)]
pub(crate) enum OpenError {
    /// A blob is missing. Either it was deleted with its record after the snapshot was taken, or it
    /// is lost.
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

impl From<BlobError> for OpenError {
    fn from(error: BlobError) -> Self {
        match error {
            BlobError::NotFound { .. } => Self::Missing(error.into()),
            error => Self::Failed(error.into()),
        }
    }
}

impl StagedBody {
    /// Opens the bytes for reading, before they belong to an object. The reader must not outlive
    /// this body.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`].
    pub fn open(&self, store: &Store) -> Result<ObjectReader, StoreError> {
        let (content, key) = self.stored();
        let bytes = self.digests().bytes;
        store.shared().blobs.write_all()?;
        let opened = ObjectReader::open_body(store, content, bytes, 0..bytes, key);
        opened.map_err(OpenError::into_inner)
    }
}

impl ObjectReader {
    /// Opens `range` of the object `body`, as `snapshot` shows it. The caller is in a section of
    /// [`Cluster::reading`](crate::process::Cluster::reading).
    pub(crate) fn open(
        store: &Store,
        snapshot: &Snapshot,
        body: Body<'_>,
        range: Range<u64>,
    ) -> Result<Self, OpenError> {
        let position = range.start;
        let Body { content, bytes, data_key } = body;
        let (piece, parts) = match content {
            // An empty range may be at the end of the object, in no part. Nothing is opened for it.
            _ if range.is_empty() => (Piece::Inline(Bytes::new()), None),
            Content::Inline(_) | Content::Extents(_) | Content::Apart { .. } => {
                let key = data_key.map(|key| object_body_key(key.clone()));
                let whole = body::whole(snapshot, content)?;
                (Piece::open(store, &whole, bytes, range.clone(), key.as_ref())?, None)
            }
            Content::Parts { list, count, .. } => {
                let mut parts = Parts {
                    store: store.clone(),
                    list: *list,
                    next: find_part(snapshot, list, *count, position)?,
                    data_key: data_key.cloned(),
                    remote: None,
                };
                (parts.open_next(snapshot, &range)?, Some(Box::new(parts)))
            }
            Content::Remote(remote) => {
                let source = RemoteSource::open(store, remote)?;
                match &remote.parts {
                    Some(of_parts) => {
                        let list = remote.part_list();
                        let mut parts = Parts {
                            store: store.clone(),
                            next: find_part(snapshot, &list, of_parts.count, position)?,
                            list,
                            data_key: data_key.cloned(),
                            remote: Some(source),
                        };
                        (parts.open_next(snapshot, &range)?, Some(Box::new(parts)))
                    }
                    None => {
                        let key = data_key.map(|key| object_body_key(key.clone()));
                        let of = (source, 0);
                        (Piece::open_remote(store, of, bytes, range.clone(), key.as_ref())?, None)
                    }
                }
            }
        };
        Ok(Self::new(store, content, range, piece, parts))
    }

    /// Opens `range` of a body of `bytes` bytes in one record, like [`ObjectReader::open`].
    pub(crate) fn open_body(
        store: &Store,
        content: &Content,
        bytes: u64,
        range: Range<u64>,
        key: Option<&BodyKey>,
    ) -> Result<Self, OpenError> {
        let piece = Piece::open(store, content, bytes, range.clone(), key)?;
        Ok(Self::new(store, content, range, piece, None))
    }

    fn new(
        store: &Store,
        content: &Content,
        range: Range<u64>,
        piece: Piece,
        parts: Option<Box<Parts>>,
    ) -> Self {
        // The first extent is open, and an open file survives its deletion. Content that is opened
        // later needs a pin.
        let is_whole = match content {
            Content::Inline(_) | Content::Apart { .. } => true,
            Content::Extents(extents) => extents.len() <= 1,
            Content::Remote(remote) => range.is_empty() || remote.parts.is_none(),
            Content::Parts { .. } => range.is_empty(),
        };
        let opened = if is_whole { Opened::Whole } else { Opened::Begun };
        let kept = store.shared().cluster.keep(content, opened);
        let shared = Arc::clone(store.shared());
        let position = range.start;
        Self { range, position, piece, piece_bytes_max: u64::MAX, parts, kept, shared }
    }

    /// The selected range of the object.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    /// Bytes not returned yet.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.range.end - self.position
    }

    /// Limits the following pieces to `bytes_max` bytes, at least one; `None` lifts the limit.
    /// Short pieces are slower, since whole blocks are verified, but hold no buffer. Only for an
    /// encrypted body the current decrypted block is kept, by a limited number of readers. Bytes
    /// in the key space, at most [`INLINE_BYTES_MAX`](crate::limits::INLINE_BYTES_MAX), are one
    /// piece whatever the limit.
    pub fn limit_pieces(&mut self, bytes_max: Option<u64>) {
        self.piece_bytes_max = bytes_max.unwrap_or(u64::MAX).max(1);
    }

    /// The next piece, if it is in memory. The outer `None` means that the read would wait: call
    /// [`ObjectReader::next`] on a thread that may block. The inner `None` is the end.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`].
    pub fn try_next(&mut self) -> Result<Option<Option<Bytes>>, StoreError> {
        self.try_read().map_err(|error| self.failed(error))
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
            Piece::Sealed(reader) if reader.remaining() > 0 => {
                match reader.next(bytes_max, Patience::MemoryOnly)? {
                    Some(bytes) => Some(bytes),
                    None => return Ok(None),
                }
            }
            Piece::Remote(reader) if reader.remaining() > 0 => match reader.try_next(bytes_max) {
                Some(bytes) => Some(bytes),
                None => return Ok(None),
            },
            // The next part must be opened, which may wait.
            Piece::Inline(_) | Piece::Extents(_) | Piece::Sealed(_) | Piece::Remote(_) => {
                return Ok(None);
            }
        };
        self.advance(bytes).map(Some)
    }

    /// The next piece, verified; `None` at the end. May wait for the disk.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`].
    #[expect(clippy::should_implement_trait, reason = "every step can fail, so it is no iterator")]
    pub fn next(&mut self) -> Result<Option<Bytes>, StoreError> {
        self.read().map_err(|error| self.failed(error))
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
            Piece::Sealed(reader) => reader.next(bytes_max, Patience::Wait)?,
            Piece::Remote(reader) => reader.next(bytes_max)?,
        };
        self.advance(bytes)
    }

    fn advance(&mut self, bytes: Option<Bytes>) -> Result<Option<Bytes>, StoreError> {
        // Behind the read: the content is kept for a server that serves only.
        self.shared.cluster.still_keeping(&self.kept)?;
        match bytes {
            // More or fewer bytes than the record says are damage. A response would break its
            // announced length.
            Some(bytes) if !bytes.is_empty() && bytes.len() as u64 <= self.remaining() => {
                self.position += bytes.len() as u64;
                Ok(Some(bytes))
            }
            _ => Err(StoreError::corrupt("an object's bytes are not as many as its size says")),
        }
    }

    /// The error to tell in the place of this one: content that was not kept is no damage.
    fn failed(&self, error: StoreError) -> StoreError {
        let error = self.shared.cluster.still_keeping(&self.kept).err().unwrap_or(error);
        self.shared.counters.failed_read(&error);
        error
    }

    fn open_next_part(&mut self) -> Result<(), StoreError> {
        let Some(parts) = &mut self.parts else {
            return Err(StoreError::corrupt("an object's bytes are fewer than its size says"));
        };
        let snapshot = parts.store.snapshot()?;
        let rest = self.position..self.range.end;
        // A new snapshot suffices: pinned records and blobs stay, so a missing one is damage.
        self.piece = parts.open_next(&snapshot, &rest).map_err(OpenError::into_inner)?;
        Ok(())
    }
}

impl Parts {
    /// Opens the bytes of the next part that are within `range` of the object.
    fn open_next(&mut self, from: &impl Read, range: &Range<u64>) -> Result<Piece, OpenError> {
        let part = read_part(from, &self.list, self.next, range.start)?;
        let (start, end) = (part.facts.start, part.facts.start + part.facts.bytes);
        let within = range.start - start..range.end.min(end) - start;
        let key = body_key(&part, self.data_key.as_ref())?;
        let (content, bytes) = (&part.content, part.facts.bytes);
        if let Some(remote) = &self.remote {
            let offset = part.extensions.remote_offset()?;
            let missing = || StoreError::corrupt("a part has no place in its tier");
            let of = (remote.clone(), offset.ok_or_else(missing)?);
            self.next += 1;
            return Piece::open_remote(&self.store, of, bytes, within, key.as_ref());
        }
        let piece = Piece::open(&self.store, content, bytes, within, key.as_ref())?;
        self.next += 1;
        Ok(piece)
    }
}

/// The key of a part's body; `None` if it is not encrypted. `data_key` is the data key of its
/// object or upload.
pub(crate) fn body_key(
    part: &PartRecord,
    data_key: Option<&EncryptionKey>,
) -> Result<Option<BodyKey>, StoreError> {
    match (part.extensions.part_salt()?, data_key) {
        (None, None) => Ok(None),
        (Some(salt), Some(data_key)) => Ok(Some(part_body_key(data_key, &salt))),
        _ => Err(StoreError::corrupt("a part is not encrypted as its object is")),
    }
}

impl Piece {
    /// Opens `range` of a body of `bytes` bytes.
    fn open(
        store: &Store,
        content: &Content,
        bytes: u64,
        range: Range<u64>,
        key: Option<&BodyKey>,
    ) -> Result<Self, OpenError> {
        if let Some(key) = key {
            let reader = SealedReader::open(store, content, bytes, range, key)?;
            return Ok(Self::Sealed(Box::new(reader)));
        }
        match slice(content, &range) {
            Content::Inline(bytes) => Ok(Self::Inline(bytes)),
            Content::Extents(extents) => {
                let extents = extents.iter().map(to_blob_extent).collect();
                let blobs = std::sync::Arc::clone(&store.shared().blobs);
                Ok(Self::Extents(ExtentReader::open(blobs, extents)?))
            }
            Content::Parts { .. } | Content::Apart { .. } | Content::Remote(_) => {
                let what = "the bytes of a part are neither in its record nor in blobs";
                Err(OpenError::Failed(StoreError::corrupt(what)))
            }
        }
    }

    /// Opens `range` of a body of `bytes` bytes at an offset of a body in a tier.
    fn open_remote(
        store: &Store,
        (source, offset): (RemoteSource, u64),
        bytes: u64,
        range: Range<u64>,
        key: Option<&BodyKey>,
    ) -> Result<Self, OpenError> {
        if let Some(key) = key {
            let of = (source, offset);
            let reader = SealedReader::open_remote(store, of, bytes, range, key)?;
            return Ok(Self::Sealed(Box::new(reader)));
        }
        let moved = |at: u64| offset.checked_add(at);
        let (Some(start), Some(end)) = (moved(range.start), moved(range.end)) else {
            return Err(StoreError::corrupt("the place of a part in its tier").into());
        };
        Ok(Self::Remote(source.reader(start..end)))
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Inline(bytes) => bytes.is_empty(),
            Self::Extents(reader) => reader.remaining() == 0,
            Self::Sealed(reader) => reader.remaining() == 0,
            Self::Remote(reader) => reader.remaining() == 0,
        }
    }
}

/// The `range` of inline bytes or extents, which must contain it.
pub(crate) fn slice(content: &Content, range: &Range<u64>) -> Content {
    match content {
        Content::Inline(bytes) => {
            let length = bytes.len();
            // Clamped, because damaged inline bytes may be shorter than the record says.
            let position = |at: u64| usize::try_from(at).map_or(length, |at| at.min(length));
            Content::Inline(bytes.slice(position(range.start)..position(range.end)))
        }
        Content::Extents(extents) => Content::Extents(slice_extents(extents, range)),
        Content::Parts { .. } | Content::Apart { .. } | Content::Remote(_) => content.clone(),
    }
}

/// The bytes of a blob that an extent stands for.
pub(crate) fn to_blob_extent(extent: &Extent) -> BlobExtent {
    let Extent { blob, blob_bytes, offset, bytes } = *extent;
    BlobExtent { blob: BlobId(blob), blob_bytes, offset, bytes }
}
