//! redb's storage on a file of a [`Disk`](liteio_disk::Disk), which the first failure freezes.
//!
//! Once a write has failed, redb refuses reads, too. But every page that a snapshot can see is still
//! there, because pages are copied on write, and every acknowledged update is in the log. So the first
//! write, resize or sync that fails freezes the file: its bytes stay as they are, and later writes of
//! redb go to an overlay in memory, where redb can read them. The committer asks [`Freeze::reason`]
//! after every step and acknowledges nothing more; reads go on.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use liteio_disk::DiskFile;
use parking_lot::RwLock;

use crate::kv::KvError;

/// Blocks of the overlay, in bytes: redb's page, to which it aligns all it writes but the header.
const BLOCK_BYTES: usize = 4096;

/// The state of a file: written to, or frozen for a reason. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Freeze {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    is_frozen: AtomicBool,
    /// The next write freezes the file, instead of being done.
    is_closed: AtomicBool,
    overlay: RwLock<Overlay>,
}

#[derive(Debug, Default)]
struct Overlay {
    reason: Option<KvError>,
    /// Length that redb believes the file has.
    bytes: u64,
    blocks: BTreeMap<u64, Box<[u8; BLOCK_BYTES]>>,
}

impl Freeze {
    /// The failure that froze the file.
    pub(super) fn reason(&self) -> Option<KvError> {
        if !self.is_frozen() {
            return None;
        }
        self.shared.overlay.read().reason.clone()
    }

    /// Freezes the file at the next write, such as redb's when it is closed.
    pub(super) fn close(&self) {
        self.shared.is_closed.store(true, Ordering::Release);
    }

    fn is_frozen(&self) -> bool {
        self.shared.is_frozen.load(Ordering::Acquire)
    }
}

/// A file for redb.
#[derive(Debug)]
pub(super) struct FileBackend {
    file: Box<dyn DiskFile>,
    freeze: Freeze,
}

impl FileBackend {
    pub(super) fn new(file: Box<dyn DiskFile>, freeze: Freeze) -> Self {
        Self { file, freeze }
    }

    /// Does `step` on the file, or on the overlay if the file is frozen or `step` freezes it.
    fn write_or_freeze(
        &self,
        step: impl FnOnce(&dyn DiskFile) -> io::Result<()>,
        instead: impl FnOnce(&Self, &mut Overlay) -> io::Result<()>,
    ) -> io::Result<()> {
        if !self.freeze.is_frozen() {
            let result = match self.freeze.shared.is_closed.load(Ordering::Acquire) {
                false => step(&*self.file),
                true => Err(io::Error::other("the tree is closed")),
            };
            let Err(error) = result else { return Ok(()) };
            let mut overlay = self.freeze.shared.overlay.write();
            if overlay.reason.is_none() {
                overlay.bytes = self.file.len()?;
                overlay.reason = Some(error.into());
                self.freeze.shared.is_frozen.store(true, Ordering::Release);
            }
            return instead(self, &mut overlay);
        }
        instead(self, &mut self.freeze.shared.overlay.write())
    }

    fn read_file(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(out, offset)
    }

    fn write_overlay(&self, overlay: &mut Overlay, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut offset = offset;
        let mut data = data;
        while !data.is_empty() {
            let block = offset / BLOCK_BYTES as u64;
            let start = (offset % BLOCK_BYTES as u64) as usize;
            let piece = data.len().min(BLOCK_BYTES - start);
            let content = match overlay.blocks.entry(block) {
                std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::btree_map::Entry::Vacant(entry) => {
                    let mut content = Box::new([0; BLOCK_BYTES]);
                    if piece < BLOCK_BYTES {
                        self.read_file(block * BLOCK_BYTES as u64, &mut content[..])?;
                    }
                    entry.insert(content)
                }
            };
            content[start..start + piece].copy_from_slice(&data[..piece]);
            offset += piece as u64;
            data = &data[piece..];
        }
        Ok(())
    }
}

impl redb::StorageBackend for FileBackend {
    fn len(&self) -> io::Result<u64> {
        if self.freeze.is_frozen() {
            return Ok(self.freeze.shared.overlay.read().bytes);
        }
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let read = self.read_file(offset, out)?;
        if !self.freeze.is_frozen() {
            return match read == out.len() {
                true => Ok(()),
                false => Err(io::ErrorKind::UnexpectedEof.into()),
            };
        }
        out[read..].fill(0);
        let overlay = self.freeze.shared.overlay.read();
        let end = offset + out.len() as u64;
        if end > overlay.bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let first = offset / BLOCK_BYTES as u64;
        for (block, content) in overlay.blocks.range(first..end.div_ceil(BLOCK_BYTES as u64)) {
            let block_start = block * BLOCK_BYTES as u64;
            let from = offset.max(block_start);
            let to = end.min(block_start + BLOCK_BYTES as u64);
            out[(from - offset) as usize..(to - offset) as usize].copy_from_slice(
                &content[(from - block_start) as usize..(to - block_start) as usize],
            );
        }
        Ok(())
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.write_or_freeze(
            |file| file.set_len(bytes),
            |_, overlay| {
                overlay.bytes = bytes;
                Ok(())
            },
        )
    }

    fn sync_data(&self) -> io::Result<()> {
        self.write_or_freeze(|file| file.sync_data(), |_, _| Ok(()))
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.write_or_freeze(
            |file| file.write_at(data, offset),
            |backend, overlay| backend.write_overlay(overlay, offset, data),
        )
    }
}

#[cfg(test)]
mod tests {
    use liteio_disk::{Disk, Fault, OpenMode, SimulatedDisk};
    use redb::StorageBackend;

    use super::*;

    #[test]
    fn a_frozen_file_keeps_what_it_has_and_reads_as_if_it_went_on() {
        let disk = SimulatedDisk::new(1);
        let freeze = Freeze::default();
        let file = disk.open("file", OpenMode::CreateOrWrite).expect("opens");
        let backend = FileBackend::new(file, freeze.clone());
        backend.set_len(20_000).expect("grows");
        backend.write(0, &[1; 20_000]).expect("writes");
        assert!(freeze.reason().is_none());

        disk.set_fault(disk.operations(), Fault::NoSpace);
        backend.write(4_000, &[2; 5_000]).expect("goes to memory");
        assert!(matches!(freeze.reason(), Some(KvError::NoSpace)));
        backend.write(10, &[3; 10]).expect("goes to memory");
        backend.set_len(40_000).expect("in memory");
        backend.write(30_000, &[4; 10_000]).expect("goes to memory");
        backend.sync_data().expect("does nothing");

        let mut expected = [&[1; 20_000][..], &[0; 20_000]].concat();
        expected[4_000..9_000].fill(2);
        expected[10..20].fill(3);
        expected[30_000..].fill(4);
        let mut all = vec![9; 40_000];
        backend.read(0, &mut all).expect("reads");
        assert!(all == expected);
        let mut part = vec![9; 3_000];
        backend.read(8_500, &mut part).expect("reads");
        assert!(part == expected[8_500..11_500]);
        assert!(backend.read(39_999, &mut [0; 2]).is_err(), "behind the end");
        assert_eq!(backend.len().expect("length"), 40_000);

        let mut kept = vec![9; 40_000];
        let file = disk.open("file", OpenMode::Read).expect("opens");
        assert_eq!(file.read_at(&mut kept, 0).expect("reads"), 20_000);
        assert!(kept[..20_000] == [1; 20_000]);
    }
}
