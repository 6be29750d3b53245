//! The bytes of a file in memory, in copy-on-write pages: a clone costs nothing until one side
//! writes.

#[cfg(feature = "test-util")]
mod sectors;

use std::io;
use std::ops::Range;
use std::sync::Arc;

use rustix::io::Errno;

#[cfg(feature = "test-util")]
pub(crate) use self::sectors::SECTOR_BYTES;

pub(crate) const PAGE_BYTES: u64 = 4096;

/// The largest file. It bounds the page table, which has one entry per page up to the end of the
/// file.
const FILE_BYTES_MAX: u64 = 1 << 36;

/// Refuses an end beyond [`FILE_BYTES_MAX`].
pub(crate) fn check_end(offset: u64, bytes: u64) -> io::Result<()> {
    match offset.checked_add(bytes) {
        Some(end) if end <= FILE_BYTES_MAX => Ok(()),
        _ => Err(Errno::FBIG.into()),
    }
}

type Page = [u8; PAGE_BYTES as usize];

/// Bytes and a length. Missing pages (`None`, or past the end of the table) are holes of zeros.
/// Invariant: bytes at and after `len` are zeros, so growing the file needs no writes. Between
/// `copy_sectors` and the [`Content::set_len`] after it the invariant does not hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    len: u64,
    pages: Arc<Vec<Option<Arc<Page>>>>,
    allocated_pages: u64,
}

impl Content {
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn read(&self, buf: &mut [u8], offset: u64) -> usize {
        let count = self.len.saturating_sub(offset).min(buf.len() as u64) as usize;
        for (page, within, range) in page_pieces(offset, count) {
            let piece = &mut buf[range];
            match self.pages.get(page) {
                Some(Some(bytes)) => piece.copy_from_slice(&bytes[within..within + piece.len()]),
                _ => piece.fill(0),
            }
        }
        count
    }

    /// Writes all of `data`. The caller keeps the end within [`FILE_BYTES_MAX`].
    pub(crate) fn write(&mut self, data: &[u8], offset: u64) {
        for (page, within, range) in page_pieces(offset, data.len()) {
            let piece = &data[range];
            self.page_mut(page)[within..within + piece.len()].copy_from_slice(piece);
        }
        if !data.is_empty() {
            self.len = self.len.max(offset + data.len() as u64);
        }
    }

    /// Truncates, or extends with a hole.
    pub(crate) fn set_len(&mut self, len: u64) {
        // Restores the invariant where a page reaches past the new end: after truncation, and after
        // `copy_sectors`, whose pages may end behind `self.len`.
        if len < self.len || self.pages.len() as u64 * PAGE_BYTES > len {
            self.zero_from(len);
        }
        self.len = len;
    }

    /// Makes `bytes` bytes from `offset`, all before the end, zeros. Whole pages become holes.
    #[cfg(feature = "test-util")]
    pub(crate) fn discard(&mut self, offset: u64, bytes: u64) {
        for (page, within, range) in page_pieces(offset, bytes as usize) {
            if !matches!(self.pages.get(page), Some(Some(_))) {
                continue;
            }
            if range.len() as u64 == PAGE_BYTES {
                Arc::make_mut(&mut self.pages)[page] = None;
                self.allocated_pages -= 1;
            } else {
                self.page_mut(page)[within..within + range.len()].fill(0);
            }
        }
    }

    fn zero_from(&mut self, len: u64) {
        let pages_kept = len.div_ceil(PAGE_BYTES) as usize;
        if self.pages.len() > pages_kept {
            let pages = Arc::make_mut(&mut self.pages);
            let freed = pages.drain(pages_kept..).flatten().count();
            self.allocated_pages -= freed as u64;
        }
        // The last kept page is cut inside: its tail must read as zeros if the file grows again.
        let tail = (len % PAGE_BYTES) as usize;
        if tail != 0 && matches!(self.pages.get(pages_kept - 1), Some(Some(_))) {
            self.page_mut(pages_kept - 1)[tail..].fill(0);
        }
    }

    fn page_mut(&mut self, index: usize) -> &mut Page {
        // Two levels of copy-on-write: the table, then the page.
        let pages = Arc::make_mut(&mut self.pages);
        if pages.len() <= index {
            pages.resize(index + 1, None);
        }
        let page = pages[index].get_or_insert_with(|| {
            self.allocated_pages += 1;
            Arc::new([0; PAGE_BYTES as usize])
        });
        Arc::make_mut(page)
    }
}

/// [`pieces`] with blocks of one page.
pub(crate) fn page_pieces(
    offset: u64,
    bytes: usize,
) -> impl Iterator<Item = (usize, usize, Range<usize>)> {
    pieces(offset, bytes, PAGE_BYTES as usize)
}

/// Splits `bytes` bytes at `offset` at the borders of blocks of `block_bytes`. Each piece is the
/// index of its block, the offset within the block, and its range within the bytes.
#[inline]
pub fn pieces(
    offset: u64,
    bytes: usize,
    block_bytes: usize,
) -> impl Iterator<Item = (usize, usize, Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == bytes {
            return None;
        }
        let position = offset + done as u64;
        let within = (position % block_bytes as u64) as usize;
        let count = (block_bytes - within).min(bytes - done);
        let range = done..done + count;
        done += count;
        Some(((position / block_bytes as u64) as usize, within, range))
    })
}
