//! The vectors of a move: slots and records in a directory, logs in a cluster.
//!
//! Into a cluster each index gets a log that puts its vectors in the order of their keys. The rows follow from
//! the directory alone, so the same call goes on where an earlier one was interrupted, and the comparison at
//! the end is the same walk, which finds nothing to write.
//!
//! Out of a cluster the newest snapshot and the changes behind it become the rows of a backup, from which
//! [`Restore`] makes the files.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use crc_fast::{CrcAlgorithm, checksum};
use liteio_blob::BlobStore;
use liteio_kv::{Change as RowChange, Kv, Read as _, Snapshot, append_change};
use liteio_vector::{Slot, vector_crc};

use super::into::{apply, changes};
use super::{Moved, refused};
use crate::backup::Restore;
use crate::error::StoreError;
use crate::indexes::Index;
use crate::limits::PUT_VECTORS_MAX;
use crate::meta::key::successor;
use crate::meta::vector::{IndexRecord, VectorRecord};
use crate::meta::vector_log::{Change, LogHead, LogPosition, LoggedVector};
use crate::meta::{record, space};
use crate::name::IndexId;
use crate::store::Store;
use crate::vectors::Entries;

/// Rows that are removed at once.
const ROWS_AT_ONCE: usize = 1_000;
/// Bytes of the rows that are written to a directory at once.
const BYTES_AT_ONCE: usize = 4 << 20;

/// Moves the vectors of a directory into the logs of a cluster, as far as they are not there yet. Returns the
/// number of rows that it has written or removed.
///
/// # Errors
/// The errors of reads and writes.
pub(super) fn vectors_into(from: &Store, to: &Kv, moved: &mut Moved) -> Result<u64, StoreError> {
    let indexes: BTreeMap<IndexId, Index> = Index::all(from)?.into_iter().collect();
    let mut written = remove_others(to, &indexes)?;
    for index in indexes.values() {
        written += index_into(from, to, index, moved)?;
    }
    Ok(written)
}

/// Removes the logs of indexes that are not in the directory any more, from an interrupted call.
fn remove_others(to: &Kv, indexes: &BTreeMap<IndexId, Index>) -> Result<u64, StoreError> {
    let mut removed = 0;
    for all in [space::ALL_VECTOR_CHANGES, space::ALL_VECTOR_LOGS] {
        let mut lower = Bound::Included(all.to_vec());
        loop {
            let end = successor(all).unwrap_or_default();
            let snapshot = to.snapshot()?;
            let first = lower.as_ref().map(Vec::as_slice);
            let mut rows = snapshot.cursor(first, Bound::Excluded(&end))?;
            let Some((row, _)) = rows.next()? else { break };
            let id = space::split_vector_change(row).map(|(id, _)| id);
            let id = id.or_else(|| space::split_vector_log(row));
            let id = id.ok_or_else(|| StoreError::corrupt("the key of a log of vectors"))?;
            drop(rows);
            drop(snapshot);
            if !indexes.contains_key(&id) {
                removed += remove_behind(to, id, 0)?;
                apply(to, BTreeMap::from([(space::vector_log(id), None)]))?;
                removed += 1;
            }
            let last = [all, &id.0.to_be_bytes()[..], &[0xff; 9]].concat();
            lower = Bound::Excluded(last);
        }
    }
    Ok(removed)
}

fn index_into(from: &Store, to: &Kv, index: &Index, moved: &mut Moved) -> Result<u64, StoreError> {
    let open = from.open_index(index)?;
    let snapshot = from.snapshot()?;
    let mut rows = space::within(&snapshot, &space::vectors_of(index.id))?;
    let mut written = 0;
    let mut at = LogPosition::default();
    loop {
        let commit = commit_of(index, at.number);
        let mut wanted = Vec::new();
        let first = at.number + 1;
        while wanted.len() < PUT_VECTORS_MAX
            && let Some((place, value)) = rows.next()?
        {
            let (_, key) = VectorRecord::index_and_key(place)?;
            let record = VectorRecord::decode(value)?;
            let mut elements = vec![0.0; index.dimension as usize];
            let read = open.vectors.slots().read_into(Slot::new(record.slot), &mut elements);
            if read.is_err() || vector_crc(&elements) != record.crc {
                let what = format!("the vector {key:?} of {}/{}", index.bucket, index.name);
                moved.leave_out(&StoreError::corrupt(what));
                continue;
            }
            at = LogPosition { number: at.number + 1, commit };
            let place = space::vector_change(index.id, at.number);
            let vector = Some(LoggedVector { metadata: record.metadata, elements });
            let value = Change { key: key.to_owned(), vector }.encode(&place, &commit);
            moved.pairs += 1;
            moved.pair_bytes += (place.len() + value.len()) as u64;
            wanted.push((place, value));
        }
        if wanted.is_empty() {
            break;
        }
        let lower = space::vector_change(index.id, first);
        let upper = space::vector_change(index.id, at.number + 1);
        let there = pairs(&to.snapshot()?, &lower, &upper)?;
        let changes = changes(wanted, there);
        written += changes.len() as u64;
        apply(to, changes)?;
    }
    written += remove_behind(to, index.id, at.number)?;
    let head = LogHead { position: at, ..LogHead::default() };
    let place = space::vector_log(index.id);
    moved.pairs += u64::from(at.number > 0);
    if LogHead::read(&to.snapshot()?, index.id)? != head {
        written += 1;
        let value = (at.number > 0).then(|| head.encode(index.id));
        apply(to, BTreeMap::from([(place, value)]))?;
    }
    Ok(written)
}

/// The identity of the commit that a move begins behind this number: the same for each call.
fn commit_of(index: &Index, number: u64) -> [u8; 16] {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    let parts = [&index.created_ms.to_be_bytes()[..], &index.id.0.to_be_bytes()];
    let mut commit = [0; 16];
    commit[..12].copy_from_slice(&parts.concat());
    commit[12..].copy_from_slice(&number.to_be_bytes());
    commit
}

fn pairs(
    from: &Snapshot,
    lower: &[u8],
    upper: &[u8],
) -> Result<Vec<(Vec<u8>, Vec<u8>)>, StoreError> {
    let mut rows = from.cursor(Bound::Included(lower), Bound::Excluded(upper))?;
    let mut pairs = Vec::new();
    while let Some((key, value)) = rows.next()? {
        pairs.push((key.to_vec(), value.to_vec()));
    }
    Ok(pairs)
}

/// Removes the changes of an index behind this number.
fn remove_behind(to: &Kv, id: IndexId, number: u64) -> Result<u64, StoreError> {
    let mut removed = 0;
    loop {
        let snapshot = to.snapshot()?;
        let lower = space::vector_change(id, number + 1);
        let upper = successor(&space::vector_changes_of(id)).unwrap_or_default();
        let mut rows = snapshot.cursor(Bound::Included(&lower), Bound::Excluded(&upper))?;
        let mut gone = BTreeMap::new();
        while gone.len() < ROWS_AT_ONCE
            && let Some((key, _)) = rows.next()?
        {
            gone.insert(key.to_vec(), None);
        }
        if gone.is_empty() {
            return Ok(removed);
        }
        removed += gone.len() as u64;
        drop(rows);
        drop(snapshot);
        apply(to, gone)?;
    }
}

/// Moves the vectors of a cluster into the rows of a restore. Returns their number.
///
/// # Errors
/// [`StoreError::InvalidRequest`] if what was written differs from what was read; the errors of reads and writes.
pub(super) fn vectors_out(
    from: &Kv,
    blobs: &Arc<dyn BlobStore>,
    to: &Restore,
    moved: &mut Moved,
) -> Result<u64, StoreError> {
    let mut vectors = 0;
    let snapshot = from.snapshot()?;
    let end = successor(space::ALL_INDEXES).unwrap_or_default();
    let mut records = Vec::new();
    let mut rows = snapshot.cursor(Bound::Included(space::ALL_INDEXES), Bound::Excluded(&end))?;
    while let Some((_, value)) = rows.next()? {
        records.push(IndexRecord::decode(value)?);
    }
    drop(rows);
    for record in records {
        let mut target = Target::new(to, record);
        let head = LogHead::read(&snapshot, target.index.id)?;
        let mut after = LogPosition::default();
        if let Some(written) = &head.snapshot {
            after = written.position;
            let mut entries = Entries::of(blobs, target.index.id, written)?;
            loop {
                let batch = entries.next_batch()?;
                if batch.is_empty() {
                    break;
                }
                target.write(batch)?;
            }
        }
        let mut number = after.number;
        while number < head.position.number {
            let lower = space::vector_change(target.index.id, number + 1);
            let upper = space::vector_change(target.index.id, head.position.number + 1);
            // A snapshot of its own: one that lasts long may be given up.
            let snapshot = from.snapshot()?;
            let mut rows = snapshot.cursor(Bound::Included(&lower), Bound::Excluded(&upper))?;
            let (mut batch, mut bytes) = (Vec::new(), 0);
            while bytes < BYTES_AT_ONCE
                && let Some((place, value)) = rows.next()?
            {
                number += 1;
                if space::split_vector_change(place) != Some((target.index.id, number)) {
                    return Err(LogHead::gap());
                }
                bytes += value.len();
                batch.push(Change::decode(place, value)?.0);
            }
            if batch.is_empty() {
                return Err(LogHead::gap());
            }
            target.write(batch)?;
        }
        vectors += target.check(moved)?;
    }
    Ok(vectors)
}

/// The rows of an index in a directory that is made.
struct Target<'a> {
    to: &'a Restore,
    index: IndexRecord,
    /// The next slot that was never used.
    next: u32,
    count: u64,
    /// The sum of the checksums of all vectors, with their keys and metadata.
    sum: u64,
}

impl<'a> Target<'a> {
    fn new(to: &'a Restore, index: IndexRecord) -> Self {
        Self { to, index, next: 0, count: 0, sum: 0 }
    }

    fn write(&mut self, batch: Vec<Change>) -> Result<(), StoreError> {
        batch.iter().try_for_each(|change| change.check(self.index.dimension))?;
        let snapshot = self.to.kv.snapshot()?;
        let id = self.index.id;
        let mut rows = Vec::new();
        for Change { key, vector } in Change::newest(batch) {
            let old = VectorRecord::read(&snapshot, id, &key)?;
            if let Some(old) = &old {
                self.count -= 1;
                self.sum = self.sum.wrapping_sub(sum_of(&key, old));
            }
            let place = space::vector(id, &key);
            let Some(LoggedVector { metadata, elements }) = vector else {
                let Some(old) = old else { continue };
                let gone = [place, space::vector_slot(id, old.slot), space::elements(id, old.slot)];
                for key in &gone {
                    append_change(RowChange::Delete { key }, &mut rows);
                }
                continue;
            };
            let slot = old.map_or_else(
                || {
                    self.next += 1;
                    self.next - 1
                },
                |old| old.slot,
            );
            let record = VectorRecord { slot, crc: vector_crc(&elements), metadata };
            self.count += 1;
            self.sum = self.sum.wrapping_add(sum_of(&key, &record));
            let bytes: Vec<u8> =
                elements.iter().flat_map(|element| element.to_le_bytes()).collect();
            let put = [
                (place, record.encoded()),
                (space::vector_slot(id, slot), key.into_bytes()),
                (space::elements(id, slot), bytes),
            ];
            for (key, value) in &put {
                append_change(RowChange::Put { key, value }, &mut rows);
            }
            if rows.len() >= BYTES_AT_ONCE {
                self.to.apply(std::mem::take(&mut rows))?;
            }
        }
        self.to.apply(rows)
    }

    /// Compares what is there with what was written. Returns the number of vectors.
    fn check(&self, moved: &mut Moved) -> Result<u64, StoreError> {
        let snapshot = self.to.kv.snapshot()?;
        let mut rows = space::within(&snapshot, &space::vectors_of(self.index.id))?;
        let (mut count, mut sum) = (0, 0_u64);
        while let Some((place, value)) = rows.next()? {
            let (_, key) = VectorRecord::index_and_key(place)?;
            count += 1;
            sum = sum.wrapping_add(sum_of(key, &VectorRecord::decode(value)?));
            moved.pairs += 1;
            moved.pair_bytes += (place.len() + value.len()) as u64;
        }
        match (count, sum) == (self.count, self.sum) {
            true => Ok(count),
            false => Err(refused(format!(
                "the two sides differ: {} vectors at the source, {count} at the target",
                self.count
            ))),
        }
    }
}

fn sum_of(key: &str, vector: &VectorRecord) -> u64 {
    let bytes = record::append(&(key, vector.crc, &vector.metadata), Vec::new());
    checksum(CrcAlgorithm::Crc64Nvme, &bytes)
}
