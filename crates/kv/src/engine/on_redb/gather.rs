//! [`Gather`]: a write buffer that combines neighbouring pages into one write.
//!
//! redb writes page by page in no particular order. A changed tree has thousands of pages, most of
//! them with neighbours.

use std::collections::BTreeMap;

use super::sums::PAGE_BYTES;

/// Maximum number of buffered pages.
const PAGES_MAX: usize = 1024;
/// Maximum number of pages in one write.
const RUN_PAGES_MAX: usize = 256;

/// The buffered pages.
#[derive(Debug, Default)]
pub(super) struct Gather {
    bytes: Vec<u8>,
    /// From the number of a page in the file to its number in `bytes`.
    pages: BTreeMap<u64, usize>,
}

impl Gather {
    /// `true` for whole pages, which can be buffered.
    pub(super) fn takes(offset: u64, data: &[u8]) -> bool {
        offset > 0
            && offset.is_multiple_of(PAGE_BYTES as u64)
            && data.len().is_multiple_of(PAGE_BYTES)
            && data.len() <= RUN_PAGES_MAX * PAGE_BYTES
    }

    /// `true` if the buffer must be written before it takes `bytes` more.
    pub(super) fn is_full(&self, bytes: usize) -> bool {
        self.bytes.len() + bytes > PAGES_MAX * PAGE_BYTES
    }

    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Adds whole pages; they replace buffered ones of the same place.
    pub(super) fn add(&mut self, offset: u64, data: &[u8]) {
        let first = offset / PAGE_BYTES as u64;
        for (number, page) in (first..).zip(data.chunks(PAGE_BYTES)) {
            let place = *self.pages.entry(number).or_insert(self.bytes.len() / PAGE_BYTES);
            match self.bytes.get_mut(place * PAGE_BYTES..(place + 1) * PAGE_BYTES) {
                Some(older) => older.copy_from_slice(page),
                None => self.bytes.extend_from_slice(page),
            }
        }
    }

    /// The page at `offset`, if it is buffered.
    pub(super) fn page(&self, offset: u64) -> Option<&[u8]> {
        let place = *self.pages.get(&(offset / PAGE_BYTES as u64))?;
        self.bytes.get(place * PAGE_BYTES..(place + 1) * PAGE_BYTES)
    }

    /// `true` if any page of the range is buffered.
    pub(super) fn has_any(&self, offset: u64, bytes: usize) -> bool {
        let first = offset / PAGE_BYTES as u64;
        let end = (offset + bytes as u64).div_ceil(PAGE_BYTES as u64);
        self.pages.range(first..end).next().is_some()
    }

    /// Forgets the pages behind a file's new end of `bytes`.
    pub(super) fn truncate(&mut self, bytes: u64) {
        drop(self.pages.split_off(&bytes.div_ceil(PAGE_BYTES as u64)));
    }

    /// Calls `write` with every run of neighbouring pages and its offset, in order, until it fails.
    pub(super) fn write_to<E>(
        &self,
        mut write: impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut run = Vec::new();
        let mut start = 0;
        for (number, place) in &self.pages {
            let run_pages = run.len() / PAGE_BYTES;
            if run_pages > 0 && (*number != start + run_pages as u64 || run_pages == RUN_PAGES_MAX)
            {
                write(start * PAGE_BYTES as u64, &run)?;
                run.clear();
            }
            if run.is_empty() {
                start = *number;
            }
            run.extend_from_slice(&self.bytes[place * PAGE_BYTES..(place + 1) * PAGE_BYTES]);
        }
        if run.is_empty() { Ok(()) } else { write(start * PAGE_BYTES as u64, &run) }
    }

    /// Forgets all pages.
    pub(super) fn clear(&mut self) {
        self.pages.clear();
        self.bytes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_written_together_and_the_newest_of_a_page_counts() {
        let mut gather = Gather::default();
        let page = |byte: u8| vec![byte; PAGE_BYTES];
        let at = |number: u64| number * PAGE_BYTES as u64;
        for (number, byte) in [(9, 1), (3, 2), (4, 3), (9, 4), (7, 5)] {
            assert!(Gather::takes(at(number), &page(byte)));
            gather.add(at(number), &page(byte));
        }
        gather.add(at(4), &[page(6), page(7)].concat());
        assert_eq!(gather.page(at(9)), Some(&page(4)[..]));
        assert!(gather.has_any(at(2), 2 * PAGE_BYTES) && !gather.has_any(at(2), PAGE_BYTES));
        gather.truncate(at(9));
        assert!(gather.page(at(9)).is_none());
        let mut written = Vec::new();
        let write = |offset, bytes: &[u8]| {
            written.push((offset, bytes.to_vec()));
            Ok::<(), ()>(())
        };
        gather.write_to(write).expect("written");
        assert_eq!(written, [(at(3), [page(2), page(6), page(7)].concat()), (at(7), page(5))]);
        assert_eq!(gather.page(at(7)), Some(&page(5)[..]), "until it is cleared");
        gather.clear();
        assert!(gather.is_empty() && !Gather::takes(0, &page(0)) && !Gather::takes(512, &page(0)));
    }
}
