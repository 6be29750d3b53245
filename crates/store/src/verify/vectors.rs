//! Verification of vectors: every record is compared with its slot.

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;

use liteio_kv::Read;
use liteio_vector::{Slot, VectorError, vector_crc};

use super::{Damage, Remedy, VerifyReport};
use crate::error::StoreError;
use crate::indexes::{Index, OpenIndex};
use crate::meta::space;
use crate::meta::vector::VectorRecord;
use crate::meta::vector_log::{Change, LogHead};
use crate::name::IndexId;
use crate::store::Store;
use crate::vectors::Entries;

/// The verification of vectors.
#[derive(Default)]
pub(super) struct VectorVerifier {
    indexes: HashMap<IndexId, Index>,
    /// The index of the last record. Records of an index are consecutive, so it stays open.
    open: Option<(IndexId, Arc<OpenIndex>)>,
    /// Damaged indexes with the damage; `None` once it was reported.
    damaged_indexes: HashMap<IndexId, Option<String>>,
}

impl VectorVerifier {
    pub(super) fn new(store: &Store) -> Result<Self, StoreError> {
        let indexes = Index::all(store)?;
        Ok(Self { indexes, open: None, damaged_indexes: HashMap::new() })
    }

    /// `true` for keys of vector records, by their first byte.
    pub(super) fn is_for(tag: u8) -> bool {
        let spaces = [
            space::ALL_VECTORS,
            space::ALL_VECTOR_SLOTS,
            space::ALL_VECTOR_LOGS,
            space::ALL_VECTOR_CHANGES,
        ];
        spaces.contains(&&[tag][..])
    }

    /// Damaged indexes (their files cannot be read at all) that were not returned before.
    pub(super) fn take_damaged_indexes(&mut self) -> impl Iterator<Item = Damage> + '_ {
        let untold = |(id, what): (_, &mut Option<String>)| Some((id, what.take()?));
        self.damaged_indexes.iter_mut().filter_map(untold).map(|(id, what)| {
            match self.indexes.get(id) {
                Some(index) => damage(index, &what),
                None => nameless(what),
            }
        })
    }

    /// Checks a record, if it belongs to a vector.
    pub(super) fn verify(
        &mut self,
        store: &Store,
        place: &[u8],
        value: &[u8],
        report: &mut VerifyReport,
    ) -> Result<Option<Damage>, StoreError> {
        if let Some(id) = space::split_vector_log(place) {
            return self.verify_log(store, id, place, value, report);
        }
        if let Some((id, _)) = space::split_vector_change(place) {
            return self.verify_change(store, id, place, value, report);
        }
        let vector = space::split_vector(place);
        let slot = space::split_vector_slot(place);
        let Some(id) = vector.map(|it| it.0).or(slot.map(|it| it.0)) else {
            return Ok(None);
        };
        // A deleted index: the reclaimer removes its records.
        let Some(index) = self.indexes.get(&id).cloned() else { return Ok(None) };
        let what = match (vector, slot) {
            (Some((_, key)), _) => {
                report.vectors += 1;
                report.bytes += u64::from(index.dimension) * 4;
                self.verify_vector(store, &index, key, value)?
            }
            (None, Some((_, slot))) => verify_slot(store, &index, slot, value)?,
            (None, None) => None,
        };
        let Some(what) = what else { return Ok(None) };
        // No damage if the vector was replaced while it was checked.
        let snapshot = store.snapshot()?;
        let is_still_there = snapshot.get(place)?.is_some_and(|found| *found == *value);
        Ok(is_still_there.then(|| damage(&index, &what)))
    }

    /// Reads the head of the log of an index, its newest snapshot, and that no change is missing.
    fn verify_log(
        &self,
        store: &Store,
        id: IndexId,
        place: &[u8],
        value: &[u8],
        report: &mut VerifyReport,
    ) -> Result<Option<Damage>, StoreError> {
        let Some(index) = self.indexes.get(&id) else { return Ok(None) };
        let head = match LogHead::decode(place, value) {
            Ok(head) => head,
            Err(error) => return Ok(Some(damage(index, &error.to_string()))),
        };
        // Of one moment with the head, unless that is newer now, which the next verification looks at.
        let _section = store.shared().cluster.reading();
        let snapshot = store.snapshot()?;
        if snapshot.get(place)?.is_none_or(|now| *now != *value) {
            return Ok(None);
        }
        let lower = space::vector_change(id, head.kept_from.number + 1);
        let upper = space::vector_change(id, head.position.number + 1);
        let mut rows = snapshot.cursor(Bound::Included(&lower), Bound::Excluded(&upper))?;
        let mut number = head.kept_from.number;
        while let Some((row, _)) = rows.next()? {
            number += 1;
            if space::split_vector_change(row) != Some((id, number)) {
                break;
            }
        }
        drop(rows);
        if number != head.position.number {
            return Ok(Some(damage(index, &format!("the change {number} is missing in its log"))));
        }
        let Some(written) = &head.snapshot else { return Ok(None) };
        let read = || -> Result<u64, StoreError> {
            let mut entries = Entries::open(store, id, written)?;
            let mut count = 0;
            loop {
                let batch = entries.next_batch()?;
                if batch.is_empty() {
                    return Ok(count);
                }
                batch.iter().try_for_each(|change| change.check(index.dimension))?;
                count += batch.len() as u64;
            }
        };
        match read() {
            Ok(vectors) => {
                report.vectors += vectors;
                report.bytes += vectors * u64::from(index.dimension) * 4;
                Ok(None)
            }
            Err(error @ (StoreError::Corrupt { .. } | StoreError::FormatTooNew { .. })) => {
                // Replaced, and deleted, meanwhile.
                let now = store.snapshot()?;
                let is_still_there = now.get(place)?.is_some_and(|found| *found == *value);
                Ok(is_still_there.then(|| damage(index, &format!("its snapshot: {error}"))))
            }
            Err(error) => Err(error),
        }
    }

    /// Reads a change of a vector.
    fn verify_change(
        &self,
        store: &Store,
        id: IndexId,
        place: &[u8],
        value: &[u8],
        report: &mut VerifyReport,
    ) -> Result<Option<Damage>, StoreError> {
        let Some(index) = self.indexes.get(&id) else { return Ok(None) };
        let read = || -> Result<Change, StoreError> {
            let (change, _) = Change::decode(place, value)?;
            change.check(index.dimension)?;
            Ok(change)
        };
        let what = match read() {
            Ok(change) => {
                if change.vector.is_some() {
                    report.vectors += 1;
                    report.bytes += u64::from(index.dimension) * 4;
                }
                return Ok(None);
            }
            Err(error) => error.to_string(),
        };
        let snapshot = store.snapshot()?;
        let is_still_there = snapshot.get(place)?.is_some_and(|found| *found == *value);
        Ok(is_still_there.then(|| damage(index, &what)))
    }

    fn verify_vector(
        &mut self,
        store: &Store,
        index: &Index,
        key: &str,
        value: &[u8],
    ) -> Result<Option<String>, StoreError> {
        if self.damaged_indexes.contains_key(&index.id) {
            return Ok(None);
        }
        let Some(open) = self.open(store, index)? else { return Ok(None) };
        let record = match VectorRecord::decode(value) {
            Ok(record) => record,
            Err(error) => return Ok(Some(format!("the record of {key:?}: {error}"))),
        };
        let named = store.snapshot()?;
        let named = named.get(&space::vector_slot(index.id, record.slot))?;
        // Record and slot must name each other, because a search finds the key by the slot.
        if named.is_none_or(|named| *named != *key.as_bytes()) {
            return Ok(Some(format!("the slot of the vector {key:?} does not name it")));
        }
        let mut elements = vec![0.0; index.dimension as usize];
        let read = open.vectors.slots().read_into(Slot::new(record.slot), &mut elements);
        Ok(match read {
            Ok(()) if vector_crc(&elements) == record.crc => None,
            Ok(()) => Some(format!("the elements of the vector {key:?} are not those put")),
            Err(VectorError::NoSuchSlot(slot)) => {
                Some(format!("the slot {slot} of the vector {key:?} is not there"))
            }
            Err(error) => Some(format!("the vector {key:?}: {error}")),
        })
    }

    fn open(&mut self, store: &Store, index: &Index) -> Result<Option<Arc<OpenIndex>>, StoreError> {
        if let Some((id, open)) = &self.open
            && *id == index.id
        {
            return Ok(Some(Arc::clone(open)));
        }
        self.open = None;
        match store.open_index(index) {
            Ok(open) => {
                self.open = Some((index.id, Arc::clone(&open)));
                Ok(Some(open))
            }
            // Deleted meanwhile.
            Err(StoreError::NoSuchIndex { .. }) => Ok(None),
            Err(StoreError::Closed) => Err(StoreError::Closed),
            Err(error) => {
                // Every record of the index would fail in the same way, so it is reported once.
                self.damaged_indexes.insert(index.id, Some(error.to_string()));
                Ok(None)
            }
        }
    }
}

fn verify_slot(
    store: &Store,
    index: &Index,
    slot: u32,
    key: &[u8],
) -> Result<Option<String>, StoreError> {
    let snapshot = store.snapshot()?;
    let place = [&space::vectors_of(index.id)[..], key].concat();
    let named = snapshot.get(&place)?.map(|record| VectorRecord::slot_of(&record)).transpose()?;
    let key = String::from_utf8_lossy(key);
    Ok((named != Some(slot))
        .then(|| format!("the slot {slot} names the vector {key:?}, which has not got it")))
}

fn damage(index: &Index, what: &str) -> Damage {
    let what = format!("vectors {}/{}: {what}", index.bucket, index.name);
    nameless(what)
}

fn nameless(what: String) -> Damage {
    Damage { bucket: None, key: None, version: None, what, remedy: Remedy::None }
}
