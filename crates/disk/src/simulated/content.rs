//! The bytes of a file, in shared pages: a clone costs nothing until one side writes.

use std::ops::Range;
use std::sync::Arc;

/// A device writes a sector whole or not at all.
pub(super) const SECTOR_BYTES: u64 = 512;

pub(super) const PAGE_BYTES: u64 = 4096;
const SECTORS_PER_PAGE: u64 = PAGE_BYTES / SECTOR_BYTES;

/// The largest file. The page table of a larger one would be a burden.
pub(super) const FILE_BYTES_MAX: u64 = 1 << 36;

type Page = [u8; PAGE_BYTES as usize];

/// Bytes and a length. `None` and missing pages are holes full of zeros; bytes at and after `len`
/// are zeros too, except between [`Content::copy_sectors`] and the [`Content::set_len`] after it.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    len: u64,
    pages: Arc<Vec<Option<Arc<Page>>>>,
    allocated_pages: u64,
}

impl Content {
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn allocated_bytes(&self) -> u64 {
        self.allocated_pages * PAGE_BYTES
    }

    pub(super) fn read(&self, buf: &mut [u8], offset: u64) -> usize {
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
    pub(super) fn write(&mut self, data: &[u8], offset: u64) {
        for (page, within, range) in page_pieces(offset, data.len()) {
            let piece = &data[range];
            self.page_mut(page)[within..within + piece.len()].copy_from_slice(piece);
        }
        if !data.is_empty() {
            self.len = self.len.max(offset + data.len() as u64);
        }
    }

    /// How much of a write of `bytes` at `offset` fits if `free_pages` more can be allocated.
    pub(super) fn fitting_bytes(&self, offset: u64, bytes: usize, free_pages: u64) -> usize {
        let mut left = free_pages;
        for (page, _, range) in page_pieces(offset, bytes) {
            if !matches!(self.pages.get(page), Some(Some(_))) {
                if left == 0 {
                    return range.start;
                }
                left -= 1;
            }
        }
        bytes
    }

    /// Cuts, or extends with a hole.
    pub(super) fn set_len(&mut self, len: u64) {
        if len < self.len || self.pages.len() as u64 * PAGE_BYTES > len {
            self.zero_from(len);
        }
        self.len = len;
    }

    /// Takes the bytes of `sectors`, of which `from` may have none, without changing the length.
    pub(super) fn copy_sectors(&mut self, from: &Self, sectors: Range<u64>) {
        let mut sector = sectors.start;
        while sector < sectors.end {
            let page = sector / SECTORS_PER_PAGE;
            let end = ((page + 1) * SECTORS_PER_PAGE).min(sectors.end);
            let source = from.pages.get(page as usize).and_then(Option::as_ref);
            if end - sector == SECTORS_PER_PAGE {
                self.replace_page(page as usize, source.cloned());
            } else {
                let first = (sector % SECTORS_PER_PAGE * SECTOR_BYTES) as usize;
                let range = first..first + ((end - sector) * SECTOR_BYTES) as usize;
                let target = &mut self.page_mut(page as usize)[range.clone()];
                match source {
                    Some(source) => target.copy_from_slice(&source[range]),
                    None => target.fill(0),
                }
            }
            sector = end;
        }
    }

    fn zero_from(&mut self, len: u64) {
        let pages_kept = len.div_ceil(PAGE_BYTES) as usize;
        if self.pages.len() > pages_kept {
            let pages = Arc::make_mut(&mut self.pages);
            let freed = pages.drain(pages_kept..).flatten().count();
            self.allocated_pages -= freed as u64;
        }
        let tail = (len % PAGE_BYTES) as usize;
        if tail != 0 && matches!(self.pages.get(pages_kept - 1), Some(Some(_))) {
            self.page_mut(pages_kept - 1)[tail..].fill(0);
        }
    }

    fn page_mut(&mut self, index: usize) -> &mut Page {
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

    fn replace_page(&mut self, index: usize, page: Option<Arc<Page>>) {
        let pages = Arc::make_mut(&mut self.pages);
        if pages.len() <= index {
            pages.resize(index + 1, None);
        }
        self.allocated_pages += u64::from(page.is_some());
        self.allocated_pages -= u64::from(pages[index].is_some());
        pages[index] = page;
    }
}

/// Splits `bytes` at `offset` by page: page index, offset within the page, range of the bytes.
fn page_pieces(offset: u64, bytes: usize) -> impl Iterator<Item = (usize, usize, Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == bytes {
            return None;
        }
        let position = offset + done as u64;
        let within = (position % PAGE_BYTES) as usize;
        let count = (PAGE_BYTES as usize - within).min(bytes - done);
        let range = done..done + count;
        done += count;
        Some(((position / PAGE_BYTES) as usize, within, range))
    })
}

#[cfg(test)]
mod tests {
    use super::super::generator::Generator;
    use super::*;

    #[test]
    fn random_writes_and_cuts_match_a_plain_vector() {
        let mut generator = Generator::new(7);
        let mut content = Content::default();
        let mut model: Vec<u8> = Vec::new();
        for round in 0..3000_u64 {
            let offset = generator.below(20_000);
            if generator.below(4) == 0 {
                content.set_len(offset);
                model.resize(offset as usize, 0);
            } else {
                let data = vec![round as u8 | 1; generator.below(9_000) as usize];
                let before = content.clone();
                content.write(&data, offset);
                assert_eq!(all(&before), model, "a clone is not written to, round {round}");
                if !data.is_empty() {
                    model.resize(model.len().max(offset as usize + data.len()), 0);
                    model[offset as usize..][..data.len()].copy_from_slice(&data);
                }
            }
            assert_eq!(all(&content), model, "round {round}");
            let pages = content.pages.iter().flatten().count() as u64;
            assert_eq!(content.allocated_bytes(), pages * PAGE_BYTES, "round {round}");
        }
    }

    #[test]
    fn sectors_are_copied_alone() {
        let mut old = Content::default();
        old.write(&[1; 10_000], 0);
        let mut new = Content::default();
        new.write(&[2; 10_000], 0);
        for sectors in [0..1, 3..4, 7..9, 0..16, 1..19] {
            let mut mixed = old.clone();
            mixed.copy_sectors(&new, sectors.clone());
            mixed.set_len(10_000);
            let expected: Vec<u8> = (0..10_000_u64)
                .map(|at| if sectors.contains(&(at / SECTOR_BYTES)) { 2 } else { 1 })
                .collect();
            assert_eq!(all(&mixed), expected, "{sectors:?}");
        }
    }

    #[test]
    fn only_new_pages_need_space() {
        let mut content = Content::default();
        content.write(&[1; 4096], 4096);
        assert_eq!(content.fitting_bytes(4096, 4096, 0), 4096);
        assert_eq!(content.fitting_bytes(4000, 8192, 0), 0);
        assert_eq!(content.fitting_bytes(4000, 8192, 1), 96 + 4096);
        assert_eq!(content.fitting_bytes(4000, 8192, 2), 8192);
    }

    fn all(content: &Content) -> Vec<u8> {
        let mut bytes = vec![0xff; content.len() as usize + 10];
        let count = content.read(&mut bytes, 0);
        bytes.truncate(count);
        bytes
    }
}
