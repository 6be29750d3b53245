//! Reading the bytes of an object.

use std::ops::Range;

use bytes::Bytes;

use crate::error::StoreError;

/// The selected bytes of an object. Later writes and deletes do not disturb it.
#[derive(Debug)]
pub struct ObjectReader {
    range: Range<u64>,
}

impl ObjectReader {
    /// The bytes of the object that it reads, from first to last.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    /// Bytes not returned yet.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        todo!()
    }

    /// The next piece if memory has it. The outer `None` says that it would have to wait: call
    /// [`ObjectReader::next`] on a thread that may. The inner `None` is the end.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`].
    #[expect(clippy::option_option, reason = "to wait and to end are different answers")]
    pub fn try_next(&mut self) -> Result<Option<Option<Bytes>>, StoreError> {
        todo!()
    }

    /// The next piece, verified; `None` at the end. May wait for the disk.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`].
    #[expect(clippy::should_implement_trait, reason = "every step can fail, so it is no iterator")]
    pub fn next(&mut self) -> Result<Option<Bytes>, StoreError> {
        todo!()
    }
}
