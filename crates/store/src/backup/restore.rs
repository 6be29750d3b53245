//! [`Restore`]: makes a directory from the pairs and blobs of a backup.
//!
//! ```text
//!  begin ─► apply, place, … ─► missing, write_blob, … ─► finish: vectors, syncs, `format`
//! ```
//! Until the end the directory has the file `restoring` and no `format`: no store opens it. A restore
//! that was interrupted begins anew, but keeps the blobs that are there.

use std::collections::HashSet;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use liteio_blob::{BlobId, BlobStore as _, FileBlobStore, Lengths, Seal};
use liteio_disk::{DirectoryLock, Disk, Durability, RealDisk};
use liteio_kv::{Change, Kv, KvConfig, Read, Write as _, changes};

use super::named::{BackupBlob, blobs_of};
use super::slots;
use crate::config::{Backend, Role, StoreConfig};
use crate::directory;
use crate::error::StoreError;
use crate::meta::annotation::{SetHead, SetId};
use crate::meta::backup_place::outstanding;
use crate::meta::bucket::{StoreRecord, require};
use crate::meta::content::Content;
use crate::meta::document::LIFECYCLE;
use crate::meta::key::successor;
use crate::meta::object::ObjectRecord;
use crate::meta::standby::StandbyPosition;
use crate::meta::{BackupPlace, space};
use crate::name::BucketName;
use crate::open::KEY_SPACE_FILE;

/// Number of blobs that are synced by one sync of the file system.
const SYNCED_AT_ONCE: usize = 1 << 10;
/// Memory for the tables of the key space: a restore writes as fast as it can.
const MEMORY_BYTES: usize = 256 << 20;

/// Rows that are looked at together.
const ROWS_AT_ONCE: usize = 1000;

/// A directory that is being restored.
pub struct Restore {
    pub(super) disk: Arc<dyn Disk>,
    pub(crate) kv: Kv,
    /// The same disk, if it is a directory of the file system.
    pub(super) real: Option<RealDisk>,
    pub(super) blobs: FileBlobStore,
    config: StoreConfig,
    /// Held to the end.
    _lock: Option<DirectoryLock>,
}

/// Blobs that records name, and that are not there yet.
#[derive(Debug, Default)]
pub struct MissingBlobs {
    /// Each with its place in the backup, if it has one.
    pub blobs: Vec<(BackupBlob, Option<BackupPlace>)>,
    /// Where the next call continues; `None` at the end.
    pub next: Option<Vec<u8>>,
}

/// The objects whose bytes are restored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RestoredPart {
    /// All.
    #[default]
    Everything,
    /// The current versions of those of a bucket whose keys begin with a prefix. The restored store is for reading them only:
    /// it has no other objects and versions, no lifecycle rules, and its figures are those of all.
    Objects {
        /// The bucket.
        bucket: BucketName,
        /// The prefix.
        prefix: String,
    },
}

impl RestoredPart {
    /// The current versions of the objects whose keys begin with `prefix`, of the bucket with this name.
    ///
    /// # Errors
    /// [`StoreError::InvalidBucketName`].
    pub fn objects(bucket: String, prefix: String) -> Result<Self, StoreError> {
        Ok(Self::Objects { bucket: BucketName::new(bucket)?, prefix })
    }

    /// The beginnings of the keys of its records.
    fn spaces(&self, from: &impl Read) -> Result<Vec<Vec<u8>>, StoreError> {
        match self {
            Self::Everything => Ok([space::ALL_CURRENT, space::ALL_HISTORY, space::ALL_PARTS]
                .map(<[u8]>::to_vec)
                .to_vec()),
            Self::Objects { bucket, prefix } => {
                Ok(vec![space::current(require(from, bucket)?.id, prefix)])
            }
        }
    }

    /// The blobs of a record. A damaged record was damaged when it was backed up, and stays for `repair`.
    fn blobs(
        &self,
        from: &impl Read,
        key: &[u8],
        value: &[u8],
    ) -> Result<Vec<BackupBlob>, StoreError> {
        let mut blobs = blobs_of(key, value).unwrap_or_default();
        // The parts of everything are records of a space of their own.
        if let Self::Objects { .. } = self
            && let Ok(Content::Parts { list, .. }) = ObjectRecord::decode_manifest(key, value)
        {
            let parts = space::parts(&list);
            let end = successor(&parts).unwrap_or_default();
            let mut cursor = from.cursor(Bound::Included(&parts), Bound::Excluded(&end))?;
            while let Some((key, value)) = cursor.next()? {
                blobs.append(&mut blobs_of(key, value).unwrap_or_default());
            }
        }
        Ok(blobs)
    }
}

/// The result of [`Restore::finish`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestoreReport {
    /// Number of vectors.
    pub vectors: u64,
    /// Number of vectors that were left out, because the backup lacks their elements: they were
    /// damaged when it was made.
    pub left_out: u64,
}

impl Restore {
    /// Begins to restore into the directory of `config`, which is created if it is missing.
    ///
    /// # Errors
    /// [`StoreError::InvalidRequest`] if the directory is not empty, unless a restore into it was
    /// interrupted; [`StoreError::InUse`], [`StoreError::NoSpace`], [`StoreError::Io`].
    pub fn begin(config: StoreConfig) -> Result<Self, StoreError> {
        let Backend::Directory(path) = config.backend.clone() else {
            let message = "a backup is restored into a directory".to_owned();
            return Err(StoreError::InvalidRequest { message });
        };
        let shown = path.display().to_string();
        let disk = RealDisk::open(&path)?;
        // Before the lock, which creates a file.
        directory::check_restore(&disk, &shown)?;
        let lock = DirectoryLock::acquire(&path).map_err(crate::open::refusal_of_lock)?;
        let real = Some(disk.clone());
        Ok(Self { real, ..Self::begin_in(Arc::new(disk), config, Some(lock))? })
    }

    /// [`Restore::begin`] on `disk`. The backend in `config` is ignored.
    ///
    /// # Errors
    /// The errors of [`Restore::begin`].
    pub fn begin_on(disk: Arc<dyn Disk>, config: StoreConfig) -> Result<Self, StoreError> {
        directory::check_restore(&*disk, "the directory")?;
        Self::begin_in(disk, config, None)
    }

    fn begin_in(
        disk: Arc<dyn Disk>,
        config: StoreConfig,
        lock: Option<DirectoryLock>,
    ) -> Result<Self, StoreError> {
        directory::begin_restore(&*disk)?;
        // Synced at the end: until then nothing counts.
        let (durability, logged_bytes_max) = (Durability::Os, 0);
        let lengths = Lengths::new(0);
        let blobs = FileBlobStore::open(Arc::clone(&disk), durability, logged_bytes_max, lengths)?;
        blobs.sync_at_once(Some(SYNCED_AT_ONCE));
        let kv_config = KvConfig {
            durability,
            cache_bytes: config.cache_bytes,
            memory_bytes: MEMORY_BYTES,
            reserve_bytes: config.reserve_bytes,
            log_bytes: MEMORY_BYTES as u64 / 2,
            ..KvConfig::default()
        };
        let kv = Kv::open(Arc::clone(&disk), KEY_SPACE_FILE, kv_config)?;
        Ok(Self { disk, kv, real: None, blobs, config, _lock: lock })
    }

    /// Applies changes, all of them or none.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] for bytes that are no changes; the errors of a write.
    pub fn apply(&self, bytes: Vec<u8>) -> Result<(), StoreError> {
        let applied = self.kv.update(move |write| -> Result<(), StoreError> {
            for change in changes(&bytes) {
                match change? {
                    Change::Put { key, value } => write.put(key, value)?,
                    Change::Delete { key } => write.delete(key)?,
                }
            }
            Ok(())
        });
        applied.wait()
    }

    /// Notes where blobs are in the backup. The store keeps that for its next backup.
    ///
    /// # Errors
    /// The errors of a write.
    pub fn place(&self, places: Vec<(BackupBlob, BackupPlace)>) -> Result<(), StoreError> {
        let written = self.kv.update(move |write| -> Result<(), StoreError> {
            for (blob, place) in &places {
                place.write(write, &blob.id)?;
            }
            Ok(())
        });
        written.wait()
    }

    /// Makes the directory that of a standby at this position.
    ///
    /// # Errors
    /// The errors of a write.
    pub fn follow(&mut self, position: StandbyPosition) -> Result<(), StoreError> {
        self.config.role = Role::Standby;
        self.kv.update(move |write| position.write(write)).wait()
    }

    /// Removes the records of all objects that are not in `part`, and the lifecycle rules, which would remove more.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`] if there is no such part; the errors of a read or a write.
    pub fn keep_only(&self, part: &RestoredPart) -> Result<(), StoreError> {
        if *part == RestoredPart::Everything {
            return Ok(());
        }
        let kept = part.spaces(&self.kv.snapshot()?)?;
        let with_bodies = |row: &[u8], value: &[u8]| -> Result<Vec<Vec<u8>>, StoreError> {
            if kept.iter().any(|kept| row.starts_with(kept)) {
                return Ok(Vec::new());
            }
            let mut rows = vec![row.to_vec()];
            // A damaged record keeps its row, which takes room and no more.
            if let Ok(Content::Apart { stamp, .. }) = ObjectRecord::decode_manifest(row, value) {
                rows.push(space::body(&stamp).to_vec());
            }
            Ok(rows)
        };
        self.remove_rows(space::ALL_CURRENT, with_bodies)?;
        self.remove_rows(space::ALL_HISTORY, with_bodies)?;
        self.remove_annotations(&kept)?;
        self.remove_rows(space::ALL_DOCUMENTS, |row, _| {
            let is_lifecycle =
                space::split_document(row).is_some_and(|(_, kind)| kind == LIFECYCLE);
            Ok(if is_lifecycle { vec![row.to_vec()] } else { Vec::new() })
        })
    }

    /// Removes the annotations of versions that are not in the spaces `kept`.
    fn remove_annotations(&self, kept: &[Vec<u8>]) -> Result<(), StoreError> {
        let is_kept = |row: &[u8]| kept.iter().any(|kept| row.starts_with(kept));
        let has_version = |set: &SetId| -> Result<bool, StoreError> {
            let place = space::annotations(set);
            let snapshot = self.kv.snapshot()?;
            let head = snapshot.get(&place)?;
            // A damaged head keeps its rows.
            let Some(Ok(head)) = head.map(|head| SetHead::decode(&place, &head)) else {
                return Ok(true);
            };
            let current = space::current(head.bucket, &head.key);
            Ok(is_kept(&current) || is_kept(&space::history(head.bucket, &head.key, &head.stamp)))
        };
        let unwanted = |row: &[u8], set: Option<SetId>| -> Result<Vec<Vec<u8>>, StoreError> {
            match set.map(|set| has_version(&set)).transpose()? {
                Some(false) => Ok(vec![row.to_vec()]),
                _ => Ok(Vec::new()),
            }
        };
        let set_of = |split: Option<(SetId, &str)>| split.map(|(set, _)| set);
        self.remove_rows(space::ALL_PAYLOADS, |row, _| {
            unwanted(row, set_of(space::split_payload(row)))
        })?;
        self.remove_rows(space::ALL_ANNOTATIONS, |row, _| {
            unwanted(row, set_of(space::split_annotation(row)))
        })?;
        // The heads last, which tell whose the others are.
        self.remove_rows(space::ALL_ANNOTATION_SETS, |row, _| {
            unwanted(row, space::split_annotations(row))
        })
    }

    /// Removes the rows whose keys `unwanted_with` returns for each row of a space, by its key and its value.
    pub(super) fn remove_rows(
        &self,
        space: &[u8],
        unwanted_with: impl Fn(&[u8], &[u8]) -> Result<Vec<Vec<u8>>, StoreError>,
    ) -> Result<(), StoreError> {
        let end = successor(space).unwrap_or_default();
        let mut after = space.to_vec();
        loop {
            let snapshot = self.kv.snapshot()?;
            let mut rows = snapshot.cursor(Bound::Excluded(&after), Bound::Excluded(&end))?;
            let (mut seen, mut unwanted) = (0, Vec::new());
            while seen < ROWS_AT_ONCE
                && let Some((row, value)) = rows.next()?
            {
                seen += 1;
                after = row.to_vec();
                unwanted.append(&mut unwanted_with(row, value)?);
            }
            drop(rows);
            if seen == 0 {
                return Ok(());
            }
            let removed = self.kv.update(move |write| -> Result<(), StoreError> {
                unwanted.iter().try_for_each(|row| Ok(write.delete(row)?))
            });
            removed.wait()?;
        }
    }

    /// Some of the blobs that the records of `part` after the key `after` name and that are not there,
    /// from the first record without it.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`] if there is no such part; the errors of a read.
    pub fn missing(
        &self,
        part: &RestoredPart,
        after: Option<&[u8]>,
        max: usize,
    ) -> Result<MissingBlobs, StoreError> {
        let snapshot = self.kv.snapshot()?;
        let mut missing = MissingBlobs::default();
        let mut seen = HashSet::new();
        for space in part.spaces(&snapshot)? {
            let end = successor(&space).unwrap_or_default();
            let lower = match after {
                Some(after) if after >= &end[..] => continue,
                Some(after) if after >= &space[..] => Bound::Excluded(after),
                _ => Bound::Included(&space[..]),
            };
            let mut cursor = snapshot.cursor(lower, Bound::Excluded(&end))?;
            while let Some((key, value)) = cursor.next()? {
                for blob in part.blobs(&snapshot, key, value)? {
                    if seen.insert(blob) && !self.has(&blob)? {
                        let place = BackupPlace::read(&snapshot, &blob.id)?;
                        missing.blobs.push((blob, place));
                    }
                }
                if missing.blobs.len() >= max {
                    missing.next = Some(key.to_vec());
                    return Ok(missing);
                }
            }
        }
        Ok(missing)
    }

    /// `true` if a blob is there as a whole, from a restore that was interrupted. It is synced with
    /// the others at the end.
    fn has(&self, blob: &BackupBlob) -> Result<bool, StoreError> {
        Ok(self.blobs.recover(&BlobId(blob.id), blob.bytes, &[])?)
    }

    /// Writes a blob, whose bytes `next` returns piece by piece, until `None`.
    ///
    /// # Errors
    /// Those of `next`; [`StoreError::Corrupt`] if the pieces have another length; the errors of a
    /// write.
    pub fn write_blob<E: From<StoreError>>(
        &self,
        blob: &BackupBlob,
        next: &mut dyn FnMut() -> Result<Option<bytes::Bytes>, E>,
    ) -> Result<(), E> {
        blob.write(self.blobs.begin_file(BlobId(blob.id)), Seal::Now, next)
    }

    /// Leaves blobs in the backup: the store fetches them when they are read.
    ///
    /// # Errors
    /// The errors of a write.
    pub fn leave(&self, blobs: Vec<BackupBlob>) -> Result<(), StoreError> {
        let left = self.kv.update(move |write| -> Result<(), StoreError> {
            let rows = blobs.iter().map(|blob| outstanding(&blob.id, blob.bytes));
            rows.into_iter().try_for_each(|(row, value)| Ok(write.put(&row, &value)?))
        });
        left.wait()
    }

    /// Removes the places of blobs that the restored state does not have: nothing else would, since these are never
    /// deleted.
    fn forget_places(&self) -> Result<(), StoreError> {
        let snapshot = self.kv.snapshot()?;
        self.remove_rows(space::ALL_BACKUP_PLACES, |row, _| {
            let id = space::split_backup_place(row)?;
            let is_left = snapshot.get(&space::outstanding(&id))?.is_some();
            let is_kept = is_left || self.blobs.has_file(&BlobId(id))?;
            Ok(if is_kept { Vec::new() } else { vec![row.to_vec()] })
        })
    }

    /// Removes the findings of the scrub, which are those of the files of another directory: it begins anew here.
    fn forget_scrub(&self) -> Result<(), StoreError> {
        let removed = self
            .kv
            .update(|write| -> Result<(), StoreError> { Ok(write.delete(space::SCRUB_KEY)?) });
        removed.wait()
    }

    /// Makes the files of vectors, makes everything durable, and makes the directory a store.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the backup had no store; the errors of a write.
    pub fn finish(self) -> Result<RestoreReport, StoreError> {
        if StoreRecord::read_checked(&self.kv.snapshot()?)?.is_none() {
            return Err(StoreError::corrupt("the backup has no record of a store"));
        }
        let report = slots::restore(&self)?;
        self.forget_places()?;
        self.forget_scrub()?;
        let Self { disk, kv, blobs, config, _lock, .. } = self;
        blobs.sync()?;
        blobs.sync_directories()?;
        kv.sync()?;
        // The last handle: drains and closes.
        drop(kv);
        directory::end_restore(&*disk, directory::format_of(&config))?;
        Ok(report)
    }
}

impl fmt::Debug for Restore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Restore").finish_non_exhaustive()
    }
}
