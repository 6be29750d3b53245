//! The frames that are being read, whose space is not given back before the last reader ends.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::super::BlobId;

/// The blobs with readers.
#[derive(Debug, Default)]
pub(super) struct Readers {
    reading: Mutex<Reading>,
}

#[derive(Debug, Default)]
struct Reading {
    blobs: HashMap<BlobId, Blob>,
    /// Deleted blobs whose last reader has ended.
    ended: Vec<BlobId>,
}

#[derive(Debug, Default)]
struct Blob {
    readers: usize,
    is_deleted: bool,
}

/// A reader; dropping it ends it.
#[derive(Debug)]
pub(super) struct Reader {
    readers: Arc<Readers>,
    id: BlobId,
}

impl Readers {
    /// Adds a reader; `None` if the blob is deleted, and only read to its end by others.
    pub(super) fn begin(self: &Arc<Self>, id: BlobId) -> Option<Reader> {
        let mut reading = self.reading.lock();
        let blob = reading.blobs.entry(id).or_default();
        if blob.is_deleted {
            return None;
        }
        blob.readers += 1;
        Some(Reader { readers: Arc::clone(self), id })
    }

    /// Deletes a blob when its last reader ends; `false` if it has none.
    pub(super) fn delete_later(&self, id: &BlobId) -> bool {
        match self.reading.lock().blobs.get_mut(id) {
            Some(blob) => {
                blob.is_deleted = true;
                true
            }
            None => false,
        }
    }

    /// `true` if the blob is deleted, and only read to its end.
    pub(super) fn is_deleted(&self, id: &BlobId) -> bool {
        self.reading.lock().blobs.get(id).is_some_and(|blob| blob.is_deleted)
    }

    /// Takes the deleted blobs whose last reader has ended.
    pub(super) fn take_ended(&self) -> Vec<BlobId> {
        std::mem::take(&mut self.reading.lock().ended)
    }

    /// `true` if a deleted blob still occupies its place.
    pub(super) fn has_deleted(&self) -> bool {
        let reading = self.reading.lock();
        !reading.ended.is_empty() || reading.blobs.values().any(|blob| blob.is_deleted)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut reading = self.readers.reading.lock();
        let Some(blob) = reading.blobs.get_mut(&self.id) else { return };
        blob.readers -= 1;
        if blob.readers > 0 {
            return;
        }
        let is_deleted = blob.is_deleted;
        reading.blobs.remove(&self.id);
        if is_deleted {
            reading.ended.push(self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blob_is_deleted_after_its_last_reader_and_gets_no_new_one() {
        let readers = Arc::new(Readers::default());
        let id = BlobId([1; 16]);
        assert!(!readers.delete_later(&id));
        let first = readers.begin(id).expect("there");
        let second = readers.begin(id).expect("there");
        assert!(readers.delete_later(&id) && readers.delete_later(&id));
        assert!(readers.begin(id).is_none());
        drop(first);
        assert_eq!(readers.take_ended(), []);
        assert!(readers.has_deleted());
        drop(second);
        assert_eq!(readers.take_ended(), [id]);
        assert!(!readers.has_deleted() && readers.begin(id).is_some());
        assert_eq!(readers.take_ended(), []);
    }
}
