//! Reused buffers for pieces of bodies.
//!
//! A fresh buffer of this size is a new mapping, which the kernel fills with zeros, page fault by
//! page fault, although we overwrite it. That takes 2.3 µs, one and a half times as long as reading
//! a whole blob of 20 KiB. The pool keeps few buffers, so that an idle store holds little memory.

use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

use bytes::Bytes;
use liteio_disk::UNCACHED_ALIGNMENT;
use parking_lot::Mutex;

/// Size of the pieces that a reader returns (the last of a blob may be smaller): a multiple of the
/// block that a blob's checksums cover.
pub const PIECE_BYTES: usize = 256 << 10;

/// Body bytes per write past the page cache, where every write waits for the device. A body of 10
/// MiB takes 13.3 ms in pieces of 256 KiB, 10.4 ms in pieces of this size, 9.8 ms in pieces of 2
/// MiB.
pub const UNCACHED_PIECE_BYTES: usize = 2 * PIECE_BYTES;

/// Room behind a piece in a buffer: for the footer of a blob of one piece, or for the end of an
/// encrypted body.
pub const SPARE_BYTES: usize = 4096;

/// Length of a buffer: a piece and spare room. A piece is small enough to stay in the processor's
/// cache from reading through verification to sending; pieces of 1 MiB read no faster.
pub(super) const BUFFER_BYTES: usize = PIECE_BYTES + SPARE_BYTES;

/// Bytes of kept buffers; others are freed.
const KEPT_BYTES_MAX: usize = 16 * BUFFER_BYTES;

/// Pieces up to this length are copied out of their buffer, so that a slow client does not hold a
/// whole buffer for a few bytes.
const COPIED_BYTES_MAX: usize = 16 << 10;

/// A pool of buffers of one length. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct BufferPool {
    length: usize,
    kept: Arc<Mutex<Vec<Box<[u8]>>>>,
}

impl BufferPool {
    /// An empty pool of buffers of `length` bytes.
    pub(super) fn new(length: usize) -> Self {
        Self { length, kept: Arc::default() }
    }

    /// A buffer with arbitrary content, at an address aligned to [`UNCACHED_ALIGNMENT`].
    pub(super) fn take(&self) -> Buffer {
        let kept = self.kept.lock().pop();
        // Over-allocated: the next aligned address is less than one alignment away.
        let new = || vec![0; self.length + UNCACHED_ALIGNMENT].into_boxed_slice();
        let bytes = kept.unwrap_or_else(new);
        let start = bytes.as_ptr().align_offset(UNCACHED_ALIGNMENT);
        Buffer { bytes, start, pool: self.clone() }
    }
}

/// A buffer, which returns to its pool when dropped.
#[derive(Debug)]
pub struct Buffer {
    bytes: Box<[u8]>,
    start: usize,
    pool: BufferPool,
}

impl Buffer {
    /// The bytes within `range`; copied only if they are few.
    pub(super) fn freeze(self, range: Range<usize>) -> Bytes {
        if range.len() <= COPIED_BYTES_MAX {
            return Bytes::copy_from_slice(&self[range]);
        }
        // The `Bytes` owns the buffer, which returns to the pool with its last clone.
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
