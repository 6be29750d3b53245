//! Vectors of one dimension in a file: durable commits, reads without copies, nearest neighbours.
//!
//! An index is a file of fixed-size slots, one vector per slot, and codes derived from the vectors.
//! A writer appends vectors to slots and commits them in groups, one sync for all. Readers borrow
//! vectors from snapshots without copying. A search scans two bits per element to exclude most
//! vectors, and compares the rest exactly.
//!
//! | Module | Content |
//! |---|---|
//! | `config`, `metric`, `check/`, `error`, `limits`, `slot` | Shape of a file; metrics; check of a vector's elements; errors; limits; slots and sets of slots |
//! | `map` | Read-only memory map of a file, with address space for growth, guarded by `liteio_disk` |
//! | `slots/` | [`SlotFile`] (`file`), its staging buffer and slot allocator (`writer`), group commit (`commit`, `committer`), recovery, snapshots (`view`), epoch-based reclamation of freed slots (`readers`), checksums of slots (`sums`) |
//! | `distance/` | Exact distances: scalar, AVX2, AVX-512, NEON; each kernel also computes the vector's checksum |
//! | `codes/` | Codes: rotation, signs and second bits, the scan kernels, partitions and their centroids, and the derived file |
//! | `search/`, `index` | Search: few candidates exactly, many by codes; [`VectorIndex`] |
//! | `recall`, `measure` | Running estimate of recall, and the limit of probing that keeps it above its goal |
//! | `worker` | The background thread, one for all indexes of the process |
//!
//! The crate knows no keys, metadata, JSON, records, HTTP or async runtime: names of vectors are
//! the business of its owner. `unsafe` code is in `map`, `slots/view` and the kernels only, and
//! tests compare every kernel with its scalar twin.
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
//! // A view is a snapshot: it does not change while others write, and copies nothing.
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
//! // The vector of a freed slot is no longer found; the slot is reused later.
//! index.slots().free(&[red])?;
//! assert!(!view.contains(red));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a commit promises
//! - [`SlotFile::append`] stages a vector in memory and returns its slot. Readers do not see it.
//! - [`SlotFile::commit`] makes everything appended before visible at once. With
//!   [`Durability::Fsync`] it survives a power cut once the call returns; with [`Durability::Os`]
//!   it survives the end of the process. Commits of several threads share one sync.
//! - After a crash the file has all committed vectors, and perhaps the commit in progress, which is
//!   atomic. Each commit carries a checksum of its new slots, so a torn commit does not verify. The
//!   checksum does not cover slots that were freed and rewritten: after a crash, compare their
//!   [`vector_crc`] to find out whether they have their new vectors.
//! - After a failed sync nothing is written until the file is opened again
//!   ([`VectorError::Poisoned`]). A full disk ([`VectorError::NoSpace`]) loses nothing: staged
//!   vectors can be committed once there is space.
//! - The caller records which slots are *in use*. After opening all of them are, until
//!   [`SlotFile::retain`]. A freed slot is written again only after the last [`View`] that can see
//!   its old vector is dropped. Store the [`vector_crc`] returned by `append` beside the slot: it
//!   detects a slot with other elements.
//!
//! # Reading and writing at once
//! Everything takes `&self` and may be called from many threads. Readers never wait for writers.
//! Slices borrowed from a [`View`] do not change while the view lives, and cannot outlive it. Use
//! results computed from them only after [`View::check`].
//!
//! # Searching
//! [`VectorIndex::search`] compares exactly if there are at most [`EXACT_CANDIDATES_MAX`]
//! candidates, or [`EXACT_CANDIDATES_PER_NEIGHBOUR`] per wanted neighbour, or if vectors have fewer
//! than [`CODES_DIMENSION_MIN`] elements. Otherwise it scans codes of one bit per element, tightens
//! the bounds of possible neighbours by a second bit, and compares the rest exactly: returned
//! distances are always exact. From 65,536 vectors on, codes are in partitions, of which a search
//! probes as many as needed to miss fewer than one in a hundred neighbours; [`VectorIndex::recall`]
//! reports the measured recall. A filter is applied before the search, so it never costs results.
//! Codes take 216 bytes of memory per vector of 768 elements. A background thread makes and saves
//! them; vectors without a code are compared exactly.
//!
//! A search verifies every vector that it compares exactly: a vector that differs from the appended
//! one is [`VectorError::DamagedVector`]. The checksums are in memory only, so after opening the
//! index trusts vectors as they are until [`View::compare`] has seen them; [`VectorIndex::find`]
//! returns the unverified ones it has met.
//!
//! [`Metric::Euclidean`] returns the distance itself, not its square. Clients of S3 Vectors assume
//! that: the LangChain integration maintained by AWS scales the distance by √4096.
//!
//! # Limits
//! 1 to [`DIMENSION_MAX`] dimensions, [`SLOTS_MAX`] slots per file, [`NEIGHBOURS_MAX`] neighbours
//! per search. Elements are finite; with [`Metric::Cosine`] no vector has length zero. Files are
//! little-endian, like the processors that this crate builds for.
//!
//! # Truncated files and failing devices
//! By default a file is read by system calls. After [`map_files`], which the `main` of a program
//! calls, it is mapped, which makes searches faster. In both cases a failing device, or another
//! process that truncates the file, makes a search fail with [`VectorError::Corrupt`] or
//! [`VectorError::Io`], and nothing more is written to that file.

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
