//! A body that is read whole.

use bytes::{Bytes, BytesMut};

/// A body while it is read, in memory of the length that was declared, so that it need not grow.
pub(crate) struct Gathered {
    declared: Option<usize>,
    bytes_max: usize,
    bytes: BytesMut,
}

/// There is more of it than is allowed.
#[derive(Debug)]
pub(crate) struct TooLarge;

impl Gathered {
    /// For a body of `bytes_declared`, if that is known, and at most `bytes_max`.
    pub(crate) fn new(bytes_declared: Option<u64>, bytes_max: usize) -> Self {
        let declared = bytes_declared.and_then(|bytes| usize::try_from(bytes).ok());
        let declared = declared.filter(|bytes| *bytes <= bytes_max);
        Self { declared, bytes_max, bytes: BytesMut::new() }
    }

    /// Takes the next of it. `Some` when that is everything at once, which is not copied.
    pub(crate) fn add(&mut self, data: Bytes) -> Result<Option<Bytes>, TooLarge> {
        if self.bytes.is_empty() && Some(data.len()) == self.declared {
            return Ok(Some(data));
        }
        if self.bytes.len() + data.len() > self.bytes_max {
            return Err(TooLarge);
        }
        // What stays unused of it costs no memory.
        self.bytes.reserve(self.declared.unwrap_or_default().saturating_sub(self.bytes.len()));
        self.bytes.extend_from_slice(&data);
        Ok(None)
    }

    pub(crate) fn finish(self) -> Bytes {
        self.bytes.freeze()
    }
}
