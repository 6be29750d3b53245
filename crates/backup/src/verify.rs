//! Verification: restores into nothing.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use liteio_disk::{Disk, RealDisk};
use liteio_kv::{Change, changes};
use liteio_store::StoreError;
use liteio_store::backup::{BackupBlob, blobs_of};

use crate::Error;
use crate::base::Chunk;
use crate::log::Log;
use crate::names::Name;
use crate::place::Placed;
use crate::repository::{Generation, PackedBlob, Packs, Repository};
use crate::sorted::SortedPlaces;
use crate::target::TargetError;

/// The result of [`Repository::verify`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Number of generations, and of their bases and segments.
    pub generations: u64,
    /// Number of complete bases.
    pub bases: u64,
    /// Number of segments.
    pub segments: u64,
    /// Number of blobs.
    pub blobs: u64,
    /// Bytes of blobs.
    pub blob_bytes: u64,
    /// Number of damaged pairs and blobs that were damaged in the store already when they were backed up.
    pub unreadable: u64,
    /// Number of blobs that pairs name and that are not in the backup: they were damaged when they were backed up, or
    /// were deleted before their base was complete.
    pub without_bytes: u64,
    /// Damaged and missing objects of the backup, one line each.
    pub damaged: Vec<String>,
}

impl Repository {
    /// Reads everything that a moment of the backup needs, and verifies it: the checksum of every object, the encoding of
    /// every change, the order of all segments, and the checksum of every blob.
    ///
    /// # Errors
    /// The errors of the target. Damage is in the report, not an error.
    pub fn verify(&self, progress: &mut dyn FnMut(&Verified)) -> Result<Verified, Error> {
        self.verify_with(None, progress)
    }

    /// [`Repository::verify`] of any number of blobs in bounded memory: their places are in files without names in
    /// `scratch`, 44 bytes for each blob, twice for a moment.
    ///
    /// # Errors
    /// The errors of [`Repository::verify`]; [`Error::Store`] if the files cannot be written or read.
    pub fn verify_with(
        &self,
        scratch: Option<&Path>,
        progress: &mut dyn FnMut(&Verified),
    ) -> Result<Verified, Error> {
        let scratch = scratch.map(RealDisk::open_existing).transpose().map_err(failed)?;
        let scratch = scratch.map(|disk| Arc::new(disk) as Arc<dyn Disk>);
        let mut verified = Verified::default();
        let mut places = Places { placed: SortedPlaces::new(scratch), named: HashSet::new() };
        for id in self.generation_ids()? {
            verified.generations += 1;
            let found = self.generation(id).and_then(|generation| {
                self.verify_generation(&generation, &mut verified, &mut places, progress)
            });
            verified.note(self, found)?;
        }
        let Places { mut placed, mut named } = places;
        let mut placed = placed.merge().map_err(failed)?;
        let mut packs = Packs::new(self);
        while let Some((blob, place)) = placed.next().map_err(failed)? {
            named.remove(&blob);
            let mut packed = PackedBlob::new(&mut packs, blob, place);
            let read = loop {
                match packed.next() {
                    Ok(Some(_)) => {}
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            verified.note(self, read)?;
            verified.blobs += 1;
            verified.blob_bytes += blob.bytes;
            progress(&verified);
        }
        verified.without_bytes = named.len() as u64;
        Ok(verified)
    }

    fn verify_generation(
        &self,
        generation: &Generation,
        verified: &mut Verified,
        places: &mut Places,
        progress: &mut dyn FnMut(&Verified),
    ) -> Result<(), Error> {
        verified.damaged.extend(generation.damaged.iter().cloned());
        for base in &generation.bases {
            verified.bases += 1;
            verified.unreadable += base.unreadable;
            for index in 0..base.chunks {
                let name = Name::Chunk { generation: generation.id, base: base.start, index };
                let read = self.read(name).and_then(|contents| {
                    let chunk = Chunk::decode(&name.to_string(), &contents, self.id)?;
                    let of_chunk = places.add(chunk.placed)?;
                    places.check(name, &chunk.changes, &of_chunk)
                });
                verified.note(self, read)?;
                progress(verified);
            }
        }
        // Segments before the first base lead nowhere, and are checked only as far as they are there.
        let (first, after) = match generation.bases.first() {
            Some(base) => (base.first_segment, base.start),
            None => return Ok(()),
        };
        let mut log = Log::new(self, generation, first, after);
        let mut through = after;
        let mut of_batch = HashSet::new();
        while let Some(segment) = log.next()? {
            let name = Name::Log { generation: generation.id, index: log.next_index() - 1 };
            // A batch has all of its places in its first segment.
            if !segment.placed.is_empty() {
                of_batch = places.add(segment.placed)?;
            }
            for record in &segment.records {
                places.check(name, &record.changes, &of_batch)?;
            }
            through = segment.through;
            verified.segments += 1;
            progress(verified);
        }
        let base = generation.bases.last().map_or(0, |base| base.complete_at);
        let expected = generation.alive.map_or(0, |alive| alive.through).max(base);
        match through < expected {
            true => Err(Error::Damaged(format!(
                "the segments of generation {} end with record {through}, before {expected}: some are missing",
                generation.name(),
            ))),
            false => Ok(()),
        }
    }
}

impl Verified {
    /// Notes damage, and passes on any other failure.
    fn note(&mut self, repository: &Repository, result: Result<(), Error>) -> Result<(), Error> {
        let what = match result {
            Ok(()) => return Ok(()),
            Err(Error::Target(TargetError::NotFound { name })) => {
                format!("{name} of the backup is missing")
            }
            Err(error) => repository.damage(error)?,
        };
        if !self.damaged.contains(&what) {
            self.damaged.push(what);
        }
        Ok(())
    }
}

/// The blobs of a backup.
#[derive(Debug)]
struct Places {
    placed: SortedPlaces,
    /// Those that pairs name, and that the object with the pairs has no place of. They are few: a chunk, and the segments of
    /// a batch, have the places of all whole blobs that they name.
    named: HashSet<BackupBlob>,
}

impl Places {
    /// Notes places. Returns their blobs.
    fn add(&mut self, placed: Vec<Placed>) -> Result<HashSet<BackupBlob>, Error> {
        for placed in &placed {
            self.placed.add(placed).map_err(failed)?;
        }
        Ok(placed.into_iter().map(|(blob, _)| blob).collect())
    }

    /// Reads changes, and notes the blobs that they name and that are not `near`.
    fn check(&mut self, name: Name, bytes: &[u8], near: &HashSet<BackupBlob>) -> Result<(), Error> {
        for change in changes(bytes) {
            let change = change.map_err(|error| {
                let error = StoreError::from(error);
                Error::Damaged(format!("{name} of the backup cannot be read: {error}"))
            })?;
            if let Change::Put { key, value } = change {
                // A damaged pair was damaged when it was backed up, and is counted by its base.
                let named = blobs_of(key, value).unwrap_or_default();
                self.named.extend(named.into_iter().filter(|blob| !near.contains(blob)));
            }
        }
        Ok(())
    }
}

/// A failure of the files with the places.
fn failed(error: io::Error) -> Error {
    StoreError::from(error).into()
}
