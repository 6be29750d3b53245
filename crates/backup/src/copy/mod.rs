//! Copies of a data directory into another one, of one moment.
//!
//! ```text
//!  feed ──► pages and records ──► DIR.copying ─┐
//!  blobs ─► linked, or copied ────────────────┴─► exchanged with DIR ─► the former copy is removed
//! ```
//! `DIR` is a whole copy at every moment, or there is none yet. `DIR.copying` has the file `restoring` until it is whole, so
//! no store opens it, and a copy that was interrupted goes on with what is there. Blobs that the former copy has are linked
//! from it, so that a later copy moves the metadata and the new blobs only.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use liteio_disk::{
    DirectoryLock, is_mount_point, remove_directory, rename_directory, replace_directory,
};
use liteio_store::backup::{
    BackupBlob, BackupFeed, BlobSource, COPY_FILE, CopyTarget, FeedError, Restore, RestoredPart,
    copy_target,
};
use liteio_store::{Store, StoreConfig, StoreError};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::is_of_one_blob;
use crate::limits::{CHUNK_BYTES, SEGMENT_BYTES, WAITING_BYTES};

/// Blobs that are copied in the order of their ids, which is the order of short ones on the disk.
const BLOBS_AT_ONCE: usize = 100_000;
/// Reasons that are told.
const REASONS_MAX: usize = 20;

/// The result of [`copy`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copied {
    /// The moment of the copy, in milliseconds since 1970.
    pub time_ms: u64,
    /// Number of the pairs of metadata that were read, bodies of small objects included.
    pub pairs: u64,
    /// Their bytes, and those of the records that were written meanwhile.
    pub pair_bytes: u64,
    /// Number of blobs that were linked.
    pub linked: u64,
    /// Number of blobs that were copied.
    pub copied: u64,
    /// Their bytes.
    pub copied_bytes: u64,
    /// Number of vectors.
    pub vectors: u64,
    /// Number of damaged pairs, blobs and vectors, which the copy lacks.
    pub left_out: u64,
    /// The first reasons.
    pub reasons: Vec<String>,
}

/// Progress, called now and then with what was done so far. `false` ends the copy with [`Error::Stopped`].
pub type CopyProgress<'a> = &'a mut dyn FnMut(&Copied) -> bool;

/// Makes `directory`, an absolute path, a copy of a store in use, of one moment within the call. `data` is the directory of
/// the store, whose blobs are linked if it is on the same file system.
///
/// Content that is deleted meanwhile is kept to the end of the call.
///
/// # Errors
/// [`Error::Refused`] if the directory is neither empty nor a copy of this store, or if another copy is being made; the
/// errors of reads and writes. The same call goes on where this one ended.
pub fn copy(
    store: &Store,
    data: &Path,
    directory: &Path,
    progress: CopyProgress<'_>,
) -> Result<Copied, Error> {
    let feed = store.copy_feed(WAITING_BYTES)?;
    let place = Place::new(directory)?;
    let directory = &*place.directory;
    let created_ms = store.created_ms()?;
    let former = place.prepare(created_ms)?;
    let mut sources = Vec::new();
    if former.is_some() {
        sources.push(BlobSource::open_copy(directory)?);
    }
    sources.push(BlobSource::open(data)?);
    let to = Restore::begin(StoreConfig::directory(&place.copying))?;
    let options = Options { sources, created_ms, ..Options::default() };
    let copied = fill(&feed, to, options, progress)?;
    drop(feed);
    replace_directory(&place.copying, directory).map_err(|error| place.failed(&error))?;
    drop(former);
    place.retire(&place.copying)?;
    Ok(copied)
}

/// The directories of a copy.
struct Place {
    directory: PathBuf,
    /// The next copy.
    copying: PathBuf,
    /// The former copy, while it is removed.
    removing: PathBuf,
}

impl Place {
    fn new(directory: &Path) -> Result<Self, Error> {
        // The directory itself is replaced, and not a link to it.
        let real = directory.canonicalize().ok().filter(|_| directory.is_absolute());
        let directory = real.as_deref().unwrap_or(directory);
        let sibling = |suffix: &str| {
            let mut name = directory.file_name()?.to_owned();
            name.push(suffix);
            Some(directory.with_file_name(name))
        };
        let siblings =
            directory.is_absolute().then(|| sibling(".copying").zip(sibling(".removing")));
        let Some((copying, removing)) = siblings.flatten() else {
            let directory = directory.display();
            return Err(Error::Refused(format!("a copy needs an absolute path, not {directory}")));
        };
        Ok(Self { directory: directory.to_owned(), copying, removing })
    }

    fn failed(&self, error: &std::io::Error) -> Error {
        Error::Refused(format!("cannot make the copy {}: {error}", self.directory.display()))
    }

    /// Removes what an interrupted call has left. Returns the lock of the former copy, if there is one.
    fn prepare(&self, created_ms: u64) -> Result<Option<DirectoryLock>, Error> {
        let shown = self.directory.display();
        if is_mount_point(&self.directory).map_err(|error| self.failed(&error))? {
            return Err(Error::Refused(format!(
                "{shown} is the root of a file system, and a copy is made beside the former one: choose a directory in it"
            )));
        }
        let is_copy =
            |path: &Path| Ok::<_, Error>(copy_target(path)? == CopyTarget::Copy(created_ms));
        // Interrupted between two renames.
        if !self.directory.exists() && is_copy(&self.copying)? {
            let renamed = rename_directory(&self.copying, &self.directory);
            renamed.map_err(|error| self.failed(&error))?;
        }
        let former = match copy_target(&self.directory)? {
            CopyTarget::Unfinished => None,
            CopyTarget::Copy(created) if created == created_ms => {
                Some(DirectoryLock::acquire(&self.directory).map_err(|error| self.failed(&error))?)
            }
            CopyTarget::Copy(_) => {
                let what =
                    format!("{shown} is a copy of another data directory: choose another one");
                return Err(Error::Refused(what));
            }
            CopyTarget::Foreign => {
                return Err(Error::Refused(format!(
                    "{shown} is not empty, and no copy, or a server has used it since: choose another directory"
                )));
            }
        };
        let mut replaced = self.copying.as_os_str().to_owned();
        replaced.push(".replaced");
        for path in [self.copying.clone(), replaced.into()] {
            if is_copy(&path)? {
                self.retire(&path)?;
            }
        }
        if is_copy(&self.removing)? {
            remove_directory(&self.removing, COPY_FILE).map_err(|error| self.failed(&error))?;
        }
        Ok(former)
    }

    /// Removes a former copy. What an interruption leaves is removed by the next call.
    fn retire(&self, path: &Path) -> Result<(), Error> {
        if path.exists() {
            let renamed = rename_directory(path, &self.removing);
            renamed
                .and_then(|()| remove_directory(&self.removing, COPY_FILE))
                .map_err(|error| self.failed(&error))?;
        }
        Ok(())
    }
}

/// Settings and sources of a copy, beside the feed.
pub(crate) struct Options {
    /// The directories whose blobs are linked.
    pub(crate) sources: Vec<BlobSource>,
    /// The time at which the store was created, in milliseconds since 1970.
    pub(crate) created_ms: u64,
    /// Bytes of pairs that are read at once.
    pub(crate) chunk_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { sources: Vec::new(), created_ms: 0, chunk_bytes: CHUNK_BYTES }
    }
}

/// Copies everything that is fed, and finishes the copy.
pub(crate) fn fill(
    feed: &BackupFeed,
    to: Restore,
    options: Options,
    progress: CopyProgress<'_>,
) -> Result<Copied, Error> {
    let Options { sources, created_ms, chunk_bytes } = options;
    let mut copied = Copied::default();
    let mut go_on = |copied: &Copied| if progress(copied) { Ok(()) } else { Err(Error::Stopped) };
    let mut after: Option<Vec<u8>> = None;
    loop {
        // Each step leaves each pair as new as it was before, or newer: a page has everything that was taken earlier, and a
        // record that a page has already seen changes nothing.
        let page = feed.page(after.as_deref(), chunk_bytes)?;
        copied.pairs += page.pairs;
        copied.pair_bytes += page.changes.len() as u64;
        copied.left_out += page.unreadable;
        to.apply(page.changes)?;
        take(feed, &to, &mut copied)?;
        go_on(&copied)?;
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    loop {
        let (changes, next) = feed.places(after.as_deref(), chunk_bytes)?;
        to.apply(changes)?;
        after = next;
        if after.is_none() {
            break;
        }
    }
    // Everything that was acknowledged before is among the records that are taken next.
    copied.time_ms = feed.store().now_ms();
    take(feed, &to, &mut copied)?;
    loop {
        let mut missing = to.missing(&RestoredPart::Everything, after.as_deref(), BLOBS_AT_ONCE)?;
        missing.blobs.sort_unstable_by_key(|(blob, _)| *blob);
        for (blob, _) in missing.blobs {
            copy_blob(feed, &to, &sources, blob, &mut copied)?;
            go_on(&copied)?;
        }
        after = missing.next;
        if after.is_none() {
            break;
        }
    }
    to.mark_copy(created_ms)?;
    let report = to.finish()?;
    copied.vectors = report.vectors;
    copied.left_out += report.left_out;
    Ok(copied)
}

/// Applies the records since the last call.
fn take(feed: &BackupFeed, to: &Restore, copied: &mut Copied) -> Result<(), Error> {
    loop {
        let batch = feed.take(SEGMENT_BYTES).map_err(|error| match error {
            FeedError::Behind => Error::Refused(format!("{error}: try again when less is written")),
            FeedError::Store(error) => error.into(),
        })?;
        copied.left_out += batch.unreadable;
        for record in batch.records {
            copied.pair_bytes += record.changes.len() as u64;
            to.apply(record.changes.into())?;
        }
        if !batch.has_more {
            return Ok(());
        }
    }
}

fn copy_blob(
    feed: &BackupFeed,
    to: &Restore,
    sources: &[BlobSource],
    blob: BackupBlob,
    copied: &mut Copied,
) -> Result<(), Error> {
    for source in sources {
        if to.link_blob(&blob, source)? {
            copied.linked += 1;
            return Ok(());
        }
    }
    let mut pieces = feed.blob_pieces(&blob);
    let mut damaged = None;
    let written = to.write_blob(&blob, &mut || {
        let piece = pieces.next();
        damaged = piece.as_ref().err().filter(|error| is_of_one_blob(error)).cloned();
        piece
    });
    match (written, damaged) {
        (Ok(()), _) => {
            copied.copied += 1;
            copied.copied_bytes += blob.bytes;
            Ok(())
        }
        // It is damaged, and its object stays without it; the others are not.
        (Err(_), Some(damage)) => {
            copied.left_out += 1;
            if copied.reasons.len() < REASONS_MAX {
                copied.reasons.push(damage.to_string());
            }
            Ok(())
        }
        (Err::<_, StoreError>(error), None) => Err(error.into()),
    }
}
