//! Filters evaluated on dictionary-encoded columns; the result is a set of slots.
//!
//! Each metadata key that filters use has a column with one code a slot, the number of its value among
//! the distinct values. A condition is then evaluated once for each distinct value, not once for each
//! vector. The vector in a slot never changes while readers can see it, so columns are only extended: the
//! next query with that key adds the new slots.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::ops::Bound;

use liteio_vector::{Slot, SlotSet};

use super::cache::{Cache, Derived};
use super::filter::{Condition, Filter};
use super::index::Index;
use super::referenced::{Moment, Version};
use crate::error::StoreError;
use crate::kv::{Read, Snapshot};
use crate::meta::space;
use crate::meta::vector::VectorRecord;
use crate::meta::vector_metadata::{Metadata, MetadataValue};

/// The slot has no code yet.
const UNKNOWN: u32 = 0;
/// The vector has no value.
const ABSENT: u32 = 1;
/// Code of the first value.
const FIRST: u32 = 2;

/// Bytes of a value beside its texts, with its place in the table.
const VALUE_BYTES: usize = 96;

/// The values of one metadata key.
#[derive(Debug, Default)]
pub(crate) struct Column {
    codes: Vec<u32>,
    values: Vec<MetadataValue>,
    by_hash: HashMap<u64, u32>,
    value_bytes: usize,
    /// Version of the index whose slots all have a code.
    complete_at: Option<Version>,
}

impl Derived for Column {
    fn bytes(&self) -> usize {
        self.codes.capacity() * 4 + self.value_bytes
    }

    fn forget(&mut self, slots: &[Slot]) {
        for slot in slots {
            if let Some(code) = self.codes.get_mut(slot.number() as usize) {
                *code = UNKNOWN;
            }
        }
        // Values that no vector has any more stay in the dictionary. Start again once they dominate.
        if self.values.len() > 2 * self.codes.len() + 1024 {
            *self = Self::default();
        }
    }
}

impl Column {
    fn code(&self, slot: Slot) -> u32 {
        self.codes.get(slot.number() as usize).copied().unwrap_or(UNKNOWN)
    }

    fn set(&mut self, slot: Slot, value: Option<&MetadataValue>) {
        let code = match value {
            None => ABSENT,
            Some(value) => self.code_of(value),
        };
        let place = slot.number() as usize;
        if self.codes.len() <= place {
            self.codes.resize(place + 1, UNKNOWN);
        }
        self.codes[place] = code;
    }

    fn code_of(&mut self, value: &MetadataValue) -> u32 {
        let hash = hash(value);
        if let Some(code) = self.by_hash.get(&hash)
            && self.values[(code - FIRST) as usize] == *value
        {
            return *code;
        }
        // A value that collides with another one gets a new code each time, which only costs memory.
        let code = self.values.len() as u32 + FIRST;
        self.by_hash.insert(hash, code);
        self.value_bytes += VALUE_BYTES + value.bytes() + value.scalars().len() * 32;
        self.values.push(value.clone());
        code
    }

    /// The slots of `slots` whose value meets the condition.
    fn select(&self, slots: &SlotSet, condition: &Condition) -> SlotSet {
        let mut allowed = vec![false, condition.matches(None)];
        allowed.extend(self.values.iter().map(|value| condition.matches(Some(value))));
        slots.iter().filter(|slot| allowed[self.code(*slot) as usize]).collect()
    }
}

fn hash(value: &MetadataValue) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(crate::meta::record::encode(1, value))
}

/// The state that filters and text searches are evaluated on: an index, a snapshot of its records, and
/// the slots of one moment.
pub(crate) struct Scope<'scope> {
    pub(crate) index: &'scope Index,
    pub(crate) snapshot: &'scope Snapshot,
    pub(crate) moment: &'scope Moment,
}

impl Scope<'_> {
    /// The slots that a filter accepts; `None` if vectors were replaced meanwhile.
    pub(crate) fn select(
        &self,
        filter: &Filter,
        cache: &Cache<Column>,
    ) -> Result<Option<SlotSet>, StoreError> {
        match self.select_by_columns(filter, cache)? {
            Outcome::Selected(slots) => Ok(Some(slots)),
            Outcome::Replaced => Ok(None),
            Outcome::TooLarge => self.select_by_records(filter),
        }
    }

    fn select_by_columns(
        &self,
        filter: &Filter,
        cache: &Cache<Column>,
    ) -> Result<Outcome, StoreError> {
        let mut slots = match filter {
            Filter::All(_) => SlotSet::clone(&self.moment.slots),
            _ => SlotSet::new(),
        };
        match filter {
            Filter::Key { key, condition } => return self.select_by_column(key, condition, cache),
            Filter::All(filters) => {
                for filter in filters {
                    match self.select_by_columns(filter, cache)? {
                        Outcome::Selected(others) => slots.intersect(&others),
                        other => return Ok(other),
                    }
                }
            }
            Filter::Any(filters) => {
                for filter in filters {
                    match self.select_by_columns(filter, cache)? {
                        Outcome::Selected(others) => slots.unite(&others),
                        other => return Ok(other),
                    }
                }
            }
        }
        Ok(Outcome::Selected(slots))
    }

    fn select_by_column(
        &self,
        key: &str,
        condition: &Condition,
        cache: &Cache<Column>,
    ) -> Result<Outcome, StoreError> {
        let entry = cache.get(self.index.id, key);
        {
            let column = entry.derived.read();
            if column.complete_at == Some(self.moment.version) {
                return Ok(Outcome::Selected(column.select(&self.moment.slots, condition)));
            }
        }
        let mut column = entry.derived.write();
        match self.complete(&mut column, key, cache.bytes_max())? {
            Completed::Yes => {}
            Completed::Replaced => return Ok(Outcome::Replaced),
            Completed::TooLarge => {
                drop(column);
                cache.remove(self.index.id, key);
                return Ok(Outcome::TooLarge);
            }
        }
        let (bytes, slots) = (column.bytes(), column.select(&self.moment.slots, condition));
        drop(column);
        cache.grown(&entry, bytes);
        Ok(Outcome::Selected(slots))
    }

    /// Adds codes for the slots that have none.
    fn complete(
        &self,
        column: &mut Column,
        key: &str,
        bytes_max: usize,
    ) -> Result<Completed, StoreError> {
        let mut is_too_large = false;
        let mut learn = |column: &mut Column, slot: Slot, metadata: &Metadata| {
            column.set(slot, metadata.get(key));
            is_too_large = column.bytes() > bytes_max;
            !is_too_large
        };
        let slots = &self.moment.slots;
        let unknown: Vec<Slot> =
            slots.iter().filter(|slot| column.code(*slot) == UNKNOWN).collect();
        let all_known = self.visit(&unknown, slots, &mut |slot, metadata| {
            column.code(slot) != UNKNOWN || learn(column, slot, metadata)
        })?;
        if is_too_large {
            return Ok(Completed::TooLarge);
        }
        if !all_known {
            return Ok(Completed::Replaced);
        }
        column.complete_at = Some(self.moment.version);
        Ok(Completed::Yes)
    }

    /// Calls `visit` with the metadata of each of `wanted`, and perhaps of others of `slots`, until it
    /// returns `false`. The result is `false` if a wanted slot has no record: its vector was replaced
    /// meanwhile.
    pub(crate) fn visit(
        &self,
        wanted: &[Slot],
        slots: &SlotSet,
        visit: &mut dyn FnMut(Slot, &Metadata) -> bool,
    ) -> Result<bool, StoreError> {
        let id = self.index.id;
        if wanted.len() * FEW < slots.count() {
            for slot in wanted {
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
        let mut missing: SlotSet = wanted.iter().copied().collect();
        let prefix = space::vectors_of(id);
        let mut cursor = self.snapshot.cursor(Bound::Included(&prefix), Bound::Unbounded)?;
        while let Some((place, value)) = cursor.next()?
            && place.starts_with(&prefix)
        {
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

    /// Evaluates the filter on every record, for columns that do not fit into memory. `None` if vectors
    /// were replaced meanwhile.
    pub(crate) fn select_by_records(&self, filter: &Filter) -> Result<Option<SlotSet>, StoreError> {
        let all: Vec<Slot> = self.moment.slots.iter().collect();
        let mut selected = SlotSet::new();
        let all_there = self.visit(&all, &self.moment.slots, &mut |slot, metadata| {
            if filter.matches(metadata) {
                selected.insert(slot);
            }
            true
        })?;
        Ok(all_there.then_some(selected))
    }
}

/// Below one vector in this many, records are looked up one by one; otherwise all are scanned.
const FEW: usize = 8;

/// Result of applying a filter.
enum Outcome {
    Selected(SlotSet),
    /// Vectors were replaced meanwhile.
    Replaced,
    /// The values of a key do not fit into memory.
    TooLarge,
}

enum Completed {
    Yes,
    Replaced,
    TooLarge,
}
