//! Compaction: returns unused space of the tree to the disk.
//!
//! redb returns only the free space at the end of its file. So when more than half of the file is
//! free, the pairs are copied in key order into a new file, which replaces the old one. Updates
//! continue: they go to the tables above the tree, which does not change while nothing drains. If
//! they have to be drained, the copy is abandoned and retried later.
//!
//! The copy is optional: a failure before the first rename leaves the tree as it was, and writing
//! continues unless a sync failed. A copy that meets damage is not retried before the next start;
//! reads of the damage report it.
//! ```text
//!  PATH.compact, PATH.compact.sums: copied, synced ──► rename tree ──► sync names ──► rename sums ──► sync names
//! ```
//! The tree and its sums have the same random identity. By it a start finds the sums that belong to
//! a tree if a crash came between the two renames. Snapshots keep the old file open until they end.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use liteio_disk::{RandomSource as _, SystemRandom};

use super::Drainer;
use super::freeing::Freeing;
use super::retry::Retry;
use crate::engine::{
    Change, Changes, Checkpoint, Contents, Engine, PairGuard, Place, View, compacted_path,
};
use crate::home::Home;
use crate::layers::OpenTree;
use crate::shared::Shared;
use crate::{Compacting, KvError};

/// Minimum file size for a compaction.
const FILE_BYTES_MIN: u64 = 8 << 20;
/// Bytes of the tree for each pair in addition to key and value. Pages are assumed half full.
const PAIR_OVERHEAD: u64 = 16;
/// Number of pairs after which a copy checks whether it has to give up.
const LOOK_PAIRS: u64 = 1024;

/// State of the compactions.
#[derive(Debug, Default)]
pub(super) struct Compaction {
    /// Bytes of the file and of its contents after the last compaction.
    after: Option<(u64, u64)>,
    retry: Retry,
    /// `true` if a page of the tree cannot be copied.
    is_damaged: bool,
}

/// A copy that is durable under its own name.
struct Copied {
    /// The copy, already open: after the rename no step may fail.
    tree: OpenTree,
    checkpoint: Checkpoint,
}

/// Removes the files of an interrupted compaction.
pub(crate) fn remove_remains(home: &Home) -> Result<(), KvError> {
    let path = compacted_path(&home.path);
    home.disk.remove_if_there(&format!("{path}.sums"))?;
    Ok(home.disk.remove_if_there(&path)?)
}

/// All pairs of a view.
struct Pairs<'a> {
    place: Place<'a>,
    shown: Option<PairGuard<'a>>,
    shared: &'a Shared,
    count: u64,
}

impl<'a> Pairs<'a> {
    fn of(view: &'a View, shared: &'a Shared) -> Result<Self, KvError> {
        let place = view.tree().lower_bound(Bound::Unbounded)?;
        Ok(Self { place, shown: None, shared, count: 0 })
    }
}

impl Changes for Pairs<'_> {
    fn next(&mut self) -> Result<Option<Change<'_>>, KvError> {
        self.count += 1;
        if self.count.is_multiple_of(LOOK_PAIRS) && self.shared.drains.is_pressing() {
            // The error ends the copy; `compact` treats it like any other temporary failure.
            return Err(KvError::Closed);
        }
        self.shown = None;
        self.place.next_into(&mut self.shown)?;
        let pair = self.shown.as_ref();
        Ok(pair.map(|pair| Change { key: pair.key(), value: Some(pair.value()) }))
    }
}

impl Drainer {
    /// Compacts the tree if much of its file is free. `false` if that must be retried later.
    pub(super) fn compact(&mut self, shared: &Shared) -> bool {
        // Nothing is written after a failure.
        let has_failed = shared.poisoned().is_some() || shared.drains.is_blocked();
        if has_failed || self.compaction.is_damaged {
            return true;
        }
        if !self.compaction.retry.is_due(Instant::now()) {
            return false;
        }
        let compacted = match self.pays_to_compact(shared) {
            Ok(true) => self.copy(shared).and_then(|copied| self.replace(shared, copied)),
            Ok(false) => return true,
            Err(error) => Err(error),
        };
        let failed_sync = shared.home.as_ref().and_then(|home| home.disk.health().reason());
        match (compacted, failed_sync) {
            (Ok(()), _) => {
                self.compaction.retry = Retry::default();
                shared.counters.compactions.fetch_add(1, Ordering::Relaxed);
                self.count_tree(&shared.counters);
                true
            }
            (Err(_), Some(reason)) => {
                shared.stop_writing(&KvError::Poisoned { reason: reason.to_owned() });
                true
            }
            (Err(error @ KvError::Poisoned { .. }), None) => {
                shared.stop_writing(&error);
                true
            }
            // Temporary or local: a table has to be drained, the device is full, no file can be
            // opened, or a page is damaged.
            (Err(error), None) => {
                // If the removal fails, the next start does it.
                let _ = shared.home.as_ref().map(remove_remains);
                self.compaction.retry.put_off(Instant::now());
                self.compaction.is_damaged = matches!(error, KvError::Corrupt(_));
                self.compaction.is_damaged
            }
        }
    }

    /// `true` if a copy of the tree frees more than it takes.
    fn pays_to_compact(&mut self, shared: &Shared) -> Result<bool, KvError> {
        let Some(engine) = self.engine.clone() else { return Ok(false) };
        if shared.config.compacting == Compacting::Always {
            return Ok(true);
        }
        let file_bytes = engine.file_bytes();
        if file_bytes < FILE_BYTES_MIN {
            return Ok(false);
        }
        let contents = match self.checkpoint.contents {
            Some(contents) => contents,
            None => {
                let contents = count(&engine.view()?, shared)?;
                self.checkpoint.contents = Some(contents);
                contents
            }
        };
        let needed = (contents.bytes + contents.pairs * PAIR_OVERHEAD).saturating_mul(2);
        // Guards against copying in a loop: if the last copy was about as large as the file,
        // another one frees nothing.
        let is_news = self.compaction.after.is_none_or(|(file, content)| {
            file_bytes > file.saturating_mul(2) || contents.bytes < content / 2
        });
        Ok(is_news && needed.saturating_mul(2) < file_bytes)
    }

    /// Makes a durable copy of the tree under its own name.
    fn copy(&self, shared: &Shared) -> Result<Copied, KvError> {
        let config = &shared.config;
        let Some(home) = &shared.home else {
            return self.copy_into(&Engine::memory(config.engine, config.cache_bytes)?, shared);
        };
        remove_remains(home)?;
        let path = compacted_path(&home.path);
        let new = Engine::open(config.engine, &home.disk, &path, config.cache_bytes)?;
        let copied = self.copy_into(&new, shared).and_then(|copied| {
            home.sync_names()?;
            Ok(copied)
        });
        copied.inspect_err(|_| new.close_without_checkpoint())
    }

    fn copy_into(&self, new: &Arc<Engine>, shared: &Shared) -> Result<Copied, KvError> {
        let old = self.engine.as_ref().ok_or(KvError::Closed)?;
        let view = old.view()?;
        let mut identity = [0; 8];
        SystemRandom.fill(&mut identity)?;
        let checkpoint = Checkpoint {
            identity: u64::from_le_bytes(identity),
            contents: Some(Contents::default()),
            ..self.checkpoint.clone()
        };
        let mut pairs = Pairs::of(&view, shared)?;
        let checkpoint = new.apply_whole(&mut Freeing::new(&mut pairs, shared), &checkpoint)?;
        Ok(Copied { tree: OpenTree::new(new)?, checkpoint })
    }

    /// Replaces the tree beneath the tables by the copy.
    fn replace(&mut self, shared: &Shared, copied: Copied) -> Result<(), KvError> {
        let Copied { tree, checkpoint } = copied;
        let new = Arc::clone(&tree.engine);
        let renamed = match (&shared.home, &shared.tree_file) {
            (Some(home), Some(file)) => file.replace(|| rename(home)),
            _ => Ok(()),
        };
        if let Err(error) = renamed {
            new.close_without_checkpoint();
            return Err(error);
        }
        // From here on new snapshots read the copy; the old engine must not write its file while it
        // closes.
        shared.change_layers(|layers| Some(layers.over(tree)));
        let old = self.engine.replace(Arc::clone(&new));
        old.iter().for_each(|old| old.close_without_checkpoint());
        let bytes = checkpoint.contents.map_or(0, |contents| contents.bytes);
        self.checkpoint = checkpoint;
        self.compaction.after = Some((new.file_bytes(), bytes));
        Ok(())
    }
}

/// Renames the copy and its sums to the names of the tree and its sums. Any failure other than a
/// full disk at the first rename stops writing: it is unknown which of the two trees a start would
/// find. Both are whole.
fn rename(home: &Home) -> Result<(), KvError> {
    let (disk, path, new_path) = (&home.disk, &home.path, compacted_path(&home.path));
    match disk.rename(&new_path, path).map_err(KvError::from) {
        Err(KvError::NoSpace) => return Err(KvError::NoSpace),
        renamed => renamed.map_err(KvError::into_poisoned)?,
    }
    let rename_sums = || {
        home.sync_names()?;
        disk.rename(&format!("{new_path}.sums"), &format!("{path}.sums"))?;
        home.sync_names()
    };
    rename_sums().map_err(KvError::into_poisoned)
}

/// Counts the pairs of a tree whose version did not record them.
fn count(view: &View, shared: &Shared) -> Result<Contents, KvError> {
    let mut pairs = Pairs::of(view, shared)?;
    let mut contents = Contents::default();
    while let Some(Change { key, value }) = pairs.next()? {
        contents.count(None, value.map(|value| key.len() + value.len()));
    }
    Ok(contents)
}
