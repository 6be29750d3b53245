//! Comparing the slot file of an index with its records when it is opened.

use liteio_vector::{Durability, Slot, SlotFile, SlotSet, vector_crc};

use crate::error::StoreError;
use crate::indexes::Index;
use crate::kv::{Read, Snapshot};
use crate::meta::space;
use crate::meta::vector::VectorRecord;

/// Vectors that are compared at every opening: a file of another index, or an older copy of the file, shows
/// in the first of them.
const SAMPLE: usize = 8;

const DAMAGE: &str = "vectors in it are missing, or are not those that were put";

/// Compares with their records the vectors that no commit of the file covers, and some of the others. The
/// records came after a sync of their vectors, so a difference is damage: the file is neither searched nor
/// written from then on, and its vectors can be read one by one. If those that no commit covers are whole, only
/// a superblock was damaged, and the next commit makes a new one.
///
/// # Errors
/// [`StoreError::Corrupt`] or [`StoreError::Io`] if records cannot be read, and those of the commit.
pub(super) fn with_records(
    slots: &SlotFile,
    index: &Index,
    snapshot: &Snapshot,
    used: &SlotSet,
) -> Result<(), StoreError> {
    let committed = slots.slot_count();
    let end = used.iter().last().map_or(0, |slot| slot.number() + 1);
    slots.expose(end);
    let step = used.count().div_ceil(SAMPLE).max(1);
    let uncovered = used.iter().filter(|slot| slot.number() >= committed);
    for slot in used.iter().step_by(step).chain(uncovered).chain(end.checked_sub(1).map(Slot::new))
    {
        if !is_as_put(slots, index, snapshot, slot)? {
            slots.refuse(DAMAGE);
            return Ok(());
        }
    }
    if end > committed {
        slots.ensure_slots(end).map_err(|error| index.failure(error))?;
        slots.commit(Durability::Fsync).map_err(|error| index.failure(error))?;
    }
    Ok(())
}

/// `false` if the vector in `slot` cannot be read or is another one. Records that contradict each other are
/// no damage of the file.
fn is_as_put(
    slots: &SlotFile,
    index: &Index,
    snapshot: &Snapshot,
    slot: Slot,
) -> Result<bool, StoreError> {
    let Some(key) = snapshot.get(&space::vector_slot(index.id, slot.number()))? else {
        return Ok(true);
    };
    let place = [&space::vectors_of(index.id)[..], &key].concat();
    let Some(record) = snapshot.get(&place)? else { return Ok(true) };
    let (named, crc) = VectorRecord::slot_and_crc_of(&record)?;
    if named != slot.number() {
        return Ok(true);
    }
    let mut elements = vec![0.0; index.dimension as usize];
    Ok(slots.read_into(slot, &mut elements).is_ok() && vector_crc(&elements) == crc)
}
