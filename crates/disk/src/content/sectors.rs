//! Sectors and allocated space of a file's bytes, for the simulated disk.

use std::ops::Range;
use std::sync::Arc;

use super::{Content, PAGE_BYTES, Page, page_pieces};

/// Unit of atomicity: a device writes a sector whole or not at all.
pub(crate) const SECTOR_BYTES: u64 = 512;

const SECTORS_PER_PAGE: u64 = PAGE_BYTES / SECTOR_BYTES;

impl Content {
    pub(crate) fn allocated_bytes(&self) -> u64 {
        self.allocated_pages * PAGE_BYTES
    }

    /// Length of the prefix of a write of `bytes` at `offset` that fits if `free_pages` more pages
    /// can be allocated.
    pub(crate) fn fitting_bytes(&self, offset: u64, bytes: usize, free_pages: u64) -> usize {
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

    /// Copies `sectors` from `from` (holes where it has none) without changing the length.
    pub(crate) fn copy_sectors(&mut self, from: &Self, sectors: Range<u64>) {
        let mut sector = sectors.start;
        while sector < sectors.end {
            let page = sector / SECTORS_PER_PAGE;
            let end = ((page + 1) * SECTORS_PER_PAGE).min(sectors.end);
            let source = from.pages.get(page as usize).and_then(Option::as_ref);
            // A whole page is shared instead of copied; a part of one is copied into a page of our
            // own.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Generator;

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
