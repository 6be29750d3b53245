//! The engine: the ordered map that the committer writes to and snapshots read.
//!
//! This is the seam between the key space and what keeps its pairs. Above it are the queue, the
//! committer, the log, the syncs and the undo of failed updates; below it is one module for each
//! engine, the only place that uses its types:
//!
//! ```text
//!  Kv ── Snapshot, Cursor, Value                     Kv ── Transaction
//!          │                                                  │
//!          │                                   queue ── committer ── log, syncs
//!          ▼                                                  ▼
//!     View, Tree, Place, PairGuard, Value          Engine, Batch, Table        (enums, this file)
//!          └───────────────────────┬──────────────────────────┘
//!                            on_redb, …                       (one module an engine)
//! ```
//!
//! # The contract of an engine
//! - [`Engine::view`] sees everything committed so far and nothing later, and lives as long as the
//!   caller likes. Views and one [`Batch`] exist side by side.
//! - [`Engine::begin`] starts the only batch there is. Its table reads its own writes. Its commit makes
//!   them visible to views that begin later, all at once. It need not make them durable: the log has
//!   them. A batch that is dropped or aborted leaves nothing.
//! - [`Engine::checkpoint`] makes everything committed durable, together with the [`Checkpoint`], as
//!   one atomic step. Writes of the engine in between must not damage the last checkpoint.
//! - The first write that fails freezes the engine ([`Engine::frozen`]): from then on it writes nothing,
//!   and goes on reading what was committed. Opening it again finds the last checkpoint.
//!
//! The dispatch is an enum, matched where an operation begins and, in a cursor, at each step. With one
//! engine in the build the match compiles to nothing; with several it is a well-predicted branch. Type
//! parameters would spread through `Transaction` and `Snapshot` into every signature of the store.

#[cfg(test)]
mod on_map;
mod on_redb;

use std::ops::Bound;
use std::sync::Arc;

use liteio_disk::Disk;

use super::KvError;
use super::log::{Round, Version};

/// Engines to choose from, in [`KvConfig::engine`](super::KvConfig::engine).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// The B-tree of redb, in one file.
    #[default]
    Redb,
    /// A map in memory that is written whole at a checkpoint: the reference of the contract.
    #[cfg(test)]
    Map,
}

/// The place of the tree in the order of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Checkpoint {
    /// The records that follow; its number is that of the last record in the tree.
    pub(super) round: Round,
    /// Bytes that the log has at least.
    pub(super) log_bytes: u64,
}

impl Checkpoint {
    /// Bytes of the encoding.
    const BYTES: usize = 33;

    /// That of a tree without a log.
    pub(super) fn without_log() -> Self {
        let round = Round { number: 0, nonce: [0; 16], version: Version::Current };
        Self { round, log_bytes: 0 }
    }

    fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.round.number.to_le_bytes());
        bytes[8..24].copy_from_slice(&self.round.nonce);
        bytes[24] = match self.round.version {
            Version::Old { in_order } => u8::from(in_order),
            Version::Current => 2,
        };
        bytes[25..].copy_from_slice(&self.log_bytes.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Self, KvError> {
        let split = bytes.split_first_chunk::<8>();
        let parsed = split.and_then(|(number, rest)| {
            let number = u64::from_le_bytes(*number);
            let (nonce, rest) = rest.split_first_chunk()?;
            let (version, log_bytes) = match rest {
                // Checkpoints of 24 bytes were written before the order was told.
                [] | [0] => (Version::Old { in_order: false }, 0),
                [1] => (Version::Old { in_order: true }, 0),
                [2, bytes @ ..] => (Version::Current, u64::from_le_bytes(bytes.try_into().ok()?)),
                _ => return None,
            };
            Some(Self { round: Round { number, nonce: *nonce, version }, log_bytes })
        });
        parsed.ok_or_else(|| KvError::Corrupt("the checkpoint cannot be read".into()))
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

/// The same for a fallible expression whose success becomes the variant of that name of another enum.
macro_rules! wrap {
    ($any:expr, $one:ident => $result:expr, $outer:ident) => {
        match $any {
            Self::Redb($one) => $result.map($outer::Redb),
            #[cfg(test)]
            Self::Map($one) => $result.map($outer::Map),
        }
    };
}

/// The same where success may be nothing.
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
    /// Opens or creates the file `path`. A failed write does not fail it, but freezes it.
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

    /// Lets the files keep what the last checkpoint left in them, also when the engine would write
    /// something while it closes.
    pub(super) fn close_without_checkpoint(&self) {
        each!(self, it => it.close_without_checkpoint());
    }

    /// Everything committed so far.
    pub(super) fn view(&self) -> Result<View, KvError> {
        wrap!(self, it => it.view(), View)
    }

    /// Starts the next commit.
    pub(super) fn begin(&self) -> Result<Batch<'_>, KvError> {
        wrap!(self, it => it.begin(), Batch)
    }

    /// The checkpoint in the files; `None` when there never was one.
    pub(super) fn read_checkpoint(&self) -> Result<Option<Checkpoint>, KvError> {
        each!(self, it => it.read_checkpoint())
    }

    /// Makes everything committed durable: after `Ok` the log may start again.
    pub(super) fn checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), KvError> {
        each!(self, it => it.checkpoint(checkpoint))
    }
}

/// The writes of one commit.
#[cfg_attr(test, expect(clippy::large_enum_variant, reason = "the small variant is for tests"))]
pub(super) enum Batch<'e> {
    Redb(on_redb::Batch<'e>),
    #[cfg(test)]
    Map(on_map::Batch<'e>),
}

impl Batch<'_> {
    /// The pairs, to read and write. One table at a time.
    pub(super) fn table(&self) -> Result<Table<'_>, KvError> {
        wrap!(self, it => it.table(), Table)
    }

    /// Makes the writes visible.
    pub(super) fn commit(self) -> Result<(), KvError> {
        each!(self, it => it.commit())
    }

    /// Takes all writes back.
    pub(super) fn abort(self) -> Result<(), KvError> {
        each!(self, it => it.abort())
    }
}

/// The pairs of a batch.
pub(super) enum Table<'b> {
    Redb(on_redb::Table<'b>),
    #[cfg(test)]
    Map(on_map::Table<'b>),
}

impl Table<'_> {
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<Value<'_>>, KvError> {
        wrap_some!(self, it => it.get(key), Value)
    }

    /// Sets `key` and returns the value that it had.
    pub(super) fn insert(
        &mut self,
        key: &[u8],
        value: &[u8],
    ) -> Result<Option<Value<'_>>, KvError> {
        wrap_some!(self, it => it.insert(key, value), Value)
    }

    /// Removes `key` and returns the value that it had.
    pub(super) fn remove(&mut self, key: &[u8]) -> Result<Option<Value<'_>>, KvError> {
        wrap_some!(self, it => it.remove(key), Value)
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

/// The pairs as one commit left them.
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

/// The pairs of a view or of a table, to find places in.
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
    /// Steps over the next key and returns its pair.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<PairGuard<'a>>, KvError> {
        wrap_some!(self, it => it.next(), PairGuard)
    }

    /// Steps back over the previous key and returns its pair.
    #[inline]
    pub(super) fn previous(&mut self) -> Result<Option<PairGuard<'a>>, KvError> {
        wrap_some!(self, it => it.previous(), PairGuard)
    }
}

/// A pair, kept where the engine has it.
pub(super) enum PairGuard<'a> {
    Redb(on_redb::PairGuard<'a>),
    #[cfg(test)]
    Map(on_map::PairGuard<'a>),
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

/// A value, kept where the engine has it.
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
