//! Comparison of the slot file of an index with its records: of some vectors when it is opened, of
//! the others when a query first meets them.

use liteio_kv::{Read, Snapshot};
use liteio_vector::{Durability, Slot, SlotFile, SlotSet, VectorError, View, vector_crc};

use super::get::damaged;
use crate::error::StoreError;
use crate::indexes::Index;
use crate::indexes::scope::Scope;
use crate::meta::space;
use crate::meta::vector::VectorRecord;

/// Number of vectors that are compared at every opening. A file of another index, or an older copy
/// of the file, already shows in them.
const SAMPLE: usize = 8;

const DAMAGE: &str = "vectors in it are missing, or are not those that were put";

/// Compares two groups of vectors with their records: a sample, and all vectors that no commit of
/// the file covers. The records came after a sync of their vectors, so a difference is damage.
///
/// If most of either group differ, the file is another one or an older copy. It is neither searched
/// nor written from then on, and its vectors can be read one by one. Otherwise a difference is
/// damage of a vector, which is an error where it is met. If the uncovered vectors are whole, only
/// a superblock was damaged, and the next commit makes a new one.
///
/// # Errors
/// [`StoreError::Corrupt`] or [`StoreError::Io`] if records cannot be read, and the errors of the
/// commit.
pub(super) fn with_records(
    slots: &SlotFile,
    index: &Index,
    snapshot: &Snapshot,
    used: &SlotSet,
) -> Result<(), StoreError> {
    let committed = slots.slot_count();
    let end = used.iter().last().map_or(0, |slot| slot.number() + 1);
    // Records may reference slots behind the end of the last readable commit, if a superblock was
    // lost.
    slots.expose(end);
    let step = used.count().div_ceil(SAMPLE).max(1);
    let uncovered = used.iter().filter(|slot| slot.number() >= committed);
    let sample = used.iter().step_by(step).chain(end.checked_sub(1).map(Slot::new));
    if most_differ(slots, index, snapshot, &mut sample.into_iter())?
        || most_differ(slots, index, snapshot, &mut uncovered.into_iter())?
    {
        slots.refuse(DAMAGE);
        return Ok(());
    }
    // The uncovered vectors are whole: a commit covers them again.
    if end > committed {
        slots.ensure_slots(end).map_err(|error| index.failure(error))?;
        slots.commit(Durability::Fsync).map_err(|error| index.failure(error))?;
    }
    Ok(())
}

fn most_differ(
    slots: &SlotFile,
    index: &Index,
    snapshot: &Snapshot,
    sample: &mut dyn Iterator<Item = Slot>,
) -> Result<bool, StoreError> {
    let (mut compared, mut differing) = (0_usize, 0_usize);
    for slot in sample {
        compared += 1;
        differing += usize::from(!is_as_put(slots, index, snapshot, slot)?);
    }
    Ok(differing * 2 > compared)
}

/// Part of the vectors from which all records are scanned: one in this many. A scan takes a small
/// part of the time of single look-ups.
const SCAN_PART: usize = 8;

/// Number of vectors that are compared at once.
const BATCH: usize = 4_096;

/// Compares with their records the vectors that a search has read, and that the open file does not
/// know to be whole. Each vector is compared once after an opening.
///
/// # Errors
/// [`StoreError::Corrupt`] names the first vector that is not the one that was put;
/// [`StoreError::IndexDamaged`].
pub(super) fn found_with_records(
    scope: &Scope<'_>,
    view: &View,
    slots: &[Slot],
) -> Result<(), StoreError> {
    let compare = |batch: &mut Vec<(Slot, u64)>| {
        let differs = view.compare(batch.drain(..)).map_err(|error| scope.index.failure(error))?;
        differs.map_or(Ok(()), |slot| Err(damage_in(scope, slot)))
    };
    let mut batch = Vec::new();
    if slots.len() * SCAN_PART < scope.moment.slots.count() {
        for slot in slots {
            let recorded = recorded(scope.index, scope.snapshot, *slot)?;
            batch.extend(recorded.map(|(_, crc)| (*slot, crc)));
        }
        return compare(&mut batch);
    }
    let slots: SlotSet = slots.iter().copied().collect();
    let prefix = space::vectors_of(scope.index.id);
    let mut cursor = space::within(scope.snapshot, &prefix)?;
    while let Some((_, record)) = cursor.next()? {
        let (slot, crc) = VectorRecord::slot_and_crc_of(record)?;
        if slots.contains(Slot::new(slot)) {
            batch.push((Slot::new(slot), crc));
        }
        if batch.len() == BATCH {
            compare(&mut batch)?;
        }
    }
    compare(&mut batch)
}

/// Error of a search.
pub(super) fn failure(scope: &Scope<'_>, error: VectorError) -> StoreError {
    match error {
        VectorError::DamagedVector(slot) => damage_in(scope, slot),
        error => scope.index.failure(error),
    }
}

/// Error that names the vector in `slot`.
fn damage_in(scope: &Scope<'_>, slot: Slot) -> StoreError {
    match recorded(scope.index, scope.snapshot, slot) {
        Ok(Some((key, _))) => damaged(&key),
        Ok(None) => scope.index.failure(VectorError::DamagedVector(slot)),
        Err(error) => error,
    }
}

/// Key and CRC of the vector in `slot`. `None` if no record references it, or records contradict
/// each other.
fn recorded(
    index: &Index,
    snapshot: &Snapshot,
    slot: Slot,
) -> Result<Option<(String, u64)>, StoreError> {
    let Some(key) = snapshot.get(&space::vector_slot(index.id, slot.number()))? else {
        return Ok(None);
    };
    let place = [&space::vectors_of(index.id)[..], &key].concat();
    let Some(record) = snapshot.get(&place)? else { return Ok(None) };
    let (named, crc) = VectorRecord::slot_and_crc_of(&record)?;
    let key = String::from_utf8_lossy(&key).into_owned();
    Ok((named == slot.number()).then_some((key, crc)))
}

/// `false` if the vector in `slot` cannot be read or is another one. Contradictory records are no
/// damage of the file.
fn is_as_put(
    slots: &SlotFile,
    index: &Index,
    snapshot: &Snapshot,
    slot: Slot,
) -> Result<bool, StoreError> {
    let Some((_, crc)) = recorded(index, snapshot, slot)? else { return Ok(true) };
    let mut elements = vec![0.0; index.dimension as usize];
    Ok(slots.read_into(slot, &mut elements).is_ok() && vector_crc(&elements) == crc)
}
