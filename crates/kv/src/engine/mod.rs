//! The engine: the ordered map on disk, written by the drain and read by snapshots.
//!
//! It separates the key space from the storage of its pairs. Above it are the queue, the committer,
//! the log, the memtables and the drain; below it is one module for each engine, the only place
//! that uses its types:
//!
//! ```text
//!  Snapshot, Transaction ── Cursor, Value                drain ── memtables, log
//!          ▼                                               ▼
//!     View, Tree, Place, PairGuard, Value               Engine              (enums, this file)
//!          └───────────────────────┬──────────────────────┘
//!                            on_redb, …                    (one module an engine)
//! ```
//!
//! # The contract of an engine
//! - [`Engine::view`] sees everything applied so far and nothing later. It may live for any time,
//!   also while changes are applied.
//! - [`Engine::apply`] makes changes, passed in key order, durable together with a [`Checkpoint`],
//!   as one atomic step. One thread at a time. If it fails, nothing of it is applied.
//! - The first failed write freezes the engine ([`Engine::frozen`]): from then on it writes
//!   nothing, and still reads what was applied. Opening it again finds the last checkpoint.
//!
//! The dispatch is an enum, matched once for each operation and at each step of a cursor. With one
//! engine in the build the match compiles to nothing; with several it is a well-predicted branch.
//! Type parameters would spread through `Transaction` and `Snapshot` into every signature of the
//! store.

mod checkpoint;
#[cfg(test)]
mod on_map;
mod on_redb;

use std::ops::Bound;
use std::sync::Arc;

use liteio_disk::Disk;

pub(super) use self::checkpoint::{Checkpoint, Contents};
pub use self::on_redb::silence_panics_of_damage;
use super::KvError;

/// Engines to choose from, in [`KvConfig::engine`](super::KvConfig::engine).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// The B-tree of redb, in one file.
    #[default]
    Redb,
    /// A map in memory that each checkpoint writes as a whole: the reference of the contract.
    #[cfg(test)]
    Map,
}

/// The path of a compacted copy of the tree `path`, before it is renamed.
pub(super) fn compacted_path(path: &str) -> String {
    format!("{path}.compact")
}

/// Reads all that the checkpoint in the file `path` reaches, the pages that no pair is in too, and verifies its checksums: a
/// damaged one of these is met by the next drain only. Nothing is changed. Meanwhile nobody may write the file.
///
/// # Errors
/// [`KvError::Corrupt`] with the first damage; the errors of the disk.
pub fn check_tree(disk: &dyn Disk, path: &str, cache_bytes: usize) -> Result<(), KvError> {
    on_redb::check(disk, path, cache_bytes).map(drop)
}

/// A pair to set, or a key to remove.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change<'c> {
    pub(super) key: &'c [u8],
    pub(super) value: Option<&'c [u8]>,
}

/// Changes in order of their keys.
pub(super) trait Changes {
    fn next(&mut self) -> Result<Option<Change<'_>>, KvError>;
}

/// No changes.
pub(super) struct NoChanges;

impl Changes for NoChanges {
    fn next(&mut self) -> Result<Option<Change<'_>>, KvError> {
        Ok(None)
    }
}

/// The failure of [`Engine::apply`].
#[derive(Debug)]
pub(super) struct ApplyError {
    pub(super) error: KvError,
    /// The key of the failed change, if the failure belongs to one.
    pub(super) key: Option<Vec<u8>>,
}

impl From<KvError> for ApplyError {
    fn from(error: KvError) -> Self {
        Self { error, key: None }
    }
}

/// Evaluates an expression for the value of any variant.
macro_rules! each {
    ($any:expr, $one:ident => $result:expr) => {
        match $any {
            Self::Redb($one) => $result,
            #[cfg(test)]
            Self::Map($one) => $result,
        }
    };
}

/// Like `each`, for a fallible expression whose success is wrapped in the variant of the same name
/// of another enum.
macro_rules! wrap {
    ($any:expr, $one:ident => $result:expr, $outer:ident) => {
        match $any {
            Self::Redb($one) => $result.map($outer::Redb),
            #[cfg(test)]
            Self::Map($one) => $result.map($outer::Map),
        }
    };
}

/// Like `wrap`, for an optional success.
macro_rules! wrap_some {
    ($any:expr, $one:ident => $result:expr, $outer:ident) => {
        match $any {
            Self::Redb($one) => $result.map(|it| it.map($outer::Redb)),
            #[cfg(test)]
            Self::Map($one) => $result.map(|it| it.map($outer::Map)),
        }
    };
}

/// An open engine. Dropping the last reference closes its files.
#[derive(Debug)]
pub(super) enum Engine {
    Redb(on_redb::Engine),
    #[cfg(test)]
    Map(on_map::Engine),
}

impl Engine {
    /// Opens or creates the file `path`. A failed write does not fail the call, but freezes the
    /// engine.
    pub(super) fn open(
        kind: EngineKind,
        disk: &Arc<dyn Disk>,
        path: &str,
        cache_bytes: usize,
    ) -> Result<Arc<Self>, KvError> {
        Ok(Arc::new(match kind {
            EngineKind::Redb => Self::Redb(on_redb::Engine::open(&**disk, path, cache_bytes)?),
            #[cfg(test)]
            EngineKind::Map => Self::Map(on_map::Engine::open(disk, path)?),
        }))
    }

    /// Makes the file `path` with this checkpoint and no pairs, for a caller who gives it its name when this returns.
    pub(super) fn create(
        kind: EngineKind,
        disk: &Arc<dyn Disk>,
        path: &str,
        cache_bytes: usize,
        checkpoint: &Checkpoint,
    ) -> Result<(), KvError> {
        match kind {
            EngineKind::Redb => on_redb::Engine::create(&**disk, path, cache_bytes, checkpoint),
            #[cfg(test)]
            EngineKind::Map => on_map::Engine::open(disk, path)?
                .apply(&mut NoChanges, checkpoint)
                .map_or_else(|failure| Err(failure.error), |_| Ok(())),
        }
    }

    /// An engine without files.
    pub(super) fn memory(kind: EngineKind, cache_bytes: usize) -> Result<Arc<Self>, KvError> {
        Ok(Arc::new(match kind {
            EngineKind::Redb => Self::Redb(on_redb::Engine::memory(cache_bytes)?),
            #[cfg(test)]
            EngineKind::Map => Self::Map(on_map::Engine::memory()),
        }))
    }

    /// The failure that froze the engine, if one did.
    pub(super) fn frozen(&self) -> Option<KvError> {
        each!(self, it => it.frozen())
    }

    /// Keeps the files as the last checkpoint left them, even if the engine would write while it
    /// closes.
    pub(super) fn close_without_checkpoint(&self) {
        each!(self, it => it.close_without_checkpoint());
    }

    /// Everything applied so far.
    pub(super) fn view(&self) -> Result<View, KvError> {
        wrap!(self, it => it.view(), View)
    }

    /// The checkpoint in the files; `None` when there never was one.
    pub(super) fn read_checkpoint(&self) -> Result<Option<Checkpoint>, KvError> {
        each!(self, it => it.read_checkpoint())
    }

    /// Makes the changes, passed in key order, and the checkpoint durable: afterwards the log
    /// records up to the checkpoint are obsolete. Returns the checkpoint as written, with its
    /// contents.
    pub(super) fn apply(
        &self,
        changes: &mut dyn Changes,
        checkpoint: &Checkpoint,
    ) -> Result<Checkpoint, ApplyError> {
        each!(self, it => it.apply(changes, checkpoint))
    }

    /// Like [`Engine::apply`], for changes of which none may be left out. A failure is reported as
    /// the reason of the freeze, if there is one.
    pub(super) fn apply_whole(
        &self,
        changes: &mut dyn Changes,
        checkpoint: &Checkpoint,
    ) -> Result<Checkpoint, KvError> {
        let applied = self.apply(changes, checkpoint);
        applied.map_err(|failure| self.frozen().unwrap_or(failure.error))
    }

    /// Bytes of the engine's file.
    pub(super) fn file_bytes(&self) -> u64 {
        each!(self, it => it.file_bytes())
    }
}

/// The pairs as one checkpoint left them.
pub(super) enum View {
    Redb(on_redb::View),
    #[cfg(test)]
    Map(on_map::View),
}

impl View {
    #[inline]
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<Value<'_>>, KvError> {
        wrap_some!(self, it => it.get(key), Value)
    }

    /// The pairs, for cursors.
    pub(super) fn tree(&self) -> Tree<'_> {
        match self {
            Self::Redb(it) => Tree::Redb(it.tree()),
            #[cfg(test)]
            Self::Map(it) => Tree::Map(it.tree()),
        }
    }
}

/// The pairs of a view, to find places in.
#[derive(Clone, Copy)]
pub(super) enum Tree<'a> {
    Redb(on_redb::Tree<'a>),
    #[cfg(test)]
    Map(on_map::Tree<'a>),
}

impl<'a> Tree<'a> {
    /// The place before the first key within the bound.
    pub(super) fn lower_bound(self, bound: Bound<&[u8]>) -> Result<Place<'a>, KvError> {
        wrap!(self, it => it.lower_bound(bound), Place)
    }

    /// The place behind the last key within the bound.
    pub(super) fn upper_bound(self, bound: Bound<&[u8]>) -> Result<Place<'a>, KvError> {
        wrap!(self, it => it.upper_bound(bound), Place)
    }
}

/// A position between two keys, without bounds.
pub(super) enum Place<'a> {
    Redb(on_redb::Place<'a>),
    #[cfg(test)]
    Map(on_map::Place<'a>),
}

impl<'a> Place<'a> {
    /// Steps over the next key and stores its pair in `shown`, which is empty; stores nothing at
    /// the end.
    #[inline]
    pub(super) fn next_into(&mut self, shown: &mut Option<PairGuard<'a>>) -> Result<(), KvError> {
        each!(self, it => it.next_into(shown))
    }

    /// The same for the previous key.
    #[inline]
    pub(super) fn previous_into(
        &mut self,
        shown: &mut Option<PairGuard<'a>>,
    ) -> Result<(), KvError> {
        each!(self, it => it.previous_into(shown))
    }
}

/// A pair, borrowed from the engine.
pub(super) enum PairGuard<'a> {
    Redb(on_redb::PairGuard<'a>),
    #[cfg(test)]
    Map(on_map::PairGuard<'a>),
}

impl<'a> From<on_redb::PairGuard<'a>> for PairGuard<'a> {
    #[inline]
    fn from(pair: on_redb::PairGuard<'a>) -> Self {
        Self::Redb(pair)
    }
}

#[cfg(test)]
impl<'a> From<on_map::PairGuard<'a>> for PairGuard<'a> {
    fn from(pair: on_map::PairGuard<'a>) -> Self {
        Self::Map(pair)
    }
}

impl PairGuard<'_> {
    #[inline]
    pub(super) fn key(&self) -> &[u8] {
        each!(self, it => it.key())
    }

    #[inline]
    pub(super) fn value(&self) -> &[u8] {
        each!(self, it => it.value())
    }
}

/// A value, borrowed from the engine.
pub(super) enum Value<'a> {
    Redb(on_redb::Value<'a>),
    #[cfg(test)]
    Map(on_map::Value<'a>),
}

impl Value<'_> {
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        each!(self, it => it.bytes())
    }
}
