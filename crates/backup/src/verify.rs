//! Verification: restores into nothing.

use std::collections::HashSet;

use liteio_kv::{Change, changes};
use liteio_store::StoreError;
use liteio_store::backup::{BackupBlob, blobs_of};

use crate::Error;
use crate::base::Chunk;
use crate::log::Log;
use crate::names::Name;
use crate::place::Placed;
use crate::repository::{Generation, PackedBlob, Packs, Repository};
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
        let mut verified = Verified::default();
        let mut places = Places::default();
        for id in self.generation_ids()? {
            verified.generations += 1;
            let found = self.generation(id).and_then(|generation| {
                self.verify_generation(&generation, &mut verified, &mut places, progress)
            });
            verified.note(found)?;
        }
        let Places { placed, named } = places;
        let known: HashSet<BackupBlob> = placed.iter().map(|(blob, _)| *blob).collect();
        verified.without_bytes = named.difference(&known).count() as u64;
        let mut placed: Vec<Placed> = placed.into_iter().collect();
        placed.sort_by_key(|(blob, place)| (place.generation, place.pack, place.offset, *blob));
        let mut packs = Packs::new(self);
        for (blob, place) in placed {
            let mut packed = PackedBlob::new(&mut packs, blob, place);
            let read = loop {
                match packed.next() {
                    Ok(Some(_)) => {}
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            verified.note(read)?;
            verified.blobs += 1;
            verified.blob_bytes += blob.bytes;
            progress(&verified);
        }
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
                    places.placed.extend(chunk.placed);
                    places.check(name, &chunk.changes)
                });
                verified.note(read)?;
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
        while let Some(segment) = log.next()? {
            let name = Name::Log { generation: generation.id, index: log.next_index() - 1 };
            places.placed.extend(segment.placed);
            for record in &segment.records {
                places.check(name, &record.changes)?;
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
    fn note(&mut self, result: Result<(), Error>) -> Result<(), Error> {
        let what = match result {
            Ok(()) => return Ok(()),
            Err(Error::Damaged(what)) => what,
            Err(Error::Seal(error)) => error.to_string(),
            Err(Error::Target(TargetError::NotFound { name })) => {
                format!("{name} of the backup is missing")
            }
            Err(error) => return Err(error),
        };
        if !self.damaged.contains(&what) {
            self.damaged.push(what);
        }
        Ok(())
    }
}

/// The blobs of a backup.
#[derive(Debug, Default)]
struct Places {
    placed: HashSet<Placed>,
    /// Those that pairs name.
    named: HashSet<BackupBlob>,
}

impl Places {
    /// Reads changes, and notes the blobs that they name.
    fn check(&mut self, name: Name, bytes: &[u8]) -> Result<(), Error> {
        for change in changes(bytes) {
            let change = change.map_err(|error| {
                let error = StoreError::from(error);
                Error::Damaged(format!("{name} of the backup cannot be read: {error}"))
            })?;
            if let Change::Put { key, value } = change {
                // A damaged pair was damaged when it was backed up, and is counted by its base.
                self.named.extend(blobs_of(key, value).unwrap_or_default());
            }
        }
        Ok(())
    }
}
