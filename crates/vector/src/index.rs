//! [`VectorIndex`]: a slot file with what makes searching it fast.

use std::sync::Arc;

use liteio_disk::Disk;

use crate::config::Shape;
use crate::error::VectorError;
use crate::search::{Neighbour, Search};
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
        Ok(Self { slots, home: Some(Home { disk, codes_path: codes_path(path) }) })
    }

    /// Opens the index with the path `path`. This is quick; the codes are read, or made again, by
    /// [`VectorIndex::prepare`] or the first search.
    ///
    /// # Errors
    /// As [`SlotFile::open`].
    pub fn open(disk: Arc<dyn Disk>, path: &str, shape: Shape) -> Result<Self, VectorError> {
        let slots = SlotFile::open(&*disk, &slots_path(path), shape)?;
        Ok(Self { slots, home: Some(Home { disk, codes_path: codes_path(path) }) })
    }

    /// An empty index in memory only.
    ///
    /// # Errors
    /// As [`SlotFile::in_memory`].
    pub fn in_memory(shape: Shape) -> Result<Self, VectorError> {
        Ok(Self { slots: SlotFile::in_memory(shape)?, home: None })
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
        Ok(())
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
        view.search_exactly(search)
    }
}

fn slots_path(path: &str) -> String {
    format!("{path}.slots")
}

fn codes_path(path: &str) -> String {
    format!("{path}.codes")
}
