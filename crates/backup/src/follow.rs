//! [`Follower`]: keeps a standby up to date.
//!
//! ```text
//!  the next segment is there ──► its blobs ──► Store::apply: changes and position, at once
//!  a newer generation has a base, or segments are missing ──► compare with that base, and apply the difference
//! ```
//! The difference with a base includes the segments behind it, so that readers see states of one
//! moment only.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use liteio_store::Store;
use liteio_store::backup::{BackupBlob, BackupPlace};
use liteio_store::standby::{Applied, NetChanges, StandbyPosition};

use crate::Error;
use crate::base::{Chunk, Manifest};
use crate::limits::DIFFERENCE_BYTES_MAX;
use crate::log::Log;
use crate::names::{GENERATIONS, Name, generation_text};
use crate::repository::{Generation, PackedBlob, Packs, Repository};
use crate::segment::Segment;
use crate::target::TargetError;

/// Time between two looks for another generation: each is a listing.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// Time between two looks at the lease, which tells of a server that begins another generation. Each is a read, at a twelfth
/// of the price of a listing.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// Follows a backup with a store in the role of a standby.
#[derive(Debug)]
pub struct Follower {
    repository: Repository,
    store: Store,
    position: StandbyPosition,
    looked: Option<Instant>,
    asked: Option<Instant>,
    /// The run of the server that has the lease, as it was last read.
    run: Option<String>,
    /// Another run has the lease, and its generation was not found yet: it comes some time later.
    is_awaiting: bool,
    /// Number of blobs and vectors that the backup does not have whole.
    left_out: u64,
}

impl Follower {
    /// Follows from the position of the store on.
    ///
    /// # Errors
    /// [`Error::Refused`] if the store is no standby, or one of another backup; the errors of a read.
    pub fn new(repository: Repository, store: Store) -> Result<Self, Error> {
        let position = store.standby_position()?;
        let position = position.filter(|position| position.backup == repository.id);
        let other = || {
            Error::Refused(format!(
                "the data directory does not follow the backup at {}: give `liteio standby` a new directory",
                repository.shown()
            ))
        };
        let position = position.ok_or_else(other)?;
        Ok(Self {
            repository,
            store,
            position,
            looked: None,
            asked: None,
            run: None,
            is_awaiting: false,
            left_out: 0,
        })
    }

    /// The backup.
    #[must_use]
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The position of the store.
    #[must_use]
    pub fn position(&self) -> StandbyPosition {
        self.position
    }

    /// Number of blobs and vectors so far that the backup does not have whole: they were damaged
    /// when it was made, or are damaged in it.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Applies the next segment, or the difference with a newer base. `None` if the store has
    /// everything that the backup has.
    ///
    /// # Errors
    /// The errors of the target, of damaged objects and of the store. The same call goes on later.
    pub fn step(&mut self) -> Result<Option<Applied>, Error> {
        if let Some(segment) = self.next_segment()? {
            return self.apply_segment(segment).map(Some);
        }
        if self.asked.is_none_or(|asked| asked.elapsed() >= ASK_EVERY) {
            let now = Instant::now();
            self.ask()?;
            self.asked = Some(now);
            if self.is_awaiting {
                self.look_soon();
            }
        }
        if self.looked.is_none_or(|looked| looked.elapsed() >= LOOK_EVERY) {
            let generation = self.position.generation;
            let applied = self.look()?;
            self.looked = Some(Instant::now());
            self.is_awaiting &= self.position.generation == generation;
            return Ok(applied);
        }
        Ok(None)
    }

    /// The last time at which there was neither a next segment nor a server with another generation, if
    /// [`Follower::step`] has answered `None`.
    #[must_use]
    pub fn current(&self) -> Option<Instant> {
        self.asked
    }

    /// Looks for another generation with the next call of [`Follower::step`].
    pub fn look_soon(&mut self) {
        self.looked = None;
    }

    /// Looks at the lease with the next call of [`Follower::step`].
    #[cfg(test)]
    pub(crate) fn ask_soon(&mut self) {
        self.asked = None;
    }

    /// Looks if another server has the lease, or the same one after a restart.
    fn ask(&mut self) -> Result<(), Error> {
        match self.repository.lease() {
            Ok(None) => {}
            Ok(Some(lease)) => {
                self.is_awaiting |= self.run.as_ref().is_some_and(|run| *run != lease.run);
                self.run = Some(lease.run);
            }
            // Segments can be followed without it, and a listing finds generations, too.
            Err(Error::Damaged(_) | Error::Seal(_)) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn next_segment(&self) -> Result<Option<Segment>, Error> {
        let StandbyPosition { generation, next_segment: index, through, .. } = self.position;
        let name = Name::Log { generation, index };
        let contents = match self.repository.read(name) {
            Err(Error::Target(TargetError::NotFound { .. })) => return Ok(None),
            contents => contents?,
        };
        let segment = Segment::decode(&name.to_string(), &contents, self.repository.id)?;
        if segment.after != through {
            return Err(Error::Damaged(format!(
                "{name} of the backup follows record {}, but the standby has come to {through}",
                segment.after
            )));
        }
        Ok(Some(segment))
    }

    fn apply_segment(&mut self, segment: Segment) -> Result<Applied, Error> {
        let mut changes = NetChanges::default();
        add(&mut changes, &segment)?;
        let position = StandbyPosition {
            next_segment: self.position.next_segment + 1,
            through: segment.through,
            time_ms: segment.time_ms,
            ..self.position
        };
        self.apply(changes, position)
    }

    /// Applies changes, with their blobs first.
    fn apply(&mut self, changes: NetChanges, position: StandbyPosition) -> Result<Applied, Error> {
        let mut missing = self.store.missing_blobs(&changes)?;
        missing.sort_by_key(|(blob, place)| {
            (place.map(|it| (it.generation, it.pack, it.offset)), *blob)
        });
        let mut packs = Packs::new(&self.repository);
        for (blob, place) in missing {
            match fetch(&self.repository, &self.store, &mut packs, blob, place) {
                Ok(()) => {}
                // As a restore does: the others are whole. One that cannot be read is waited for, since it may be read later.
                Err(Error::Damaged(_) | Error::Seal(_)) => self.left_out += 1,
                Err(error) => return Err(error),
            }
        }
        let applied = self.store.apply(changes, position)?;
        self.left_out += applied.vectors_left_out;
        self.position = position;
        Ok(applied)
    }

    /// Looks for a newer generation with a base, and for segments behind missing ones.
    fn look(&mut self) -> Result<Option<Applied>, Error> {
        let own = self.position.generation;
        let newer = format!("{GENERATIONS}{}0", generation_text(own));
        if self.has_object(GENERATIONS, &newer)? {
            let ids = self.repository.generation_ids()?;
            for id in ids.into_iter().rev().take_while(|id| *id > own) {
                let generation = self.repository.generation(id)?;
                if let Some(base) = generation.bases.last().cloned() {
                    return self.move_to(&generation, &base).map(Some);
                }
            }
        }
        let index = self.position.next_segment;
        let next = Name::Log { generation: own, index }.to_string();
        let log = format!("{GENERATIONS}{}/log/", generation_text(own));
        // The next one may have been stored before the listing of those behind it.
        if !self.has_object(&log, &next)? || self.next_segment()?.is_some() {
            return Ok(None);
        }
        let generation = self.repository.generation(own)?;
        let through = self.position.through;
        match generation.bases.last().filter(|base| base.complete_at > through).cloned() {
            Some(base) => self.move_to(&generation, &base).map(Some),
            None => Err(Error::Damaged(format!(
                "{next} of the backup is missing: the standby cannot follow until there is a later base"
            ))),
        }
    }

    /// `true` if there is an object behind `after` in a folder.
    fn has_object(&self, prefix: &str, after: &str) -> Result<bool, Error> {
        let mut is_found = false;
        self.repository.target.list(prefix, Some(after), &mut |_| {
            is_found = true;
            ControlFlow::Break(())
        })?;
        Ok(is_found)
    }

    /// Applies the difference with a base and the segments behind it.
    fn move_to(&mut self, generation: &Generation, base: &Manifest) -> Result<Applied, Error> {
        let mut comparison = self.store.compare()?;
        let mut places = Vec::new();
        for index in 0..base.chunks {
            let name = Name::Chunk { generation: generation.id, base: base.start, index };
            let contents = self.repository.read(name)?;
            let chunk = Chunk::decode(&name.to_string(), &contents, self.repository.id)?;
            let differing = comparison.chunk(&chunk.changes)?;
            places.extend(chunk.placed.into_iter().filter(|(blob, _)| differing.contains(blob)));
            check_bytes(comparison.bytes())?;
        }
        let mut changes = comparison.end()?;
        changes.place(&places);
        let mut position = StandbyPosition {
            backup: self.repository.id,
            generation: generation.id,
            next_segment: base.first_segment,
            through: base.start,
            time_ms: base.time_ms,
        };
        let mut log = Log::new(&self.repository, generation, base.first_segment, base.start);
        while let Some(segment) = log.next()? {
            add(&mut changes, &segment)?;
            check_bytes(changes.bytes())?;
            position.next_segment = log.next_index();
            position.through = segment.through;
            position.time_ms = position.time_ms.max(segment.time_ms);
        }
        if position.through < base.complete_at {
            return Err(Error::Damaged(format!(
                "the segments of generation {} end with record {}, before {}: some are missing",
                generation.name(),
                position.through,
                base.complete_at
            )));
        }
        self.apply(changes, position)
    }
}

fn check_bytes(bytes: usize) -> Result<(), Error> {
    match bytes > DIFFERENCE_BYTES_MAX {
        true => Err(Error::Refused(
            "the standby lacks too much to catch up: stop it, and begin anew with an empty directory".to_owned(),
        )),
        false => Ok(()),
    }
}

/// Adds the records of a segment.
fn add(changes: &mut NetChanges, segment: &Segment) -> Result<(), Error> {
    for record in &segment.records {
        changes.add(&record.changes)?;
    }
    changes.place(&segment.placed);
    let last = segment.records.last().map_or(0, |record| record.number);
    changes.set_incomplete(last > segment.through);
    Ok(())
}

/// Brings a blob from its packs into the store.
pub(crate) fn fetch(
    repository: &Repository,
    store: &Store,
    packs: &mut Packs<'_>,
    blob: BackupBlob,
    place: Option<BackupPlace>,
) -> Result<(), Error> {
    let place = place.filter(|place| place.backup == repository.id);
    let unknown = "a blob is not in the backup: it was damaged when that was made";
    let place = place.ok_or_else(|| Error::Damaged(unknown.to_owned()))?;
    let mut packed = PackedBlob::new(packs, blob, place);
    let written = store.write_blob(&blob, &mut || packed.next());
    written.map_err(|error| match error {
        Error::Target(TargetError::NotFound { name }) => repository.missing(&name),
        error => error,
    })
}
