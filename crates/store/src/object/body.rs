//! Staging of bodies, before the transaction that publishes them.

use bytes::Bytes;

use crate::blob::BlobWriter;
use crate::checksum::{ChecksumAlgorithm, DigestSet, Digests};
use crate::encryption::{ObjectSealing, PartSalt, Sealer, Sealing, SealingTarget, stored_bytes};
use crate::error::StoreError;
use crate::limits::PART_BYTES_MAX;
use crate::meta::content::{Content, Extent};
use crate::name::UploadId;
use crate::process::{StagedBlob, Staging};
use crate::store::Store;

/// Options of a body, known before its first byte.
#[derive(Clone, Debug, Default)]
pub struct BodyOptions {
    /// Declared length, in bytes. Only a hint for where to keep the bytes.
    pub expected_bytes: Option<u64>,
    /// The checksums to compute beside MD5.
    pub algorithms: Vec<ChecksumAlgorithm>,
    /// The encryption of the body.
    pub sealing: Option<Sealing>,
}

/// A body that is being received. Dropped without [`BodyWriter::finish`], it leaves nothing.
///
/// Its two halves, [`BodyHasher`] and [`BodySink`], can also be driven on a thread each: hashing a large
/// body takes longer than writing it.
#[derive(Debug)]
pub struct BodyWriter {
    hasher: BodyHasher,
    sink: BodySink,
}

/// Computes the digests of a body.
#[derive(Debug)]
pub struct BodyHasher {
    digests: DigestSet,
}

/// Keeps the bytes of a body: in memory while they are few, else in a blob. Dropped without
/// [`BodySink::finish`], it leaves nothing.
#[derive(Debug)]
pub struct BodySink {
    store: Store,
    bytes: u64,
    target: Target,
    sealing: Option<Sealing>,
}

#[derive(Debug)]
enum Target {
    /// Not encrypted yet.
    Memory(Vec<u8>),
    /// The writer is declared before the blob, so that it is dropped before the blob is discarded.
    Blob {
        writer: Box<dyn BlobWriter>,
        blob: StagedBlob,
        /// Between the body and the blob, if the body is encrypted.
        sealer: Option<Box<Sealer>>,
    },
}

/// The bytes of a whole body, as durable as the store promises. Dropped, it leaves nothing.
#[derive(Debug)]
pub struct StoredBytes {
    bytes: u64,
    content: Content,
    blob: Option<StagedBlob>,
    sealing: Option<Sealing>,
}

/// A whole body, as durable as the store promises, and not yet visible. Dropped, it leaves nothing:
/// a blob is deleted by [`Store::reclaim`], which the store calls by itself.
#[derive(Debug)]
pub struct StagedBody {
    digests: Digests,
    content: Content,
    blob: Option<StagedBlob>,
    sealing: Option<Sealing>,
}

/// A staged body, apart from the blob that waits for its record.
#[derive(Clone, Debug)]
pub(crate) struct NewBody {
    /// Of the bytes as they came.
    pub(crate) digests: Digests,
    /// The entity tag of the bytes: their MD5, unless it must not be known.
    pub(crate) tag: [u8; 16],
    pub(crate) content: Content,
    pub(crate) sealing: Option<SealingTarget>,
}

impl NewBody {
    /// Bytes that are not encrypted, and stored already.
    pub(crate) fn plain(digests: Digests, content: Content) -> Self {
        let tag = digests.md5;
        Self { digests, tag, content, sealing: None }
    }

    /// The key of the body of an object.
    ///
    /// # Errors
    /// [`StoreError::Internal`] for the body of a part.
    pub(crate) fn object_sealing(&self) -> Result<Option<&ObjectSealing>, StoreError> {
        match &self.sealing {
            None => Ok(None),
            Some(SealingTarget::Object(sealing)) => Ok(Some(sealing)),
            Some(SealingTarget::Part { .. }) => Err(sealed_for_another()),
        }
    }

    /// The salt of the key of a part of `upload`.
    ///
    /// # Errors
    /// [`StoreError::Internal`] for a body that is not sealed as the upload says.
    pub(crate) fn part_salt(
        &self,
        upload: &UploadId,
        is_encrypted: bool,
    ) -> Result<Option<PartSalt>, StoreError> {
        match &self.sealing {
            None if !is_encrypted => Ok(None),
            Some(SealingTarget::Part { upload: sealed_for, salt })
                if is_encrypted && sealed_for == upload =>
            {
                Ok(Some(*salt))
            }
            _ => Err(sealed_for_another()),
        }
    }
}

fn sealed_for_another() -> StoreError {
    StoreError::Internal { what: "a body is encrypted for something else".to_owned() }
}

impl Store {
    /// Starts a body. May wait for the disk if more than an inline body is expected.
    ///
    /// # Errors
    /// [`StoreError::NoSpace`] when the device is full, [`StoreError::PartTooLarge`].
    pub fn begin_body(&self, options: BodyOptions) -> Result<BodyWriter, StoreError> {
        let sink = self.begin_sink(options.expected_bytes, options.sealing)?;
        Ok(BodyWriter { hasher: BodyHasher::new(&options.algorithms), sink })
    }

    /// Starts the half of a body that keeps its bytes. As [`Store::begin_body`].
    ///
    /// # Errors
    /// As [`Store::begin_body`].
    pub fn begin_sink(
        &self,
        expected_bytes: Option<u64>,
        sealing: Option<Sealing>,
    ) -> Result<BodySink, StoreError> {
        let expected = expected_bytes.unwrap_or(0);
        check_size(expected)?;
        let target = if expected > self.inline_bytes_max() {
            begin_blob(self, expected_bytes, sealing.as_ref())?
        } else {
            // Never more than the limit, which is small.
            Target::Memory(Vec::with_capacity(usize::try_from(expected).unwrap_or(0)))
        };
        Ok(BodySink { store: self.clone(), bytes: 0, target, sealing })
    }

    fn inline_bytes_max(&self) -> u64 {
        self.shared().config.inline_bytes_max as u64
    }
}

fn check_size(bytes: u64) -> Result<(), StoreError> {
    match bytes > PART_BYTES_MAX {
        true => Err(StoreError::PartTooLarge { bytes, maximum: PART_BYTES_MAX }),
        false => Ok(()),
    }
}

fn begin_blob(
    store: &Store,
    expected_bytes: Option<u64>,
    sealing: Option<&Sealing>,
) -> Result<Target, StoreError> {
    store.inner.check_open()?;
    let expected_bytes = match sealing {
        Some(_) => expected_bytes.and_then(stored_bytes),
        None => expected_bytes,
    };
    store.inner.check_space(expected_bytes.unwrap_or(0))?;
    let blob = Staging::begin(store.shared())?;
    let writer = store.shared().blobs.begin(blob.id(), expected_bytes)?;
    let sealer = sealing.map(|sealing| Box::new(sealing.key().sealer()));
    Ok(Target::Blob { writer, blob, sealer })
}

impl BodyWriter {
    /// Adds to the body. May wait for the disk, see [`BodyWriter::will_block`].
    ///
    /// # Errors
    /// [`StoreError::PartTooLarge`], [`StoreError::NoSpace`], [`StoreError::Poisoned`] or
    /// [`StoreError::Io`]. The body cannot be continued; drop the writer.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.sink.append(bytes)?;
        self.hasher.update(bytes);
        Ok(())
    }

    /// `true` while everything so far is in memory, so that [`BodyWriter::finish`] does not touch the disk.
    #[must_use]
    pub fn is_inline(&self) -> bool {
        matches!(self.sink.target, Target::Memory(_))
    }

    /// `true` when writing `next_bytes` more may wait for the disk.
    #[must_use]
    pub fn will_block(&self, next_bytes: usize) -> bool {
        self.sink.will_block(next_bytes)
    }

    /// Bytes written so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.sink.bytes
    }

    /// Ends the body and makes it as durable as the store promises; a body in memory becomes durable
    /// with its record.
    ///
    /// # Errors
    /// [`StoreError::NoSpace`], [`StoreError::Poisoned`] or [`StoreError::Io`].
    pub fn finish(self) -> Result<StagedBody, StoreError> {
        let digests = self.hasher.finish();
        Ok(StagedBody::new(digests, self.sink.finish()?))
    }
}

impl BodyHasher {
    /// Computes MD5 and `algorithms`.
    #[must_use]
    pub fn new(algorithms: &[ChecksumAlgorithm]) -> Self {
        Self { digests: DigestSet::new(algorithms) }
    }

    /// Adds to the body.
    pub fn update(&mut self, bytes: &[u8]) {
        self.digests.update(bytes);
    }

    /// The digests of everything added.
    #[must_use]
    pub fn finish(self) -> Digests {
        self.digests.finish()
    }
}

impl BodySink {
    /// Adds to the body. May wait for the disk.
    ///
    /// # Errors
    /// As [`BodyWriter::write`].
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        check_size(self.bytes + bytes.len() as u64)?;
        if self.will_block(bytes.len())
            && let Target::Memory(buffer) = &mut self.target
        {
            let buffered = std::mem::take(buffer);
            let mut target = begin_blob(&self.store, None, self.sealing.as_ref())?;
            target.append(&buffered)?;
            self.target = target;
        }
        self.target.append(bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn will_block(&self, next_bytes: usize) -> bool {
        match &self.target {
            Target::Memory(buffer) => {
                buffer.len().saturating_add(next_bytes) as u64 > self.store.inline_bytes_max()
            }
            Target::Blob { .. } => true,
        }
    }

    /// Makes the bytes as durable as the store promises; those in memory become durable with their
    /// record.
    ///
    /// # Errors
    /// As [`BodyWriter::finish`].
    pub fn finish(self) -> Result<StoredBytes, StoreError> {
        let (bytes, sealing) = (self.bytes, self.sealing);
        let stored = match &sealing {
            Some(_) => stored_bytes(bytes),
            None => Some(bytes),
        };
        let (content, blob) = match self.target {
            Target::Memory(buffer) => (Content::Inline(encrypted(buffer, sealing.as_ref())?), None),
            Target::Blob { mut writer, blob, sealer } => {
                if let Some(sealer) = sealer {
                    writer.append(&sealer.finish())?;
                }
                let sealed = writer.seal(blob.is_one_of_few())?;
                let bytes = sealed.blob.bytes;
                assert_eq!(Some(bytes), stored, "what was appended is what was sealed");
                let extent = Extent { blob: sealed.blob.id.0, blob_bytes: bytes, offset: 0, bytes };
                blob.sealed(sealed);
                (Content::Extents(vec![extent]), Some(blob))
            }
        };
        Ok(StoredBytes { bytes, content, blob, sealing })
    }
}

/// The bytes of a short body as they are stored.
fn encrypted(bytes: Vec<u8>, sealing: Option<&Sealing>) -> Result<Bytes, StoreError> {
    let Some(sealing) = sealing else { return Ok(bytes.into()) };
    let mut sealer = sealing.key().sealer();
    let mut stored = Vec::new();
    sealer.append(&bytes, |block| {
        stored.extend_from_slice(block);
        Ok(())
    })?;
    let last = sealer.finish();
    match stored.is_empty() {
        true => Ok(last.into()),
        false => Ok([stored, last].concat().into()),
    }
}

impl Target {
    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        match self {
            Self::Memory(buffer) => buffer.extend_from_slice(bytes),
            Self::Blob { writer, sealer: None, .. } => writer.append(bytes)?,
            Self::Blob { writer, sealer: Some(sealer), .. } => {
                sealer.append(bytes, |block| Ok(writer.append(block)?))?;
            }
        }
        Ok(())
    }
}

impl StagedBody {
    /// Joins the finished halves of one body.
    ///
    /// # Panics
    /// If the two halves did not get the same number of bytes.
    #[must_use]
    pub fn new(digests: Digests, stored: StoredBytes) -> Self {
        assert_eq!(stored.bytes, digests.bytes, "what was hashed is what was stored");
        let StoredBytes { content, blob, sealing, .. } = stored;
        Self { digests, content, blob, sealing }
    }

    /// The digests of the bytes.
    #[must_use]
    pub fn digests(&self) -> &Digests {
        &self.digests
    }

    /// `true` when the bytes are in memory, and become durable with their record.
    #[must_use]
    pub fn is_inline(&self) -> bool {
        self.blob.is_none()
    }

    pub(crate) fn into_parts(self) -> (NewBody, Option<StagedBlob>) {
        let Self { digests, content, blob, sealing } = self;
        let md5 = digests.md5;
        let tag = sealing.as_ref().map_or(md5, |sealing| sealing.tag(&md5));
        let sealing = sealing.map(Sealing::into_target);
        (NewBody { digests, tag, content, sealing }, blob)
    }
}
