//! Mirrors: the indexes of a log, in files of this server or in memory.
//!
//! ```text
//!  put, delete ─► log in the key space ──┬─► changes behind the mirror ─► slots and records ─► search
//!                                        └─► snapshot in a blob ─► a mirror that is made anew
//! ```
//! A read fetches the head of the log, brings the mirror up to there, and then runs on the mirror as on the
//! slots of a single server. So it sees everything that was acknowledged before it began, by any server.
//!
//! All mirrors are in a store of their own, in the cache directory or in memory: an index there has the
//! same rows and files as in a data directory, and a row with the [position](crate::meta::vector_log::LogPosition) that it has. Both
//! change in one transaction, so a crash leaves an older mirror. Nothing in it is needed: what is missing,
//! damaged, or not a part of the log, is made anew.

mod follow;
mod load;
mod snapshot;

pub(crate) use load::Entries;

use self::follow::{Failure, Progress};

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use liteio_disk::Durability;

use crate::config::{Backend, StoreConfig};
use crate::error::StoreError;
use crate::indexes::mirrors::{Mirror, Mirrors};
use crate::indexes::{Index, Vectors};
use crate::meta::space;
use crate::meta::vector_log::MirrorRecord;
use crate::name::IndexId;
use crate::store::{MirrorStore, Store};

/// Time for which a request waits for a mirror that another one makes.
const WAIT: Duration = Duration::from_secs(10);
/// Attempts of a read whose mirror is damaged, or dropped meanwhile.
const ATTEMPTS_MAX: usize = 8;
/// The directory of mirrors in that of the cache.
const MIRRORS: &str = "vectors";
/// Memory for the page cache of the metadata of mirrors, and for the recently written.
const CACHE_BYTES: usize = 16 << 20;
const MEMORY_BYTES: usize = 32 << 20;

/// Figures of the mirrors of this server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MirrorFigures {
    /// Number of indexes in the cache.
    pub indexes: u64,
    /// Their estimated size, in bytes.
    pub bytes: u64,
    /// Changes that this server has seen in heads of logs, and its mirrors do not have yet.
    pub behind: u64,
    /// Changes that were taken from logs.
    pub changes: u64,
    /// Mirrors that were made anew.
    pub loads: u64,
    /// Mirrors that were dropped to make room.
    pub dropped: u64,
    /// Snapshots that this server wrote.
    pub snapshots: u64,
}

impl Store {
    /// Figures of the cache of vectors; `None` if vectors are in slots of this store.
    #[must_use]
    pub fn mirror_figures(&self) -> Option<MirrorFigures> {
        let mirrors = &self.inner.mirrors.as_ref()?.mirrors;
        let counters = &mirrors.counters;
        let mut figures = MirrorFigures {
            changes: counters.changes.load(Ordering::Relaxed),
            loads: counters.loads.load(Ordering::Relaxed),
            dropped: counters.dropped.load(Ordering::Relaxed),
            snapshots: counters.snapshots.load(Ordering::Relaxed),
            ..MirrorFigures::default()
        };
        for state in mirrors.states() {
            figures.indexes += 1;
            figures.bytes += state.bytes;
            let number = state.position.map_or(0, |position| position.number);
            figures.behind += state.seen.saturating_sub(number);
        }
        Some(figures)
    }

    /// Runs `read` on the store that has the vectors of an index, all that were acknowledged before the
    /// call: this one, or that of mirrors. `read` gets the index as it is called there.
    pub(super) fn read_vectors<T>(
        &self,
        index: &Index,
        read: impl Fn(&Self, &Index) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let Some(own) = &self.inner.mirrors else { return read(self, index) };
        let result = self.read_mirror(own, index, &read);
        if matches!(result, Err(StoreError::NoSuchIndex { .. })) {
            // Deleted by any server. An error leaves it to the next one who needs the room.
            let _ = self.drop_mirror(own, index.id, &own.mirrors.mirror(index.id));
        }
        result.inspect_err(|error| self.shared().counters.failed_read(error))
    }

    fn read_mirror<T>(
        &self,
        own: &MirrorStore,
        index: &Index,
        read: &dyn Fn(&Self, &Index) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mirror = own.mirrors.mirror(index.id);
        let began = own.mirrors.tick();
        let head = self.head_of_log(index)?;
        mirror.saw(head.position.number);
        self.note_head(own, index, &head);
        let (mut is_made_anew, mut are_all_made_anew) = (false, false);
        for _ in 0..ATTEMPTS_MAX {
            let store = self.store_of_mirrors(own)?;
            let content = mirror.content.try_read_for(WAIT).ok_or_else(busy)?;
            // A mirror that has more than the head had may have what the database has lost, unless somebody has
            // compared it with the log since.
            let is_current = |found: Progress| {
                found.position == head.position || mirror.was_compared_since(began)
            };
            if mirror.progress_of(index).is_some_and(is_current) {
                match read(&store, &mirrored(index)?) {
                    Err(error) if is_damage(&error) && !is_made_anew => {}
                    // Another request makes all mirrors anew.
                    Err(StoreError::Closed) => continue,
                    result => return result.map_err(|error| of_index(index, error)),
                }
                is_made_anew = true;
                mirror.set(None, mirror.state().bytes);
            }
            drop(content);
            match self.bring_up(own, &store, index, &mirror, began) {
                Ok(()) | Err(Failure::Mirror(StoreError::Closed)) => {}
                // More than this mirror is damaged.
                Err(Failure::Mirror(error)) if is_damage(&error) && !are_all_made_anew => {
                    are_all_made_anew = true;
                    self.forget_mirrors(own, &store);
                }
                Err(Failure::Mirror(error) | Failure::Log(error)) => {
                    return Err(of_index(index, error));
                }
            }
            self.make_room_for(own, index.id)?;
        }
        Err(busy())
    }

    /// Closes a store of mirrors that is damaged. The next one is made anew.
    fn forget_mirrors(&self, own: &MirrorStore, damaged: &Self) {
        let mut opened = own.store.lock();
        if !opened.as_ref().is_some_and(|it| Arc::ptr_eq(&it.inner, &damaged.inner)) {
            return;
        }
        *opened = None;
        own.mirrors.forget_all();
        damaged.close();
        own.is_damaged.store(true, Ordering::Relaxed);
    }

    /// The result of `from` for the open indexes that have vectors; `None` if there are none.
    pub(super) fn open_indexes<T>(&self, from: impl FnOnce(&Vectors) -> T) -> Option<T> {
        match &self.inner.mirrors {
            None => Some(from(&self.inner.vectors)),
            Some(own) => own.store.lock().as_ref().map(|store| from(&store.inner.vectors)),
        }
    }

    /// The store of the mirrors, opened if necessary.
    fn store_of_mirrors(&self, own: &MirrorStore) -> Result<Self, StoreError> {
        let mut opened = own.store.lock();
        if let Some(store) = &*opened {
            return Ok(store.clone());
        }
        if self.inner.vectors.is_closed.load(Ordering::Acquire) {
            return Err(StoreError::Closed);
        }
        let config = &self.shared().config;
        let backend = match &config.vector_cache.directory {
            Some(directory) => Backend::Directory(directory.join(MIRRORS)),
            None => Backend::Memory,
        };
        let is_damaged = own.is_damaged.load(Ordering::Relaxed);
        let config = StoreConfig {
            backend,
            // What a power cut takes is made anew.
            durability: Durability::Os,
            cache_bytes: CACHE_BYTES,
            memory_bytes: MEMORY_BYTES,
            reserve_bytes: config.reserve_bytes,
            clock: Arc::clone(&config.clock),
            random: Arc::clone(&config.random),
            ..StoreConfig::memory()
        };
        let store = Self::open_mirrors(config, is_damaged)?;
        own.is_damaged.store(false, Ordering::Relaxed);
        // What a kill has left of the removal of an index.
        store.reclaim()?;
        store.read_mirrors(&own.mirrors)?;
        *opened = Some(store.clone());
        Ok(store)
    }

    /// Fills the table with the mirrors that an earlier run has left.
    fn read_mirrors(&self, table: &Mirrors) -> Result<(), StoreError> {
        let snapshot = self.snapshot()?;
        self.walk(&snapshot, space::ALL_MIRRORS, &mut |key, value| {
            // Without a readable record it is made anew when it is wanted.
            if let (Some(id), Ok(record)) =
                (space::split_mirror(key), MirrorRecord::decode(key, value))
            {
                table.mirror(id).restore(&record);
            }
            Ok(())
        })
    }

    /// Drops mirrors that were not used lately, if all together are too large.
    fn make_room_for(&self, own: &MirrorStore, keep: IndexId) -> Result<(), StoreError> {
        for (id, mirror) in own.mirrors.too_many(keep) {
            if self.drop_mirror(own, id, &mirror)? {
                own.mirrors.counters.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Drops a mirror, unless a request uses it.
    fn drop_mirror(
        &self,
        own: &MirrorStore,
        id: IndexId,
        mirror: &Mirror,
    ) -> Result<bool, StoreError> {
        let (Some(_applying), Some(_content)) =
            (mirror.applying.try_lock(), mirror.content.try_write())
        else {
            return Ok(false);
        };
        let opened = own.store.lock().clone();
        let Some(store) = opened else { return Ok(false) };
        mirror.set(None, 0);
        store.remove_mirror(id)?;
        Ok(true)
    }
}

/// `true` for an error that a mirror made anew may not have.
fn is_damage(error: &StoreError) -> bool {
    match error {
        StoreError::Corrupt { .. }
        | StoreError::IndexDamaged { .. }
        | StoreError::FormatTooNew { .. }
        | StoreError::NoSuchIndex { .. } => true,
        StoreError::Io(error) => error.kind() == ErrorKind::InvalidData,
        _ => false,
    }
}

fn busy() -> StoreError {
    let reason = "This server is fetching the vectors of the index. Try again.".to_owned();
    StoreError::Suspended { reason }
}

/// The index as it is called in the store of mirrors.
fn mirrored(index: &Index) -> Result<Index, StoreError> {
    let (bucket, name) = load::names_of(index.id)?;
    Ok(Index { bucket, bucket_id: load::BUCKET, name, ..index.clone() })
}

/// The error of a mirror, with the names of the index itself.
fn of_index(index: &Index, error: StoreError) -> StoreError {
    match error {
        StoreError::IndexDamaged { reason, .. } => StoreError::IndexDamaged {
            bucket: index.bucket.to_string(),
            index: index.name.to_string(),
            reason,
        },
        StoreError::NoSuchIndex { .. } => index.missing(),
        error => error,
    }
}
