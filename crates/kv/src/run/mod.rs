//! [`Run`]: an immutable file of pairs, sorted by key.
//!
//! Where a tree is much larger than a table, each change of a small pair would copy a page of 4
//! KiB. Then the table is written sequentially as a run, and the tree absorbs several runs
//! together: see `drainer/merge.rs`. The checkpoint in the tree names the current runs; any other
//! run file was left by a crash.
//!
//! # Format
//! Blocks, then the index, the filter and the footer. Integers are little-endian.
//! ```text
//!  block   bytes of the entries (4), number of the block (4), CRC-32C of the entries (4), CRC-32C of stamp and header (4)
//!  entry   bytes of the key (4), bytes of the value or ffffffff for a deleted key (4), key, value
//!  index   for each block: offset (8), bytes with the header (4), bytes of its last key (4), that key
//!  filter  lines of 64 bytes: see `filter.rs`
//!  footer  `LiteIOr1` (8), stamp (8), blocks (8), bytes of the index (8), bytes of the filter (8),
//!          CRC-32C of index (4) and filter (4) and of the footer before this number (4)
//! ```
//! The *stamp* is random and is also in the checkpoint, with the number of blocks: a block of
//! another run does not verify. Index and filter are derived data: if they or the footer are
//! damaged, they are rebuilt from the blocks.

mod block;
mod cursor;
mod filter;
mod footer;
mod index;
#[cfg(test)]
mod tests;
mod writer;

use std::fmt;
use std::io::ErrorKind;
use std::sync::Arc;

use liteio_disk::{Disk, DiskFile, OpenMode};
use twox_hash::XxHash3_64;

use self::block::{Block, HEADER_BYTES, Header};
pub(super) use self::cursor::{RunCursor, RunPair};
use self::filter::Filter;
use self::footer::Footer;
use self::index::{Index, Place};
pub(super) use self::writer::write;
use super::KvError;
use super::log::is_unreadable;
use super::memtable::Entry;

/// Bytes read at once when all blocks are read.
const WINDOW_BYTES: usize = 1 << 20;

/// Unit of read failures: a device, or the page cache in front of it, reads a sector whole or not
/// at all.
const SECTOR_BYTES: u64 = 4096;

/// The remedy of damage, for messages.
const REMEDY: &str = ": restore it from a backup, or run `liteio repair` to keep the readable data";

/// The identity of a run, as the checkpoint names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RunName {
    /// One more than the number of the run before; part of the file name.
    pub(super) number: u64,
    pub(super) stamp: u64,
    pub(super) blocks: u64,
}

impl RunName {
    /// The path of its file beside the tree `path`.
    pub(super) fn path(&self, path: &str) -> String {
        format!("{}{}", path_prefix(path), self.number)
    }
}

/// The common beginning of the paths of all runs of the tree `path`.
pub(super) fn path_prefix(path: &str) -> String {
    format!("{path}.run.")
}

/// The hash of a key in the filters of all runs.
#[inline]
pub(super) fn hash(key: &[u8]) -> u64 {
    XxHash3_64::oneshot(key)
}

/// A key with its value, or without one if it was deleted.
pub(super) type OwnedEntry = (Vec<u8>, Option<Vec<u8>>);

/// The treatment of blocks that are missing or damaged when a run is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Damaged {
    Refuse,
    PassOver,
}

/// A run.
pub(super) struct Run {
    name: RunName,
    path: String,
    file: Arc<dyn DiskFile>,
    bytes: u64,
    index: Index,
    filter: Filter,
}

impl Run {
    /// Opens a run of the tree `tree_path`. Returns it with the number of lost blocks.
    pub(super) fn open(
        disk: &dyn Disk,
        tree_path: &str,
        name: RunName,
        damaged: Damaged,
    ) -> Result<(Self, u64), KvError> {
        let path = name.path(tree_path);
        let mode = match damaged {
            Damaged::Refuse => OpenMode::Read,
            // A missing file is created and counts as a run without blocks.
            Damaged::PassOver => OpenMode::CreateOrWrite,
        };
        let file: Arc<dyn DiskFile> = match disk.open(&path, mode) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(KvError::Corrupt(format!("{path} is missing{REMEDY}")));
            }
            file => file?.into(),
        };
        let bytes = file.len()?;
        let derived = match damaged {
            Damaged::Refuse => Footer::read_derived(&*file, bytes, &name)?,
            Damaged::PassOver => None,
        };
        let (index, filter) = match derived {
            Some(derived) => derived,
            None => derive(&*file, bytes, &name)?,
        };
        // The checkpoint knows the number of blocks, so lost ones are noticed even at the end of
        // the file.
        let lost = name.blocks.saturating_sub(index.len() as u64);
        if lost > 0 && damaged == Damaged::Refuse {
            return Err(KvError::Corrupt(format!("{path} lacks {lost} blocks{REMEDY}")));
        }
        Ok((Self { name, path, file, bytes, index, filter }, lost))
    }

    /// All entries, tombstones included.
    pub(super) fn entries(&self) -> Result<Vec<OwnedEntry>, KvError> {
        let mut entries = Vec::new();
        for at in 0..self.index.len() {
            let block = self.block(at)?;
            entries.extend((0..block.len()).map(|entry| {
                let Entry { key, value } = block.entry(entry);
                (key.to_vec(), value.map(<[u8]>::to_vec))
            }));
        }
        Ok(entries)
    }

    pub(super) fn name(&self) -> RunName {
        self.name
    }

    /// Bytes of the file.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes kept in memory.
    pub(super) fn memory(&self) -> usize {
        self.index.memory() + self.filter.memory()
    }

    /// The fraction of the blocks, up to 1, that end before `key`.
    pub(super) fn part_up_to(&self, key: &[u8]) -> f64 {
        let blocks = self.index.len();
        self.index.find(key).unwrap_or(blocks) as f64 / blocks.max(1) as f64
    }

    /// The entry of `key`, with the hash `hash`; it may be a tombstone.
    #[inline]
    pub(super) fn get(&self, key: &[u8], hash: u64) -> Result<Option<RunPair>, KvError> {
        // The filter first: it saves the read of a block for nearly all keys that the run lacks.
        if !self.filter.may_have(hash) {
            return Ok(None);
        }
        // The key is above the last one of the run.
        let Some(at) = self.index.find(key) else { return Ok(None) };
        let block = self.block(at)?;
        Ok(block.find(key).ok().map(|entry| RunPair::new(block, at, entry)))
    }

    /// Reads and verifies a block.
    fn block(&self, at: usize) -> Result<Arc<Block>, KvError> {
        let place = self.index.place(at);
        let mut bytes = vec![0; place.bytes as usize];
        // Not cached here: the page cache of the kernel holds recently read blocks.
        let read = self.file.read_at(&mut bytes, place.offset)?;
        let block = (read == bytes.len()).then(|| Block::decode(bytes, place.number, &self.name));
        block.flatten().map(Arc::new).ok_or_else(|| {
            KvError::Corrupt(format!("{} is damaged at byte {}{REMEDY}", self.path, place.offset))
        })
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Run").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Builds index and filter from the blocks that verify.
fn derive(file: &dyn DiskFile, bytes: u64, name: &RunName) -> Result<(Index, Filter), KvError> {
    let mut index = Index::default();
    let mut hashes = Vec::new();
    let mut window = Vec::new();
    let mut offset = 0;
    while offset + HEADER_BYTES as u64 <= bytes && (index.len() as u64) < name.blocks {
        read_window(file, &mut window, offset, HEADER_BYTES.max(WINDOW_BYTES))?;
        let base = offset;
        // After a damaged block the next one may begin at any byte: search for a header that
        // verifies.
        while let Some(header) =
            window.get((offset - base) as usize..).and_then(<[u8]>::first_chunk)
        {
            let Some(header) = Header::decode(header, name) else {
                offset += 1;
                continue;
            };
            let block_bytes = HEADER_BYTES + header.bytes as usize;
            let start = (offset - base) as usize;
            if start + block_bytes > window.len() {
                if start > 0 || offset + block_bytes as u64 > bytes {
                    break;
                }
                read_window(file, &mut window, offset, block_bytes)?;
            }
            let Some(content) = window.get(start..start + block_bytes) else { break };
            let Some(block) = Block::decode(content.to_vec(), header.number, name) else {
                offset += 1;
                continue;
            };
            let entries = || (0..block.len()).map(|at| block.entry(at).key);
            hashes.extend(entries().map(hash));
            if let Some(last) = entries().next_back() {
                let place = Place { offset, bytes: block_bytes as u32, number: header.number };
                index.push(place, last);
            }
            offset += block_bytes as u64;
        }
        if offset == base {
            // A truncated block: search on behind its first byte.
            offset += 1;
        }
    }
    let mut filter = Filter::new(hashes.len() as u64);
    hashes.into_iter().for_each(|hash| filter.add(hash));
    Ok((index, filter))
}

/// Reads `bytes` bytes, or up to the end of the file, with zeros in place of unreadable sectors:
/// zeros do not verify.
fn read_window(
    file: &dyn DiskFile,
    window: &mut Vec<u8>,
    offset: u64,
    bytes: usize,
) -> Result<(), KvError> {
    window.clear();
    window.resize(bytes, 0);
    match file.read_at(window, offset) {
        Ok(read) => {
            window.truncate(read);
            return Ok(());
        }
        Err(error) if is_unreadable(&error) => {}
        Err(error) => return Err(error.into()),
    }
    let mut done = 0;
    while done < bytes {
        let at = offset + done as u64;
        let sector = (SECTOR_BYTES - at % SECTOR_BYTES).min((bytes - done) as u64) as usize;
        let piece = &mut window[done..done + sector];
        match file.read_at(piece, at) {
            Ok(read) if read < sector => {
                done += read;
                break;
            }
            Ok(_) => {}
            Err(error) if is_unreadable(&error) => piece.fill(0),
            Err(error) => return Err(error.into()),
        }
        done += sector;
    }
    window.truncate(done);
    Ok(())
}
