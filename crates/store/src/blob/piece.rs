//! The bytes that a read of a blob returns.

use std::ops::Range;

use bytes::Bytes;

use super::buffer::Buffer;

/// Verified bytes of a blob, at most a piece.
#[derive(Debug)]
pub(crate) enum BlobPiece {
    /// In a buffer of their own.
    Buffered { buffer: Buffer, range: Range<usize> },
    /// Those of a blob in memory, and of everybody who reads it.
    Shared(Bytes),
}

impl BlobPiece {
    /// Number of bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Buffered { range, .. } => range.len(),
            Self::Shared(bytes) => bytes.len(),
        }
    }

    /// The bytes, without copying them unless they are few.
    pub(crate) fn freeze(self) -> Bytes {
        match self {
            Self::Buffered { buffer, range } => buffer.freeze(range),
            Self::Shared(bytes) => bytes,
        }
    }

    /// The first bytes as `change` leaves them, as many as it returns, and `tail` behind them. They are changed
    /// where they are, unless they are shared.
    ///
    /// # Errors
    /// Those of `change`.
    pub(crate) fn change<E>(
        self,
        tail: &[u8],
        change: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<Bytes, E> {
        match self {
            Self::Buffered { mut buffer, range } => {
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
