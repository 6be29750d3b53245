//! Reused buffers for pieces of bodies.
//!
//! A new buffer of this size is a fresh mapping that the kernel fills with zeros, page fault by page
//! fault, only for us to write over it: it costs 2.3 µs, half as much again as reading a blob of 20 KiB
//! altogether. Few are kept, so that an idle store holds little.

use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

use bytes::Bytes;
use liteio_disk::UNCACHED_ALIGNMENT;
use parking_lot::Mutex;

/// Body bytes that one buffer takes: small enough that they are still in the processor's cache when
/// they are verified after the read, and sent after that. Pieces of 1 MiB read no faster.
pub(super) use crate::limits::PIECE_BYTES;
pub(super) use crate::limits::UNCACHED_PIECE_BYTES;

/// Room of a buffer behind a piece: for the footer of a blob of one piece, or the end of an encrypted body.
pub(crate) const SPARE_BYTES: usize = 4096;

/// Length of a buffer.
pub(super) const BUFFER_BYTES: usize = PIECE_BYTES + SPARE_BYTES;

/// Bytes of buffers kept for later; the rest goes back to the allocator.
const KEPT_BYTES_MAX: usize = 16 * BUFFER_BYTES;

/// Pieces up to this length are copied out of their buffer: a slow client should not hold a whole
/// buffer for a few bytes.
const COPIED_BYTES_MAX: usize = 16 << 10;

/// The kept buffers, of one length. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct BufferPool {
    length: usize,
    kept: Arc<Mutex<Vec<Box<[u8]>>>>,
}

impl BufferPool {
    /// Of buffers of `length` bytes.
    pub(super) fn new(length: usize) -> Self {
        Self { length, kept: Arc::default() }
    }

    /// A buffer with anything in it, at an address that is a multiple of [`UNCACHED_ALIGNMENT`].
    pub(super) fn take(&self) -> Buffer {
        let kept = self.kept.lock().pop();
        // A shift to the next aligned address is less than the alignment.
        let new = || vec![0; self.length + UNCACHED_ALIGNMENT].into_boxed_slice();
        let bytes = kept.unwrap_or_else(new);
        let start = bytes.as_ptr().align_offset(UNCACHED_ALIGNMENT);
        Buffer { bytes, start, pool: self.clone() }
    }
}

/// A buffer, which returns to its pool when dropped.
#[derive(Debug)]
pub(crate) struct Buffer {
    bytes: Box<[u8]>,
    start: usize,
    pool: BufferPool,
}

impl Buffer {
    /// The bytes within `range`, without copying them unless they are few.
    pub(super) fn freeze(self, range: Range<usize>) -> Bytes {
        if range.len() <= COPIED_BYTES_MAX {
            return Bytes::copy_from_slice(&self[range]);
        }
        Bytes::from_owner(self).slice(range)
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.pool.length]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.pool.length]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        let mut kept = self.pool.kept.lock();
        if kept.len() < KEPT_BYTES_MAX / self.pool.length {
            kept.push(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_when_its_last_piece_is_dropped_and_few_are_kept() {
        let pool = BufferPool::new(BUFFER_BYTES);
        let mut buffer = pool.take();
        assert_eq!(buffer.len(), BUFFER_BYTES);
        assert!(buffer.as_ptr().addr().is_multiple_of(UNCACHED_ALIGNMENT));
        buffer[100..60_100].fill(7);
        let piece = buffer.freeze(100..60_100);
        let part = piece.slice(5..10);
        drop(piece);
        assert!(pool.kept.lock().is_empty(), "a part is still in use");
        assert_eq!(&part[..], [7; 5]);
        drop(part);
        assert_eq!(pool.kept.lock().len(), 1);

        let many: Vec<_> = (0..100).map(|_| pool.take()).collect();
        drop(many);
        assert_eq!(pool.kept.lock().len() * BUFFER_BYTES, KEPT_BYTES_MAX);
    }

    #[test]
    fn a_small_piece_does_not_hold_its_buffer() {
        let pool = BufferPool::new(BUFFER_BYTES);
        let piece = pool.take().freeze(0..COPIED_BYTES_MAX);
        assert_eq!(pool.kept.lock().len(), 1);
        assert_eq!(piece.len(), COPIED_BYTES_MAX);
    }
}
