//! Applying the changes of a primary.

use std::collections::{HashMap, HashSet};
use std::ops::Bound;

use liteio_blob::BlobId;
use liteio_kv::{Read, Transaction, Write as _};
use liteio_vector::Slot;

use super::StandbyPosition;
use super::net::NetChanges;
use super::vectors::changed_indexes;
use crate::error::StoreError;
use crate::meta::content::ContentId;
use crate::meta::vector::VectorRecord;
use crate::meta::{key, space};
use crate::name::IndexId;
use crate::store::Store;

/// The effects of applied changes that the caller has to deal with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Entries about users have changed.
    pub identities: bool,
    /// Number of vectors whose elements the backup does not have.
    pub vectors_left_out: u64,
}

impl Store {
    /// Applies changes of the primary and moves to `position`, all at once. The blobs that the
    /// changes name must be there. Only one thread may call this.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] for rows that cannot be understood; the errors of a write. The same
    /// call may be repeated.
    pub fn apply(
        &self,
        mut changes: NetChanges,
        position: StandbyPosition,
    ) -> Result<Applied, StoreError> {
        self.shared().blobs.sync_all()?;
        let snapshot = self.snapshot()?;
        let (changed, removed) = changed_indexes(&changes, &snapshot)?;
        let translated = self.translate_vectors(&mut changes, &snapshot)?;
        let waiting = rows_of(&snapshot, space::ALL_ELEMENTS)?;
        drop(snapshot);
        let (effects, written) = (Effects::of(&changes), Written { changes, waiting, position });
        let vectors = translated.indexes.iter().flat_map(|(id, changes)| {
            changes.vectors.iter().map(|(key, record)| (*id, key.clone(), record.clone()))
        });
        let vectors: Vec<_> = vectors.collect();
        let committing: Vec<_> = translated
            .indexes
            .values()
            .filter_map(|changes| Some(changes.open.as_ref()?.referenced.committing()))
            .collect();
        let replaced = self.update_suspended(move |write| {
            written.write(write)?;
            let mut replaced: HashMap<IndexId, Vec<Slot>> = HashMap::new();
            for (id, key, record) in &vectors {
                if let Some(slot) = VectorRecord::remove(write, *id, key)? {
                    replaced.entry(*id).or_default().push(Slot::new(slot));
                }
                if let Some(record) = record {
                    record.write(write, *id, key)?;
                }
            }
            Ok(replaced)
        })?;
        if effects.buckets {
            self.shared().buckets.clear();
        }
        for id in removed {
            self.inner.vectors.forget(id);
        }
        // Their texts and columns may be others by now.
        for id in changed.into_keys() {
            self.inner.vectors.columns.remove_index(id);
            self.inner.vectors.texts.remove_index(id);
        }
        self.publish_translated(&translated, &replaced)?;
        drop(committing);
        for id in &effects.deleted_indexes {
            self.remove_index_files(*id)?;
        }
        self.unlink(effects.deleted)?;
        Ok(Applied { identities: effects.identities, vectors_left_out: translated.left_out })
    }

    /// Deletes blobs that the primary has deleted, and earlier ones, unless they are being read.
    fn unlink(&self, deleted: Vec<[u8; 16]>) -> Result<(), StoreError> {
        let mut unlinked = self.inner.unlinked.lock();
        unlinked.extend(deleted);
        if unlinked.is_empty() {
            return Ok(());
        }
        // The commit is done, so a reader that starts now does not find them.
        let mut unread = unlinked.iter().copied().map(ContentId::Blob).collect();
        self.shared().cluster.may_delete(&mut unread, self.kv()?.primary())?;
        let unread: HashSet<ContentId> = unread.into_iter().collect();
        let mut failed = Ok(());
        unlinked.retain(|id| {
            if !unread.contains(&ContentId::Blob(*id)) || failed.is_err() {
                return true;
            }
            match self.shared().blobs.delete(&BlobId(*id)) {
                Ok(()) => {
                    self.inner.removed_from.lock().insert(id[0]);
                    false
                }
                Err(error) => {
                    failed = Err(error.into());
                    true
                }
            }
        });
        failed
    }
}

/// The state beside the key space that changes concern.
#[derive(Debug, Default)]
struct Effects {
    buckets: bool,
    identities: bool,
    /// Blobs that the primary has deleted.
    deleted: Vec<[u8; 16]>,
    /// Indexes whose files the primary has removed.
    deleted_indexes: Vec<IndexId>,
}

impl Effects {
    fn of(changes: &NetChanges) -> Self {
        let mut effects = Self::default();
        for (key, value) in &changes.pairs {
            effects.buckets |=
                space::bucket_name(key).is_some() || space::split_document(key).is_some();
            effects.identities |= space::is_identity(key);
            if value.is_none() {
                if let Some(ContentId::Blob(id)) = space::split_deletion(key) {
                    effects.deleted.push(id);
                }
                effects.deleted_indexes.extend(space::split_index_deletion(key));
            }
        }
        effects
    }
}

/// The rows to write, but those of vectors.
#[derive(Debug)]
struct Written {
    changes: NetChanges,
    /// Elements that waited for their record.
    waiting: Vec<Vec<u8>>,
    position: StandbyPosition,
}

impl Written {
    fn write(&self, write: &mut Transaction<'_>) -> Result<(), StoreError> {
        for (key, value) in &self.changes.pairs {
            match value {
                Some(value) => write.put(key, value)?,
                None => write.delete(key)?,
            }
        }
        for (blob, place) in &self.changes.places {
            place.write(write, blob)?;
        }
        if self.changes.is_incomplete {
            for (row, elements) in &self.changes.elements {
                write.put(row, elements)?;
            }
        } else {
            for row in &self.waiting {
                write.delete(row)?;
            }
        }
        for key in self.changes.pairs.iter().filter_map(|(key, value)| match value {
            None => Some(key),
            Some(_) => None,
        }) {
            // The place of a blob goes with it, as at the primary.
            if let Some(ContentId::Blob(blob)) = space::split_deletion(key) {
                write.delete(&space::backup_place(&blob))?;
            }
        }
        self.position.write(write)
    }
}

/// The keys of a space.
fn rows_of(from: &impl Read, space: &[u8]) -> Result<Vec<Vec<u8>>, StoreError> {
    let end = key::successor(space).unwrap_or_default();
    let mut cursor = from.cursor(Bound::Included(space), Bound::Excluded(&end))?;
    let mut rows = Vec::new();
    while let Some((row, _)) = cursor.next()? {
        rows.push(row.to_vec());
    }
    Ok(rows)
}
