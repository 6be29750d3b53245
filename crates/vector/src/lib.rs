//! Vectors of one dimension in a file: durable commits, reads without copies, nearest neighbours.
//!
//! ```
//! use std::sync::Arc;
//!
//! use liteio_disk::RealDisk;
//! use liteio_vector::{Durability, Metric, Search, Shape, SlotSet, VectorIndex};
//!
//! # let directory = tempfile::tempdir()?;
//! let disk = Arc::new(RealDisk::open(directory.path())?);
//! let shape = Shape::new(3, Metric::Cosine)?;
//! let index = VectorIndex::create(disk, "colours", shape)?;
//!
//! // Append, then commit: now they are visible, and survive a power cut.
//! let red = index.slots().append(&[0.9, 0.1, 0.0])?.slot;
//! let many = index.slots().append_many(&[0.0, 1.0, 0.1, 0.1, 0.0, 0.8])?;
//! index.slots().commit(Durability::Fsync)?;
//!
//! // A view is a snapshot: it stays the same while others go on writing, and copies nothing.
//! let view = index.slots().view();
//! assert_eq!(*view.vector(red)?, [0.9, 0.1, 0.0]);
//!
//! // The nearest of all, and the nearest of some.
//! let query = [0.8, 0.3, 0.0];
//! let nearest = index.search(&view, &Search::new(&query, 1))?;
//! assert_eq!(nearest[0].slot, red);
//! let others: SlotSet = many.iter().map(|written| written.slot).collect();
//! let nearest = index.search(&view, &Search::new(&query, 1).within(&others))?;
//! assert_eq!(nearest[0].slot, many[0].slot);
//!
//! // The vector of a freed slot is not found any more; the slot is reused later.
//! index.slots().free(&[red])?;
//! assert!(!view.contains(red));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a commit promises
//! - [`SlotFile::append`] stages a vector in memory and returns its slot. Readers do not see it.
//! - [`SlotFile::commit`] makes everything that was appended before visible at once. With
//!   [`Durability::Fsync`] it survives a power cut when the call returns; with [`Durability::Os`]
//!   the end of the process. Commits of several threads share one sync.
//! - After a crash the file holds all committed vectors, and perhaps the commit in progress, which is
//!   atomic. Each commit carries a checksum of its new slots, so a torn one does not verify. The checksum
//!   does not cover slots that were freed and rewritten: compare their [`vector_crc`] to find out if one
//!   holds its new vector after a crash.
//! - After a failed sync nothing is written until the file is opened again
//!   ([`VectorError::Poisoned`]). A full disk ([`VectorError::NoSpace`]) loses nothing: staged vectors
//!   can be committed when there is space again.
//! - The caller records which slots are *in use*: after opening all are, until
//!   [`SlotFile::retain`]. A freed slot is written again only when no [`View`] can still see its old
//!   vector. The [`vector_crc`] that appending returns, stored beside the slot, detects a slot with other
//!   elements.
//!
//! # Reading and writing at once
//! Everything takes `&self` and may be called from many threads. Readers never wait for writers.
//! Slices borrowed from a [`View`] do not change while the view lives, and cannot outlive it; use what was
//! computed from them only after [`View::check`].
//!
//! # Searching
//! [`VectorIndex::search`] compares up to [`EXACT_CANDIDATES_MAX`] candidates, or
//! [`EXACT_CANDIDATES_PER_NEIGHBOUR`] for each neighbour wanted, and vectors below
//! [`CODES_DIMENSION_MIN`] elements, exactly. With more it scans codes of one bit an element, improves the bounds
//! of possible neighbours by another bit, and compares the rest exactly: distances are always exact. From 65,536
//! vectors on, codes are in partitions, of which a search probes as many as it takes to miss fewer than one of a
//! hundred neighbours: [`VectorIndex::recall`] tells what was measured. A filter is applied first, so it never
//! costs results. Codes take 216 bytes of memory for a vector of 768 elements. A thread in the background makes
//! and saves them; vectors that have none yet are compared exactly.
//!
//! A search verifies every vector that it compares exactly: one that is not as it was appended is
//! [`VectorError::DamagedVector`]. After an opening the index does not know how vectors were: it takes them as
//! they are until they were given to [`View::compare`], and [`VectorIndex::find`] returns those that it has met.
//!
//! [`Metric::Euclidean`] gives the distance itself, not its square, as clients of S3 Vectors assume: the
//! LangChain integration that AWS maintains scales it by √4096.
//!
//! # Limits
//! Dimensions 1 to [`DIMENSION_MAX`], [`SLOTS_MAX`] slots a file, [`NEIGHBOURS_MAX`] neighbours a
//! search. Elements are finite; with [`Metric::Cosine`] no vector has the length zero. Files are
//! little-endian, as the processors that this crate builds for.
//!
//! # Files that are truncated, and devices that fail
//! A file is read. After [`map_files`], which is for the `main` of a program, it is mapped, and searches are
//! faster. Either way a failing device, or another process that truncates the file, is
//! [`VectorError::Corrupt`] or [`VectorError::Io`] of the search, and nothing more is written to that file.

mod check;
mod codes;
mod config;
mod distance;
mod error;
mod index;
mod limits;
mod map;
mod measure;
mod metric;
mod recall;
mod search;
mod slot;
mod slots;
mod worker;

pub use config::Shape;
pub use error::VectorError;
pub use index::{Tuning, VectorIndex};
pub use limits::{
    CODES_DIMENSION_MIN, DIMENSION_MAX, EXACT_CANDIDATES_MAX, EXACT_CANDIDATES_PER_NEIGHBOUR,
    NEIGHBOURS_MAX, SLOTS_MAX,
};
pub use liteio_disk::Durability;
pub use liteio_disk::map_files;
pub use metric::Metric;
pub use recall::Recall;
pub use search::{Found, Neighbour, Search, processor_kernels};
pub use slot::{Slot, SlotSet};
pub use slots::{SlotFile, Verified, View, Written, vector_crc};
