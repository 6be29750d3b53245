//! Bodies, staged before the transaction that publishes them.

use crate::checksum::{ChecksumAlgorithm, Digests};
use crate::error::StoreError;
use crate::store::Store;

/// What is known about a body before it comes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BodyOptions {
    /// Its length, when it is declared.
    pub expected_bytes: Option<u64>,
    /// What to compute beyond MD5.
    pub algorithms: Vec<ChecksumAlgorithm>,
}

/// A body on its way in. Dropped without [`BodyWriter::finish`], it leaves nothing.
#[derive(Debug)]
pub struct BodyWriter {}

/// A whole body, as durable as the store promises, and not yet visible.
#[derive(Debug)]
pub struct StagedBody {
    digests: Digests,
}

#[derive(Clone, Debug)]
pub(crate) struct StagedBlob {}

impl StagedBlob {
    pub(crate) fn take_back(&self) {
        todo!()
    }
}

impl Store {
    /// Starts a body.
    ///
    /// # Errors
    /// [`StoreError::NoSpace`] when the device is full, [`StoreError::PartTooLarge`].
    pub fn begin_body(&self, options: BodyOptions) -> Result<BodyWriter, StoreError> {
        todo!("{options:?}")
    }
}

impl BodyWriter {
    /// Adds to the body. May wait for the disk, see [`BodyWriter::will_block`].
    ///
    /// # Errors
    /// When the disk fails or is full, or the body becomes too large.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        todo!("{}", bytes.len())
    }

    /// Whether everything so far is in memory, so that [`BodyWriter::finish`] does not touch the disk.
    #[must_use]
    pub fn is_inline(&self) -> bool {
        todo!()
    }

    /// Whether writing `next_bytes` more may wait for the disk.
    #[must_use]
    pub fn will_block(&self, next_bytes: usize) -> bool {
        todo!("{next_bytes}")
    }

    /// Ends the body and makes it as durable as the store promises.
    ///
    /// # Errors
    /// When the disk fails or is full.
    pub fn finish(self) -> Result<StagedBody, StoreError> {
        todo!()
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
        todo!()
    }
}
