//! Lost blobs: files that no record references, kept for some days before they are deleted.
//!
//! An orphan is normal after a crash. But it may be the last copy of an object whose record was
//! lost, so it is set aside first:
//!
//! ```text
//!            sweep                  a store is open        seen on seven days,
//!                                   on a later day         or the disk is full
//! blobs/xx/ ──────► blobs/lost/…-1 ───────────────► …-2 … ─────────────────────────► deleted
//! ```
//! Days are counted by the store that sees them pass, one at a time, not as the difference of two
//! times. A clock that jumps forward therefore counts as one day, and one that jumps back as none.
//! A run counts its second day no earlier than after most of a day, so that a clock which is set at
//! every start counts one day per run.

use std::cmp::Reverse;
use std::io;

use liteio_disk::Disk;

use super::file_path::{self, BLOBS_DIRECTORY};
use super::{BlobError, BlobId};

/// The directory in `blobs/`.
const DIRECTORY: &str = "lost";

/// A file in `blobs/lost/`, named `ID-DAYS-DAY` with both numbers in decimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostBlob {
    /// The id of the blob.
    pub id: BlobId,
    /// Number of days on which a store has seen it here, from 1.
    pub days: u32,
    /// The last of these days, counted from 1970.
    pub day: u64,
}

/// The lost blobs of a store, as of the last look at the disk.
#[derive(Debug, Default)]
pub struct LostBlobs {
    /// The blobs, the next one to delete last; `None` until they are listed.
    pub known: Option<Vec<LostBlob>>,
    /// Monotonic time at which this run last counted a day.
    pub counted_ms: Option<u64>,
}

impl LostBlob {
    /// The path of the file.
    pub fn path(&self) -> String {
        format!("{}/{}-{}-{}", directory(), self.id, self.days, self.day)
    }

    /// The sort key of the deletion order: the next one to delete sorts last.
    pub fn age(&self) -> (u32, Reverse<u64>) {
        (self.days, Reverse(self.day))
    }

    fn parse(name: &str) -> Option<Self> {
        let (id, numbers) = name.split_once('-')?;
        let index = file_path::parse_directory(id.get(..2)?)?;
        let (days, day) = numbers.split_once('-')?;
        let id = file_path::parse_name(index, id)?;
        Some(Self { id, days: days.parse().ok()?, day: day.parse().ok()? })
    }
}

fn directory() -> String {
    format!("{BLOBS_DIRECTORY}/{DIRECTORY}")
}

/// Moves the file of an orphan to `blobs/lost/` on day `day`. Durable after [`sync`]; before it, a
/// power cut may bring the old name back.
///
/// # Errors
/// [`BlobError::NoSpace`], [`BlobError::Poisoned`] or [`BlobError::Io`].
pub fn set_aside(disk: &dyn Disk, id: &BlobId, day: u64) -> Result<(), BlobError> {
    let lost = LostBlob { id: *id, days: 1, day };
    let moved = disk.create_dir(&directory()).and_then(|()| {
        // A power cut during the last sweep may have left both names to one file. Renaming one of
        // two names of a file to the other has no effect (POSIX), so the second name is removed
        // first.
        ignore_missing(disk.remove(&lost.path()))?;
        disk.rename(&file_path::blob_path(id), &lost.path())
    });
    moved.map_err(|error| BlobError::from_write(disk, error))
}

fn ignore_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Makes the names of lost blobs durable.
///
/// # Errors
/// [`BlobError::Poisoned`] or [`BlobError::Io`].
pub fn sync(disk: &dyn Disk) -> Result<(), BlobError> {
    let synced = disk.sync_dir(&directory()).and_then(|()| disk.sync_dir(BLOBS_DIRECTORY));
    synced.map_err(|error| BlobError::from_write(disk, error))
}

/// All lost blobs, in no particular order.
///
/// # Errors
/// [`BlobError::Io`].
pub fn list(disk: &dyn Disk) -> Result<Vec<LostBlob>, BlobError> {
    match disk.list(&directory()) {
        Ok(entries) => Ok(entries.iter().filter_map(|it| LostBlob::parse(&it.name)).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(BlobError::from_write(disk, error)),
    }
}

/// Counts a day on which the blob was seen, by renaming its file.
///
/// # Errors
/// [`BlobError::NoSpace`], [`BlobError::Poisoned`] or [`BlobError::Io`].
pub fn count_day(disk: &dyn Disk, lost: &LostBlob, day: u64) -> Result<LostBlob, BlobError> {
    let seen = LostBlob { days: lost.days.saturating_add(1), day, ..*lost };
    let renamed = disk.rename(&lost.path(), &seen.path());
    renamed.map_err(|error| BlobError::from_write(disk, error))?;
    Ok(seen)
}

/// Deletes a lost blob. A missing one is no error.
///
/// # Errors
/// [`BlobError::Poisoned`] or [`BlobError::Io`].
pub fn delete(disk: &dyn Disk, lost: &LostBlob) -> Result<(), BlobError> {
    let removed = ignore_missing(disk.remove(&lost.path()));
    removed.map_err(|error| BlobError::from_write(disk, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_blob_and_its_days_and_other_names_are_not_ours() {
        let lost = LostBlob { id: BlobId([0xab; 16]), days: 3, day: 20_415 };
        let path = lost.path();
        assert_eq!(path, format!("blobs/lost/{}-3-20415", "ab".repeat(16)));
        let name = path.rsplit_once('/').expect("a directory").1;
        assert_eq!(LostBlob::parse(name), Some(lost));
        let id = "ab".repeat(16);
        for name in ["", "a-1-2", "ü-1-2", &id, &format!("{id}-1"), &format!("{id}-x-2")] {
            assert_eq!(LostBlob::parse(name), None, "{name:?}");
        }
    }
}
