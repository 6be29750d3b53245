//! The changed blocks of a file over the bytes of another one.

use std::collections::BTreeMap;
use std::io;

use rustix::io::Errno;

use crate::DiskFile;
use crate::content::{PAGE_BYTES, page_pieces};

type Block = [u8; PAGE_BYTES as usize];

/// The written blocks, by number. A read combines three layers:
///
/// ```text
/// 0 ........ below_bytes ........ len
/// | file below | zeros            |    covered by `blocks` where one exists
/// ```
///
/// Invariants: `below_bytes <= len`, and it never grows, so that bytes cut off once do not
/// reappear. Bytes of a block behind `len` are zeros.
#[derive(Debug, Default)]
pub(super) struct Patches {
    len: u64,
    below_bytes: u64,
    blocks: BTreeMap<u64, Box<Block>>,
}

impl Patches {
    /// No blocks: the file of the disk below, which has `below_bytes` bytes.
    pub(super) fn none(below_bytes: u64) -> Self {
        Self { len: below_bytes, below_bytes, blocks: BTreeMap::new() }
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Reads into `buf` from `offset`, up to the end of the file.
    pub(super) fn read(
        &self,
        below: Option<&dyn DiskFile>,
        buf: &mut [u8],
        offset: u64,
    ) -> io::Result<usize> {
        let count = self.len.saturating_sub(offset).min(buf.len() as u64);
        let buf = &mut buf[..count as usize];
        let from_below = self.below_bytes.saturating_sub(offset).min(count) as usize;
        // First the lower layers, then every block that overlaps the range.
        let (lower, upper) = buf.split_at_mut(from_below);
        read_below(below, lower, offset)?;
        upper.fill(0);
        let end = offset.saturating_add(count);
        for (number, block) in self.blocks.range(offset / PAGE_BYTES..end.div_ceil(PAGE_BYTES)) {
            let start = number * PAGE_BYTES;
            let (first, last) = (start.max(offset), (start + PAGE_BYTES).min(end));
            let piece = &block[(first - start) as usize..(last - start) as usize];
            buf[(first - offset) as usize..(last - offset) as usize].copy_from_slice(piece);
        }
        Ok(count as usize)
    }

    /// Writes all of `data`. A block whose remaining bytes cannot be read from below is left
    /// unchanged.
    pub(super) fn write(
        &mut self,
        below: Option<&dyn DiskFile>,
        data: &[u8],
        offset: u64,
    ) -> io::Result<()> {
        let end = checked_end(offset, data.len() as u64)?;
        for (number, within, range) in page_pieces(offset, data.len()) {
            let piece = &data[range];
            let block = self.block(below, number as u64)?;
            block[within..within + piece.len()].copy_from_slice(piece);
        }
        if !data.is_empty() {
            self.len = self.len.max(end);
        }
        Ok(())
    }

    /// Truncates, or extends with zeros.
    pub(super) fn set_len(&mut self, bytes: u64) -> io::Result<()> {
        checked_end(0, bytes)?;
        // The bytes below the cut are hidden for good, even if the file grows again.
        self.below_bytes = self.below_bytes.min(bytes);
        self.blocks.split_off(&bytes.div_ceil(PAGE_BYTES));
        if let Some(last) = self.blocks.get_mut(&(bytes / PAGE_BYTES)) {
            last[(bytes % PAGE_BYTES) as usize..].fill(0);
        }
        self.len = bytes;
        Ok(())
    }

    fn block(&mut self, below: Option<&dyn DiskFile>, number: u64) -> io::Result<&mut Block> {
        use std::collections::btree_map::Entry;
        match self.blocks.entry(number) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let mut block = Box::new([0; PAGE_BYTES as usize]);
                let start = number * PAGE_BYTES;
                let from_below = self.below_bytes.saturating_sub(start).min(PAGE_BYTES);
                read_below(below, &mut block[..from_below as usize], start)?;
                Ok(entry.insert(block))
            }
        }
    }
}

/// Fills `buf`, whose end is within the length that the file had when it was opened.
fn read_below(below: Option<&dyn DiskFile>, buf: &mut [u8], offset: u64) -> io::Result<()> {
    let read = match below {
        Some(file) if !buf.is_empty() => file.read_at(buf, offset)?,
        _ => 0,
    };
    match read == buf.len() {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the file has become shorter since it was opened",
        )),
    }
}

/// The end of `bytes` at `offset`; an error if it exceeds the largest file offset.
fn checked_end(offset: u64, bytes: u64) -> io::Result<u64> {
    let end = offset.checked_add(bytes).filter(|end| i64::try_from(*end).is_ok());
    end.ok_or_else(|| Errno::FBIG.into())
}
