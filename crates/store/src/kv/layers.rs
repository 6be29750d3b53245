//! [`Layers`]: the memtables and the tree beneath them, which together are the key space.
//!
//! ```text
//!              newest ┌──────────┐ written by the committer
//!                     │ active   │
//!                     ├──────────┤
//!                     │ draining │ frozen; on its way into the tree
//!   tree ┌────────┐   ├──────────┤
//!        │        │ ⊇ │ drained  │ kept while there is memory: point reads find here
//!        │        │ ⊇ │ drained  │ without the tree what was written lately
//!        └────────┘   └──────────┘ oldest
//! ```
//! A set of layers never changes: freezing, draining and dropping put another set in its place. So a snapshot keeps
//! what it sees, and nobody waits for it.

use std::sync::Arc;

use super::KvError;
use super::engine::{self, Engine, Tree, View};
use super::memtable::{Memtable, hash};

/// A set of layers.
pub(super) struct Layers {
    /// The newest first.
    tables: Vec<Arc<Memtable>>,
    /// Number of tables that are not in the tree: the one that is written, and one that drains.
    undrained: usize,
    /// Nothing in the tree is behind this sequence.
    drained: u64,
    /// `None` only while it is opened again, when nobody reads.
    tree: Option<Arc<OpenTree>>,
}

/// The tree as some checkpoint left it.
pub(super) struct OpenTree {
    view: View,
    /// Declared after the view, so that the view is dropped before the engine closes its files.
    pub(super) engine: Arc<Engine>,
}

impl OpenTree {
    pub(super) fn new(engine: &Arc<Engine>) -> Result<Self, KvError> {
        Ok(Self { view: engine.view()?, engine: Arc::clone(engine) })
    }
}

/// A value, or the knowledge that there is none.
pub(super) enum Found<'a> {
    Memory(&'a [u8]),
    Tree(engine::Value<'a>),
    Nothing,
}

impl Layers {
    /// The layers over a tree, with the tables that are not in it, newest first: one or two.
    pub(super) fn new(tree: OpenTree, undrained: Vec<Arc<Memtable>>, drained: u64) -> Self {
        let count = undrained.len();
        Self { tables: undrained, undrained: count, drained, tree: Some(Arc::new(tree)) }
    }

    /// The table that is written.
    pub(super) fn active(&self) -> &Arc<Memtable> {
        &self.tables[0]
    }

    /// The table that drains, if one does.
    pub(super) fn draining(&self) -> Option<&Arc<Memtable>> {
        (self.undrained > 1).then(|| &self.tables[1])
    }

    /// The tables that a cursor merges with the tree, newest first.
    pub(super) fn undrained(&self) -> &[Arc<Memtable>] {
        &self.tables[..self.undrained]
    }

    /// The tree for cursors.
    pub(super) fn tree(&self) -> Result<Tree<'_>, KvError> {
        Ok(self.view()?.tree())
    }

    #[inline]
    fn view(&self) -> Result<&View, KvError> {
        self.tree.as_ref().map(|tree| &tree.view).ok_or(KvError::Closed)
    }

    /// `true` if nobody else has the tree.
    pub(super) fn is_alone(&mut self) -> bool {
        self.tree.as_mut().is_none_or(|tree| Arc::get_mut(tree).is_some())
    }

    /// Closes the tree.
    pub(super) fn close_tree(&mut self) {
        self.tree = None;
    }

    /// The tree may have everything up to this sequence: no snapshot sees less.
    pub(super) fn drained(&self) -> u64 {
        self.drained
    }

    /// Bytes of all tables.
    pub(super) fn bytes(&self) -> usize {
        self.tables.iter().map(|table| table.bytes()).sum()
    }

    /// Bytes of the tables that are not in the tree.
    pub(super) fn undrained_bytes(&self) -> usize {
        self.undrained().iter().map(|table| table.bytes()).sum()
    }

    /// The layers after the active table was frozen: a new one is on top.
    pub(super) fn frozen(&self) -> Self {
        let mut tables = vec![Arc::new(Memtable::new())];
        tables.extend(self.tables.iter().cloned());
        let (undrained, drained) = (self.undrained + 1, self.drained);
        Self { tables, undrained, drained, tree: self.tree.clone() }
    }

    /// The layers after a part of the draining table, which ends with the sequence `drained`, has reached `tree`.
    pub(super) fn draining_into(&self, tree: OpenTree, drained: u64) -> Self {
        Self { drained, ..self.over(tree) }
    }

    /// The layers after the draining table, and with it all up to the sequence `drained`, has reached `tree`. Tables
    /// in the tree that do not fit into `memory_bytes` are dropped, the oldest first.
    pub(super) fn with_drained(&self, tree: OpenTree, drained: u64, memory_bytes: usize) -> Self {
        let layers = Self { undrained: 1, ..self.draining_into(tree, drained) };
        layers.trimmed(memory_bytes).unwrap_or(layers)
    }

    /// The layers with the same content over another tree.
    pub(super) fn over(&self, tree: OpenTree) -> Self {
        let (tables, undrained, drained) = (self.tables.clone(), self.undrained, self.drained);
        Self { tables, undrained, drained, tree: Some(Arc::new(tree)) }
    }

    /// The layers without drained tables beyond `memory_bytes`; `None` if all fit.
    pub(super) fn trimmed(&self, memory_bytes: usize) -> Option<Self> {
        let mut tables = self.tables.clone();
        let mut bytes = self.bytes();
        while bytes > memory_bytes && tables.len() > self.undrained {
            bytes -= tables.pop().map_or(0, |oldest| oldest.bytes());
        }
        let is_smaller = tables.len() < self.tables.len();
        let (undrained, drained) = (self.undrained, self.drained);
        is_smaller.then(|| Self { tables, undrained, drained, tree: self.tree.clone() })
    }

    /// The newest value of `key` that a reader at `sequence` sees.
    #[inline]
    pub(super) fn get(&self, key: &[u8], sequence: u64) -> Result<Found<'_>, KvError> {
        let hash = hash(key);
        for table in &self.tables {
            if let Some(entry) = table.get(key, hash, sequence) {
                return Ok(entry.value.map_or(Found::Nothing, Found::Memory));
            }
        }
        Ok(self.view()?.get(key)?.map_or(Found::Nothing, Found::Tree))
    }
}
