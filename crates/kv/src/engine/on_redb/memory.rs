//! redb's storage in memory.
//!
//! It consists of chunks, and only written ones take memory: redb makes its file a megabyte long
//! before it writes two pages, and filling that with zeros took a seventh of the start of a server
//! in memory. Growing copies nothing, and truncation frees chunks at once.

use std::io::{self, ErrorKind};

use liteio_disk::pieces;
use parking_lot::RwLock;

use super::backend::Size;

/// Bytes of a chunk: four of redb's pages.
const CHUNK_BYTES: usize = 16 << 10;

#[derive(Debug, Default)]
pub(super) struct MemoryBackend {
    /// The chunks for the whole length; `None` stands for zeros.
    chunks: RwLock<Vec<Option<Box<[u8; CHUNK_BYTES]>>>>,
    /// Changed while `chunks` is locked.
    size: Size,
}

impl MemoryBackend {
    /// The current length, shared.
    pub(super) fn size(&self) -> Size {
        self.size.clone()
    }

    fn expect_inside(&self, offset: u64, bytes: usize) -> io::Result<()> {
        match offset.checked_add(bytes as u64) {
            Some(end) if end <= self.size.bytes() => Ok(()),
            _ => Err(ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl redb::StorageBackend for MemoryBackend {
    fn len(&self) -> io::Result<u64> {
        Ok(self.size.bytes())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let chunks = self.chunks.read();
        self.expect_inside(offset, out.len())?;
        for (index, within, range) in pieces(offset, out.len(), CHUNK_BYTES) {
            let piece = &mut out[range];
            match &chunks[index] {
                Some(chunk) => piece.copy_from_slice(&chunk[within..within + piece.len()]),
                None => piece.fill(0),
            }
        }
        Ok(())
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        let mut chunks = self.chunks.write();
        chunks.resize_with(bytes.div_ceil(CHUNK_BYTES as u64) as usize, || None);
        // If the file grows again, zeros must follow.
        let within = (bytes % CHUNK_BYTES as u64) as usize;
        if bytes < self.size.bytes()
            && within > 0
            && let Some(Some(last)) = chunks.last_mut()
        {
            last[within..].fill(0);
        }
        self.size.set(bytes);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut chunks = self.chunks.write();
        self.expect_inside(offset, data.len())?;
        for (index, within, range) in pieces(offset, data.len(), CHUNK_BYTES) {
            let piece = &data[range];
            let chunk = chunks[index].get_or_insert_with(|| {
                vec![0; CHUNK_BYTES].into_boxed_slice().try_into().expect("is as long as a chunk")
            });
            chunk[within..within + piece.len()].copy_from_slice(piece);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use redb::StorageBackend;

    use super::*;

    fn read(memory: &MemoryBackend, offset: u64, bytes: usize) -> Vec<u8> {
        let mut out = vec![0xaa; bytes];
        memory.read(offset, &mut out).expect("reads");
        out
    }

    #[test]
    fn what_was_written_is_read_across_chunks_and_the_rest_is_zeros() {
        let memory = MemoryBackend::default();
        memory.set_len(10 * CHUNK_BYTES as u64).expect("grows");
        let data: Vec<u8> = (0..3 * CHUNK_BYTES).map(|at| (at % 251) as u8 + 1).collect();
        let offset = CHUNK_BYTES as u64 + 100;
        memory.write(offset, &data).expect("writes");
        assert_eq!(read(&memory, offset, data.len()), data);
        assert_eq!(read(&memory, offset + 5, 7), data[5..12]);
        let around = read(&memory, offset - 50, data.len() + 100);
        assert_eq!(around[..50], [0; 50]);
        assert_eq!(around[50..50 + data.len()], data);
        assert_eq!(around[50 + data.len()..], [0; 50]);
        assert_eq!(read(&memory, 7 * CHUNK_BYTES as u64, 100), [0; 100]);
        assert_eq!(memory.chunks.read().iter().flatten().count(), 4);
    }

    #[test]
    fn what_was_cut_off_does_not_come_back() {
        let memory = MemoryBackend::default();
        memory.set_len(3 * CHUNK_BYTES as u64).expect("grows");
        memory.write(0, &vec![1; 3 * CHUNK_BYTES]).expect("writes");
        memory.set_len(100).expect("shrinks");
        assert_eq!((memory.len().expect("tells"), memory.size().bytes()), (100, 100));
        assert_eq!(memory.chunks.read().len(), 1);
        memory.set_len(3 * CHUNK_BYTES as u64).expect("grows");
        let found = read(&memory, 0, 3 * CHUNK_BYTES);
        assert_eq!(found[..100], [1; 100]);
        assert!(found[100..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn nothing_is_outside() {
        let memory = MemoryBackend::default();
        memory.set_len(100).expect("grows");
        for (offset, bytes) in [(0, 101), (100, 1), (u64::MAX, 2)] {
            let read = memory.read(offset, &mut vec![0; bytes]).expect_err("is outside");
            let write = memory.write(offset, &vec![0; bytes]).expect_err("is outside");
            assert_eq!(
                (read.kind(), write.kind()),
                (ErrorKind::UnexpectedEof, ErrorKind::UnexpectedEof)
            );
        }
        memory.read(100, &mut []).expect("nothing is read");
    }
}
