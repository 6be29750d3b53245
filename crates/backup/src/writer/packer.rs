//! Blobs, packed into objects.

use std::cell::Cell;
use std::rc::Rc;

use crc_fast::{CrcAlgorithm, Digest};
use liteio_store::StoreError;
use liteio_store::backup::{BackupBlob, BackupFeed, BackupPlace};

use super::upload::{Ready, Uploader};
use crate::Error;
use crate::limits::PACK_BYTES;
use crate::names::Name;
use crate::repository::crc_of;

/// Packs blobs of a generation. Several packers share its numbers.
#[derive(Debug, Default)]
pub(super) struct Packer {
    backup: [u8; 16],
    generation: u64,
    /// The next number of the generation.
    next: Rc<Cell<u32>>,
    /// The number of the pack that is being filled; without bytes, of the next one if that is reserved.
    current: Option<u32>,
    filled: Vec<u8>,
    /// Full packs that are not stored yet, in order.
    ready: Vec<Ready>,
    /// The number of the first of them.
    first_ready: Option<u32>,
    /// Packs that are stored at the same time.
    parallel: usize,
}

impl Packer {
    pub(super) fn new(
        backup: [u8; 16],
        generation: u64,
        next: Rc<Cell<u32>>,
        parallel: usize,
    ) -> Self {
        let (filled, ready) = (Vec::new(), Vec::new());
        let (current, first_ready) = (None, None);
        Self { backup, generation, next, current, filled, ready, first_ready, parallel }
    }

    /// Packs a blob. It is stored once [`Packer::flush`] has returned, or if it [is stored](Packer::is_stored)
    /// already. `None` if it is gone, because no state that can be restored has it. `between` is called behind each pack
    /// of a long blob.
    ///
    /// # Errors
    /// [`Error::Store`] if it is damaged: the next one can be packed. The errors of the uploader, and of `between`.
    pub(super) fn add(
        &mut self,
        blob: &BackupBlob,
        feed: &BackupFeed,
        uploader: &Uploader<'_>,
        between: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<Option<BackupPlace>, Error> {
        let pack = self.begin(blob.bytes, uploader)?;
        let offset = u32::try_from(self.filled.len()).expect("a pack is short");
        let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
        let is_read = feed.read_blob(blob, &mut |piece| {
            digest.update(piece);
            self.append(piece, uploader, between)
        })?;
        let (backup, generation, crc) = (self.backup, self.generation, crc_of(&digest));
        Ok(is_read.then_some(BackupPlace { backup, generation, pack, offset, crc }))
    }

    /// `true` if all packs up to that number are at the target.
    pub(super) fn is_stored(&self, last: u32) -> bool {
        let unstored = self.first_ready.or(self.current);
        unstored.is_none_or(|unstored| last < unstored)
    }

    /// The number of the pack with the first byte of a blob. A blob that the current pack has no room for begins a new
    /// one, and has consecutive numbers.
    fn begin(&mut self, bytes: u64, uploader: &Uploader<'_>) -> Result<u32, Error> {
        let room = (PACK_BYTES - self.filled.len()) as u64;
        match self.current {
            Some(current) if !self.filled.is_empty() && bytes <= room => Ok(current),
            _ => {
                if !self.filled.is_empty() {
                    self.seal(uploader)?;
                }
                self.current = None;
                let packs = u32::try_from(bytes.div_ceil(PACK_BYTES as u64).max(1)).ok();
                let first = self.next.get();
                let next = packs.and_then(|packs| first.checked_add(packs)).ok_or_else(full)?;
                self.next.set(next);
                self.current = Some(first);
                Ok(first)
            }
        }
    }

    fn append(
        &mut self,
        mut piece: &[u8],
        uploader: &Uploader<'_>,
        between: &mut dyn FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        while !piece.is_empty() {
            let (now, later) = piece.split_at(piece.len().min(PACK_BYTES - self.filled.len()));
            self.filled.extend_from_slice(now);
            piece = later;
            if self.filled.len() == PACK_BYTES {
                let pack = self.seal(uploader)?;
                // The number is reserved, if the blob goes on.
                self.current = Some(pack.checked_add(1).ok_or_else(full)?);
                between()?;
            }
        }
        Ok(())
    }

    /// Stores what is packed.
    pub(super) fn flush(&mut self, uploader: &Uploader<'_>) -> Result<(), Error> {
        if !self.filled.is_empty() {
            self.seal(uploader)?;
        }
        self.current = None;
        self.store(uploader)
    }

    /// Ends the current pack, and returns its number.
    fn seal(&mut self, uploader: &Uploader<'_>) -> Result<u32, Error> {
        let pack = self.current.ok_or_else(full)?;
        // Bodies are rarely worth it: most are compressed, or encrypted.
        let name = Name::Pack { generation: self.generation, pack };
        self.ready.push(uploader.seal(name, &self.filled, false)?);
        self.first_ready.get_or_insert(pack);
        self.filled.clear();
        if self.ready.len() >= self.parallel {
            self.store(uploader)?;
        }
        Ok(pack)
    }

    /// Stores the packs that are ready.
    fn store(&mut self, uploader: &Uploader<'_>) -> Result<(), Error> {
        // Kept after an error: none of them counts as stored.
        uploader.put_all(&self.ready)?;
        self.ready.clear();
        self.first_ready = None;
        Ok(())
    }
}

fn full() -> Error {
    Error::Store(StoreError::Internal { what: "a generation has too many packs".to_owned() })
}
