//! The record in which programs before this one kept the queues of all targets.
//!
//! A start takes it over into one record for each target, and removes it. A program that knows only
//! the one record then counts the rows, and writes it again: so where there is one, it is newer
//! than the records of the targets, but for the lost rows and the numbers of before.

use std::collections::BTreeMap;
use std::ops::Bound;

use liteio_kv::{CounterRow, Read, Transaction, Write as _};

use super::{Queue, Row};
use crate::error::StoreError;
use crate::meta::key::successor;
use crate::meta::queue::{QueueRecord, read_former};
use crate::meta::space::QueueKind;
use crate::meta::{Event, ReplicationRow, space};

/// The records of all queues of a kind, by their targets. What a start has not taken over yet, as in
/// a directory that is only looked at, is among them.
///
/// # Errors
/// [`StoreError::Corrupt`] for a damaged one.
pub(super) fn all(
    from: &impl Read,
    kind: QueueKind,
) -> Result<BTreeMap<String, QueueRecord>, StoreError> {
    let mut all = read_former(from, kind)?.unwrap_or_default();
    all.extend(own(from, kind, QueueRecord::open)?);
    Ok(all)
}

/// Takes over the former records. Nothing changes where there are none.
pub(crate) fn take_over(write: &mut Transaction<'_>) -> Result<(), StoreError> {
    take_over_of::<Event>(write)?;
    take_over_of::<ReplicationRow>(write)
}

fn take_over_of<R: Row>(write: &mut Transaction<'_>) -> Result<(), StoreError> {
    let kind = R::KIND;
    let former = match read_former(write, kind) {
        Ok(None) => return Ok(()),
        // The rows are counted when the next one is queued.
        Err(StoreError::Corrupt { .. }) => BTreeMap::new(),
        former => former?.unwrap_or_default(),
    };
    let own =
        own(
            write,
            kind,
            |place, bytes| Ok(QueueRecord::decode(place, bytes)?.unwrap_or_default()),
        )?;
    for (target, record) in &own {
        let queue = Queue::<R>::of(target);
        // The other program may have added and removed rows.
        let mut counted = queue.recount(write)?;
        let before = former.get(target).copied().unwrap_or_default();
        counted.next = counted.next.max(record.next).max(before.next);
        counted.state.lost = record.state.lost.saturating_add(before.state.lost);
        write.set_counter(&queue.counter, &counted)?;
    }
    for (target, record) in former.iter().filter(|(target, _)| !own.contains_key(*target)) {
        write.set_counter(&space::queue_counter(kind, target), record)?;
    }
    Ok(write.delete(kind.former_place())?)
}

fn own(
    from: &impl Read,
    kind: QueueKind,
    decode: impl Fn(&[u8], &[u8]) -> Result<QueueRecord, StoreError>,
) -> Result<BTreeMap<String, QueueRecord>, StoreError> {
    let prefix = space::queue_counter(kind, "");
    let end = successor(&prefix);
    let upper = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let mut cursor = from.cursor(Bound::Included(&prefix), upper)?;
    let mut own = BTreeMap::new();
    while let Some((place, bytes)) = cursor.next()? {
        let target = space::split_queue_counter(place).map(|(_, target)| target.to_owned());
        let target = target.ok_or_else(|| StoreError::corrupt("the key of a queue's record"))?;
        own.insert(target, decode(place, bytes)?);
    }
    Ok(own)
}
