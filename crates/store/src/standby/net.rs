//! [`NetChanges`]: the changes of some records together.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use liteio_kv::{Change, changes};

use crate::backup::{BackupBlob, BackupPlace, blobs_of};
use crate::error::StoreError;
use crate::meta::space;

/// The last change of each key in some records, in memory.
#[derive(Debug, Default)]
pub struct NetChanges {
    /// The value of each changed key, or its removal.
    pub(super) pairs: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// The elements of vectors, by their rows: of the slots of the primary.
    pub(super) elements: HashMap<Vec<u8>, Vec<u8>>,
    /// The places of blobs in the backup.
    pub(super) places: HashMap<[u8; 16], BackupPlace>,
    /// `true` if records follow whose elements are here.
    pub(super) is_incomplete: bool,
    bytes: usize,
}

impl NetChanges {
    /// Adds the changes of the next record.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] for bytes that are no changes.
    pub fn add(&mut self, record: &[u8]) -> Result<(), StoreError> {
        for change in changes(record) {
            match change? {
                Change::Put { key, value } if key.starts_with(space::ALL_ELEMENTS) => {
                    self.bytes += key.len() + value.len();
                    self.elements.insert(key.to_vec(), value.to_vec());
                }
                Change::Put { key, value } => self.set(key, Some(value)),
                Change::Delete { key } => self.set(key, None),
            }
        }
        Ok(())
    }

    /// Adds places of blobs in the backup.
    pub fn place(&mut self, places: &[(BackupBlob, BackupPlace)]) {
        self.places.extend(places.iter().map(|(blob, place)| (blob.id, *place)));
    }

    /// Tells whether the last added record is not complete: only elements of it are here.
    pub fn set_incomplete(&mut self, is_incomplete: bool) {
        self.is_incomplete = is_incomplete;
    }

    /// Bytes of keys and values, about what it takes in memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of changed keys.
    #[must_use]
    pub fn count(&self) -> usize {
        self.pairs.len()
    }

    pub(super) fn set(&mut self, key: &[u8], value: Option<&[u8]>) {
        if is_local(key) {
            return;
        }
        self.bytes += key.len() + value.map_or(0, <[u8]>::len);
        self.pairs.insert(key.to_vec(), value.map(<[u8]>::to_vec));
    }

    /// The blobs that the new values name. One in a damaged record was damaged at the primary, too.
    pub(super) fn blobs(&self) -> BTreeSet<BackupBlob> {
        let values = self.pairs.iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
        values.flat_map(|(key, value)| blobs_of(key, value).unwrap_or_default()).collect()
    }

    pub(super) fn place_of(&self, blob: &BackupBlob) -> Option<BackupPlace> {
        self.places.get(&blob.id).copied()
    }
}

/// `true` for rows that a standby has of its own: those of a directory, slots of vectors, and
/// elements that wait for their record.
pub(super) fn is_local(key: &[u8]) -> bool {
    space::is_of_directory(key)
        || key.starts_with(space::ALL_VECTOR_SLOTS)
        || key.starts_with(space::ALL_ELEMENTS)
}
