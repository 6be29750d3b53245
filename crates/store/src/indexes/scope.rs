//! The records of an index, as one query sees them.

use liteio_kv::{Read, Snapshot};
use liteio_vector::{Slot, SlotSet};

use super::filter::Filter;
use super::index::Index;
use super::referenced::Moment;
use crate::error::StoreError;
use crate::meta::space;
use crate::meta::vector::VectorRecord;
use crate::meta::vector_metadata::Metadata;

/// Part of the vectors below which records are looked up one by one: one in this many. From there
/// on all records are scanned.
const FEW: usize = 8;

/// The state on which filters and text searches are evaluated: an index, a snapshot of its records,
/// and the slots of one moment.
pub(crate) struct Scope<'scope> {
    pub(crate) index: &'scope Index,
    pub(crate) snapshot: &'scope Snapshot,
    pub(crate) moment: &'scope Moment,
}

impl Scope<'_> {
    /// Calls `visit` with the metadata of each wanted slot, and perhaps of other slots in `slots`,
    /// until it returns `false`. The result is `false` if a wanted slot has no record: its vector
    /// was replaced meanwhile.
    pub(crate) fn visit(
        &self,
        wanted: &[Slot],
        slots: &SlotSet,
        visit: &mut dyn FnMut(Slot, &Metadata) -> bool,
    ) -> Result<bool, StoreError> {
        let id = self.index.id;
        if wanted.len() * FEW < slots.count() {
            for slot in wanted {
                // Two lookups: the key by the slot, then the record by the key, which names its
                // slot.
                let Some(key) = self.snapshot.get(&space::vector_slot(id, slot.number()))? else {
                    return Ok(false);
                };
                let place = [&space::vectors_of(id)[..], &key].concat();
                let Some(bytes) = self.snapshot.get(&place)? else { return Ok(false) };
                let record = VectorRecord::decode(&bytes)?;
                if record.slot != slot.number() {
                    return Ok(false);
                }
                if !visit(*slot, &record.metadata) {
                    return Ok(true);
                }
            }
            return Ok(true);
        }
        // One pass in the order of the keys, instead of two lookups for each slot.
        let mut missing: SlotSet = wanted.iter().copied().collect();
        let prefix = space::vectors_of(id);
        let mut cursor = space::within(self.snapshot, &prefix)?;
        while let Some((_, value)) = cursor.next()? {
            let record = VectorRecord::decode(value)?;
            let slot = Slot::new(record.slot);
            if !slots.contains(slot) {
                continue;
            }
            missing.remove(slot);
            if !visit(slot, &record.metadata) {
                return Ok(true);
            }
        }
        Ok(missing.is_empty())
    }

    /// Evaluates the filter on every record, for columns that do not fit into memory. `None` if
    /// vectors were replaced meanwhile.
    pub(crate) fn select_by_records(&self, filter: &Filter) -> Result<Option<SlotSet>, StoreError> {
        let all: Vec<Slot> = self.moment.slots.iter().collect();
        self.select_records(&all, filter)
    }

    /// The slots of `wanted` whose records the filter accepts. `None` if vectors were replaced
    /// meanwhile.
    pub(crate) fn select_records(
        &self,
        wanted: &[Slot],
        filter: &Filter,
    ) -> Result<Option<SlotSet>, StoreError> {
        // The largest first, so that the set has its full length at once.
        let wanted_set: SlotSet = wanted.iter().rev().copied().collect();
        let mut selected = SlotSet::new();
        let all_there = self.visit(wanted, &self.moment.slots, &mut |slot, metadata| {
            if wanted_set.contains(slot) && filter.matches(metadata) {
                selected.insert(slot);
            }
            true
        })?;
        Ok(all_there.then_some(selected))
    }
}
