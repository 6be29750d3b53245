//! [`LazyBlobs`]: files, and blobs that come when they are read.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use liteio_blob::{
    BlobError, BlobId, BlobPiece, BlobReader, BlobStore, BlobWriter, FileBlobStore,
    MemoryBlobStore, Seal,
};
use liteio_disk::FileIdentity;
use parking_lot::Mutex;

use super::Outstanding;
use crate::error::StoreError;
use crate::meta::BlobSource;

/// The blobs of a directory, and those that are only in a backup yet.
#[derive(Clone, Debug)]
pub(crate) struct LazyBlobs(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    local: Arc<FileBlobStore>,
    source: Option<Arc<dyn BlobSource>>,
    state: Mutex<State>,
    /// Held while a blob is fetched: one at a time, so that none is fetched twice.
    fetching: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    outstanding: HashMap<BlobId, Outstanding>,
    /// Those that the backup does not have whole.
    damaged: HashSet<BlobId>,
    /// Those that could not be brought in this round: the others come first.
    failed: HashSet<BlobId>,
    /// Those that are here by now, and whose rows are still there.
    brought: Vec<[u8; 16]>,
}

impl LazyBlobs {
    pub(super) fn new(
        local: Arc<FileBlobStore>,
        source: Option<Arc<dyn BlobSource>>,
        outstanding: Vec<(BlobId, Outstanding)>,
        brought: Vec<[u8; 16]>,
    ) -> Self {
        let outstanding = outstanding.into_iter().collect();
        let state = Mutex::new(State { outstanding, brought, ..State::default() });
        Self(Arc::new(Inner { local, source, state, fetching: Mutex::default() }))
    }
}

impl Inner {
    fn is_outstanding(&self, id: &BlobId) -> bool {
        self.state.lock().outstanding.contains_key(id)
    }

    /// Brings a blob, unless it is there by now.
    fn bring(&self, id: &BlobId) -> Result<(), BlobError> {
        let _alone = self.fetching.lock();
        let Some(Outstanding { bytes, place }) = self.state.lock().outstanding.get(id).copied()
        else {
            return Ok(());
        };
        let elsewhere = |reason: &str| BlobError::Elsewhere { id: *id, reason: reason.to_owned() };
        // Passed over from then on, but by those who read it.
        let corrupt = |what| {
            self.state.lock().damaged.insert(*id);
            BlobError::Corrupt { id: *id, what }
        };
        let place = place.ok_or_else(|| corrupt("the backup does not have it"))?;
        let source = self.source.as_ref().ok_or_else(|| {
            elsewhere(
                "The bytes of the object are in a backup only, since it was restored lazily: start the server with \
                 --backup at the location of that backup.",
            )
        })?;
        let mut writer = self.local.begin_file(*id)?;
        let mut written = 0;
        let mut failed = None;
        let read = source.read(&id.0, bytes, &place, &mut |piece| {
            written += piece.len() as u64;
            writer.append(piece).map_err(|error| {
                failed = Some(error.clone());
                StoreError::from(error)
            })
        });
        match (read, failed) {
            (_, Some(error)) => return Err(error),
            (Err(StoreError::Corrupt { .. }), None) => {
                return Err(corrupt("the backup does not have it whole"));
            }
            (Err(error), None) => return Err(elsewhere(&error.to_string())),
            (Ok(()), None) if written != bytes => return Err(corrupt("it has another length")),
            (Ok(()), None) => {}
        }
        writer.seal(Seal::Now)?;
        let mut state = self.state.lock();
        if state.outstanding.remove(id).is_some() {
            state.brought.push(id.0);
            return Ok(());
        }
        drop(state);
        // Deleted meanwhile.
        self.local.delete(id)
    }
}

// All methods, since a default would pass over the files.
impl BlobStore for LazyBlobs {
    fn next_id(&self, random: [u8; 16]) -> BlobId {
        self.0.local.next_id(random)
    }

    fn begin(
        &self,
        id: BlobId,
        expected_bytes: Option<u64>,
    ) -> Result<Box<dyn BlobWriter>, BlobError> {
        self.0.local.begin(id, expected_bytes)
    }

    fn begin_as(&self, id: BlobId) -> Result<Box<dyn BlobWriter>, BlobError> {
        self.0.local.begin_as(id)
    }

    fn begin_in_memory(&self, id: BlobId, bytes: u64) -> Option<Box<dyn BlobWriter>> {
        self.0.local.begin_in_memory(id, bytes)
    }

    fn is_room_low(&self) -> bool {
        self.0.local.is_room_low()
    }

    fn make_room(&self, random: u64) {
        self.0.local.make_room(random);
    }

    fn sync_again(&self, id: &BlobId, body_bytes: u64) -> Result<(), BlobError> {
        self.0.local.sync_again(id, body_bytes)
    }

    fn sync_at_once(&self, from: Option<usize>) {
        self.0.local.sync_at_once(from);
    }

    fn sync_all(&self) -> Result<(), BlobError> {
        self.0.local.sync_all()
    }

    fn write_all(&self) -> Result<(), BlobError> {
        self.0.local.write_all()
    }

    fn open(&self, id: &BlobId, body_bytes: u64) -> Result<Arc<dyn BlobReader>, BlobError> {
        if !self.0.is_outstanding(id) {
            return self.0.local.open(id, body_bytes);
        }
        let (blobs, opened) = (Arc::clone(&self.0), Mutex::default());
        Ok(Arc::new(LazyReader { blobs, id: *id, body_bytes, opened }))
    }

    fn delete(&self, id: &BlobId) -> Result<(), BlobError> {
        self.0.state.lock().outstanding.remove(id);
        self.0.local.delete(id)
    }

    fn scan(&self, found: &mut dyn FnMut(BlobId)) -> Result<(), BlobError> {
        self.0.local.scan(found)
    }

    fn clean_temporary(&self) -> Result<(), BlobError> {
        self.0.local.clean_temporary()
    }

    fn is_own(&self, id: &BlobId) -> bool {
        self.0.local.is_own(id)
    }

    fn make_file(&self, id: &BlobId) -> Result<(), BlobError> {
        self.0.local.make_file(id)
    }

    fn settle(&self) -> Result<bool, BlobError> {
        self.0.local.settle()
    }

    fn written_files(&self) -> Vec<(String, FileIdentity)> {
        self.0.local.written_files()
    }

    fn close(&self) -> Result<bool, BlobError> {
        self.0.local.close()
    }

    fn clone_in_memory(&self) -> Option<MemoryBlobStore> {
        self.0.local.clone_in_memory()
    }

    fn outstanding(&self) -> usize {
        self.0.state.lock().outstanding.len()
    }

    fn bring_one(&self) -> Result<bool, BlobError> {
        let next = {
            let mut state = self.0.state.lock();
            let State { outstanding, damaged, failed, .. } = &mut *state;
            if outstanding.keys().all(|id| damaged.contains(id) || failed.contains(id)) {
                failed.clear();
            }
            let mut ids = outstanding.keys().copied();
            ids.find(|id| !damaged.contains(id) && !failed.contains(id))
        };
        let Some(id) = next else { return Ok(false) };
        let brought = self.0.bring(&id);
        if brought.is_err() {
            self.0.state.lock().failed.insert(id);
        }
        brought.map(|()| true)
    }

    fn take_brought(&self) -> Vec<[u8; 16]> {
        std::mem::take(&mut self.0.state.lock().brought)
    }
}

/// A blob that was not there when it was opened.
#[derive(Debug)]
struct LazyReader {
    blobs: Arc<Inner>,
    id: BlobId,
    body_bytes: u64,
    opened: Mutex<Option<Arc<dyn BlobReader>>>,
}

impl LazyReader {
    /// The file, if it is there. May wait for the source if `may_wait`.
    fn file(&self, may_wait: bool) -> Result<Option<Arc<dyn BlobReader>>, BlobError> {
        if let Some(file) = &*self.opened.lock() {
            return Ok(Some(Arc::clone(file)));
        }
        if self.blobs.is_outstanding(&self.id) {
            if !may_wait {
                return Ok(None);
            }
            self.blobs.bring(&self.id)?;
        }
        let file = self.blobs.local.open(&self.id, self.body_bytes)?;
        Ok(Some(Arc::clone(self.opened.lock().insert(file))))
    }
}

impl BlobReader for LazyReader {
    fn read(&self, range: Range<u64>) -> Result<BlobPiece, BlobError> {
        match self.file(true)? {
            Some(file) => file.read(range),
            None => Err(BlobError::NotFound { id: self.id }),
        }
    }

    fn try_read(&self, range: Range<u64>) -> Result<Option<BlobPiece>, BlobError> {
        match self.file(false)? {
            Some(file) => file.try_read(range),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use liteio_blob::Lengths;
    use liteio_disk::{Durability, SimulatedDisk};

    use super::*;
    use crate::meta::BackupPlace;

    /// A backup that cannot read one of its blobs.
    #[derive(Debug)]
    struct Source {
        unreadable: Mutex<Option<[u8; 16]>>,
    }

    impl BlobSource for Source {
        fn read(
            &self,
            id: &[u8; 16],
            _: u64,
            _: &BackupPlace,
            take: &mut dyn FnMut(&[u8]) -> Result<(), StoreError>,
        ) -> Result<(), StoreError> {
            if *self.unreadable.lock() == Some(*id) {
                return Err(StoreError::Suspended { reason: "status 500".to_owned() });
            }
            take(b"body")
        }
    }

    #[test]
    fn a_blob_that_cannot_be_read_does_not_hold_up_the_others_and_is_tried_again() {
        const BLOBS: u8 = 32;
        let disk = Arc::new(SimulatedDisk::new(1));
        let local = FileBlobStore::open(disk, Durability::Fsync, 0, Lengths::new(0));
        let place = BackupPlace { backup: [0; 16], generation: 1, pack: 0, offset: 0, crc: 0 };
        let outstanding = Outstanding { bytes: 4, place: Some(place) };
        let outstanding = (0..BLOBS).map(|byte| (BlobId([byte; 16]), outstanding)).collect();
        let source = Arc::new(Source { unreadable: Mutex::new(Some([3; 16])) });
        let blobs = LazyBlobs::new(
            Arc::new(local.expect("opened")),
            Some(Arc::clone(&source) as Arc<dyn BlobSource>),
            outstanding,
            Vec::new(),
        );
        let failed = (0..BLOBS).filter(|_| blobs.bring_one().is_err()).count();
        assert_eq!((failed, blobs.outstanding()), (1, 1));
        assert!(blobs.bring_one().is_err());
        *source.unreadable.lock() = None;
        assert!(matches!(blobs.bring_one(), Ok(true)));
        assert!(matches!(blobs.bring_one(), Ok(false)));
    }
}
