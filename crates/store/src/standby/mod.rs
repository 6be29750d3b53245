//! A store that follows the backup of another one, and the suspension of writes.
//!
//! ```text
//!  a base ──► Restore::follow ──► a directory with a position ──► Store::open, Role::Standby
//!                                                                    │
//!  segments ──► NetChanges ──► missing, write_blob ──► Store::apply ─┤ reads are served
//!  a new base ─► Comparison ──┘                                      │
//!                                                 Store::promote ◄───┘
//! ```
//! All changes of a segment and the position behind it are one transaction, so that a standby that
//! is killed goes on where it was. Blobs come before the records that name them. A vector gets a
//! slot of its own: records and slots of vectors are translated, and everything else is copied as it
//! is.
//!
//! State in memory that a commit may outdate is refreshed by [`Store::apply`]: the cache of buckets;
//! slots, columns and text indexes of vectors. [`Applied`] tells of entries about users, which the
//! store does not know.

mod apply;
mod compare;
mod net;
mod vectors;

use std::time::{Duration, Instant};

use liteio_blob::{BlobError, BlobId, Seal};
use liteio_kv::{Read as _, Write as _};

use crate::backup::{BackupBlob, BackupPlace};
use crate::directory;
use crate::error::StoreError;
use crate::meta::space;
use crate::queue;
use crate::store::Store;

pub use self::apply::Applied;
pub use self::compare::Comparison;
pub use self::net::NetChanges;
pub use crate::meta::standby::StandbyPosition;

impl Store {
    /// The position of a standby; `None` for another store.
    ///
    /// # Errors
    /// The errors of a read.
    pub fn standby_position(&self) -> Result<Option<StandbyPosition>, StoreError> {
        StandbyPosition::read(&self.snapshot()?)
    }

    /// The blobs that these changes name and that are not there, each with its place in the backup,
    /// if that is known.
    ///
    /// # Errors
    /// The errors of a read.
    pub fn missing_blobs(
        &self,
        changes: &NetChanges,
    ) -> Result<Vec<(BackupBlob, Option<BackupPlace>)>, StoreError> {
        let snapshot = self.snapshot()?;
        let mut missing = Vec::new();
        for blob in changes.blobs() {
            let known = BackupPlace::read(&snapshot, &blob.id)?;
            if !self.has_blob(&blob, known.is_some())? {
                missing.push((blob, changes.place_of(&blob).or(known)));
            }
        }
        Ok(missing)
    }

    /// `true` if a blob is there as a whole. One whose place is `known` was synced before that was
    /// written; another one may have been torn by a power cut, or was not synced before a kill.
    fn has_blob(&self, blob: &BackupBlob, known: bool) -> Result<bool, StoreError> {
        let read = || {
            let reader = self.shared().blobs.open(&BlobId(blob.id), blob.bytes)?;
            let mut position = if known { blob.bytes } else { 0 };
            while position < blob.bytes {
                position += reader.read(position..blob.bytes)?.bytes() as u64;
            }
            if !known {
                self.shared().blobs.sync_again(&BlobId(blob.id), blob.bytes)?;
            }
            Ok(())
        };
        match read() {
            Ok(()) => Ok(true),
            Err(BlobError::NotFound { .. } | BlobError::Corrupt { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes a blob of a backup, whose bytes `next` returns piece by piece, until `None`.
    ///
    /// # Errors
    /// Those of `next`; [`StoreError::Corrupt`] if the pieces have another length; the errors of a
    /// write.
    pub fn write_blob<E: From<StoreError>>(
        &self,
        blob: &BackupBlob,
        next: &mut dyn FnMut() -> Result<Option<bytes::Bytes>, E>,
    ) -> Result<(), E> {
        self.inner.check_space(blob.bytes)?;
        // `apply` syncs it, with the others of its segment.
        blob.write(self.shared().blobs.begin_as(BlobId(blob.id)), Seal::Later, next)
    }

    /// Ends the standby: from here on the store is written to, and its threads begin to work. It
    /// remembers `token` as that of its lease, which lasts for `term` after `from`
    /// ([`Store::lease`]).
    ///
    /// # Errors
    /// The errors of a write; that of the system, which has no more threads.
    pub fn promote(
        &self,
        token: [u8; 16],
        from: Instant,
        term: Option<Duration>,
    ) -> Result<(), StoreError> {
        let position = self.standby_position()?;
        let position =
            position.ok_or_else(|| StoreError::Internal { what: "no standby".to_owned() })?;
        let row = space::lease(&position.backup);
        self.update_suspended(move |write| {
            write.put(&row, &token)?;
            queue::take_over(write)?;
            // Its findings are those of the files of the former primary.
            write.delete(space::SCRUB_KEY)?;
            Ok(write.delete(space::STANDBY_KEY)?)
        })?;
        // A failure costs nothing but that earlier programs refuse the directory until its next start.
        if let Some(disk) = &self.inner.disk {
            let write = || directory::write_promoted(&**disk);
            let _ = self.replace_watched(directory::FORMAT_FILE, write);
        }
        self.shared().blobs.sync_at_once(None);
        self.lease(from, term);
        // Caches that nobody refreshes from here on are right: no record is applied any more.
        self.shared().gate.open();
        self.start_writers()
    }

    /// The token of the lease that the directory has had at this backup; a restored one has none.
    ///
    /// # Errors
    /// The errors of a read.
    pub fn lease_token(&self, backup: &[u8; 16]) -> Result<Option<[u8; 16]>, StoreError> {
        match self.snapshot()?.get(&space::lease(backup))? {
            None => Ok(None),
            Some(token) => match <[u8; 16]>::try_from(&*token) {
                Ok(token) => Ok(Some(token)),
                Err(_) => Err(StoreError::corrupt("the token of a lease")),
            },
        }
    }

    /// Remembers the token of the lease.
    ///
    /// # Errors
    /// The errors of a write.
    pub fn set_lease_token(&self, backup: &[u8; 16], token: [u8; 16]) -> Result<(), StoreError> {
        let row = space::lease(backup);
        self.update_suspended(move |write| Ok(write.put(&row, &token)?))
    }

    /// Refuses every update from now on with this reason. When the call returns, all updates that
    /// were admitted are committed.
    ///
    /// # Errors
    /// The errors of a write; the store refuses updates all the same.
    pub fn suspend(&self, reason: &str) -> Result<(), StoreError> {
        self.shared().gate.close(reason);
        // Behind all that were admitted. It has to be a change, so that it waits for theirs, and to be
        // accepted by a full disk, too.
        match &*self.inner.kv.read() {
            Some(kv) => kv.update_freeing_then(
                |write| -> Result<(), StoreError> { Ok(write.delete(space::STANDBY_KEY)?) },
                |()| {},
            ),
            None => return Err(StoreError::Closed),
        }
        .wait()
    }

    /// Admits updates again after [`Store::suspend`].
    pub fn resume(&self) {
        self.shared().gate.open();
    }

    /// Admits updates for `term` after `from` only, unless the call is repeated; with `None`, until
    /// [`Store::suspend`].
    pub fn lease(&self, from: Instant, term: Option<Duration>) {
        self.shared().gate.lease(from, term);
    }

    /// `true` while updates are refused because the time of the lease is over, and for no other reason.
    #[must_use]
    pub fn is_fenced(&self) -> bool {
        self.shared().gate.is_over()
    }

    /// The reason why updates are refused, for the sender of a request; `None` if they are not, or
    /// for another reason than a standby's or a lost lease.
    #[must_use]
    pub fn suspended(&self) -> Option<StoreError> {
        self.shared().cluster.standing().err()
    }
}
