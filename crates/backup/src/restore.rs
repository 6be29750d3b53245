//! Restoring a directory to a moment.

use liteio_store::StoreConfig;
use liteio_store::backup::{BackupBlob, BackupPlace, Restore, RestoredPart};
use liteio_store::standby::StandbyPosition;

use crate::Error;
use crate::base::{Chunk, Manifest};
use crate::log::Log;
use crate::names::{IDENTITY, Name, generation_text};
use crate::repository::{Generation, PackedBlob, Packs, Repository};
use crate::target::TargetError;

/// Blobs that are restored in the order of their places, which saves reading packs twice.
const BLOBS_AT_ONCE: usize = 100_000;

/// Bytes of changes that are applied together.
const APPLIED_BYTES: usize = 1 << 20;

/// The moment to restore.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Moment {
    /// The newest.
    #[default]
    Newest,
    /// The newest one of which all was written by this time, in milliseconds since 1970.
    Time(u64),
    /// After the record with this number, of a generation.
    Number {
        /// The generation.
        generation: u64,
        /// The number of the record.
        number: u64,
    },
}

/// The way to a moment.
#[derive(Clone, Debug)]
pub struct Plan {
    generation: Generation,
    base: Manifest,
    moment: Moment,
    /// The reason why a base of a later generation, which may have led to the moment, cannot be used.
    passed_over: Option<String>,
}

/// The treatment of blobs in packs that the target cannot read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unreadable {
    /// Tried again at the end, then left out and told.
    LeftOut,
    /// The restore ends with the error. A standby would stay without the blob, which may be readable later.
    Refused,
}

/// The result of a restore.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// The generation.
    pub generation: String,
    /// The number of the last record.
    pub number: u64,
    /// The number of the segment behind it.
    pub next_segment: u64,
    /// All of it was written by this time, in milliseconds since 1970.
    pub time_ms: u64,
    /// Number of blobs, and of their bytes.
    pub blobs: u64,
    /// Bytes of blobs.
    pub blob_bytes: u64,
    /// Number of vectors.
    pub vectors: u64,
    /// Number of blobs and vectors that the backup does not have whole: they were damaged when it was made, or are
    /// damaged in it.
    pub left_out: u64,
    /// The first reasons.
    pub reasons: Vec<String>,
}

/// Reasons that are told.
const REASONS_MAX: usize = 20;

/// Progress, called now and then with what was done so far.
pub type Progress<'a> = &'a mut dyn FnMut(&Restored);

impl Repository {
    /// Finds the way to a moment.
    ///
    /// # Errors
    /// [`Error::Refused`] if the backup has no such moment; the errors of the target.
    pub fn plan(&self, moment: Moment) -> Result<Plan, Error> {
        let mut damaged = None;
        for id in self.generation_ids()?.into_iter().rev() {
            if matches!(moment, Moment::Number { generation, .. } if generation != id) {
                continue;
            }
            let generation = self.generation(id)?;
            let base = generation.bases.iter().rev().find(|base| match moment {
                Moment::Newest => true,
                Moment::Time(time_ms) => base.time_ms <= time_ms,
                Moment::Number { number, .. } => base.complete_at <= number,
            });
            if let Some(base) = base.cloned() {
                return Ok(Plan { generation, base, moment, passed_over: damaged });
            }
            let is_later =
                matches!(moment, Moment::Time(time_ms) if generation.begin_ms() > time_ms);
            if !is_later {
                damaged = damaged.or(generation.damaged.into_iter().next());
            }
        }
        if let Some(damaged) = damaged {
            return Err(Error::Damaged(damaged));
        }
        Err(Error::Refused(match moment {
            Moment::Newest => {
                format!(
                    "the backup at {} has no complete base yet: nothing can be restored",
                    self.shown()
                )
            }
            Moment::Time(_) => {
                "the backup has no moment so early: `liteio backup list` shows those that it has"
                    .to_owned()
            }
            Moment::Number { generation, number } => format!(
                "generation {} of the backup has no state after record {number}: `liteio backup list` shows those that it has",
                generation_text(generation)
            ),
        }))
    }

    /// Restores into the empty directory of `config`, with the bytes of the objects of `part`.
    ///
    /// # Errors
    /// The errors of the target, of damaged objects, and of the directory. The same call goes on where this one ended.
    pub fn restore(
        &self,
        plan: &Plan,
        part: &RestoredPart,
        config: StoreConfig,
        progress: Progress<'_>,
    ) -> Result<Restored, Error> {
        self.restore_into(plan, part, Restore::begin(config)?, progress)
    }

    /// [`Repository::restore`] with a restore that has begun.
    ///
    /// # Errors
    /// The errors of [`Repository::restore`].
    pub fn restore_into(
        &self,
        plan: &Plan,
        part: &RestoredPart,
        to: Restore,
        progress: Progress<'_>,
    ) -> Result<Restored, Error> {
        let restored = self.restore_pairs(plan, &to, progress)?;
        to.keep_only(part)?;
        self.restore_rest(part, Unreadable::LeftOut, to, restored, progress)
    }

    /// Restores the newest state into the empty directory of `config`, as that of a standby, which
    /// follows the backup from there on.
    ///
    /// # Errors
    /// The errors of [`Repository::restore`].
    pub fn restore_standby(
        &self,
        config: StoreConfig,
        progress: Progress<'_>,
    ) -> Result<Restored, Error> {
        // Before the directory is touched.
        let plan = self.plan(Moment::Newest)?;
        self.restore_standby_into(&plan, Restore::begin(config)?, progress)
    }

    pub(crate) fn restore_standby_into(
        &self,
        plan: &Plan,
        mut to: Restore,
        progress: Progress<'_>,
    ) -> Result<Restored, Error> {
        let restored = self.restore_pairs(plan, &to, progress)?;
        to.follow(StandbyPosition {
            backup: self.id,
            generation: plan.generation.id,
            next_segment: restored.next_segment,
            through: restored.number,
            time_ms: restored.time_ms,
        })?;
        let everything = RestoredPart::Everything;
        self.restore_rest(&everything, Unreadable::Refused, to, restored, progress)
    }

    /// [`Repository::restore`] of everything but the bytes of blobs, which stay in the backup: a store
    /// with a [`RepositorySource`](crate::RepositorySource) serves at once. Blobs that are there from an
    /// earlier attempt are kept.
    ///
    /// # Errors
    /// The errors of [`Repository::restore`].
    pub fn restore_lazily(
        &self,
        plan: &Plan,
        config: StoreConfig,
        progress: Progress<'_>,
    ) -> Result<Restored, Error> {
        let to = Restore::begin(config)?;
        let mut restored = self.restore_pairs(plan, &to, progress)?;
        let mut after = None;
        loop {
            let missing = to.missing(&RestoredPart::Everything, after.as_deref(), BLOBS_AT_ONCE)?;
            restored.blobs += missing.blobs.len() as u64;
            restored.blob_bytes += missing.blobs.iter().map(|(blob, _)| blob.bytes).sum::<u64>();
            to.leave(missing.blobs.into_iter().map(|(blob, _)| blob).collect())?;
            progress(&restored);
            after = missing.next;
            if after.is_none() {
                break;
            }
        }
        restored.end(to)
    }

    fn restore_rest(
        &self,
        part: &RestoredPart,
        unreadable: Unreadable,
        to: Restore,
        mut restored: Restored,
        progress: Progress<'_>,
    ) -> Result<Restored, Error> {
        self.restore_blobs(part, unreadable, &to, &mut restored, progress)?;
        restored.end(to)
    }

    fn restore_pairs(
        &self,
        plan: &Plan,
        to: &Restore,
        progress: Progress<'_>,
    ) -> Result<Restored, Error> {
        let Plan { generation, base, moment, passed_over } = plan;
        let mut restored =
            Restored { generation: generation.name(), number: base.start, ..Restored::default() };
        restored.next_segment = base.first_segment;
        if let Some(reason) = passed_over {
            restored.leave_out(format!("a later generation cannot be used: {reason}"));
        }
        for index in 0..base.chunks {
            let name = Name::Chunk { generation: generation.id, base: base.start, index };
            let chunk = Chunk::decode(&name.to_string(), &self.read(name)?, self.id)?;
            to.place(chunk.placed)?;
            to.apply(chunk.changes)?;
            progress(&restored);
        }
        let mut log = Log::new(self, generation, base.first_segment, base.start);
        // The records from the begin of the base to its end are part of every state.
        while let Some(segment) = log.next()? {
            let is_wanted = |number: u64| match moment {
                Moment::Newest => true,
                Moment::Time(time_ms) => segment.time_ms <= *time_ms || number <= base.complete_at,
                Moment::Number { number: last, .. } => number <= *last,
            };
            if !is_wanted(segment.after + 1) {
                break;
            }
            to.place(segment.placed)?;
            // Many records at once: nobody reads before the end.
            let mut changes = Vec::new();
            for record in segment.records.iter().filter(|record| is_wanted(record.number)) {
                changes.extend_from_slice(&record.changes);
                if changes.len() >= APPLIED_BYTES {
                    to.apply(std::mem::take(&mut changes))?;
                }
            }
            to.apply(changes)?;
            let last = match moment {
                Moment::Number { number, .. } => segment.through.min(*number),
                Moment::Newest | Moment::Time(_) => segment.through,
            };
            (restored.number, restored.time_ms) = (last, segment.time_ms);
            restored.next_segment = log.next_index();
            progress(&restored);
        }
        if restored.number < base.complete_at {
            // The manifest was stored after these segments.
            return Err(Error::Damaged(format!(
                "the segments of generation {} end with record {}, before {}: some are missing",
                restored.generation, restored.number, base.complete_at
            )));
        }
        restored.time_ms = restored.time_ms.max(base.time_ms);
        if let (Moment::Newest, Some(alive)) = (moment, generation.alive)
            && restored.number < alive.through
        {
            restored.leave_out(format!(
                "the segments of generation {} end with record {}, although its writer had stored {}",
                restored.generation, restored.number, alive.through
            ));
        }
        Ok(restored)
    }

    fn restore_blobs(
        &self,
        part: &RestoredPart,
        unreadable: Unreadable,
        to: &Restore,
        restored: &mut Restored,
        progress: Progress<'_>,
    ) -> Result<(), Error> {
        let mut packs = Packs::new(self);
        // Blobs that are tried once more at the end, when the target may work again.
        let mut again = Vec::new();
        let mut after = None;
        loop {
            let mut missing = to.missing(part, after.as_deref(), BLOBS_AT_ONCE)?;
            missing.blobs.sort_by_key(|(blob, place)| {
                (place.map(|it| (it.generation, it.pack, it.offset)), *blob)
            });
            for (blob, place) in missing.blobs {
                match self.restore_blob(to, &mut packs, blob, place) {
                    Err(error) if error.is_unreadable() && unreadable == Unreadable::Refused => {
                        return Err(error);
                    }
                    Err(error) if error.is_unreadable() && again.len() < BLOBS_AT_ONCE => {
                        again.push((blob, place));
                    }
                    result => self.count(restored, blob, result)?,
                }
                progress(restored);
            }
            after = missing.next;
            if after.is_none() {
                break;
            }
        }
        packs = Packs::new(self);
        for (blob, place) in again {
            let result = self.restore_blob(to, &mut packs, blob, place);
            self.count(restored, blob, result)?;
            progress(restored);
        }
        Ok(())
    }

    /// Counts a blob that is restored, or whose bytes are not to be had.
    fn count(
        &self,
        restored: &mut Restored,
        blob: BackupBlob,
        result: Result<(), Error>,
    ) -> Result<(), Error> {
        match result {
            Ok(()) => {
                restored.blobs += 1;
                restored.blob_bytes += blob.bytes;
            }
            Err(error) => restored.leave_out(self.damage(error)?),
        }
        Ok(())
    }

    fn restore_blob(
        &self,
        to: &Restore,
        packs: &mut Packs<'_>,
        blob: BackupBlob,
        place: Option<BackupPlace>,
    ) -> Result<(), Error> {
        let place = place.filter(|place| place.backup == self.id);
        let place = place.ok_or_else(|| {
            Error::Damaged(
                "a blob is not in the backup: it was damaged when that was made".to_owned(),
            )
        })?;
        let mut packed = PackedBlob::new(packs, blob, place);
        let written = to.write_blob(&blob, &mut || packed.next());
        written.map_err(|error| match error {
            Error::Target(TargetError::NotFound { name }) => self.missing(&name),
            error => error,
        })
    }

    /// The error for a missing object: damage, unless all of the backup is out of reach.
    pub(crate) fn missing(&self, name: &str) -> Error {
        match self.target.get(IDENTITY) {
            Ok(_) => Error::Damaged(format!("{name} of the backup is missing")),
            Err(_) => Error::Refused(format!(
                "the backup at {} is out of reach: run the same command again once it answers",
                self.shown()
            )),
        }
    }
}

impl Restored {
    fn end(mut self, to: Restore) -> Result<Self, Error> {
        let report = to.finish()?;
        self.vectors = report.vectors;
        if report.left_out > 0 {
            self.left_out += report.left_out;
            self.tell(format!("{} vectors are not in the backup", report.left_out));
        }
        Ok(self)
    }

    /// Counts what is not to be had, and keeps the reason.
    fn leave_out(&mut self, what: String) {
        self.left_out += 1;
        self.tell(what);
    }

    fn tell(&mut self, reason: String) {
        if self.reasons.len() < REASONS_MAX && !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
    }
}
