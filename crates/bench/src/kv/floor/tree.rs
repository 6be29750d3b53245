//! The floor of a tree of pages for puts in random order, independent of the implementation: every
//! page that a batch changes is read, written to another place, and synced.
//!
//! A batch stands for the puts that an engine gathers in memory. Its pages are read in their order
//! and written to the first free places, neighbours together. The old places are free after the
//! sync. Inner pages, checksums and the search within a page are left out.

use std::collections::BTreeSet;
use std::path::Path;

use liteio_disk::{Disk as _, DiskFile, OpenMode, RealDisk};

use super::PAGE_BYTES;
use crate::kv::data::{Data, KEY_BYTES, VALUE_BYTES};
use crate::worker::Failure;
use crate::worker::measured::Measured;

/// Entries of a page that is two thirds full, the average for pages that were split at random.
const PAGE_ENTRIES: u64 = (PAGE_BYTES * 2 / 3 / (KEY_BYTES + VALUE_BYTES + 8)) as u64;
/// Number of changes after which a sync makes the space of old pages usable again.
const SYNCED_CHANGES: usize = 65_536;
/// Batches before the measurement: only after some of them the free places are spread.
const BATCHES_BEFORE: u64 = 6;
/// Length of the longest write.
const RUN_BYTES_MAX: usize = 1 << 20;

/// Changes `batch` entries of a tree of `entries`, `batches` times. The value `passed_factor` is
/// the number of bytes written for a byte of an entry.
pub(super) fn run(
    directory: &Path,
    data: Data,
    entries: u64,
    batch: u64,
    batches: u64,
) -> Result<Measured, Failure> {
    let mut tree = Tree::new(directory, entries.div_ceil(PAGE_ENTRIES))?;
    let pages = tree.places.len() as u64;
    let changes_of = |number: u64| -> Vec<usize> {
        let steps = number * batch..(number + 1) * batch;
        steps.map(|step| data.random_entry(step, pages) as usize).collect()
    };
    for number in 0..BATCHES_BEFORE {
        tree.change_all(changes_of(number))?;
    }
    tree.written_bytes = 0;
    let mut measured = Measured::begin("floor");
    for number in BATCHES_BEFORE..BATCHES_BEFORE + batches {
        let changes = changes_of(number);
        measured.time(changes.len(), || tree.change_all(changes))?;
    }
    let put = (batches * batch * (KEY_BYTES + VALUE_BYTES) as u64).max(1);
    let factor = tree.written_bytes as f64 / put as f64;
    measured.phase.values.insert("passed_factor".to_owned(), factor);
    Ok(measured)
}

struct Tree {
    file: Box<dyn DiskFile>,
    /// Place of each page in the file, in pages.
    places: Vec<u64>,
    free: BTreeSet<u64>,
    written_bytes: u64,
}

impl Tree {
    /// A file with as many free places as pages.
    fn new(directory: &Path, pages: u64) -> Result<Self, Failure> {
        let file = RealDisk::open(directory)?.open("floor", OpenMode::CreateOrWrite)?;
        let content = vec![7; RUN_BYTES_MAX];
        let bytes = 2 * pages * PAGE_BYTES as u64;
        for start in (0..bytes).step_by(RUN_BYTES_MAX) {
            let length = (bytes - start).min(RUN_BYTES_MAX as u64) as usize;
            file.write_at(&content[..length], start)?;
        }
        file.sync_data()?;
        let (places, free) = ((0..pages).collect(), (pages..2 * pages).collect());
        Ok(Self { file, places, free, written_bytes: 0 })
    }

    /// Changes pages.
    fn change_all(&mut self, mut pages: Vec<usize>) -> Result<(), Failure> {
        pages.sort_unstable();
        pages.chunks(SYNCED_CHANGES).try_for_each(|part| self.change(part))
    }

    /// Changes pages, which are sorted.
    fn change(&mut self, pages: &[usize]) -> Result<(), Failure> {
        let mut freed = Vec::new();
        let (mut run, mut start) = (Vec::with_capacity(RUN_BYTES_MAX), 0);
        let mut content = vec![0; PAGE_BYTES];
        for changes in pages.chunk_by(|a, b| a == b) {
            let page = changes[0];
            self.file.read_at(&mut content, self.places[page] * PAGE_BYTES as u64)?;
            for change in 0..changes.len() {
                let byte = &mut content[change % PAGE_BYTES];
                *byte = byte.wrapping_add(1);
            }
            let place = self.free.pop_first().ok_or("no page is free")?;
            if place * PAGE_BYTES as u64 != start + run.len() as u64 || run.len() == RUN_BYTES_MAX {
                self.write(&mut run, start)?;
                start = place * PAGE_BYTES as u64;
            }
            run.extend_from_slice(&content);
            freed.push(std::mem::replace(&mut self.places[page], place));
        }
        self.write(&mut run, start)?;
        self.file.sync_data()?;
        self.free.extend(freed);
        Ok(())
    }

    fn write(&mut self, run: &mut Vec<u8>, start: u64) -> Result<(), Failure> {
        self.file.write_at(run, start)?;
        self.written_bytes += run.len() as u64;
        run.clear();
        Ok(())
    }
}
