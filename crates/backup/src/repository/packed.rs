//! Blobs in packs.
//!
//! The contents of the packs of a generation, one after another, are the bytes of blobs, one after another. A blob begins
//! at an offset of a pack, and goes on at the beginning of the next one.

use bytes::Bytes;
use crc_fast::{CrcAlgorithm, Digest};
use liteio_store::backup::{BackupBlob, BackupPlace};

use super::Repository;
use crate::Error;
use crate::names::Name;

/// Packs being read: the last one stays in memory, since neighbours in a backup are read one after another. So does the failure to
/// read it, whose repetitions would take a second for each of its blobs.
#[derive(Debug)]
pub(crate) struct Packs<'a> {
    repository: &'a Repository,
    last: Option<((u64, u32), Result<Bytes, Error>)>,
}

impl<'a> Packs<'a> {
    pub(crate) fn new(repository: &'a Repository) -> Self {
        Self { repository, last: None }
    }

    fn pack(&mut self, generation: u64, pack: u32) -> Result<Bytes, Error> {
        match &self.last {
            Some((name, contents)) if *name == (generation, pack) => contents.clone(),
            _ => {
                let contents = match self.repository.read(Name::Pack { generation, pack }) {
                    Err(error) if !error.is_unreadable() => return Err(error),
                    contents => contents,
                };
                self.last = Some(((generation, pack), contents.clone()));
                contents
            }
        }
    }
}

/// A blob being read.
pub(crate) struct PackedBlob<'p, 'a> {
    packs: &'p mut Packs<'a>,
    blob: BackupBlob,
    place: BackupPlace,
    /// The next byte.
    pack: u32,
    offset: usize,
    rest: u64,
    digest: Digest,
}

impl<'p, 'a> PackedBlob<'p, 'a> {
    pub(crate) fn new(packs: &'p mut Packs<'a>, blob: BackupBlob, place: BackupPlace) -> Self {
        let digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
        let (pack, offset) = (place.pack, place.offset as usize);
        Self { packs, blob, place, pack, offset, rest: blob.bytes, digest }
    }

    /// The next bytes; `None` at the end, if all of them are those that were backed up.
    ///
    /// # Errors
    /// The errors of the target; [`Error::Seal`] and [`Error::Damaged`].
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, Error> {
        if self.rest == 0 {
            let crc = crc_of(&self.digest);
            return if crc == self.place.crc { Ok(None) } else { Err(self.damaged()) };
        }
        let contents = self.packs.pack(self.place.generation, self.pack)?;
        let available = contents.get(self.offset..).unwrap_or_default();
        let bytes = available.len().min(usize::try_from(self.rest).unwrap_or(usize::MAX));
        if bytes == 0 {
            return Err(self.damaged());
        }
        let piece = contents.slice(self.offset..self.offset + bytes);
        self.digest.update(&piece);
        self.rest -= bytes as u64;
        (self.pack, self.offset) = (self.pack.wrapping_add(1), 0);
        Ok(Some(piece))
    }

    fn damaged(&self) -> Error {
        let BackupPlace { generation, pack, offset, .. } = self.place;
        let name = Name::Pack { generation, pack };
        let BackupBlob { bytes, .. } = self.blob;
        Error::Damaged(format!("{name} has not the {bytes} bytes at {offset} that it must have"))
    }
}

/// The CRC-32C of what was given to a digest.
#[expect(clippy::cast_possible_truncation, reason = "a CRC of 32 bits")]
pub(crate) fn crc_of(digest: &Digest) -> u32 {
    digest.finalize() as u32
}
