//! Keeping the orphans of a sweep for some days, then deleting them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use liteio_blob::lost::{self, LostBlob};
use liteio_blob::{BlobError, BlobId};
use liteio_disk::Disk;

use super::LOOK_AGAIN_AFTER;
use crate::error::StoreError;
use crate::limits::LOST_DAYS;
use crate::store::Store;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Monotonic time between two days that one run counts. Less than a day, since a day with a change
/// of the clock (DST) is shorter.
const COUNT_EVERY_MS: u64 = 20 * 60 * 60 * 1000;

/// Fate of an orphan that cannot be moved for lack of space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WithoutSpace {
    Delete,
    Keep,
}

impl Store {
    /// Moves an orphan to `blobs/lost/`.
    ///
    /// # Errors
    /// [`StoreError::NoSpace`] if there is no space to move it, and it must be kept.
    pub(crate) fn set_aside(
        &self,
        orphan: &BlobId,
        without_space: WithoutSpace,
    ) -> Result<(), StoreError> {
        let deletes = |store: &Self| store.delete_blob(orphan, &mut Default::default());
        let Some(disk) = &self.inner.disk else { return deletes(self) };
        // The list is stale now; it is read again when needed.
        self.inner.lost.lock().known = None;
        let moved = self.shared().blobs.make_file(orphan);
        match moved.and_then(|()| lost::set_aside(&**disk, orphan, self.day())) {
            Err(BlobError::NoSpace) if without_space == WithoutSpace::Delete => {
                return deletes(self);
            }
            moved => moved?,
        }
        // An orderly close syncs its old directory.
        self.inner.removed_from.lock().insert(orphan.0[0]);
        self.shared().counters.lost_blobs.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Makes the new names of orphans durable. Otherwise an orderly close, which syncs only the
    /// directories they were removed from, could lose them.
    pub(crate) fn sync_lost(&self) -> Result<(), StoreError> {
        match &self.inner.disk {
            Some(disk) if disk.list("blobs")?.iter().any(|entry| entry.name == "lost") => {
                Ok(lost::sync(&**disk)?)
            }
            _ => Ok(()),
        }
    }

    /// The paths of all lost blobs.
    pub(crate) fn lost_paths(&self) -> Result<Vec<String>, StoreError> {
        let Some(disk) = &self.inner.disk else { return Ok(Vec::new()) };
        let mut paths: Vec<_> = lost::list(&**disk)?.iter().map(LostBlob::path).collect();
        paths.sort();
        Ok(paths)
    }

    /// Deletes lost blobs: the ones that were seen on [`LOST_DAYS`] days, on the day after; and the
    /// oldest one if there is less free space than the store reserves, since orphans must not fill
    /// the disk. One at a time, because a disk may report freed space late.
    pub(super) fn tend_lost(&self) -> Result<(), StoreError> {
        let Some(disk) = &self.inner.disk else { return Ok(()) };
        let mut lost = self.inner.lost.lock();
        let mut known = match lost.known.take() {
            Some(known) => known,
            None => {
                let mut listed = lost::list(&**disk)?;
                listed.sort_unstable_by_key(LostBlob::age);
                listed
            }
        };
        // `known` was taken out, so after an error the blobs are listed again. If a part of the log
        // was dropped, lost blobs may still be needed, and nothing is deleted.
        if self.inner.may_sweep {
            self.free_reserve(&**disk, &mut known)?;
            let today = self.day();
            let now_ms = self.shared().config.clock.monotonic_ms();
            let is_early = |counted_ms| now_ms < COUNT_EVERY_MS.saturating_add(counted_ms);
            if known.iter().any(|lost| today > lost.day) && !lost.counted_ms.is_some_and(is_early) {
                known = count_day(&**disk, known, today)?;
                lost.counted_ms = Some(now_ms);
            }
        }
        self.shared().counters.lost_blobs.store(known.len() as u64, Ordering::Relaxed);
        lost.known = Some(known);
        Ok(())
    }

    fn free_reserve(&self, disk: &dyn Disk, known: &mut Vec<LostBlob>) -> Result<(), StoreError> {
        if let Some(oldest) = known.last()
            && disk.free_bytes()? < self.shared().config.reserve_bytes
        {
            lost::delete(disk, oldest)?;
            known.pop();
        }
        Ok(())
    }

    /// Time until the next look, if at the last one there were lost blobs, space to give back, or annotations that
    /// wait for their copies.
    pub(super) fn until_later_work(&self) -> Option<Duration> {
        let is_soon = self.shared().counters.lost_blobs.load(Ordering::Relaxed) > 0
            || self.inner.is_settling.load(Ordering::Relaxed);
        if is_soon { Some(LOOK_AGAIN_AFTER) } else { self.until_next_set() }
    }

    /// The current day, counted from 1970.
    fn day(&self) -> u64 {
        self.shared().config.clock.now_ms() / DAY_MS
    }
}

/// Counts a day for each blob, and deletes the ones whose days are over. Returns the others in
/// order.
fn count_day(
    disk: &dyn Disk,
    known: Vec<LostBlob>,
    today: u64,
) -> Result<Vec<LostBlob>, BlobError> {
    let mut kept = Vec::with_capacity(known.len());
    for lost in known {
        if lost.day >= today {
            kept.push(lost);
        } else if lost.days >= LOST_DAYS {
            lost::delete(disk, &lost)?;
        } else {
            kept.push(lost::count_day(disk, &lost, today)?);
        }
    }
    kept.sort_unstable_by_key(LostBlob::age);
    Ok(kept)
}
