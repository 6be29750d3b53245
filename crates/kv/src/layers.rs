//! [`Layers`]: the memtables, the runs and the tree beneath them. Together they are the key space.
//!
//! ```text
//!              newest ┌──────────┐ written by the committer
//!                     │ active   │
//!                     ├──────────┤
//!                     │ draining │ frozen; on its way into the tree or a run
//!          ┌──────┐   ├──────────┤
//!          │ run  │ ⊇ │ drained  │ kept while there is memory: a read cache for
//!          ├──────┤   │          │ recent writes, without a read of file or tree
//!          │ run  │ ⊇ │ drained  │
//!          ├──────┤   │          │
//!          │ tree │ ⊇ │ drained  │
//!          └──────┘   └──────────┘ oldest
//! ```
//! A set of layers is immutable: freezing, draining and dropping install a new set. A snapshot
//! keeps its set alive and blocks nobody.

use std::sync::Arc;

use crate::KvError;
use crate::dead::DeadRanges;
use crate::engine::{self, Engine, Tree, View};
use crate::memtable::{Entry, Memtable, hash};
use crate::run::{self, Run, RunPair};

/// An immutable set of layers.
#[derive(Clone)]
pub(super) struct Layers {
    /// All tables, newest first; the ones kept as a cache last.
    tables: Vec<Arc<Memtable>>,
    /// Number of tables that are in no file but the log: the active one, and the draining one if it
    /// exists.
    undrained: usize,
    /// The sequence of the newest write in the runs and the tree.
    drained: u64,
    /// The tree has all entries of the draining table up to and including this key.
    reached: Option<Arc<[u8]>>,
    /// The runs, newest first.
    runs: Vec<Arc<Run>>,
    /// Bytes that the runs keep in memory.
    runs_memory: usize,
    /// Ranges without a living key, the same in all sets of layers.
    dead: Arc<DeadRanges>,
    /// The tree; `None` only while it is reopened, when nobody reads.
    tree: Option<Arc<OpenTree>>,
}

/// The tree as one checkpoint left it.
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

/// The result of a lookup: a value and its source, or its absence.
pub(super) enum Found<'a> {
    Memory(&'a [u8]),
    /// An entry with a value.
    Run(RunPair),
    Tree(engine::Value<'a>),
    Nothing,
}

/// An entry of a layer above the tree, in the memory of that layer.
pub(super) enum UpperPair<'a> {
    Table(Entry<'a>),
    Run(RunPair),
}

impl UpperPair<'_> {
    pub(super) fn entry(&self) -> Entry<'_> {
        match self {
            Self::Table(entry) => *entry,
            Self::Run(pair) => pair.entry(),
        }
    }
}

/// Bytes that runs keep in memory.
fn memory_of(runs: &[Arc<Run>]) -> usize {
    runs.iter().map(|run| run.memory()).sum()
}

impl Layers {
    /// The layers over a tree: one or two undrained tables, and the runs beneath them, newest
    /// first.
    pub(super) fn new(
        tree: OpenTree,
        runs: Vec<Arc<Run>>,
        undrained: Vec<Arc<Memtable>>,
        drained: u64,
    ) -> Self {
        let count = undrained.len();
        let tree = Some(Arc::new(tree));
        let (reached, runs_memory, dead) = (None, memory_of(&runs), Arc::default());
        Self {
            tables: undrained,
            undrained: count,
            drained,
            reached,
            runs,
            runs_memory,
            dead,
            tree,
        }
    }

    /// The active table, to which updates are written.
    pub(super) fn active(&self) -> &Arc<Memtable> {
        &self.tables[0]
    }

    /// The draining table, if any.
    pub(super) fn draining(&self) -> Option<&Arc<Memtable>> {
        (self.undrained > 1).then(|| &self.tables[1])
    }

    /// The tables that a cursor merges with the tree, newest first.
    pub(super) fn undrained(&self) -> &[Arc<Memtable>] {
        &self.tables[..self.undrained]
    }

    /// The last key up to which the tree has the draining table. A cursor skips these entries of
    /// the table: each would be one more to compare.
    pub(super) fn reached(&self) -> Option<&[u8]> {
        self.reached.as_deref()
    }

    /// The runs, newest first.
    pub(super) fn runs(&self) -> &[Arc<Run>] {
        &self.runs
    }

    /// The ranges without a living key.
    pub(super) fn dead(&self) -> &DeadRanges {
        &self.dead
    }

    /// The tree for cursors.
    pub(super) fn tree(&self) -> Result<Tree<'_>, KvError> {
        Ok(self.view()?.tree())
    }

    #[inline]
    fn view(&self) -> Result<&View, KvError> {
        self.tree.as_ref().map(|tree| &tree.view).ok_or(KvError::Closed)
    }

    /// `true` if no one else references the tree.
    pub(super) fn is_alone(&mut self) -> bool {
        self.tree.as_mut().is_none_or(|tree| Arc::get_mut(tree).is_some())
    }

    /// Closes the tree.
    pub(super) fn close_tree(&mut self) {
        self.tree = None;
    }

    /// The sequence up to which runs and tree may have writes: every snapshot sees at least these.
    pub(super) fn drained(&self) -> u64 {
        self.drained
    }

    /// Number of all tables.
    pub(super) fn tables(&self) -> usize {
        self.tables.len()
    }

    /// Bytes of all tables.
    pub(super) fn bytes(&self) -> usize {
        self.tables.iter().map(|table| table.bytes()).sum()
    }

    /// Bytes of the files of the runs.
    pub(super) fn run_bytes(&self) -> u64 {
        self.runs.iter().map(|run| run.bytes()).sum()
    }

    /// Bytes that the runs keep in memory.
    pub(super) fn runs_memory(&self) -> usize {
        self.runs_memory
    }

    /// Bytes of all tables, plus the memory of the runs.
    pub(super) fn memory(&self) -> usize {
        self.bytes() + self.runs_memory
    }

    /// Bytes of the tables that are neither in the tree nor in a run.
    pub(super) fn undrained_bytes(&self) -> usize {
        self.undrained().iter().map(|table| table.bytes()).sum()
    }

    /// The layers after the active table is frozen: a new one is on top.
    pub(super) fn frozen(&self) -> Self {
        let mut tables = vec![Arc::new(Memtable::new())];
        tables.extend(self.tables.iter().cloned());
        Self { tables, undrained: self.undrained + 1, ..self.clone() }
    }

    /// The layers after a part of the draining table has reached `tree`. The table ends with the
    /// sequence `drained`; `reached` is the last key of the part, if known.
    pub(super) fn draining_into(
        &self,
        tree: OpenTree,
        drained: u64,
        reached: Option<&[u8]>,
    ) -> Self {
        Self { drained, reached: reached.map(Arc::from), ..self.over(tree) }
    }

    /// The layers after the whole draining table, and with it everything up to the sequence
    /// `drained`, has reached `tree`. Cached tables that do not fit into `memory_bytes` are
    /// dropped, oldest first.
    pub(super) fn with_drained(&self, tree: OpenTree, drained: u64, memory_bytes: usize) -> Self {
        let layers = Self { undrained: 1, ..self.draining_into(tree, drained, None) };
        layers.trimmed(memory_bytes).unwrap_or(layers)
    }

    /// The layers after the draining table, which ends with the sequence `drained`, has become
    /// `run`. Cached tables are dropped as by [`Layers::with_drained`].
    pub(super) fn with_run(&self, run: Arc<Run>, drained: u64, memory_bytes: usize) -> Self {
        let mut runs = vec![run];
        runs.extend(self.runs.iter().cloned());
        let runs_memory = memory_of(&runs);
        let layers =
            Self { runs, runs_memory, undrained: 1, drained, reached: None, ..self.clone() };
        layers.trimmed(memory_bytes).unwrap_or(layers)
    }

    /// The layers after the oldest `count` runs have reached `tree`.
    pub(super) fn with_merged(&self, tree: OpenTree, count: usize) -> Self {
        let mut layers = self.over(tree);
        layers.runs.truncate(layers.runs.len().saturating_sub(count));
        layers.runs_memory = memory_of(&layers.runs);
        layers
    }

    /// The layers with the same content over another tree, which may have less of the draining
    /// table.
    pub(super) fn over(&self, tree: OpenTree) -> Self {
        Self { tree: Some(Arc::new(tree)), reached: None, ..self.clone() }
    }

    /// The layers without the cached tables that exceed `memory_bytes`; `None` if all fit.
    pub(super) fn trimmed(&self, memory_bytes: usize) -> Option<Self> {
        let mut tables = self.tables.clone();
        let mut bytes = self.memory();
        while bytes > memory_bytes && tables.len() > self.undrained {
            bytes -= tables.pop().map_or(0, |oldest| oldest.bytes());
        }
        let is_smaller = tables.len() < self.tables.len();
        is_smaller.then(|| Self { tables, ..self.clone() })
    }

    /// The tables that are not in `others`.
    pub(super) fn tables_without<'l>(
        &'l self,
        others: &'l Self,
    ) -> impl Iterator<Item = &'l Arc<Memtable>> {
        let is_in = |table| others.tables.iter().any(|other| Arc::ptr_eq(other, table));
        self.tables.iter().filter(move |table| !is_in(table))
    }

    /// The newest entry of `key` above the tree; it may be a tombstone.
    pub(super) fn above_tree(
        &self,
        key: &[u8],
        sequence: u64,
    ) -> Result<Option<UpperPair<'_>>, KvError> {
        // Cached tables are skipped: the tree or a run has their entries.
        let hash = hash(key);
        for table in self.undrained() {
            if let Some(entry) = table.get(key, hash, sequence) {
                return Ok(Some(UpperPair::Table(entry)));
            }
        }
        Ok(self.in_runs(key)?.map(UpperPair::Run))
    }

    /// The newest entry of `key` in the runs; it may be a tombstone.
    #[inline]
    fn in_runs(&self, key: &[u8]) -> Result<Option<RunPair>, KvError> {
        if self.runs.is_empty() {
            return Ok(None);
        }
        let hash = run::hash(key);
        for run in &self.runs {
            if let Some(pair) = run.get(key, hash)? {
                return Ok(Some(pair));
            }
        }
        Ok(None)
    }

    /// The newest value of `key` that a reader at `sequence` sees.
    #[inline]
    pub(super) fn get(&self, key: &[u8], sequence: u64) -> Result<Found<'_>, KvError> {
        let hash = hash(key);
        // All tables, the cached ones included: a hit there saves a read of a run or the tree. The
        // order newest to oldest makes the first hit the newest version.
        for table in &self.tables {
            if let Some(entry) = table.get(key, hash, sequence) {
                return Ok(entry.value.map_or(Found::Nothing, Found::Memory));
            }
        }
        if let Some(pair) = self.in_runs(key)? {
            let has_value = pair.entry().value.is_some();
            return Ok(if has_value { Found::Run(pair) } else { Found::Nothing });
        }
        Ok(self.view()?.get(key)?.map_or(Found::Nothing, Found::Tree))
    }
}
