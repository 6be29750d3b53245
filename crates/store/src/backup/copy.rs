//! Copies of a directory: a restore whose blobs are linked where that is possible.

use std::io;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use liteio_blob::{BlobId, BlobReader};
use liteio_disk::RealDisk;
use liteio_kv::{Change, Read as _, append_change};

use super::feed::BackupFeed;
use super::named::BackupBlob;
use super::restore::Restore;
use crate::directory::{self, CopyTarget};
use crate::error::StoreError;
use crate::meta::key::successor;
use crate::meta::space;

/// A directory whose blobs can be linked. They are never changed, so that both directories may have them.
#[derive(Clone, Debug)]
pub struct BlobSource {
    disk: RealDisk,
    is_durable: bool,
}

impl BlobSource {
    /// The blobs of the data directory at `path`.
    ///
    /// # Errors
    /// [`StoreError::Io`] if it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { disk: RealDisk::open_existing(path)?, is_durable: false })
    }

    /// The blobs of the copy at `path`, all of which were synced when it was finished.
    ///
    /// # Errors
    /// [`StoreError::Io`] if it cannot be opened.
    pub fn open_copy(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { is_durable: true, ..Self::open(path)? })
    }
}

/// The file by which a copy is known.
pub const COPY_FILE: &str = directory::COPY_FILE;

/// The state of the directory at `path` as the target of a copy. A missing one is empty.
///
/// # Errors
/// [`StoreError::Io`] if it cannot be read.
pub fn copy_target(path: &Path) -> Result<CopyTarget, StoreError> {
    match RealDisk::open_existing(path) {
        Ok(disk) => directory::copy_target(&disk),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(CopyTarget::Unfinished),
        Err(error) => Err(error.into()),
    }
}

impl Restore {
    /// Links a blob from another directory. `false` if that has no file of it, or if the file system cannot link it: the
    /// bytes have to be copied.
    ///
    /// # Errors
    /// The errors of a write.
    pub fn link_blob(&self, blob: &BackupBlob, from: &BlobSource) -> Result<bool, StoreError> {
        let Some(to) = &self.real else { return Ok(false) };
        // A blob has the same path in every directory.
        let link = |path: &str| to.link_from(&from.disk, path, path);
        Ok(self.blobs.link_file(&BlobId(blob.id), blob.bytes, from.is_durable, &link)?)
    }

    /// Marks the directory as a copy of the store that was created at this time, in milliseconds since 1970. The mark
    /// lasts until a store opens the directory.
    ///
    /// # Errors
    /// The errors of a write.
    pub fn mark_copy(&self, created_ms: u64) -> Result<(), StoreError> {
        directory::mark_copy(&*self.disk, created_ms)
    }
}

/// A blob being read, piece by piece.
#[derive(Debug)]
pub struct BlobPieces<'a> {
    feed: &'a BackupFeed,
    blob: BackupBlob,
    reader: Option<Arc<dyn BlobReader>>,
    position: u64,
}

impl BlobPieces<'_> {
    /// The next verified bytes; `None` at the end.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if the blob cannot be read.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator would have to remember its error"
    )]
    pub fn next(&mut self) -> Result<Option<Bytes>, StoreError> {
        let Self { feed, blob, reader, position } = self;
        if *position == blob.bytes {
            return Ok(None);
        }
        let reader = match reader {
            Some(reader) => reader,
            none => {
                let blobs = &feed.store().shared().blobs;
                none.insert(blobs.open(&BlobId(blob.id), blob.bytes)?)
            }
        };
        let piece = reader.read(*position..blob.bytes)?.freeze();
        *position += piece.len() as u64;
        Ok(Some(piece))
    }
}

impl BackupFeed {
    /// The pieces of a blob that a record names up to which the feed was read.
    #[must_use]
    pub fn blob_pieces(&self, blob: &BackupBlob) -> BlobPieces<'_> {
        BlobPieces { feed: self, blob: *blob, reader: None, position: 0 }
    }

    /// The places of blobs in backups, after the key `after`, which the pages leave out: about `bytes` bytes of changes,
    /// and the key of the last one; `None` after the last.
    ///
    /// # Errors
    /// The errors of a read.
    pub fn places(
        &self,
        after: Option<&[u8]>,
        bytes: usize,
    ) -> Result<(Vec<u8>, Option<Vec<u8>>), StoreError> {
        let snapshot = self.store().snapshot()?;
        let end = successor(space::ALL_BACKUP_PLACES).unwrap_or_default();
        let lower = after.map_or(Bound::Included(space::ALL_BACKUP_PLACES), Bound::Excluded);
        let mut rows = snapshot.cursor(lower, Bound::Excluded(&end))?;
        let mut changes = Vec::new();
        while let Some((key, value)) = rows.next()? {
            append_change(Change::Put { key, value }, &mut changes);
            if changes.len() >= bytes {
                let last = key.to_vec();
                return Ok((changes, Some(last)));
            }
        }
        Ok((changes, None))
    }
}
