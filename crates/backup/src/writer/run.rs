//! [`Run`]: one generation of a backup, being written.

use std::cell::Cell;
use std::collections::HashSet;
use std::rc::Rc;
use std::time::Instant;

use liteio_store::StoreError;
use liteio_store::backup::{BackupBlob, BackupFeed, BackupPlace, FeedError};

use super::bandwidth::Bandwidth;
use super::compression::CompressionTime;
use super::packer::Packer;
use super::rhythm::Rhythm;
use super::status::Status;
use super::upload::{Pace, Uploader};
use crate::Error;
use crate::base::{Chunk, Manifest, Parent};
use crate::error::is_of_one_blob;
use crate::limits::{CHUNK_BYTES, SEGMENT_BYTES};
use crate::names::{GENERATION_BITS, Name};
use crate::place::{Placed, packs_of};
use crate::repository::{Alive, Repository};
use crate::seal::Content;
use crate::segment::{Segment, cut};

/// Time between two signs that the writer runs, in milliseconds.
const ALIVE_MS: u64 = 60_000;
/// Time by which the clock may be set back within a generation, in milliseconds.
const SET_BACK_MS: u64 = 60 * 60 * 1000;
/// Bytes of segments from which on they are compared with the base.
const SEGMENTS_MIN: u64 = 64 << 20;

/// A generation being written.
pub(super) struct Run<'a> {
    pub(super) feed: Rc<BackupFeed>,
    uploader: Uploader<'a>,
    pub(super) generation: u64,
    /// Bytes of a chunk of a base.
    pub(super) chunk_bytes: usize,
    /// Packs the blobs of a base.
    packer: Packer,
    /// Packs those of segments, which are written between two packs of a base.
    ticks: Packer,
    /// The number of the next pack.
    next_pack: Rc<Cell<u32>>,
    /// `true` while records are taken that no segment has.
    is_broken: bool,
    is_in_base: bool,
    /// The packs of earlier generations at the target: a remembered place counts only if its packs are there.
    packs: HashSet<(u64, u32)>,
    /// The number of the next segment, and of the last record before it.
    next_segment: u64,
    through: u64,
    /// The time of the last segment, which never goes back.
    time_ms: u64,
    alive_ms: Option<u64>,
    compression: CompressionTime,
    /// Bytes of segments since the last base began.
    since_base: u64,
    pub(super) base: Option<Manifest>,
    /// The state that the generation continues after a promotion.
    pub(super) parent: Option<Parent>,
}

/// The way in which objects are sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending<'a> {
    pub(super) bandwidth: &'a Bandwidth,
    /// Packs that are stored at the same time: at least 1.
    pub(super) parallel: usize,
}

/// The blobs of some pairs, in packs.
#[derive(Debug, Default)]
struct Packed {
    /// All of them.
    placed: Vec<Placed>,
    /// Those that were not in the backup.
    new: Vec<Placed>,
    /// Number of blobs that are damaged.
    unreadable: u64,
}

/// Called between two blobs or chunks of a base: it may write segments by [`Run::tick`].
pub(super) type Between<'b, 'a> = &'b mut dyn FnMut(&mut Run<'a>) -> Result<(), Error>;

impl<'a> Run<'a> {
    /// Begins a generation.
    pub(super) fn begin(
        feed: BackupFeed,
        repository: &'a Repository,
        pace: &'a dyn Pace,
        status: &'a Status,
        sending: Sending<'a>,
    ) -> Result<Self, Error> {
        let time_ms = feed.store().now_ms();
        let generations = repository.generation_ids()?;
        let mut packs = HashSet::new();
        for generation in &generations {
            let found = repository.packs(*generation)?;
            packs.extend(found.into_iter().map(|pack| (*generation, pack)));
        }
        // After all others, even if the clock was set back.
        let next = generations.last().map_or(Some(0), |newest| newest.checked_add(1));
        let full = || Error::Refused(format!("{} has a last generation", repository.shown()));
        let generation = (time_ms << GENERATION_BITS).max(next.ok_or_else(full)?);
        let Sending { bandwidth, parallel } = sending;
        let uploader = Uploader { repository, pace, status, watch: feed.watch(), bandwidth };
        let next_pack = Rc::new(Cell::new(0));
        let packer = || Packer::new(repository.id, generation, Rc::clone(&next_pack), parallel);
        let (packer, ticks, through) = (packer(), packer(), feed.start());
        Ok(Self {
            feed: Rc::new(feed),
            uploader,
            generation,
            chunk_bytes: CHUNK_BYTES,
            packer,
            ticks,
            next_pack,
            is_broken: false,
            is_in_base: false,
            packs,
            next_segment: 0,
            through,
            time_ms,
            alive_ms: None,
            compression: CompressionTime::new(Instant::now()),
            since_base: 0,
            base: None,
            parent: None,
        })
    }

    /// Writes the records since the last call, and the blobs that they name.
    pub(super) fn tick(&mut self) -> Result<(), Error> {
        // What was acknowledged before is among the records that are taken next.
        let kept_ms = self.feed.store().now_ms();
        while self.write_batch()? {}
        self.uploader.status.change(|state| state.kept_ms = Some(kept_ms));
        if self.alive_ms.is_none_or(|last| last.abs_diff(kept_ms) >= ALIVE_MS) {
            self.sign(kept_ms)?;
        }
        Ok(())
    }

    /// [`Run::tick`], which is noted in a rhythm.
    pub(super) fn tick_in(&mut self, rhythm: &mut Rhythm) -> Result<(), Error> {
        let (newest, before) = (self.feed.newest(), self.next_segment);
        let begun = Instant::now();
        self.tick()?;
        rhythm.ticked(begun, newest, self.next_segment > before);
        Ok(())
    }

    /// Writes what is left, and gives a last sign.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        let kept_ms = self.feed.store().now_ms();
        self.tick()?;
        self.sign(kept_ms)
    }

    /// Writes some of the records. `true` if more have been written already.
    fn write_batch(&mut self) -> Result<bool, Error> {
        // Records that were taken and are in no segment would be a gap.
        if std::mem::replace(&mut self.is_broken, true) {
            return Err(Error::Stopped);
        }
        let mut batch = self.feed.take(SEGMENT_BYTES).map_err(|error| match error {
            FeedError::Behind => Error::Refused(error.to_string()),
            FeedError::Store(error) => error.into(),
        })?;
        // All of them were written by now.
        let now_ms = self.feed.store().now_ms();
        if now_ms.saturating_add(SET_BACK_MS) < self.time_ms {
            // Later segments could not be told from earlier ones by their times.
            return Err(Error::Refused("the clock was set back by more than an hour".to_owned()));
        }
        self.time_ms = self.time_ms.max(now_ms);
        // With the places of all blobs, also of those that a base has: a record may have moved from where the base has
        // not come to, to where it has been.
        let packed = self.pack(&batch.blobs, |run| &mut run.ticks, &mut |_| Ok(()))?;
        self.ticks.flush(&self.uploader)?;
        if !batch.records.is_empty() {
            let records = std::mem::take(&mut batch.records);
            // All in the first segment: a place may come before the record that names the blob.
            let mut placed = packed.placed;
            for (records, through) in cut(records, batch.through, SEGMENT_BYTES) {
                let (after, time_ms) = (self.through, self.time_ms);
                let placed = std::mem::take(&mut placed);
                let segment = Segment { after, through, time_ms, placed, records };
                let (generation, index) = (self.generation, self.next_segment);
                let name = Name::Log { generation, index };
                self.since_base += self.put_segment(name, segment.encode())?;
                self.next_segment += 1;
                self.through = through;
            }
        }
        self.remember(packed.new)?;
        self.feed.kept(&batch);
        if !self.is_in_base {
            self.feed.forget_deleted();
        }
        self.is_broken = false;
        self.uploader.status.change(|state| {
            state.unreadable += batch.unreadable + packed.unreadable;
            let (generation, through) = (self.generation, self.through);
            state.stored = Some(Parent { generation, through });
        });
        Ok(batch.has_more)
    }

    /// Stores a segment, compressed if there is time for that, or if it has to pass a narrow line. Returns its size.
    fn put_segment(&mut self, name: Name, content: Content) -> Result<u64, Error> {
        let begun = Instant::now();
        let compress = self.uploader.bandwidth.is_limited() || self.compression.is_left(begun);
        let ready = self.uploader.seal_content(name, content, compress)?;
        if compress {
            self.compression.spent(begun.elapsed());
        }
        self.uploader.store(&ready)
    }

    /// Gives a sign that everything that was acknowledged before `time_ms` is in the backup.
    fn sign(&mut self, time_ms: u64) -> Result<(), Error> {
        let through = self.through;
        let json = serde_json::to_vec(&Alive { time_ms, through }).expect("plain data");
        self.uploader.replace(Name::Alive { generation: self.generation }, &json)?;
        self.alive_ms = Some(time_ms);
        // Told only: whether it can be read changes nothing.
        if let Ok(verification) = self.uploader.repository.verification() {
            self.uploader.status.change(|state| state.verification = verification);
        }
        Ok(())
    }

    /// `true` if a new base is due: the first one, and, if anything was written since, each `every_ms` and when the
    /// segments since the last one have half of its bytes.
    pub(super) fn is_base_due(&self, every_ms: u64) -> bool {
        self.base.as_ref().is_none_or(|base| {
            let is_old = self.time_ms >= base.time_ms.saturating_add(every_ms);
            let is_long = self.since_base >= SEGMENTS_MIN.max(base.bytes / 2);
            self.next_segment > base.last_segment && (is_old || is_long)
        })
    }

    /// Writes a base.
    pub(super) fn write_base(&mut self, between: Between<'_, 'a>) -> Result<(), Error> {
        // It may be another directory that is mounted there, or another bucket of the same name.
        self.uploader.again(|| self.uploader.repository.check_identity())?;
        self.is_in_base = true;
        let result = self.try_write_base(between);
        self.is_in_base = false;
        result
    }

    fn try_write_base(&mut self, between: Between<'_, 'a>) -> Result<(), Error> {
        // All earlier records are in segments, and so in every page.
        self.tick()?;
        let (start, first_segment) = (self.through, self.next_segment);
        self.since_base = 0;
        let mut manifest = Manifest {
            start,
            complete_at: 0,
            time_ms: 0,
            chunks: 0,
            pairs: 0,
            bytes: 0,
            first_segment,
            last_segment: 0,
            first_pack: self.next_pack.get(),
            unreadable: 0,
            parent: self.parent,
        };
        let mut after: Option<Vec<u8>> = None;
        loop {
            let page = self.feed.page(after.as_deref(), self.chunk_bytes)?;
            let packed = self.pack(&page.blobs, |run| &mut run.packer, between)?;
            self.packer.flush(&self.uploader)?;
            let chunk = Chunk { placed: packed.placed, changes: page.changes };
            let (generation, base, index) = (self.generation, start, manifest.chunks);
            let name = Name::Chunk { generation, base, index };
            let ready = self.uploader.seal_content(name, chunk.encode(), true)?;
            manifest.bytes += self.uploader.store(&ready)?;
            manifest.chunks += 1;
            manifest.pairs += page.pairs;
            manifest.unreadable += page.unreadable + packed.unreadable;
            self.remember(packed.new)?;
            after = page.next;
            if after.is_none() {
                break;
            }
            between(self)?;
        }
        let newest = self.feed.newest();
        // The segments up to there come before the manifest that relies on them.
        self.tick()?;
        // No segment has the records that change nothing, which may be the last.
        manifest.complete_at = newest.min(self.through);
        manifest.last_segment = self.next_segment;
        manifest.time_ms = self.time_ms;
        let json = serde_json::to_vec(&manifest).expect("plain data");
        let name = Name::Manifest { generation: self.generation, base: start };
        self.uploader.put(name, &json, false)?;
        self.uploader.status.change(|state| {
            state.base_ms = Some(manifest.time_ms);
            state.unreadable = manifest.unreadable;
        });
        self.base = Some(manifest);
        Ok(())
    }

    /// Packs blobs that are not in the backup, by one of the packers.
    fn pack(
        &mut self,
        blobs: &[BackupBlob],
        packer: impl Fn(&mut Self) -> &mut Packer,
        between: Between<'_, 'a>,
    ) -> Result<Packed, Error> {
        let (feed, uploader) = (Rc::clone(&self.feed), self.uploader.clone());
        let mut packed = Packed::default();
        let mut seen = HashSet::new();
        for blob in blobs.iter().filter(|blob| seen.insert(**blob)) {
            let place = feed.place(blob, &uploader.repository.id)?;
            if let Some(place) = place.filter(|place| self.is_there(blob, place)) {
                packed.placed.push((*blob, place));
                continue;
            }
            // Taken out, so that `between` may write segments meanwhile.
            let mut filling = std::mem::take(packer(self));
            let added = filling.add(blob, &feed, &uploader, &mut || between(self));
            let is_stored = |it: &&Placed| filling.is_stored(*packs_of(&it.0, &it.1).end());
            let stored = packed.new.iter().take_while(is_stored).count();
            *packer(self) = filling;
            // Early, so that a generation that ends before its base is complete leaves them for the next one.
            self.remember(packed.new.drain(..stored).collect())?;
            match added {
                Ok(None) => {}
                Ok(Some(place)) => {
                    packed.placed.push((*blob, place));
                    packed.new.push((*blob, place));
                }
                // It is damaged, and stays so in the backup; the others are not.
                Err(Error::Store(error)) if is_of_one_blob(&error) => packed.unreadable += 1,
                Err(error) => return Err(error),
            }
            between(self)?;
        }
        Ok(packed)
    }

    fn is_there(&self, blob: &BackupBlob, place: &BackupPlace) -> bool {
        let is_there = |pack| self.packs.contains(&(place.generation, pack));
        place.generation == self.generation || packs_of(blob, place).all(is_there)
    }

    /// Remembers where blobs are, which only spares sending them again.
    fn remember(&self, placed: Vec<Placed>) -> Result<(), Error> {
        match self.feed.remember(placed) {
            Err(StoreError::Closed) => Err(StoreError::Closed.into()),
            _ => Ok(()),
        }
    }
}
