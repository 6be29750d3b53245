//! A store some of whose blobs are only in a backup yet: the way of a restore that serves at once.
//!
//! ```text
//!  Restore::finish_lazily ──► rows 33 ──► Store::open ──► LazyBlobs
//!                                                          │ a read of such a blob, or Store::bring_one
//!                          BlobSource ──► local file ◄─────┘
//!                                             └──► row 33 removed
//! ```
//! A blob is fetched as a whole, verified by its source, and synced before it is read. Until then a
//! reader of it waits for a thread that may block. Without a source, or if that does not answer, a
//! read fails with [`StoreError::Suspended`], never with other bytes.

mod blobs;

use std::sync::Arc;

use liteio_blob::{BlobId, BlobStore, FileBlobStore};
use liteio_disk::Durability;
use liteio_kv::{Kv, Write as _};

pub(crate) use self::blobs::LazyBlobs;
use crate::config::StoreConfig;
use crate::error::StoreError;
use crate::meta::{BackupPlace, backup_place, key, space};
use crate::store::Store;

/// A blob that is not in the directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outstanding {
    pub(crate) bytes: u64,
    pub(crate) place: Option<BackupPlace>,
}

/// The blobs of a directory, some of which may be outstanding.
pub(crate) fn blobs(
    local: Arc<FileBlobStore>,
    kv: &Kv,
    config: &StoreConfig,
) -> Result<Arc<dyn BlobStore>, StoreError> {
    use liteio_kv::Read as _;
    use std::ops::Bound;

    let snapshot = kv.snapshot()?;
    let end = key::successor(space::ALL_OUTSTANDING).unwrap_or_default();
    let lower = Bound::Included(space::ALL_OUTSTANDING);
    let mut rows = snapshot.cursor(lower, Bound::Excluded(&end))?;
    let mut outstanding = Vec::new();
    let mut brought = Vec::new();
    while let Some((row, value)) = rows.next()? {
        let id = space::split_outstanding(row)?;
        let bytes = backup_place::outstanding_bytes(value)?;
        let place = BackupPlace::read(&snapshot, &id)?;
        // At `os` a file may be torn, so that it is fetched again.
        match config.durability == Durability::Fsync && local.has_file(&BlobId(id))? {
            true => brought.push(id),
            false => outstanding.push((BlobId(id), Outstanding { bytes, place })),
        }
    }
    if outstanding.is_empty() && brought.is_empty() {
        return Ok(local);
    }
    let source = config.blob_source.clone();
    Ok(Arc::new(LazyBlobs::new(local, source, outstanding, brought)))
}

impl Store {
    /// Number of blobs that are only in the backup yet.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.shared().blobs.outstanding()
    }

    /// `true` if blobs are only in a backup, and the store was opened without it.
    #[must_use]
    pub fn lacks_backup(&self) -> bool {
        self.shared().config.blob_source.is_none() && self.outstanding() > 0
    }

    /// Brings one of the outstanding blobs into the directory. `false` if none is left. One that fails is tried again after
    /// the others. May wait for a network.
    ///
    /// # Errors
    /// [`StoreError::Suspended`] if the backup does not answer, [`StoreError::Corrupt`] if it does not
    /// have the blob whole, which is passed over until the next start; the errors of a write.
    pub fn bring_one(&self) -> Result<bool, StoreError> {
        let blobs = &self.shared().blobs;
        let fetched = blobs.bring_one();
        let brought = blobs.take_brought();
        if !brought.is_empty() {
            self.update_suspended(move |write| {
                brought.iter().try_for_each(|id| Ok(write.delete(&space::outstanding(id))?))
            })?;
        }
        Ok(fetched?)
    }
}
