//! A batch of vectors that get codes: first the partition of each is found, then codes are made, partition by
//! partition.
//!
//! A step changes few partitions this way, and adds many entries to each. In the order of the slots it would add one
//! entry to each of hundreds, and copy the last segment of each, because searches have it. The memory of a million
//! codes was left in pieces so, 16 MB between 243.

use std::sync::Arc;

use super::super::table::Table;
use super::{Maker, STEP_ENTRIES, mark_of};
use crate::error::VectorError;
use crate::slots::{Reader, Runs, View};

/// Vectors that have no codes yet. No partition is added while there are any, so its number stays that of the same one.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Slots whose partitions are to be found.
    unplaced: Runs,
    /// In the order of partitions, the first last, as soon as nothing is unplaced.
    placed: Vec<Placed>,
}

/// The partition that was found for a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Placed {
    partition: u32,
    slot: u32,
    /// Of the vector that it was found for: another one may be in the slot now.
    mark: u32,
}

impl Batch {
    fn new(slots: Runs) -> Self {
        Self { unplaced: slots, placed: Vec::new() }
    }

    /// `true` if all of them have codes.
    fn is_done(&self) -> bool {
        self.unplaced.is_empty() && self.placed.is_empty()
    }

    /// Takes up to `count` slots whose partitions are to be found.
    fn take_unplaced(&mut self, count: u32) -> Runs {
        self.unplaced.take(count)
    }

    /// Adds what was found for slots that were taken.
    fn place(&mut self, placed: &[Placed]) {
        self.placed.extend_from_slice(placed);
        if self.unplaced.is_empty() {
            self.placed.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// Takes the next ones of one partition, up to `count` of them, in the order of their slots; none while there
    /// are slots whose partitions are to be found.
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
    /// Begins to make the codes of the vectors in `slots`; all before must have been made.
    pub(in super::super) fn begin(&mut self, slots: Runs) {
        self.batch = Batch::new(slots);
    }

    /// `true` if the vectors with which it began have codes, as far as they are visible.
    pub(in super::super) fn is_done(&self) -> bool {
        self.batch.is_done()
    }

    /// Makes some of the codes of the vectors with which it began, or finds partitions for them; returns the number
    /// of codes made.
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

    /// Finds the partitions of some vectors of the batch that have no codes.
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

    /// Makes the codes of vectors of one partition.
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
            // Those that were freed since are not read.
            let Some(place) = left.find(|placed| placed.slot == slot) else { return };
            let mark = mark_of(vector);
            if self.has_code(table, slot, mark) {
                return;
            }
            if let Some(partition) = table.change(self.partition_of(slot)) {
                partition.forget(slot);
            }
            encoder.rotate(vector, &mut rotated);
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
