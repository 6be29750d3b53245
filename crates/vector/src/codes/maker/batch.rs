//! A batch of vectors that get codes. First the partition of each vector is found, then codes are
//! made, partition by partition.
//!
//! In this order a step changes few partitions and adds many entries to each. In the order of slots
//! it would add one entry to each of hundreds of partitions, and copy the last segment of each,
//! because searches share it. The freed copies fragmented memory: with a million codes 16 MB were
//! left in pieces between 243 MB.

use std::sync::Arc;

use super::super::table::Table;
use super::{Maker, STEP_ENTRIES, mark_of};
use crate::error::VectorError;
use crate::slots::{Reader, Runs, View};

/// Vectors without codes. No partition is added while the batch is not empty, so a partition number
/// keeps its meaning.
///
/// ```text
/// unplaced slots ── find_places ──► placed, sorted by partition once all are ── encode_placed ──►
/// codes
/// ```
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Slots whose partition is not known yet.
    unplaced: Runs,
    /// Slots with a partition, in descending order once `unplaced` is empty, so that the next ones
    /// are taken from the end.
    placed: Vec<Placed>,
}

/// The partition that was found for a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Placed {
    partition: u32,
    slot: u32,
    /// The mark of the vector that the partition was found for. The slot may have another vector by
    /// now.
    mark: u32,
}

impl Batch {
    fn new(slots: Runs) -> Self {
        Self { unplaced: slots, placed: Vec::new() }
    }

    /// `true` if all vectors of the batch have codes.
    fn is_done(&self) -> bool {
        self.unplaced.is_empty() && self.placed.is_empty()
    }

    /// Takes up to `count` slots whose partition is not known yet.
    fn take_unplaced(&mut self, count: u32) -> Runs {
        self.unplaced.take(count)
    }

    /// Adds the partitions found for taken slots.
    fn place(&mut self, placed: &[Placed]) {
        self.placed.extend_from_slice(placed);
        if self.unplaced.is_empty() {
            self.placed.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// Takes the next slots of one partition, up to `count`, in ascending order. Empty while
    /// `unplaced` is not.
    fn take_placed(&mut self, count: usize) -> Vec<Placed> {
        if !self.unplaced.is_empty() {
            return Vec::new();
        }
        let Some(last) = self.placed.last() else { return Vec::new() };
        let others = self.placed.iter().rev().take(count);
        let taken = others.take_while(|placed| placed.partition == last.partition).count();
        let mut taken = self.placed.split_off(self.placed.len() - taken);
        taken.reverse();
        taken
    }
}

impl Maker {
    /// Starts to make the codes of the vectors in `slots`. The previous batch must be done.
    pub(in super::super) fn begin(&mut self, slots: Runs) {
        self.batch = Batch::new(slots);
    }

    /// `true` if the visible vectors of the batch have codes.
    pub(in super::super) fn is_done(&self) -> bool {
        self.batch.is_done()
    }

    /// Does one step of the batch: finds partitions, or makes codes. Returns the number of codes
    /// made.
    ///
    /// # Errors
    /// [`VectorError::Io`] or [`VectorError::Corrupt`] if a vector cannot be read.
    pub(in super::super) fn encode(&mut self, view: &View) -> Result<u64, VectorError> {
        let Some(mut table) = self.table.take() else { return Ok(0) };
        let before = self.made;
        let mut batch = std::mem::take(&mut self.batch);
        let mut result = self.find_places(&table, &mut batch, view);
        let mut left = STEP_ENTRIES;
        while result.is_ok() && left > 0 {
            let placed = batch.take_placed(left);
            if placed.is_empty() {
                break;
            }
            left -= placed.len();
            result = self.encode_placed(&mut table, &placed, view);
        }
        (self.table, self.batch) = (Some(table), batch);
        result.map(|()| (self.made - before) as u64)
    }

    /// Finds the partitions of some vectors of the batch, without those that have a code already.
    fn find_places(
        &mut self,
        table: &Table,
        batch: &mut Batch,
        view: &View,
    ) -> Result<(), VectorError> {
        let slots = batch.take_unplaced(STEP_ENTRIES as u32);
        let mut finder = std::mem::take(&mut self.finder);
        let (mut placed, mut rotated) = (Vec::new(), Vec::new());
        let result = Reader::new(view).read_all(slots.slots(), |slot, vector| {
            let mark = mark_of(vector);
            if self.has_code(table, slot, mark) {
                return;
            }
            table.encoder.rotate(vector, &mut rotated);
            let nearest = finder.nearest(&table.centroids, &rotated, |it| table.centroid(it));
            placed.extend(nearest.map(|partition| Placed { partition, slot, mark }));
        });
        self.finder = finder;
        batch.place(&placed);
        result
    }

    /// Makes the codes of some vectors of one partition.
    fn encode_placed(
        &mut self,
        table: &mut Table,
        placed: &[Placed],
        view: &View,
    ) -> Result<(), VectorError> {
        let mut finder = std::mem::take(&mut self.finder);
        let encoder = Arc::clone(&table.encoder);
        let mut rotated = Vec::new();
        let mut left = placed.iter();
        let slots = placed.iter().map(|placed| placed.slot);
        let result = Reader::new(view).read_all(slots, |slot, vector| {
            // The reader leaves out slots that were freed since; so does this iterator, which only
            // moves forward.
            let Some(place) = left.find(|placed| placed.slot == slot) else { return };
            let mark = mark_of(vector);
            if self.has_code(table, slot, mark) {
                return;
            }
            // The slot was written again: its entry is of the old vector.
            if let Some(partition) = table.change(self.partition_of(slot)) {
                partition.forget(slot);
            }
            encoder.rotate(vector, &mut rotated);
            // The partition may have started to drain since it was found, and the vector may be
            // another one.
            let is_taker = table.get(place.partition).is_some_and(|it| !it.is_draining);
            let number = if is_taker && place.mark == mark {
                Some(place.partition)
            } else {
                finder.nearest(&table.centroids, &rotated, |it| table.centroid(it))
            };
            let Some(number) = number else { return };
            self.put(table, number, slot, mark, &rotated, left.len());
            self.made += 1;
        });
        self.finder = finder;
        result
    }

    /// `true` if the vector with this mark has an entry.
    fn has_code(&self, table: &Table, slot: u32, mark: u32) -> bool {
        let partition = table.get(self.partition_of(slot));
        let entry = partition.and_then(|partition| partition.find(slot));
        entry.is_some_and(|(_, _, found)| found == mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_come_in_the_order_of_partitions_when_all_are_placed() {
        let mut batch = Batch::new((0..6).collect());
        let placed = |slot: u32| Placed { partition: slot % 2, slot, mark: 0 };
        let first: Vec<Placed> = batch.take_unplaced(4).slots().map(placed).collect();
        batch.place(&first);
        assert_eq!(batch.take_placed(9), [], "two are not placed");
        let second: Vec<Placed> = batch.take_unplaced(4).slots().map(placed).collect();
        assert_eq!(second.len(), 2);
        batch.place(&second);
        let mut slots = Vec::new();
        while !batch.is_done() {
            slots.push(batch.take_placed(2).iter().map(|placed| placed.slot).collect::<Vec<u32>>());
        }
        assert_eq!(slots, [vec![0, 2], vec![4], vec![1, 3], vec![5]]);
    }
}
