//! Staging of bodies, before the transaction that publishes them.

use bytes::Bytes;

use crate::blob::BlobWriter;
use crate::checksum::{ChecksumAlgorithm, DigestSet, Digests};
use crate::error::StoreError;
use crate::limits::PART_BYTES_MAX;
use crate::meta::content::{Content, Extent};
use crate::process::{StagedBlob, Staging};
use crate::store::Store;

/// Options of a body, known before its first byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BodyOptions {
    /// Declared length, in bytes. Only a hint for where to keep the bytes.
    pub expected_bytes: Option<u64>,
    /// The checksums to compute beside MD5.
    pub algorithms: Vec<ChecksumAlgorithm>,
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
}

#[derive(Debug)]
enum Target {
    Memory(Vec<u8>),
    /// The writer is declared before the blob, so that it is dropped before the blob is discarded.
    Blob {
        writer: Box<dyn BlobWriter>,
        blob: StagedBlob,
    },
}

/// The bytes of a whole body, as durable as the store promises. Dropped, it leaves nothing.
#[derive(Debug)]
pub struct StoredBytes {
    bytes: u64,
    content: Content,
    blob: Option<StagedBlob>,
}

/// A whole body, as durable as the store promises, and not yet visible. Dropped, it leaves nothing:
/// a blob is deleted by [`Store::reclaim`], which the store calls by itself.
#[derive(Debug)]
pub struct StagedBody {
    digests: Digests,
    content: Content,
    blob: Option<StagedBlob>,
}

impl Store {
    /// Starts a body. May wait for the disk if more than an inline body is expected.
    ///
    /// # Errors
    /// [`StoreError::NoSpace`] when the device is full, [`StoreError::PartTooLarge`].
    pub fn begin_body(&self, options: BodyOptions) -> Result<BodyWriter, StoreError> {
        let sink = self.begin_sink(options.expected_bytes)?;
        Ok(BodyWriter { hasher: BodyHasher::new(&options.algorithms), sink })
    }

    /// Starts the half of a body that keeps its bytes. As [`Store::begin_body`].
    ///
    /// # Errors
    /// As [`Store::begin_body`].
    pub fn begin_sink(&self, expected_bytes: Option<u64>) -> Result<BodySink, StoreError> {
        let expected = expected_bytes.unwrap_or(0);
        check_size(expected)?;
        let target = if expected > self.inline_bytes_max() {
            begin_blob(self, expected_bytes)?
        } else {
            // Never more than the limit, which is small.
            Target::Memory(Vec::with_capacity(usize::try_from(expected).unwrap_or(0)))
        };
        Ok(BodySink { store: self.clone(), bytes: 0, target })
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

fn begin_blob(store: &Store, expected_bytes: Option<u64>) -> Result<Target, StoreError> {
    store.inner.check_open()?;
    store.inner.check_space(expected_bytes.unwrap_or(0))?;
    let blob = Staging::begin(store.shared())?;
    let writer = store.shared().blobs.begin(blob.id(), expected_bytes)?;
    Ok(Target::Blob { writer, blob })
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
            let mut target = begin_blob(&self.store, None)?;
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
        let bytes = self.bytes;
        match self.target {
            Target::Memory(buffer) => {
                Ok(StoredBytes { bytes, content: Content::Inline(Bytes::from(buffer)), blob: None })
            }
            Target::Blob { writer, blob } => {
                let sealed = writer.seal(blob.is_one_of_few())?;
                assert_eq!(sealed.blob.bytes, bytes, "what was appended is what was sealed");
                let extent = Extent { blob: sealed.blob.id.0, blob_bytes: bytes, offset: 0, bytes };
                blob.sealed(sealed);
                Ok(StoredBytes { bytes, content: Content::Extents(vec![extent]), blob: Some(blob) })
            }
        }
    }
}

impl Target {
    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        match self {
            Self::Memory(buffer) => buffer.extend_from_slice(bytes),
            Self::Blob { writer, .. } => writer.append(bytes)?,
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
        Self { digests, content: stored.content, blob: stored.blob }
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

    pub(crate) fn into_parts(self) -> (Digests, Content, Option<StagedBlob>) {
        (self.digests, self.content, self.blob)
    }
}
