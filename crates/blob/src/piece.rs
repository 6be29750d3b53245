//! The bytes returned by a read of a blob.

use std::ops::Range;

use bytes::Bytes;

use super::buffer::Buffer;

/// Verified bytes of a blob, at most a piece.
#[derive(Debug)]
pub enum BlobPiece {
    /// In a buffer of its own.
    Buffered {
        /// The buffer, with room behind the piece.
        buffer: Buffer,
        /// The place of the piece in it.
        range: Range<usize>,
    },
    /// Shared with the blob in memory and its other readers.
    Shared(Bytes),
}

impl BlobPiece {
    /// Number of bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Buffered { range, .. } => range.len(),
            Self::Shared(bytes) => bytes.len(),
        }
    }

    /// The bytes; copied only if they are few.
    #[must_use]
    pub fn freeze(self) -> Bytes {
        match self {
            Self::Buffered { buffer, range } => buffer.freeze(range),
            Self::Shared(bytes) => bytes,
        }
    }

    /// The bytes after `change`, which modifies them in place and returns how many remain, followed
    /// by `tail`. Shared bytes are copied first.
    ///
    /// # Errors
    /// The errors of `change`.
    pub fn change<E>(
        self,
        tail: &[u8],
        change: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<Bytes, E> {
        match self {
            Self::Buffered { mut buffer, range } => {
                // The tail goes into the spare room behind the piece, so that nothing is copied but
                // the tail.
                let end = range.start + change(&mut buffer[range.clone()])?;
                match buffer.get_mut(end..end + tail.len()) {
                    Some(spare) => {
                        spare.copy_from_slice(tail);
                        Ok(buffer.freeze(range.start..end + tail.len()))
                    }
                    None => Ok([&buffer[range.start..end], tail].concat().into()),
                }
            }
            Self::Shared(bytes) => {
                let mut own = bytes.to_vec();
                let length = change(&mut own)?;
                own.truncate(length);
                own.extend_from_slice(tail);
                Ok(own.into())
            }
        }
    }
}
