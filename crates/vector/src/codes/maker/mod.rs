//! The maker of codes: the only one that changes the table of partitions, a small step at a time.
//!
//! ```text
//!  slots without a code ──► batch: nearest centroid ──► partition ──► too large: two centroids, drain
//!                                        ▲                   │        too small: drain
//!                                        └─── drain ◄────────┘
//!  65,536 vectors ──► train: k-means over a sample ──► new centroids, drain the old partition
//! ```
//!
//! *Draining* is the one way in which entries move: the partition takes no more of them, and those that it
//! has go to the nearest other centroid. After each step the table is published as a snapshot, so a search
//! finds every entry exactly once, whatever moves meanwhile. An entry of a slot that was written again loses
//! its slot in the step that makes the new one.

mod batch;

use std::sync::Arc;

use self::batch::Batch;
use super::Home;
use super::centre::Centre;
use super::centroids::Finder;
use super::encode::Encoder;
use super::file::{Loaded, Notes, Pages, Saved};
use super::segment::{NO_SLOT, SEGMENT};
use super::table::Table;
use super::train;
use crate::distance::Kernels;
use crate::error::VectorError;
use crate::slot::Slot;
use crate::slots::{Reader, Runs, Stamp, View};

/// Entries of one step: a few milliseconds.
const STEP_ENTRIES: usize = 512;

/// Partitions that are looked at in one step of compaction.
const STEP_PARTITIONS: usize = 16;

/// The smallest size that partitions are made for, and the part of the root of all vectors that they have if that is
/// more: a million vectors have four thousand of 250. Neighbours of a query lie in few small partitions, but in a
/// large part of a few large ones: of 200,000 vectors in 3,000 groups a search scans 500 entries in partitions of 112,
/// and 50,000 in partitions of a thousand. Comparing a query with more centroids takes more time than that saves.
const PARTITION_MIN: usize = 64;
const PARTITION_SHARE: usize = 2;

/// The same where searches look at most partitions, as among unrelated vectors: each costs them some time.
const COARSE_MIN: usize = 1_024;

/// The multiple of that size at which a partition is split. Vectors of its neighbours may be nearer to the new
/// centroids than to their own, and stay where they are until the next training: so it is done rarely.
const SPLIT: usize = 4;

/// The growth of an index without partitions after which its centroid is made again.
const GROWTH_MAX: usize = 16;

/// The growth after which centroids are trained again, before the new vectors have codes if they come faster than
/// these are made: then they need not move. So a vector moves about once, however much an index grows.
const RETRAINED_AT: usize = 2;

/// Says that a slot has no entry.
const NONE: u32 = u32::MAX;

/// The size of partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grain {
    /// Small ones, of which a search looks at few.
    Fine,
    /// Large ones, where it looks at most.
    Coarse,
}

#[derive(Debug)]
pub(super) struct Maker {
    /// The working copy of what is published.
    pub(super) table: Option<Table>,
    /// The partition of each slot's entry.
    partition_of: Vec<u32>,
    finder: Finder,
    /// Vectors from which there are partitions.
    partitions_from: usize,
    /// Vectors when centroids were trained.
    pub(super) trained_at: usize,
    grain: Grain,
    /// Codes of new vectors made since, of those too that replace others. When they are as many as it was trained with,
    /// centroids are trained again: the new ones may lie elsewhere.
    made: usize,
    made_max: usize,
    /// Vectors whose codes are being made.
    batch: Batch,
    /// Partitions that may have to be split.
    grown: Vec<u32>,
    /// The next partition to be looked at for compaction.
    next_compacted: Option<usize>,
    pub(super) pages: Pages,
    /// Codes made since the last were saved, or tried to be.
    pub(super) unsaved: usize,
    /// `true` if something is not in the file.
    pub(super) is_changed: bool,
}

impl Maker {
    pub(super) fn new(partitions_from: usize) -> Self {
        Self {
            table: None,
            partition_of: Vec::new(),
            finder: Finder::default(),
            partitions_from,
            trained_at: 0,
            grain: Grain::Fine,
            made: 0,
            made_max: usize::MAX,
            batch: Batch::default(),
            grown: Vec::new(),
            next_compacted: None,
            pages: Pages::default(),
            unsaved: 0,
            is_changed: false,
        }
    }

    /// Drops everything.
    pub(super) fn forget(&mut self) {
        *self = Self::new(self.partitions_from);
    }

    /// Takes the codes that were in a file; returns the slots in `view` that need a code, or have one that is to
    /// be compared with its vector.
    pub(super) fn take(&mut self, loaded: Loaded, view: &View) -> Runs {
        let Loaded { table, pages, trained_at, grain, is_current, .. } = loaded;
        for (number, partition) in table.all() {
            for segment in &partition.segments {
                for index in 0..segment.count() {
                    let slot = segment.slot(index);
                    if slot == NO_SLOT {
                        continue;
                    }
                    if self.partition_of(slot) == NONE {
                        self.set_partition(slot, number);
                    } else {
                        // Moved while the file was written: one is enough.
                        segment.forget(index);
                    }
                }
            }
            if partition.entries >= partition.split_at {
                self.grown.push(number);
            }
        }
        (self.table, self.pages, self.trained_at) = (Some(table), pages, trained_at);
        self.made_max = trained_at;
        self.grain = grain;
        let slots = view.slots().map(Slot::number);
        slots.filter(|slot| !is_current || self.partition_of(*slot) == NONE).collect()
    }

    /// Writes what has changed to the file.
    ///
    /// # Errors
    /// The error of the disk.
    pub(super) fn save(
        &mut self,
        home: &Home,
        stamp: Option<(Stamp, u32)>,
        file_id: u64,
        notes: Notes,
    ) -> std::io::Result<()> {
        self.unsaved = 0;
        let Some(table) = &self.table else { return Ok(()) };
        let trained_at = self.trained_at;
        let saved = Saved { table, stamp, file_id, trained_at, grain: self.grain, notes };
        self.pages.save(&*home.disk, &home.path, &saved)?;
        self.is_changed = false;
        Ok(())
    }

    /// Adds the entry of a vector in the space of codes, after which as many as `more` others are to come.
    fn put(
        &mut self,
        table: &mut Table,
        number: u32,
        slot: u32,
        mark: u32,
        rotated: &[f32],
        more: usize,
    ) {
        let Some(partition) = table.change(number) else { return };
        partition.push(slot, mark, rotated, more);
        self.unsaved += 1;
        if partition.entries >= partition.split_at && !self.grown.contains(&number) {
            self.grown.push(number);
        }
        self.set_partition(slot, number);
    }

    fn partition_of(&self, slot: u32) -> u32 {
        self.partition_of.get(slot as usize).copied().unwrap_or(NONE)
    }

    pub(super) fn set_partition(&mut self, slot: u32, number: u32) {
        let index = slot as usize;
        if self.partition_of.len() <= index {
            self.partition_of.resize(index + 1, NONE);
        }
        self.partition_of[index] = number;
    }

    /// Makes the first table, or new centroids, when there are as many vectors as that takes, or when coarse ones
    /// turn out to be better; `true` if it did. Fine ones are tried again with the next growth, so that it never goes
    /// to and fro.
    ///
    /// # Errors
    /// [`VectorError::Io`] or [`VectorError::Corrupt`] if vectors cannot be read.
    pub(super) fn train(
        &mut self,
        view: &View,
        grain: Grain,
        is_over: &dyn Fn() -> bool,
    ) -> Result<bool, VectorError> {
        let vectors = view.vector_count();
        let is_enough = vectors >= self.partitions_from;
        let has_partitions = self.trained_at >= self.partitions_from;
        let is_grown = match (&self.table, is_enough) {
            (None, _) => true,
            (Some(table), _) if !table.centroids.has_takers() => true,
            (Some(_), true) => {
                let is_outgrown = vectors >= RETRAINED_AT * self.trained_at;
                !has_partitions || is_outgrown || self.made >= self.made_max
            }
            (Some(_), false) => !has_partitions && vectors >= self.trained_at * GROWTH_MAX,
        };
        let is_too_fine = is_enough && self.grain == Grain::Fine && grain == Grain::Coarse;
        if !is_grown && !is_too_fine {
            return Ok(false);
        }
        let grain = if is_grown { Grain::Fine } else { Grain::Coarse };
        let encoder = match &self.table {
            Some(table) => Arc::clone(&table.encoder),
            None => {
                let Centre { elements, unit } = Centre::of(view)?;
                Arc::new(Encoder::new(view.shape(), elements, unit))
            }
        };
        let size = grain.size(vectors);
        let count = if is_enough { (vectors / size).max(2) } else { 1 };
        let Some(trained) = train::train(view, &encoder, count, is_over)? else {
            return Ok(false);
        };
        let table = self.table.get_or_insert_with(|| Table::new(encoder));
        let old: Vec<u32> = table.all().map(|(number, _)| number).collect();
        for number in old {
            table.begin_draining(number);
        }
        let split_at = if is_enough { SPLIT * size } else { usize::MAX };
        for centroid in trained {
            table.add(centroid, split_at);
        }
        // Those that have no code yet are among the vectors that it was trained with.
        self.made_max = vectors + vectors - table.entries().min(vectors);
        (self.trained_at, self.made, self.grain) = (vectors.max(1), 0, grain);
        Ok(true)
    }

    /// Moves some entries of a partition that is draining; `false` if there is none.
    ///
    /// # Errors
    /// [`VectorError::Io`] or [`VectorError::Corrupt`] if vectors cannot be read.
    pub(super) fn drain(&mut self, view: &View) -> Result<bool, VectorError> {
        let Some(table) = &mut self.table else { return Ok(false) };
        let draining = table.all().find(|(_, partition)| partition.is_draining);
        let Some(from) = draining.map(|(number, _)| number) else { return Ok(false) };
        let Some(partition) = table.change(from) else { return Ok(false) };
        let left = partition.segments.len().saturating_sub(STEP_ENTRIES / SEGMENT);
        let taken = partition.segments.split_off(left);
        let mut slots: Vec<u32> = Vec::new();
        for segment in &taken {
            let entries = segment.entries().map(|(slot, _)| slot);
            slots.extend(entries.filter(|slot| *slot != NO_SLOT));
        }
        partition.entries = partition.entries.saturating_sub(slots.len());
        slots.retain(|slot| self.partition_of.get(*slot as usize) == Some(&from));
        slots.sort_unstable();
        for slot in &slots {
            // Those that are not read below have no vector any more.
            self.partition_of[*slot as usize] = NONE;
        }
        let Some(mut table) = self.table.take() else { return Ok(false) };
        let mut finder = std::mem::take(&mut self.finder);
        let encoder = Arc::clone(&table.encoder);
        let mut rotated = Vec::new();
        let result = Reader::new(view).read_all(slots.into_iter(), |slot, vector| {
            encoder.rotate(vector, &mut rotated);
            let nearest = finder.nearest(&table.centroids, &rotated, |it| table.centroid(it));
            if let Some(number) = nearest {
                self.put(&mut table, number, slot, mark_of(vector), &rotated, 0);
            }
        });
        if left == 0 {
            table.remove(from);
        }
        self.table = Some(table);
        self.finder = finder;
        result.map(|()| true)
    }

    /// Splits a partition that has become too large; `false` if none has.
    ///
    /// # Errors
    /// [`VectorError::Io`] or [`VectorError::Corrupt`] if vectors cannot be read.
    pub(super) fn split(&mut self, view: &View) -> Result<bool, VectorError> {
        let Some(table) = &mut self.table else { return Ok(false) };
        let Some(number) = self.grown.pop() else { return Ok(false) };
        let size = self.grain.size(table.entries());
        let Some(partition) = table.get(number) else { return Ok(true) };
        if partition.is_draining || partition.entries < partition.split_at.max(SPLIT * size) {
            return Ok(true);
        }
        let slots: Vec<u32> = partition.slots().filter(|slot| *slot != NO_SLOT).collect();
        let entries = partition.entries;
        let divided = train::split(view, &table.encoder, &slots)?;
        let Some(partition) = table.change(number) else { return Ok(true) };
        let Some(divided) = divided else {
            partition.split_at = 2 * entries;
            return Ok(true);
        };
        table.begin_draining(number);
        for centroid in divided {
            table.add(centroid, SPLIT * size);
        }
        Ok(true)
    }

    /// Begins to drop entries without a vector when there are many of them.
    pub(super) fn compact_if_worthwhile(&mut self, vectors: usize) {
        let Some(table) = &self.table else { return };
        let places: usize = table.all().map(|(_, it)| it.segments.len() * SEGMENT).sum();
        let full = vectors + vectors / 2 + table.count() * SEGMENT;
        if self.next_compacted.is_none() && places > full {
            self.next_compacted = Some(0);
        }
    }

    /// Drops the entries without a vector from some partitions, and drains those that have become too small;
    /// `false` if there is nothing to do.
    pub(super) fn compact(&mut self, view: &View) -> bool {
        let (Some(first), Some(table)) = (self.next_compacted, &mut self.table) else {
            return false;
        };
        let end = table.numbers().min(first + STEP_PARTITIONS);
        let size = self.grain.size(table.entries());
        let mut takers = table.all().filter(|(_, partition)| !partition.is_draining).count();
        for number in first as u32..end as u32 {
            let Some(old) = table.get(number).cloned() else { continue };
            let is_live = |slot: u32| {
                view.contains(Slot::new(slot))
                    && self.partition_of.get(slot as usize) == Some(&number)
            };
            let Some(partition) = table.change(number) else { continue };
            partition.segments = Vec::new();
            partition.entries = 0;
            partition.push_all(&old, is_live);
            for slot in old.slots().filter(|slot| !view.contains(Slot::new(*slot))) {
                if let Some(place) = self.partition_of.get_mut(slot as usize)
                    && *place == number
                {
                    *place = NONE;
                }
            }
            if partition.entries < size / 8 && takers > 1 && !partition.is_draining {
                table.begin_draining(number);
                takers -= 1;
            }
        }
        self.next_compacted = (end < table.numbers()).then_some(end);
        true
    }
}

impl Grain {
    /// The size of partitions for an index of so many vectors.
    fn size(self, vectors: usize) -> usize {
        match self {
            Self::Fine => (vectors.isqrt() / PARTITION_SHARE).max(PARTITION_MIN),
            Self::Coarse => vectors.isqrt().max(COARSE_MIN),
        }
    }
}

/// A number that tells a vector from another one in the same slot.
fn mark_of(vector: &[f32]) -> u32 {
    let bits = Kernels::best().sum(vector).to_bits();
    (bits >> 32) as u32 ^ (bits as u32).rotate_left(16)
}
