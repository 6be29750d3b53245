//! Bytes that belong in the page cache rather than in the memory of the process.
#![expect(unsafe_code, reason = "slices of a map are handed out here")]

use std::sync::Arc;

use liteio_disk::DiskFile;

use crate::map::Map;

/// A part of a temporary file, read through a map and written through `&mut self` only. On a disk
/// whose files cannot be mapped it is heap memory.
#[derive(Debug)]
pub(super) struct Region {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Mapped { file: Arc<dyn DiskFile>, map: Map, offset: u64 },
    Memory(Box<[u8]>),
}

impl Region {
    /// The part `index` of `file`, of so many `bytes`, which are a multiple of the page size. No
    /// other region may be made of the same part.
    ///
    /// `None` when there is no space for it.
    pub(super) fn new(file: &Arc<dyn DiskFile>, index: usize, bytes: usize) -> Option<Self> {
        let Some(descriptor) = file.descriptor() else {
            return Some(Self { kind: Kind::Memory(vec![0; bytes].into_boxed_slice()) });
        };
        let offset = (index * bytes) as u64;
        let end = offset + bytes as u64;
        if file.len().ok()? < end {
            file.set_len(end).ok()?;
        }
        let map = Map::new(descriptor, offset, bytes as u64)?;
        Some(Self { kind: Kind::Mapped { file: Arc::clone(file), map, offset } })
    }

    /// All bytes. Only written ones may be read: for the others the device may have no space, and reading
    /// them would end the process (`SIGBUS`).
    pub(super) fn bytes(&self) -> &[u8] {
        match &self.kind {
            // SAFETY: the file was made at least this long, has no name by which another process could
            // open it, is never truncated, and is written only by `write`, which cannot be called while
            // the slice is borrowed.
            Kind::Mapped { map, .. } => unsafe { map.slice(0..map.bytes()) },
            Kind::Memory(bytes) => bytes,
        }
    }

    /// Copies all of it, with zeros where nothing was written.
    ///
    /// # Errors
    /// The error of the file.
    pub(super) fn read(&self, buffer: &mut [u8]) -> std::io::Result<()> {
        match &self.kind {
            // Not through the map: reading a hole in a file in memory would allocate it.
            Kind::Mapped { file, offset, .. } => match file.read_at(buffer, *offset)? {
                read if read == buffer.len() => Ok(()),
                _ => Err(std::io::ErrorKind::UnexpectedEof.into()),
            },
            Kind::Memory(bytes) => {
                buffer.copy_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// # Errors
    /// The error of the file; the bytes are undefined then.
    pub(super) fn write(&mut self, at: usize, bytes: &[u8]) -> std::io::Result<()> {
        match &mut self.kind {
            Kind::Mapped { file, offset, .. } => file.write_at(bytes, *offset + at as u64),
            Kind::Memory(memory) => {
                memory[at..at + bytes.len()].copy_from_slice(bytes);
                Ok(())
            }
        }
    }
}
