//! The table of partitions: a snapshot of all codes.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::centroids::Centroids;
use super::encode::{self, Encoder};
use super::segment::{Code, NO_PAGE, NO_SLOT, SEGMENT, Segment};
use crate::slot::{Slot, SlotSet};

/// All codes, as a search sees them. A snapshot: the maker publishes a new table after each step.
/// Tables share unchanged partitions and segments.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) encoder: Arc<Encoder>,
    /// By number; `None` after a partition was removed, until its number is reused.
    partitions: Vec<Option<Arc<Partition>>>,
    /// The centroids of the partitions, by the same numbers.
    pub(crate) centroids: Centroids,
}

/// The vectors that are nearer to one centroid than to any other.
#[derive(Debug)]
pub(crate) struct Partition {
    /// Random, so that it is unique in this table's history and in its file.
    pub(super) id: u64,
    /// The centroid, in the space of codes.
    pub(crate) centroid: Arc<[f32]>,
    pub(crate) segments: Vec<Arc<Segment>>,
    /// Entries that have a slot.
    pub(crate) entries: usize,
    /// `true` while its entries move to other partitions. It accepts none.
    pub(super) is_draining: bool,
    /// The page of the centroid in the file, or [`NO_PAGE`].
    pub(super) page: AtomicU32,
    /// Number of entries at which the partition is split. Raised after a split that separated
    /// nothing.
    pub(super) split_at: usize,
}

impl Table {
    pub(super) fn new(encoder: Arc<Encoder>) -> Self {
        let centroids = Centroids::new(encoder.words());
        Self { encoder, partitions: Vec::new(), centroids }
    }

    /// One past the highest partition number, including numbers of removed partitions.
    pub(super) fn numbers(&self) -> usize {
        self.partitions.len()
    }

    /// The partitions with their numbers.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u32, &Arc<Partition>)> {
        (0..).zip(&self.partitions).filter_map(|(number, it)| Some((number, it.as_ref()?)))
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Arc<Partition>> {
        self.partitions.get(number as usize)?.as_ref()
    }

    /// The partitions that have the entries of `slots`, by slot.
    pub(crate) fn partitions_of(&self, slots: &SlotSet) -> HashMap<u32, u32> {
        let mut found = HashMap::new();
        for (number, partition) in self.all() {
            let wanted = partition.slots().filter(|slot| slots.contains(Slot::new(*slot)));
            found.extend(wanted.map(|slot| (slot, number)));
        }
        found
    }

    /// The number of partitions.
    pub(crate) fn count(&self) -> usize {
        self.all().count()
    }

    /// Entries that have a slot.
    pub(crate) fn entries(&self) -> usize {
        self.all().map(|(_, partition)| partition.entries).sum()
    }

    /// Adds an empty partition and returns its number.
    pub(super) fn add(&mut self, centroid: Arc<[f32]>, split_at: usize) -> u32 {
        // A fresh `RandomState` is seeded by the system, so its hash of nothing is a random number.
        let id = RandomState::new().build_hasher().finish();
        self.place(Partition::new(id, centroid, split_at))
    }

    /// Adds a partition and returns its number.
    pub(super) fn place(&mut self, partition: Partition) -> u32 {
        let free = self.partitions.iter().position(Option::is_none);
        let number = free.unwrap_or(self.partitions.len());
        if number == self.partitions.len() {
            self.partitions.push(None);
        }
        self.centroids.set(number as u32, &partition.centroid);
        if partition.is_draining {
            self.centroids.retire(number as u32);
        }
        self.partitions[number] = Some(Arc::new(partition));
        number as u32
    }

    /// Starts to move the entries of a partition to others.
    pub(super) fn begin_draining(&mut self, number: u32) {
        if let Some(partition) = self.change(number) {
            partition.is_draining = true;
            // The draining mark is in the page of the centroid, so that page is written again.
            *partition.page.get_mut() = NO_PAGE;
            self.centroids.retire(number);
        }
    }

    /// Removes an empty partition.
    pub(super) fn remove(&mut self, number: u32) {
        self.partitions[number as usize] = None;
        self.centroids.remove(number);
    }

    /// The centroid of a partition.
    pub(crate) fn centroid(&self, number: u32) -> Option<&[f32]> {
        self.get(number).map(|partition| &*partition.centroid)
    }

    /// A partition to be changed: copied first if a snapshot shares it.
    pub(super) fn change(&mut self, number: u32) -> Option<&mut Partition> {
        self.partitions.get_mut(number as usize)?.as_mut().map(Arc::make_mut)
    }
}

impl Partition {
    pub(super) fn new(id: u64, centroid: Arc<[f32]>, split_at: usize) -> Self {
        Self {
            id,
            centroid,
            segments: Vec::new(),
            entries: 0,
            is_draining: false,
            split_at,
            page: AtomicU32::new(NO_PAGE),
        }
    }

    /// Adds a segment with codes relative to this centroid.
    pub(super) fn push_segment(&mut self, segment: Arc<Segment>) {
        for index in 0..segment.count() {
            if segment.slot(index) != NO_SLOT {
                self.entries += 1;
            }
        }
        self.segments.push(segment);
    }

    /// Adds the code of a vector of the space of codes; `more` others follow.
    pub(super) fn push(&mut self, slot: u32, mark: u32, rotated: &[f32], more: usize) {
        self.push_code(slot, mark, &encode::encode(rotated, &self.centroid), more);
    }

    fn push_code(&mut self, slot: u32, mark: u32, code: &Code, more: usize) {
        if self.segments.last().is_none_or(|last| last.is_full()) {
            self.segments.push(Arc::new(Segment::new(code.signs.len())));
        }
        if let Some(last) = self.segments.last_mut() {
            let expected = SEGMENT.min(last.count() + 1 + more);
            if Arc::get_mut(last).is_none() {
                // A snapshot shares the segment. The copy gets room for the entries that follow, so
                // that it is not reallocated for each.
                *last = Arc::new(last.with_room_for(expected));
            }
            let last = Arc::make_mut(last);
            last.grow_to(expected);
            last.push(slot, mark, code);
        }
        self.entries += 1;
    }

    /// Adds the entries of `other` for which `is_kept` holds. Both must have the same centroid,
    /// since the codes are copied.
    pub(super) fn push_all(&mut self, other: &Self, is_kept: impl Fn(u32) -> bool) {
        for segment in &other.segments {
            for (index, (slot, mark)) in segment.entries().enumerate() {
                if slot != NO_SLOT && is_kept(slot) {
                    self.push_code(slot, mark, &segment.code(index), 0);
                }
            }
        }
    }

    /// Takes the slot from its entry, if it has one.
    pub(super) fn forget(&mut self, slot: u32) {
        if let Some((segment, index, _)) = self.find(slot) {
            self.segments[segment].forget(index);
            self.entries -= 1;
        }
    }

    /// The place of a slot's entry: segment, index and mark.
    pub(super) fn find(&self, slot: u32) -> Option<(usize, usize, u32)> {
        for (number, segment) in self.segments.iter().enumerate() {
            if let Some(index) = segment.find(slot) {
                return Some((number, index, segment.marks[index]));
            }
        }
        None
    }

    /// The slots of the entries, including [`NO_SLOT`] for those without one.
    pub(crate) fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        self.segments.iter().flat_map(|segment| segment.entries().map(|(slot, _)| slot))
    }
}

impl Clone for Partition {
    fn clone(&self) -> Self {
        Self {
            id: self.id,
            centroid: Arc::clone(&self.centroid),
            segments: self.segments.clone(),
            entries: self.entries,
            is_draining: self.is_draining,
            page: AtomicU32::new(self.page.load(Ordering::Relaxed)),
            split_at: self.split_at,
        }
    }
}
