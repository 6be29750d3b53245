//! The continuous backup of a data directory, and its restore to any moment.
//!
//! A [`Writer`](writer::Writer) follows a store in use. It keeps at a [target] *bases*, which have everything,
//! and *segments* of the log, which have every change since. A [`Repository`] is what is there: it restores a directory to
//! any moment from the end of a base on, verifies and prunes.
//!
//! ```text
//!  store ──► writer ──► packs: blobs ─────────────┐
//!                  ├──► segments: each second ────┼──► target ──► repository ──► restore ──► directory
//!                  └──► bases: each day ──────────┘                        ├───► verify
//!                                                                          └───► prune
//! ```
//!
//! ```
//! use std::sync::Arc;
//! use liteio_backup::{Moment, Repository};
//! use liteio_backup::target::{SimulatedTarget, Target};
//!
//! let target: Arc<dyn Target> = Arc::new(SimulatedTarget::new());
//! let created_ms = 1_700_000_000_000;
//! let repository = Repository::open_or_create(target, None, created_ms)?;
//! assert!(repository.plan(Moment::Newest).is_err(), "no base yet");
//! # Ok::<(), liteio_backup::Error>(())
//! ```
//!
//! # Modules
//! | Module | Content |
//! |---|---|
//! | [`target`] | places for objects: directories, buckets of any S3 |
//! | `seal` | the encoding of every object: compressed, encrypted, verified |
//! | `names`, `code`, `place`, `segment`, `base` | names and contents of objects |
//! | `repository/` | a backup at its target: its identity, generations, packs |
//! | [`writer`] | keeps a backup up to date |
//! | `copy` | a copy of a data directory in use into another directory, without a target |
//! | `sorted` | the places of any number of blobs in the order of packs |
//! | `follow` | a standby: applies each segment to a store that serves reads |
//! | `source` | blobs that a lazy restore has left in the backup |
//! | `lease/` | who may write: the lease of the primary, its hand-over to a standby |
//! | `log`, `restore`, `verify`, `prune` | reading segments in order; what is done with a backup |
//!
//! The crate knows the [feed](liteio_store::backup) of the store and nothing else of it, and reaches buckets through
//! `liteio-client` only.

mod base;
mod code;
mod copy;
mod error;
mod follow;
mod lease;
mod limits;
mod log;
mod names;
mod place;
mod prune;
mod repository;
mod restore;
mod seal;
mod segment;
mod sorted;
mod source;
pub mod target;
#[cfg(test)]
mod testing;
mod verify;
pub mod writer;

pub use base::{Manifest, Parent};
pub use copy::{Copied, CopyProgress, copy};
pub use error::Error;
pub use follow::Follower;
pub use lease::{Claimant, Holder, Lease, Look};
pub use limits::{CONTENT_BYTES_MAX, OBJECT_BYTES_MAX};
pub use names::IDENTITY;
pub use prune::{Pruned, Retention, prune};
pub use repository::{Alive, Generation, Identity, Repository, Verification};
pub use restore::{Moment, Plan, Progress, Restored};
pub use seal::{SealError, Sealer};
pub use source::RepositorySource;
pub use verify::Verified;
