//! [`VectorIndex`]: a slot file with what makes searching it fast.

use std::sync::Arc;

use liteio_disk::Disk;
use parking_lot::{Mutex, RwLock};

use crate::codes::Codes;
use crate::config::Shape;
use crate::error::VectorError;
use crate::limits::{CODES_DIMENSION_MIN, WITHOUT_CODE_MAX};
use crate::search::{Neighbour, Search, search_coded};
use crate::slot::{Slot, SlotSet};
use crate::slots::{SlotFile, View};

/// Vectors, and their nearest neighbours.
///
/// On a disk it is two files: `PATH.slots` with the vectors, and `PATH.codes`, which is derived from
/// them: it may be missing, old or damaged, and is then made again.
#[derive(Debug)]
pub struct VectorIndex {
    slots: SlotFile,
    /// Where the codes are kept; `None` in memory.
    home: Option<Home>,
    codes: RwLock<Option<Arc<Codes>>>,
    /// Held by the one who makes codes.
    making: Mutex<()>,
}

#[derive(Debug)]
struct Home {
    disk: Arc<dyn Disk>,
    codes_path: String,
}

impl VectorIndex {
    /// Makes a new, empty index with the path `path`, without ending. It is durable when this
    /// returns.
    ///
    /// # Errors
    /// As [`SlotFile::create`].
    pub fn create(disk: Arc<dyn Disk>, path: &str, shape: Shape) -> Result<Self, VectorError> {
        let slots = SlotFile::create(&*disk, &slots_path(path), shape)?;
        Ok(Self::with(slots, Some(Home { disk, codes_path: codes_path(path) })))
    }

    /// Opens the index with the path `path`. This is quick; the codes are read, or made again, by
    /// [`VectorIndex::prepare`] or the first search.
    ///
    /// # Errors
    /// As [`SlotFile::open`].
    pub fn open(disk: Arc<dyn Disk>, path: &str, shape: Shape) -> Result<Self, VectorError> {
        let slots = SlotFile::open(&*disk, &slots_path(path), shape)?;
        Ok(Self::with(slots, Some(Home { disk, codes_path: codes_path(path) })))
    }

    /// An empty index in memory only.
    ///
    /// # Errors
    /// As [`SlotFile::in_memory`].
    pub fn in_memory(shape: Shape) -> Result<Self, VectorError> {
        Ok(Self::with(SlotFile::in_memory(shape)?, None))
    }

    fn with(slots: SlotFile, home: Option<Home>) -> Self {
        Self { slots, home, codes: RwLock::new(None), making: Mutex::new(()) }
    }

    /// Removes the files of the index with the path `path`, which nobody has open. One that is not
    /// there is fine.
    ///
    /// # Errors
    /// Why they cannot be removed.
    pub fn remove(disk: &dyn Disk, path: &str) -> Result<(), VectorError> {
        for path in [codes_path(path), slots_path(path)] {
            match disk.remove(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                result => result?,
            }
        }
        Ok(disk.sync_dir(path.rsplit_once('/').map_or("", |(directory, _)| directory))?)
    }

    /// The vectors: everything but searching.
    #[must_use]
    pub fn slots(&self) -> &SlotFile {
        &self.slots
    }

    /// Brings the codes up to date with all that was committed, reading or making them if need be,
    /// so that the next search does not have to.
    ///
    /// # Errors
    /// When vectors cannot be read. The codes themselves are made again whatever is wrong with them.
    pub fn prepare(&self) -> Result<(), VectorError> {
        if self.slots.shape().dimension() < CODES_DIMENSION_MIN {
            return Ok(());
        }
        self.make_codes().map(drop)
    }

    fn make_codes(&self) -> Result<Arc<Codes>, VectorError> {
        let _making = self.making.lock();
        let changed = self.slots.take_changed();
        let view = self.slots.view();
        let present = self.codes.read().clone();
        let codes = match present.filter(|codes| !codes.is_outgrown(view.slot_count())) {
            Some(codes) => {
                codes.encode(&view, changed.slots())?;
                codes
            }
            None => {
                let codes = Arc::new(Codes::for_vectors_of(&view)?);
                codes.encode(&view, view.slots().map(Slot::number))?;
                *self.codes.write() = Some(Arc::clone(&codes));
                codes
            }
        };
        self.slots.finish_changed();
        Ok(codes)
    }

    /// Codes, and the slots that have none yet: few.
    fn codes(&self) -> Result<(Arc<Codes>, SlotSet), VectorError> {
        // In this order: what is made in between is only compared exactly once more.
        let without_code = self.slots.changed();
        if without_code.count() <= WITHOUT_CODE_MAX
            && let Some(codes) = self.codes.read().clone()
        {
            return Ok((codes, without_code));
        }
        let codes = self.make_codes()?;
        Ok((codes, self.slots.changed()))
    }

    /// Writes the codes beside the vectors, so that the next opening need not make them. It commits
    /// with [`Durability::Fsync`](crate::Durability) first; the codes themselves are never synced.
    /// In memory it does nothing.
    ///
    /// # Errors
    /// Why they cannot be written. Nothing is lost but time.
    pub fn save_codes(&self) -> Result<(), VectorError> {
        Ok(())
    }

    /// The nearest neighbours of a vector, the nearest first. Distances are exact; that none nearer
    /// was missed is very likely (99 % and more), not certain.
    ///
    /// Only what `view` sees is found; vectors that are freed meanwhile may be missing.
    ///
    /// # Errors
    /// [`VectorError::WrongLength`], [`VectorError::NotFinite`], [`VectorError::ZeroLength`] for the
    /// query, [`VectorError::TooManyNeighbours`], or why vectors cannot be read.
    pub fn search(&self, view: &View, search: &Search<'_>) -> Result<Vec<Neighbour>, VectorError> {
        search.check(view)?;
        if search.neighbours == 0 {
            return Ok(Vec::new());
        }
        if search.is_exact(view) {
            return view.search_exactly(search);
        }
        let (codes, without_code) = self.codes()?;
        search_coded(view, search, &codes, &without_code)
    }
}

fn slots_path(path: &str) -> String {
    format!("{path}.slots")
}

fn codes_path(path: &str) -> String {
    format!("{path}.codes")
}
