//! Bodies, staged before the transaction that publishes them.

use bytes::Bytes;

use super::staging::{StagedBlob, Staging};
use crate::blob::BlobWriter;
use crate::checksum::{ChecksumAlgorithm, DigestSet, Digests};
use crate::error::StoreError;
use crate::limits::PART_BYTES_MAX;
use crate::meta::content::{Content, Extent};
use crate::store::Store;

/// What is known about a body before it comes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BodyOptions {
    /// Its length, when it is declared. Only a hint for how to keep it.
    pub expected_bytes: Option<u64>,
    /// What to compute beyond MD5.
    pub algorithms: Vec<ChecksumAlgorithm>,
}

/// A body on its way in. Dropped without [`BodyWriter::finish`], it leaves nothing.
#[derive(Debug)]
pub struct BodyWriter {
    store: Store,
    digests: DigestSet,
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    Memory(Vec<u8>),
    /// The writer stands before the blob: it must be gone when that one is discarded.
    Blob {
        writer: Box<dyn BlobWriter>,
        blob: StagedBlob,
    },
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
        let expected = options.expected_bytes.unwrap_or(0);
        check_size(expected)?;
        let sink = if expected > self.inline_bytes_max() {
            begin_blob(self, options.expected_bytes)?
        } else {
            // Never more than the limit, which is small.
            Sink::Memory(Vec::with_capacity(usize::try_from(expected).unwrap_or(0)))
        };
        Ok(BodyWriter { store: self.clone(), digests: DigestSet::new(&options.algorithms), sink })
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

fn begin_blob(store: &Store, expected_bytes: Option<u64>) -> Result<Sink, StoreError> {
    store.inner.check_open()?;
    store.inner.check_space(expected_bytes.unwrap_or(0))?;
    let blob = Staging::begin(store.shared());
    let writer = store.shared().blobs.begin(blob.id(), expected_bytes)?;
    Ok(Sink::Blob { writer, blob })
}

impl BodyWriter {
    /// Adds to the body. May wait for the disk, see [`BodyWriter::will_block`].
    ///
    /// # Errors
    /// When the disk fails or is full, or the body becomes too large. Then only dropping is left.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        check_size(self.digests.bytes() + bytes.len() as u64)?;
        if self.will_block(bytes.len())
            && let Sink::Memory(buffer) = &mut self.sink
        {
            let buffered = std::mem::take(buffer);
            let mut sink = begin_blob(&self.store, None)?;
            sink.append(&buffered)?;
            self.sink = sink;
        }
        self.sink.append(bytes)?;
        self.digests.update(bytes);
        Ok(())
    }

    /// Whether everything so far is in memory, so that [`BodyWriter::finish`] does not touch the disk.
    #[must_use]
    pub fn is_inline(&self) -> bool {
        matches!(self.sink, Sink::Memory(_))
    }

    /// Whether writing `next_bytes` more may wait for the disk.
    #[must_use]
    pub fn will_block(&self, next_bytes: usize) -> bool {
        match &self.sink {
            Sink::Memory(buffer) => {
                buffer.len().saturating_add(next_bytes) as u64 > self.store.inline_bytes_max()
            }
            Sink::Blob { .. } => true,
        }
    }

    /// Bytes written so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.digests.bytes()
    }

    /// Ends the body and makes it as durable as the store promises; a body in memory becomes durable
    /// with its record.
    ///
    /// # Errors
    /// When the disk fails or is full.
    pub fn finish(self) -> Result<StagedBody, StoreError> {
        let digests = self.digests.finish();
        match self.sink {
            Sink::Memory(buffer) => {
                let content = Content::Inline(Bytes::from(buffer));
                Ok(StagedBody { digests, content, blob: None })
            }
            Sink::Blob { writer, blob } => {
                let sealed = writer.seal()?;
                blob.sealed(sealed.bytes);
                assert_eq!(sealed.bytes, digests.bytes, "what was hashed is what was written");
                let extent = Extent {
                    blob: sealed.id.0,
                    blob_bytes: sealed.bytes,
                    offset: 0,
                    bytes: sealed.bytes,
                };
                let content = Content::Extents(vec![extent]);
                Ok(StagedBody { digests, content, blob: Some(blob) })
            }
        }
    }
}

impl Sink {
    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        match self {
            Self::Memory(buffer) => buffer.extend_from_slice(bytes),
            Self::Blob { writer, .. } => writer.append(bytes)?,
        }
        Ok(())
    }
}

impl StagedBody {
    /// The digests of the bytes.
    #[must_use]
    pub fn digests(&self) -> &Digests {
        &self.digests
    }

    /// Whether the bytes are in memory, and become durable with their record.
    #[must_use]
    pub fn is_inline(&self) -> bool {
        self.blob.is_none()
    }

    pub(crate) fn into_parts(self) -> (Digests, Content, Option<StagedBlob>) {
        (self.digests, self.content, self.blob)
    }
}
