//! [`VectorIndex`]: a slot file with the derived codes for fast search.

use std::sync::Arc;

use liteio_disk::Disk;
use parking_lot::{Mutex, RwLock};

use crate::codes::{Codes, Loaded, new_path};
use crate::config::Shape;
use crate::error::VectorError;
use crate::limits::{CODES_DIMENSION_MIN, WITHOUT_CODE_MAX};
use crate::search::{Found, Neighbour, Search, search_coded, search_exactly};
use crate::slot::{Slot, SlotSet};
use crate::slots::{Runs, SlotFile, View, directory_of};

/// Vectors, and their nearest neighbours.
///
/// On a disk it is two files: `PATH.slots` with the vectors, and `PATH.codes`, which is derived from
/// them: it may be missing, old or damaged, and is then made again.
#[derive(Debug)]
pub struct VectorIndex {
    slots: SlotFile,
    /// The place of the codes; `None` in memory.
    home: Option<Home>,
    codes: RwLock<Option<Arc<Codes>>>,
    /// The lock of the thread that makes codes.
    making: Mutex<Saved>,
}

/// The sequence of the commit whose codes are saved in the file, if known.
#[derive(Debug, Default)]
struct Saved(Option<u64>);

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
        Self { slots, home, codes: RwLock::new(None), making: Mutex::default() }
    }

    /// Removes the files of the index with the path `path`, which must not be open. A missing file is no
    /// error.
    ///
    /// # Errors
    /// [`VectorError::Io`] or [`VectorError::Poisoned`].
    pub fn remove(disk: &dyn Disk, path: &str) -> Result<(), VectorError> {
        let codes_path = codes_path(path);
        for path in [new_path(&codes_path), codes_path, slots_path(path)] {
            match disk.remove(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                result => result?,
            }
        }
        Ok(disk.sync_dir(directory_of(path))?)
    }

    /// The vectors: everything but searching.
    #[must_use]
    pub fn slots(&self) -> &SlotFile {
        &self.slots
    }

    /// Makes the codes of all committed vectors that have none, so that the next search does not have to.
    /// The first call reads the saved codes, if they are valid.
    ///
    /// # Errors
    /// [`VectorError::Io`] or [`VectorError::Corrupt`] if vectors cannot be read. Damaged codes are no
    /// error: they are made again.
    pub fn prepare(&self) -> Result<(), VectorError> {
        if self.slots.shape().dimension() < CODES_DIMENSION_MIN {
            return Ok(());
        }
        self.make_codes().map(drop)
    }

    fn make_codes(&self) -> Result<Arc<Codes>, VectorError> {
        let mut saved = self.making.lock();
        self.make_codes_locked(&mut saved)
    }

    fn make_codes_locked(&self, saved: &mut Saved) -> Result<Arc<Codes>, VectorError> {
        let changed = self.slots.take_changed();
        let view = self.slots.view();
        let present = self.codes.read().clone();
        let codes = match present {
            Some(codes) if !codes.are_outgrown(&view)? => {
                codes.encode(&view, changed.slots())?;
                codes
            }
            _ => {
                let codes = Arc::new(self.load_or_make(&view, &changed, saved)?);
                *self.codes.write() = Some(Arc::clone(&codes));
                codes
            }
        };
        self.slots.finish_changed();
        Ok(codes)
    }

    fn load_or_make(
        &self,
        view: &View,
        changed: &Runs,
        saved: &mut Saved,
    ) -> Result<Codes, VectorError> {
        *saved = Saved(None);
        // Outgrown codes are made again with another centre, not loaded.
        let is_first = self.codes.read().is_none();
        if is_first && let Some(Loaded { codes, slots, sequence }) = self.load() {
            *saved = Saved(Some(sequence));
            codes.encode(view, (slots..view.slot_count()).chain(changed.slots()))?;
            return Ok(codes);
        }
        let codes = Codes::for_vectors_of(view)?;
        codes.encode(view, view.slots().map(Slot::number))?;
        Ok(codes)
    }

    fn load(&self) -> Option<Loaded> {
        let home = self.home.as_ref()?;
        let (shape, opened) = (self.slots.shape(), self.slots.opened());
        Codes::load(&*home.disk, &home.codes_path, shape, opened)
    }

    /// Codes, and the slots that have none yet: few.
    fn codes(&self) -> Result<(Arc<Codes>, SlotSet), VectorError> {
        // The set comes before the codes: a code made in between is compared exactly once more, which
        // is harmless. The other way round a vector could be in neither.
        let without_code = self.slots.changed();
        if without_code.count() <= WITHOUT_CODE_MAX
            && let Some(codes) = self.codes.read().clone()
        {
            return Ok((codes, without_code));
        }
        let codes = self.make_codes()?;
        Ok((codes, self.slots.changed()))
    }

    /// Writes the codes to the file beside the vectors, so that the next opening need not make them. It
    /// commits with [`Durability::Fsync`](crate::Durability) first; the codes themselves are never synced.
    /// Does nothing for an index in memory, or if the file is up to date.
    ///
    /// # Errors
    /// Those of the commit and of writing. Without the file the next opening makes the codes again.
    pub fn save_codes(&self) -> Result<(), VectorError> {
        let Some(home) = &self.home else { return Ok(()) };
        if self.slots.shape().dimension() < CODES_DIMENSION_MIN {
            return Ok(());
        }
        let mut saved = self.making.lock();
        let (stamp, slots) = self.slots.commit_and_stamp()?;
        let is_untouched =
            self.codes.read().is_none() && stamp.sequence == self.slots.opened().stamp.sequence;
        if is_untouched || saved.0 == Some(stamp.sequence) {
            return Ok(());
        }
        // The lock keeps other threads from making codes meanwhile. Codes of vectors committed after the
        // stamp may be among these. The file does not count them: slots allocated since have no codes in
        // it, and slots rewritten since make it invalid, unless their commit is lost: then they are free.
        let codes = self.make_codes_locked(&mut saved)?;
        codes.save(&*home.disk, &home.codes_path, stamp, slots)?;
        *saved = Saved(Some(stamp.sequence));
        Ok(())
    }

    /// The nearest neighbours of a vector, the nearest first. Distances are exact; that none nearer
    /// was missed is very likely (99 % and more), not certain.
    ///
    /// Only vectors in `view` are found; those that are freed meanwhile may be missing.
    ///
    /// # Errors
    /// [`VectorError::WrongLength`], [`VectorError::NotFinite`], [`VectorError::ZeroLength`] for the
    /// query, [`VectorError::TooManyNeighbours`], [`VectorError::DamagedVector`] if a vector that was
    /// compared is not the one that was appended, and [`VectorError::Io`] or [`VectorError::Corrupt`] if
    /// vectors cannot be read, or the file has been found damaged or truncated.
    pub fn search(&self, view: &View, search: &Search<'_>) -> Result<Vec<Neighbour>, VectorError> {
        Ok(self.find(view, search)?.neighbours)
    }

    /// The same for an owner that has recorded the CRC of every vector: also returns the vectors of which the
    /// index does not know whether they are damaged, to be given to [`View::compare`].
    ///
    /// # Errors
    /// As [`VectorIndex::search`].
    pub fn find(&self, view: &View, search: &Search<'_>) -> Result<Found, VectorError> {
        search.check(view)?;
        self.slots.check()?;
        if search.neighbours == 0 || search.is_exact(view) {
            return search_exactly(view, search);
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
