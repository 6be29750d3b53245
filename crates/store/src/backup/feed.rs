//! [`BackupFeed`]: the pairs and blobs of a store in use.

use std::collections::HashSet;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use liteio_blob::{BlobError, BlobId};
use liteio_kv::{
    Behind, Change, Followed, FollowedRecord, Follower, Read as _, append_change, changes,
};
use parking_lot::Mutex;

use super::elements::Elements;
use super::named::{BackupBlob, blobs_of};
use crate::error::StoreError;
use crate::meta::bucket::StoreRecord;
use crate::meta::content::ContentId;
use crate::meta::{BackupPlace, backup_location, space};
use crate::pending::Committed;
use crate::process::Holder;
use crate::store::Store;

/// Bytes of elements after which a record gets a part of its own for them.
const ELEMENTS_BYTES: usize = 4 << 20;

/// The source of a backup or a copy: pairs, records and blobs of a store. There is one of each at a time; dropping it ends
/// it.
pub struct BackupFeed {
    store: Store,
    holder: Holder,
    follower: Arc<Follower>,
    /// Records of which not all are in a batch yet.
    taken: Mutex<Option<Followed>>,
}

/// Tells whether a [`BackupFeed`] has fallen behind.
#[derive(Clone, Debug)]
pub struct FeedWatch(Arc<Follower>);

impl FeedWatch {
    /// `true` once [`BackupFeed::take`] fails with [`FeedError::Behind`].
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.0.is_behind()
    }
}

/// A failure of a [`BackupFeed`].
#[derive(Clone, Debug, thiserror::Error)]
pub enum FeedError {
    /// More was written since the last batch than could be held. Begin anew, with all pages.
    #[error("more was written than could be copied")]
    Behind,
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<Behind> for FeedError {
    fn from(_: Behind) -> Self {
        Self::Behind
    }
}

/// Some pairs of the store, in the order of their keys.
#[derive(Clone, Debug, Default)]
pub struct BackupPage {
    /// The pairs as puts, to be read by [`liteio_kv::changes`].
    pub changes: Vec<u8>,
    /// Number of pairs.
    pub pairs: u64,
    /// The blobs that they name.
    pub blobs: Vec<BackupBlob>,
    /// The key of the last pair; `None` after the last page.
    pub next: Option<Vec<u8>>,
    /// Number of pairs that are damaged, or whose elements are.
    pub unreadable: u64,
}

/// The changes of one or more updates that were committed together, or the elements of vectors among
/// them, which come before and change nothing by themselves.
#[derive(Clone, Debug)]
pub struct BackupRecord {
    /// Its number: at least that of every record before.
    pub number: u64,
    /// To be read by [`liteio_kv::changes`]. Mostly the bytes that the committer has copied for the follower.
    pub changes: Bytes,
}

/// The records since the last batch.
#[derive(Clone, Debug, Default)]
pub struct BackupBatch {
    /// The records that change what a backup has, in order.
    pub records: Vec<BackupRecord>,
    /// The number of the last record that is complete with this batch.
    pub through: u64,
    /// `true` if more records have been written already.
    pub has_more: bool,
    /// The blobs that the records name.
    pub blobs: Vec<BackupBlob>,
    /// Number of pairs that are damaged, or whose elements are.
    pub unreadable: u64,
    queued: Vec<ContentId>,
    deleted: Vec<ContentId>,
}

impl Store {
    /// Begins to feed a backup. Up to `bytes_max` bytes of records are held between two
    /// [batches](BackupFeed::take).
    ///
    /// # Errors
    /// [`StoreError::InvalidRequest`] in memory, or if another backup runs; the errors of a read.
    pub fn backup_feed(&self, bytes_max: usize) -> Result<BackupFeed, StoreError> {
        self.feed(Holder::Backup, bytes_max)
    }

    /// Begins to feed a copy, beside a backup perhaps. Content that is deleted meanwhile is held to the end of the feed.
    ///
    /// # Errors
    /// [`StoreError::InvalidRequest`] in memory, or if another copy runs; the errors of a read.
    pub fn copy_feed(&self, bytes_max: usize) -> Result<BackupFeed, StoreError> {
        self.feed(Holder::Copy, bytes_max)
    }

    fn feed(&self, holder: Holder, bytes_max: usize) -> Result<BackupFeed, StoreError> {
        if self.inner.disk.is_none() {
            let message = "a store in memory has no backup: give it a directory".to_owned();
            return Err(StoreError::InvalidRequest { message });
        }
        // Nothing is deleted between the first followed record and the hold.
        let _no_reclaim = self.inner.reclaim_lock.lock();
        let follower = Arc::new(self.follow(bytes_max)?);
        // Before the backup began, or so soon after that no state that can be restored has it.
        let mut queued = HashSet::new();
        self.walk(&self.snapshot()?, space::ALL_DELETIONS, &mut |key, _| {
            queued.extend(space::split_deletion(key));
            Ok(())
        })?;
        if !self.shared().holds.begin(holder, Arc::clone(&follower), queued) {
            let message = match holder {
                Holder::Backup => "another backup of this store is running",
                Holder::Copy => "another copy of this store is being made",
            }
            .to_owned();
            return Err(StoreError::InvalidRequest { message });
        }
        Ok(BackupFeed { store: self.clone(), holder, follower, taken: Mutex::default() })
    }

    /// The identity of the backup at a location that this store, or the one that it was restored from, was backed up to;
    /// `None` if there was none.
    ///
    /// # Errors
    /// The errors of a read.
    pub fn backup_at(&self, location: &str) -> Result<Option<[u8; 16]>, StoreError> {
        backup_location::read(&self.snapshot()?, location)
    }

    /// Remembers the identity of the backup at a location.
    ///
    /// # Errors
    /// The errors of a write.
    pub fn remember_backup(&self, location: &str, backup: [u8; 16]) -> Result<(), StoreError> {
        let location = location.to_owned();
        let written = self.update(move |write, _| {
            backup_location::write(write, &location, &backup)?;
            Ok(Committed::new(()))
        });
        written.wait()
    }

    /// The time at which the store was created, in milliseconds since 1970: a restored one has it,
    /// too.
    ///
    /// # Errors
    /// The errors of a read.
    pub fn created_ms(&self) -> Result<u64, StoreError> {
        let record = StoreRecord::read_checked(&self.snapshot()?)?;
        let missing = || StoreError::corrupt("the record of the store is missing");
        record.map(|record| record.created_ms).ok_or_else(missing)
    }
}

impl BackupFeed {
    /// The number of the newest record that the first page has seen for sure; batches have the
    /// later ones.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.follower.start()
    }

    /// The number of the newest record. Pages that were read before this call have seen none
    /// beyond.
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.follower.newest()
    }

    /// Bytes of the records that no batch has yet.
    #[must_use]
    pub fn waiting_bytes(&self) -> usize {
        self.follower.waiting_bytes()
    }

    /// Tells whether more was written than could be held, so that the next batch fails.
    #[must_use]
    pub fn watch(&self) -> FeedWatch {
        FeedWatch(Arc::clone(&self.follower))
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Pairs after the key `after`, from the first one without it. The page ends with the pair that
    /// brings its changes to `bytes` bytes.
    ///
    /// # Errors
    /// The errors of a read.
    pub fn page(&self, after: Option<&[u8]>, bytes: usize) -> Result<BackupPage, StoreError> {
        let snapshot = self.store.snapshot()?;
        let mut elements = Elements::new(&self.store, &snapshot);
        let lower = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut cursor = snapshot.cursor(lower, Bound::Unbounded)?;
        let mut page = BackupPage::default();
        let mut seen = Seen::default();
        while let Some((key, value)) = cursor.next()? {
            seen.put(key, value, &mut elements)?;
            page.pairs += 1;
            // A vector whose elements are others by now has another record, which a batch has.
            if seen.take_unreadable() && self.is_still(key, value)? {
                page.unreadable += 1;
            }
            if seen.changes.len() + seen.elements.len() >= bytes {
                page.next = Some(key.to_vec());
                break;
            }
        }
        page.changes = seen.changes;
        page.changes.append(&mut seen.elements);
        page.blobs = seen.blobs;
        Ok(page)
    }

    /// Records since the last batch. The batch ends with the record that brings its changes to `bytes`
    /// bytes. Does not wait for any.
    ///
    /// # Errors
    /// [`FeedError::Behind`], from then on; the errors of a read.
    pub fn take(&self, bytes: usize) -> Result<BackupBatch, FeedError> {
        let mut taken = self.taken.lock();
        let mut followed = match taken.take() {
            Some(followed) => followed,
            None => self.follower.take()?,
        };
        let mut batch = BackupBatch { through: followed.through, ..BackupBatch::default() };
        if followed.is_empty() {
            return Ok(batch);
        }
        let snapshot = self.store.snapshot()?;
        let mut elements = Elements::new(&self.store, &snapshot);
        let mut filled = 0;
        while let Some((number, record)) = followed.next() {
            filled += self.translate(number, &record, &mut elements, &mut batch)?;
            if filled >= bytes && !followed.is_empty() {
                (batch.through, batch.has_more) = (number, true);
                *taken = Some(followed);
                break;
            }
        }
        Ok(batch)
    }

    /// Adds a record to a batch. Returns the bytes of its changes.
    fn translate(
        &self,
        number: u64,
        record: &FollowedRecord,
        elements: &mut Elements<'_>,
        batch: &mut BackupBatch,
    ) -> Result<usize, StoreError> {
        let mut seen = Seen::default();
        let mut bytes = 0;
        let mut push = |batch: &mut BackupBatch, changes: Bytes| {
            bytes += changes.len();
            if !changes.is_empty() {
                batch.records.push(BackupRecord { number, changes });
            }
        };
        // The changes up to here, all of which are copied as they are, unless `kept` has some of them.
        let mut end = 0;
        let mut kept: Option<Vec<u8>> = None;
        for change in changes(record.as_ref()) {
            let change = change?;
            let begin = end;
            end += change.encoded_bytes();
            let (Change::Put { key, .. } | Change::Delete { key }) = change;
            if space::is_of_directory(key) {
                kept.get_or_insert_with(|| record.as_ref()[..begin].to_vec());
                continue;
            }
            match change {
                Change::Put { key, value } => {
                    seen.look(key, value, elements)?;
                    batch.queued.extend(space::split_deletion(key));
                    if seen.take_unreadable() && self.is_still(key, value)? {
                        batch.unreadable += 1;
                    }
                    if seen.elements.len() >= ELEMENTS_BYTES {
                        push(batch, std::mem::take(&mut seen.elements).into());
                    }
                }
                Change::Delete { key } => batch.deleted.extend(space::split_deletion(key)),
            }
            if let Some(kept) = &mut kept {
                kept.extend_from_slice(&record.as_ref()[begin..end]);
            }
        }
        push(batch, seen.elements.into());
        push(batch, kept.map_or_else(|| Bytes::from_owner(record.clone()), Bytes::from));
        batch.blobs.append(&mut seen.blobs);
        Ok(bytes)
    }

    /// Everything up to the end of `batch` is backed up, with its blobs: what these records have
    /// removed may be deleted.
    pub fn kept(&self, batch: &BackupBatch) {
        let shared = self.store.shared();
        shared.holds.let_go(self.holder, batch.through, &batch.queued, &batch.deleted);
        if !batch.queued.is_empty() {
            shared.work.wake_if_waiting();
        }
    }

    /// Forgets what was deleted. Call it while no blob of a page is left to be read.
    pub fn forget_deleted(&self) {
        self.store.shared().holds.forget_deleted(self.holder);
    }

    /// Reads a blob, piece by piece. `false` if it is gone, because no state that can be restored
    /// has it.
    ///
    /// # Errors
    /// Those of `take`; [`StoreError::Corrupt`] or [`StoreError::Io`] if the blob cannot be read.
    pub fn read_blob<E: From<StoreError>>(
        &self,
        blob: &BackupBlob,
        take: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<bool, E> {
        let shared = self.store.shared();
        let failed = |error: BlobError| E::from(StoreError::from(error));
        let is_gone = || !shared.holds.is_held_by(self.holder, &ContentId::Blob(blob.id));
        let reader = match shared.blobs.open(&BlobId(blob.id), blob.bytes) {
            Err(BlobError::NotFound { .. }) if is_gone() => return Ok(false),
            reader => reader.map_err(failed)?,
        };
        let mut position = 0;
        while position < blob.bytes {
            let piece = match reader.read(position..blob.bytes) {
                Err(BlobError::NotFound { .. }) if is_gone() => return Ok(false),
                piece => piece.map_err(failed)?.freeze(),
            };
            position += piece.len() as u64;
            take(&piece)?;
        }
        Ok(true)
    }

    /// The place of a blob in the backup with this identity.
    ///
    /// # Errors
    /// The errors of a read.
    pub fn place(
        &self,
        blob: &BackupBlob,
        backup: &[u8; 16],
    ) -> Result<Option<BackupPlace>, StoreError> {
        // A row that cannot be read only costs the upload of the blob.
        let place = match BackupPlace::read(&self.store.snapshot()?, &blob.id) {
            Err(StoreError::Corrupt { .. } | StoreError::FormatTooNew { .. }) => None,
            place => place?,
        };
        Ok(place.filter(|place| place.backup == *backup))
    }

    /// Remembers the places of blobs.
    ///
    /// # Errors
    /// The errors of a write.
    pub fn remember(&self, places: Vec<(BackupBlob, BackupPlace)>) -> Result<(), StoreError> {
        if places.is_empty() {
            return Ok(());
        }
        let written = self.store.update(move |write, _| {
            for (blob, place) in &places {
                place.write(write, &blob.id)?;
            }
            Ok(Committed::new(()))
        });
        written.wait()
    }

    /// `true` if the key has this value still.
    fn is_still(&self, key: &[u8], value: &[u8]) -> Result<bool, StoreError> {
        let snapshot = self.store.snapshot()?;
        Ok(snapshot.get(key)?.is_some_and(|now| *now == *value))
    }
}

impl Drop for BackupFeed {
    fn drop(&mut self) {
        let shared = self.store.shared();
        shared.holds.end(self.holder);
        shared.work.wake_if_waiting();
    }
}

impl fmt::Debug for BackupFeed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("BackupFeed").field("start", &self.start()).finish_non_exhaustive()
    }
}

/// The findings in some pairs.
#[derive(Debug, Default)]
struct Seen {
    /// The pairs.
    changes: Vec<u8>,
    /// The elements of those that are vectors.
    elements: Vec<u8>,
    blobs: Vec<BackupBlob>,
    /// A pair is damaged, or its elements are.
    is_unreadable: bool,
}

impl Seen {
    fn put(
        &mut self,
        key: &[u8],
        value: &[u8],
        elements: &mut Elements<'_>,
    ) -> Result<(), StoreError> {
        if space::is_of_directory(key) {
            return Ok(());
        }
        append_change(Change::Put { key, value }, &mut self.changes);
        self.look(key, value, elements)
    }

    /// Finds the elements and the blobs of a pair.
    fn look(
        &mut self,
        key: &[u8],
        value: &[u8],
        elements: &mut Elements<'_>,
    ) -> Result<(), StoreError> {
        if key.starts_with(space::ALL_VECTORS) {
            match readable(elements.of(key, value))? {
                Some(Some((key, value))) => {
                    append_change(Change::Put { key: &key, value: &value }, &mut self.elements);
                }
                Some(None) => {}
                None => self.is_unreadable = true,
            }
        }
        match readable(blobs_of(key, value))? {
            Some(mut blobs) => self.blobs.append(&mut blobs),
            None => self.is_unreadable = true,
        }
        Ok(())
    }

    fn take_unreadable(&mut self) -> bool {
        std::mem::take(&mut self.is_unreadable)
    }
}

/// The result of reading a pair; `None` for a damaged one, which is backed up as it is.
fn readable<T>(result: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match result {
        Err(StoreError::Corrupt { .. } | StoreError::FormatTooNew { .. }) => Ok(None),
        result => result.map(Some),
    }
}
