//! Bringing a mirror up to the head of its log.

use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use liteio_kv::{Read as _, Snapshot, Transaction, Write as _};
use liteio_vector::Slot;

use super::load::Entries;
use super::{WAIT, busy, is_damage, mirrored};
use crate::error::StoreError;
use crate::indexes::Index;
use crate::indexes::mirrors::Mirror;
use crate::meta::claim::Claim;
use crate::meta::space;
use crate::meta::vector::VectorRecord;
use crate::meta::vector_log::{Change, LogHead, LogPosition, MirrorRecord};
use crate::pending::Committed;
use crate::store::{MirrorStore, Store};

/// Changes that a mirror takes at once, and about their bytes. A commit is never divided.
pub(super) const CHANGES_AT_ONCE: usize = 2_048;
pub(super) const BYTES_AT_ONCE: usize = 16 << 20;
/// Times that a mirror is made anew for one request: once more than a damaged cache or a lost end of
/// the log needs.
const LOADS_MAX: usize = 3;

/// Changes of whole commits, one after another.
#[derive(Debug)]
struct Batch {
    changes: Vec<Change>,
    /// The position behind them.
    to: LogPosition,
}

/// The reason why a mirror could not be brought up to date.
#[derive(Debug)]
pub(super) enum Failure {
    /// The log or its snapshot could not be read.
    Log(StoreError),
    /// The mirror could not be written or read.
    Mirror(StoreError),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Log(error)
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Log(error) | Failure::Mirror(error) => error,
        }
    }
}

/// The progress of a mirror.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    pub(super) position: LogPosition,
    pub(super) bytes: u64,
}

impl Store {
    /// Brings the mirror of an index up to the head that its log has, at `began` of the
    /// [clock](crate::indexes::mirrors::Mirrors::tick) or later.
    ///
    /// # Errors
    /// [`StoreError::Suspended`] while another request makes the mirror for long; [`StoreError::Busy`] if the
    /// log changes again and again; [`StoreError::NoSuchIndex`]; the errors of reading the log and of writing
    /// the mirror.
    pub(super) fn bring_up(
        &self,
        own: &MirrorStore,
        mirrors: &Self,
        index: &Index,
        mirror: &Mirror,
        began: u64,
    ) -> Result<(), Failure> {
        let _applying = mirror.applying.try_lock_for(WAIT).ok_or_else(busy)?;
        let mut at = mirror.progress_of(index);
        if at.is_some() && mirror.was_compared_since(began) {
            // Another request has done it meanwhile.
            return Ok(());
        }
        // Nobody reads a mirror that is made anew before it is at the head: a snapshot may lack vectors
        // that later changes put.
        let mut alone = None;
        let mut loads = 0;
        let looked = loop {
            let looked = own.mirrors.tick();
            // Content of the snapshot is not deleted while it is read.
            let section = self.shared().cluster.reading();
            let (snapshot, head) = self.log_at_once(index)?;
            mirror.saw(head.position.number);
            let batch = match at {
                Some(Progress { position, .. }) if position == head.position => break looked,
                Some(Progress { position, .. }) => {
                    batch_behind(&snapshot, index, &head, &position)?
                }
                None => None,
            };
            if let (Some(Progress { bytes, .. }), Some(batch)) = (at, batch) {
                let number = batch.changes.len() as u64;
                drop(section);
                let progress = Progress { position: batch.to, bytes };
                match mirrors.apply_changes(index, batch.changes, progress, alone.is_none()) {
                    Ok(progress) => {
                        own.mirrors.counters.changes.fetch_add(number, Ordering::Relaxed);
                        if alone.is_none() {
                            mirror.reached(index, &progress);
                        }
                        at = Some(progress);
                        if batch.to == head.position {
                            break looked;
                        }
                        continue;
                    }
                    Err(error) if is_damage(&error) && loads == 0 => {
                        at = None;
                        continue;
                    }
                    Err(error) => return Err(Failure::Mirror(error)),
                }
            }
            if loads == LOADS_MAX {
                return Err(StoreError::Busy.into());
            }
            loads += 1;
            let entries = head.snapshot.as_ref().map(|it| Entries::open(self, index.id, it));
            let entries = entries.transpose()?;
            drop((section, snapshot));
            if alone.is_none() {
                alone = Some(mirror.content.write());
            }
            mirror.set(None, mirror.state().bytes);
            own.mirrors.counters.loads.fetch_add(1, Ordering::Relaxed);
            at = Some(mirrors.load(index, entries)?);
        };
        if let (Some(_), Some(progress)) = (&alone, at) {
            mirrors.complete(index, progress).map_err(Failure::Mirror)?;
            mirror.reached(index, &progress);
        }
        mirror.compared(looked);
        Ok(())
    }

    /// Takes changes into a mirror, in one transaction. `progress` has the position behind them, and the
    /// bytes before. The position is noted only if `is_complete`.
    pub(super) fn apply_changes(
        &self,
        index: &Index,
        changes: Vec<Change>,
        progress: Progress,
        is_complete: bool,
    ) -> Result<Progress, StoreError> {
        let own = mirrored(index)?;
        let (mut keys, mut metadata, mut elements) = (Vec::new(), Vec::new(), Vec::new());
        let mut deleted = Vec::new();
        for Change { key, vector } in Change::newest(changes) {
            let Some(mut vector) = vector else {
                deleted.push(key);
                continue;
            };
            keys.push(key);
            metadata.push(vector.metadata);
            elements.append(&mut vector.elements);
        }
        let bytes = Arc::new(AtomicU64::new(progress.bytes));
        let counted = Arc::clone(&bytes);
        self.place_vectors(&own, metadata, elements, |records| {
            let (own, records) = (own.clone(), Arc::clone(records));
            let committed = self.update(move |write, _| {
                write.claim(Claim::Index(own.id))?;
                own.require(write)?;
                let mut bytes = progress.bytes;
                let mut removed = HashSet::new();
                for key in deleted.iter().chain(&keys) {
                    let (slot, size) = remove(write, &own, key)?;
                    removed.extend(slot);
                    bytes = bytes.saturating_sub(size);
                }
                for (key, record) in keys.iter().zip(&*records) {
                    record.write(write, own.id, key)?;
                    bytes += size_of(write, &own, key)?;
                }
                counted.store(bytes, Ordering::Relaxed);
                if is_complete {
                    record_of(&own, Progress { bytes, ..progress }).write(write, own.id)?;
                }
                Ok(Committed::new(removed.into_iter().collect()))
            });
            committed.wait()
        })?;
        Ok(Progress { bytes: bytes.load(Ordering::Relaxed), ..progress })
    }

    /// Notes that a mirror that was made anew has everything up to this position.
    fn complete(&self, index: &Index, progress: Progress) -> Result<(), StoreError> {
        let own = mirrored(index)?;
        let noted = self.update(move |write, _| {
            own.require(write)?;
            Ok(Committed::new(record_of(&own, progress).write(write, own.id)?))
        });
        noted.wait()
    }
}

/// Removes a vector. Returns its slot and its estimated size.
fn remove(
    write: &mut Transaction<'_>,
    index: &Index,
    key: &str,
) -> Result<(Option<Slot>, u64), StoreError> {
    let size = size_of(write, index, key)?;
    let slot = VectorRecord::remove(write, index.id, key)?;
    Ok((slot.map(Slot::new), size))
}

/// The estimated size of a vector: its elements in their slot, its code, and its two rows; 0 if it is not
/// there.
fn size_of(from: &Transaction<'_>, index: &Index, key: &str) -> Result<u64, StoreError> {
    let Some(record) = from.get(&space::vector(index.id, key))? else { return Ok(0) };
    let slot = (u64::from(index.dimension) * 4).next_multiple_of(64);
    let code = u64::from(index.dimension).div_ceil(8) + 24;
    Ok(slot + code + (record.len() + 2 * key.len() + 64) as u64)
}

fn record_of(index: &Index, progress: Progress) -> MirrorRecord {
    let Progress { position, bytes } = progress;
    let (created_ms, dimension) = (index.created_ms, index.dimension);
    MirrorRecord { position, created_ms, dimension, bytes }
}

impl Mirror {
    /// The progress of a mirror of this very index.
    pub(super) fn progress_of(&self, index: &Index) -> Option<Progress> {
        let state = self.state();
        let is_of = state.of == Some((index.created_ms, index.dimension));
        let position = state.position.filter(|_| is_of)?;
        Some(Progress { position, bytes: state.bytes })
    }

    fn reached(&self, index: &Index, progress: &Progress) {
        self.restore(&record_of(index, *progress));
    }
}

/// The changes behind `at`, up to the head or so many as are taken at once; `None` if they are not there
/// any more, or `at` is not in this log.
fn batch_behind(
    snapshot: &Snapshot,
    index: &Index,
    head: &LogHead,
    at: &LogPosition,
) -> Result<Option<Batch>, StoreError> {
    let is_begin = *at == head.kept_from;
    if at.number > head.position.number || !is_begin && at.number <= head.kept_from.number {
        return Ok(None);
    }
    // The change at the position itself tells whether the log is the one that it was taken from.
    let first = if is_begin { at.number + 1 } else { at.number };
    let lower = space::vector_change(index.id, first);
    let upper = space::vector_change(index.id, head.position.number.saturating_add(1));
    let mut rows = snapshot.cursor(Bound::Included(&lower), Bound::Excluded(&upper))?;
    let mut batch = Batch { changes: Vec::new(), to: *at };
    let (mut number, mut bytes) = (first, 0);
    while let Some((place, value)) = rows.next()? {
        if space::split_vector_change(place) != Some((index.id, number)) {
            return Err(LogHead::gap());
        }
        let (change, commit) = Change::decode(place, value)?;
        change.check(index.dimension)?;
        let position = LogPosition { number, commit };
        number += 1;
        if position.number == at.number {
            if position != *at {
                return Ok(None);
            }
            continue;
        }
        let is_full = batch.changes.len() >= CHANGES_AT_ONCE || bytes >= BYTES_AT_ONCE;
        if is_full && commit != batch.to.commit {
            return Ok(Some(batch));
        }
        bytes += value.len();
        batch.changes.push(change);
        batch.to = position;
    }
    match batch.to == head.position {
        true => Ok(Some(batch)),
        false => Err(LogHead::gap()),
    }
}
