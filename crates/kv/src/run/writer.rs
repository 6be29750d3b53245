//! Writing a run.

use std::sync::Arc;

use liteio_disk::{Disk, DiskFile, OpenMode, RandomSource as _, SystemRandom, memory_file};

use super::block::BlockBuilder;
use super::filter::Filter;
use super::footer::Footer;
use super::index::{Index, Place};
use super::{KvError, Run, RunName, hash};
use crate::memtable::Entry;

/// Bytes written at once.
const PIECE_BYTES: usize = 1 << 20;

/// Writes the entries, at most `entries_max` and in key order, to a new file beside the tree of
/// this disk and path, and syncs it. The name of the file is not durable yet. On failure the file
/// is removed. Without a place the file is in memory, and lives as long as the run. `written` is
/// called from time to time with the number of entries so far.
pub(crate) fn write<'e>(
    place: Option<(&dyn Disk, &str)>,
    number: u64,
    entries: impl Iterator<Item = Entry<'e>>,
    entries_max: u64,
    written: impl FnMut(u64),
) -> Result<Run, KvError> {
    let mut stamp = [0; 8];
    SystemRandom.fill(&mut stamp)?;
    let name = RunName { number, stamp: u64::from_le_bytes(stamp), blocks: 0 };
    let path = name.path(place.map_or("memory", |(_, tree_path)| tree_path));
    let file = match place {
        Some((disk, _)) => {
            // Remove the file of a failed attempt.
            disk.remove_if_there(&path)?;
            disk.open(&path, OpenMode::CreateOrWrite)
        }
        None => memory_file(&path),
    };
    let written = file.map_err(KvError::from).and_then(|file| {
        Writer::new(file.into(), path.clone(), name, entries_max).write_all(entries, written)
    });
    written.inspect_err(|_| {
        // If the removal fails, too, the next start does it.
        let _ = place.map(|(disk, _)| disk.remove_if_there(&path));
    })
}

struct Writer {
    run: RunName,
    path: String,
    file: Arc<dyn DiskFile>,
    /// Offset of `piece`, which is not written yet.
    offset: u64,
    piece: Vec<u8>,
    block: BlockBuilder,
    index: Index,
    filter: Filter,
}

impl Writer {
    fn new(file: Arc<dyn DiskFile>, path: String, run: RunName, entries_max: u64) -> Self {
        let (piece, block, index) = (Vec::new(), BlockBuilder::default(), Index::default());
        let filter = Filter::new(entries_max);
        Self { run, path, file, offset: 0, piece, block, index, filter }
    }

    fn write_all<'e>(
        mut self,
        entries: impl Iterator<Item = Entry<'e>>,
        mut written: impl FnMut(u64),
    ) -> Result<Run, KvError> {
        let mut count = 0;
        for entry in entries {
            // Tombstones as well: the filter must find them to hide older entries.
            self.filter.add(hash(entry.key));
            self.block.push(&entry);
            count += 1;
            if self.block.is_full() {
                self.finish_block();
            }
            if self.piece.len() >= PIECE_BYTES {
                self.write_piece()?;
                written(count);
            }
        }
        if !self.block.is_empty() {
            self.finish_block();
        }
        // The number of blocks is part of the identity, so a truncated run is detected.
        let name = RunName { blocks: self.index.len() as u64, ..self.run };
        let (index, filter) = (self.index.encode(), self.filter.encode());
        self.piece.extend_from_slice(&index);
        self.piece.extend_from_slice(&filter);
        self.piece.extend_from_slice(&Footer::of(&index, &filter).encode(&name));
        self.write_piece()?;
        // Contents first; the caller syncs the name, then writes the checkpoint.
        self.file.sync_data()?;
        let Self { path, file, offset: bytes, index, filter, .. } = self;
        Ok(Run { name, path, file, bytes, index, filter })
    }

    #[expect(clippy::cast_possible_truncation, reason = "a block has at most some more than 1 GiB")]
    fn finish_block(&mut self) {
        let start = self.piece.len();
        let number = self.index.len() as u32;
        self.block.finish(number, &self.run, &mut self.piece);
        let offset = self.offset + start as u64;
        let place = Place { offset, bytes: (self.piece.len() - start) as u32, number };
        self.index.push(place, self.block.last_key());
    }

    fn write_piece(&mut self) -> Result<(), KvError> {
        self.file.write_at(&self.piece, self.offset)?;
        // Let the kernel write while the next piece is built, so that the final sync has little to
        // wait for.
        self.file.start_writeback(self.offset, self.piece.len() as u64);
        self.offset += self.piece.len() as u64;
        self.piece.clear();
        Ok(())
    }
}
