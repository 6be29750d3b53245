//! The maker of codes: the only writer of the table of partitions, one small step at a time.
//!
//! ```text
//! slots without a code ──► batch: nearest centroid ──► partition ──► too large: two centroids,
//! drain
//!                                        ▲                   │        too small: drain
//!                                        └─── drain ◄────────┘
//!  65,536 vectors ──► train: k-means over a sample ──► new centroids, drain the old partition
//! ```
//!
//! *Draining* is the only way in which entries move: the partition accepts no more entries, and its
//! own go to the nearest other centroid. After each step the table is published as a snapshot, so a
//! search finds every entry exactly once, whatever moves meanwhile. When a slot is written again,
//! its old entry loses the slot in the step that makes the new one.

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

/// Entries per step: a few milliseconds of work.
const STEP_ENTRIES: usize = 512;

/// Partitions visited per step of compaction.
const STEP_PARTITIONS: usize = 16;

/// Smallest target size of partitions, and divisor of the square root of the number of vectors,
/// which is the target size if that is larger: a million vectors have two thousand partitions of
/// 500. Neighbours of a query are in few small partitions, but in a large part of a few large ones:
/// of 200,000 vectors in 3,000 groups a search scans 500 entries in partitions of 112, and 50,000
/// in partitions of a thousand. With still more centroids, comparing a query with them takes more
/// time than smaller partitions save.
const PARTITION_MIN: usize = 64;
const PARTITION_SHARE: usize = 2;

/// Smallest target size of coarse partitions, for data where searches probe most partitions, such
/// as unrelated vectors: each probe has a fixed cost.
const COARSE_MIN: usize = 1_024;

/// Multiple of the target size at which a partition is split. After a split, vectors of
/// neighbouring partitions may be nearer to the new centroids than to their own, and stay until the
/// next training. So splits are kept rare.
const SPLIT: usize = 4;

/// Growth of an index without partitions after which its single centroid is made again.
const GROWTH_MAX: usize = 16;

/// Growth after which centroids are trained again. If vectors arrive faster than codes are made,
/// training happens before the new ones have codes, so that they need not move. So a vector moves
/// about once, however much an index grows.
const RETRAINED_AT: usize = 2;

/// Marks a slot without an entry.
const NONE: u32 = u32::MAX;

/// The target size of partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grain {
    /// Small partitions, of which a search probes few.
    Fine,
    /// Large partitions, for data where a search probes most of them.
    Coarse,
}

#[derive(Debug)]
pub(super) struct Maker {
    /// The working copy of the published table.
    pub(super) table: Option<Table>,
    /// By slot: the partition that has its entry, or [`NONE`].
    partition_of: Vec<u32>,
    finder: Finder,
    /// Number of vectors from which the index is partitioned.
    partitions_from: usize,
    /// Number of vectors when centroids were trained.
    pub(super) trained_at: usize,
    grain: Grain,
    /// Codes of new and replaced vectors made since the last training. At `made_max`, about the
    /// number of vectors of that training, centroids are trained again: the new vectors may lie
    /// elsewhere.
    made: usize,
    made_max: usize,
    /// Vectors whose codes are being made.
    batch: Batch,
    /// Partitions that may need a split.
    grown: Vec<u32>,
    /// Next partition to compact; `None` while no compaction runs.
    next_compacted: Option<usize>,
    pub(super) pages: Pages,
    /// Codes made since the last attempt to save.
    pub(super) unsaved: usize,
    /// `true` if the file lacks some change.
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

    /// Drops all codes.
    pub(super) fn forget(&mut self) {
        *self = Self::new(self.partitions_from);
    }

    /// Takes over the codes of a file. Returns the slots in `view` that need a code, or whose code
    /// must be compared with its vector.
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
                        // A crash between the pages of a move leaves the entry in two partitions;
                        // one is enough.
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

    /// Writes the changes to the file.
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

    /// Adds the entry of a vector of the space of codes; `more` others follow, for which the
    /// segment makes room.
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

    /// Trains centroids if the table has none, if the index has grown enough, or if coarse
    /// partitions turned out to be better; `true` if it did. The next growth starts with fine
    /// partitions again, so the two never alternate at one size.
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
        // Growth is measured against the last training:
        //
        //   no table, or no centroid left    train
        //   enough vectors for partitions    train at the first time, at twice the vectors, or
        //                                    after as many changes
        //   too few vectors for partitions   one centroid, again at GROWTH_MAX times the vectors
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
        // Vectors without a code yet are among those trained with; making their first code is no
        // change.
        self.made_max = vectors + vectors - table.entries().min(vectors);
        (self.trained_at, self.made, self.grain) = (vectors.max(1), 0, grain);
        Ok(true)
    }

    /// Moves some entries of a draining partition; `false` if no partition is draining.
    ///
    /// # Errors
    /// [`VectorError::Io`] or [`VectorError::Corrupt`] if vectors cannot be read.
    pub(super) fn drain(&mut self, view: &View) -> Result<bool, VectorError> {
        let Some(table) = &mut self.table else { return Ok(false) };
        let draining = table.all().find(|(_, partition)| partition.is_draining);
        let Some(from) = draining.map(|(number, _)| number) else { return Ok(false) };
        let Some(partition) = table.change(from) else { return Ok(false) };
        // Segments are taken from the end, so the partition shrinks until none is left.
        let left = partition.segments.len().saturating_sub(STEP_ENTRIES / SEGMENT);
        let taken = partition.segments.split_off(left);
        let mut slots: Vec<u32> = Vec::new();
        for segment in &taken {
            let entries = segment.entries().map(|(slot, _)| slot);
            slots.extend(entries.filter(|slot| *slot != NO_SLOT));
        }
        partition.entries = partition.entries.saturating_sub(slots.len());
        // An entry whose slot was written again belongs to its new partition, and is dropped here.
        slots.retain(|slot| self.partition_of.get(*slot as usize) == Some(&from));
        slots.sort_unstable();
        for slot in &slots {
            // A slot that the reader leaves out below has no vector any more, and keeps no entry.
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
        // The last segment was taken, so the partition is empty.
        if left == 0 {
            table.remove(from);
        }
        self.table = Some(table);
        self.finder = finder;
        result.map(|()| true)
    }

    /// Splits a partition that has become too large; `false` if there is none.
    ///
    /// # Errors
    /// [`VectorError::Io`] or [`VectorError::Corrupt`] if vectors cannot be read.
    pub(super) fn split(&mut self, view: &View) -> Result<bool, VectorError> {
        let Some(table) = &mut self.table else { return Ok(false) };
        let Some(number) = self.grown.pop() else { return Ok(false) };
        let size = self.grain.size(table.entries());
        let Some(partition) = table.get(number) else { return Ok(true) };
        // Stale: since it was noted, the partition started to drain, or its limit was raised.
        if partition.is_draining || partition.entries < partition.split_at.max(SPLIT * size) {
            return Ok(true);
        }
        let slots: Vec<u32> = partition.slots().filter(|slot| *slot != NO_SLOT).collect();
        let entries = partition.entries;
        let divided = train::split(view, &table.encoder, &slots)?;
        let Some(partition) = table.change(number) else { return Ok(true) };
        let Some(divided) = divided else {
            // All its vectors are alike: try again at twice the size instead of at every new entry.
            partition.split_at = 2 * entries;
            return Ok(true);
        };
        table.begin_draining(number);
        for centroid in divided {
            table.add(centroid, SPLIT * size);
        }
        Ok(true)
    }

    /// Starts compaction if many entries have lost their vector.
    pub(super) fn compact_if_worthwhile(&mut self, vectors: usize) {
        let Some(table) = &self.table else { return };
        let places: usize = table.all().map(|(_, it)| it.segments.len() * SEGMENT).sum();
        // Half as many dead entries as vectors, and one partly filled segment per partition, are
        // normal.
        let full = vectors + vectors / 2 + table.count() * SEGMENT;
        if self.next_compacted.is_none() && places > full {
            self.next_compacted = Some(0);
        }
    }

    /// Compacts some partitions: drops entries without a vector, and drains partitions that have
    /// become too small. `false` if no compaction runs.
    pub(super) fn compact(&mut self, view: &View) -> bool {
        let (Some(first), Some(table)) = (self.next_compacted, &mut self.table) else {
            return false;
        };
        let end = table.numbers().min(first + STEP_PARTITIONS);
        let size = self.grain.size(table.entries());
        let mut takers = table.all().filter(|(_, partition)| !partition.is_draining).count();
        for number in first as u32..end as u32 {
            // The old partition is cloned (its segments are shared), and the live entries are
            // pushed again.
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
            // The last partition that accepts vectors must stay.
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
    /// The target size of partitions for an index of `vectors` vectors.
    fn size(self, vectors: usize) -> usize {
        match self {
            Self::Fine => (vectors.isqrt() / PARTITION_SHARE).max(PARTITION_MIN),
            Self::Coarse => vectors.isqrt().max(COARSE_MIN),
        }
    }
}

/// A checksum of a vector in 32 bits, which tells a vector from another one in the same slot.
fn mark_of(vector: &[f32]) -> u32 {
    let bits = Kernels::best().sum(vector).to_bits();
    (bits >> 32) as u32 ^ (bits as u32).rotate_left(16)
}
