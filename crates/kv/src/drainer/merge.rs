//! Merging: the tree absorbs the runs above it, in key order and some thousand pairs at a time.
//!
//! ```text
//!  tree    ░░░░░░░░░░░░░░░░░░░░░░      ▓▓▓▓▓▓▓▓▓░░░░░░░░░░░░░      ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓
//!  runs    ═══════════════════════     ═══════════════════════
//!          ═══════════════════════ ──► ═══════════════════════ ──►
//!                                      ═══════════════════════     ═══════════════════════
//!                                      spilled meanwhile
//! ```
//! Each part is a transaction that leaves the checkpoint as it was. Until the end the runs hide its
//! changes, and after a crash the merge is repeated. The last transaction drops the names of the
//! runs, then their files are removed. A waiting table is drained between two parts.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::carry::CARRIED_MAX;
use super::freeing::Freeing;
use super::merged::MergedRuns;
use super::spill::remove;
use super::{Drainer, stop};
use crate::engine::{ApplyError, Changes as _, Checkpoint, Engine, NoChanges};
use crate::layers::OpenTree;
use crate::pace::RUNS_MAX;
use crate::run::Run;
use crate::shared::Shared;
use crate::{KvError, Spilling};

/// Number of runs that starts a merge regardless of their size: each is one more place to look for
/// a key. A merge takes no more than these.
const RUNS_MERGED: usize = 16;

/// A merge under way.
pub(super) struct Merging {
    /// The oldest runs, newest first.
    runs: Vec<Arc<Run>>,
    /// The last key that has reached the tree.
    after: Option<Vec<u8>>,
    /// Keys whose page of the tree is damaged; they were written to the active table again.
    carried: BTreeSet<Vec<u8>>,
}

impl Merging {
    fn changes<'m>(&'m self, shared: &Shared) -> Result<MergedRuns<'m>, KvError> {
        let lower = self.after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let runs = self.runs.iter().map(|run| &**run);
        Ok(MergedRuns::new(runs, lower, &self.carried)?.take(shared.config.drain_changes()))
    }

    /// The fraction of the runs that has reached the tree.
    fn done(&self) -> f64 {
        let Some(after) = &self.after else { return 0.0 };
        let parts = self.runs.iter().map(|run| run.part_up_to(after) * run.bytes() as f64);
        let bytes: u64 = self.runs.iter().map(|run| run.bytes()).sum();
        parts.sum::<f64>() / bytes.max(1) as f64
    }
}

impl Drainer {
    /// `true` if runs should be merged: a merge is under way, or they are as large as the tree, or
    /// too many.
    pub(super) fn is_merge_due(&self, shared: &Shared) -> bool {
        if self.merging.is_some() {
            return true;
        }
        let Ok(layers) = shared.layers() else { return false };
        let runs = layers.runs();
        if let Spilling::Always { merged } = shared.config.spilling {
            return runs.len() >= merged;
        }
        let tree_bytes = self.checkpoint.contents.map_or(u64::MAX, |contents| contents.bytes);
        runs.len() >= RUNS_MERGED || layers.run_bytes() > tree_bytes
    }

    /// Like `is_merge_due`, after a burst of writes has turned into a trickle: the runs hold as
    /// many bytes as the maximum number of runs would hold if each were as small as the present
    /// active table. Otherwise the space that deletions in them free would be kept for long.
    pub(super) fn is_merge_due_at_trickle(&self, shared: &Shared) -> bool {
        let Ok(layers) = shared.layers() else { return false };
        layers.run_bytes() > RUNS_MERGED as u64 * layers.active().bytes() as u64
    }

    /// `true` if a waiting table has to wait for a merge: there are too many runs, or no space for
    /// another one until the merge frees the existing ones.
    pub(super) fn is_merge_overdue(&self, shared: &Shared) -> bool {
        let Ok(layers) = shared.layers() else { return false };
        let is_blocked = shared.drains.is_blocked();
        layers.runs().len() >= RUNS_MAX || is_blocked && !layers.runs().is_empty()
    }

    /// Merges all runs. `false` if a waiting table, the shutdown or a failure interrupted it.
    pub(super) fn merge_all(&mut self, shared: &Shared) -> bool {
        while shared.layers().is_ok_and(|layers| !layers.runs().is_empty()) {
            let has_failed = shared.drains.is_blocked() || shared.poisoned().is_some();
            if has_failed || shared.drains.is_pressing() {
                return false;
            }
            self.merge_part(shared);
        }
        true
    }

    /// Merges one part of the runs into the tree. Starts a merge if none is under way.
    pub(super) fn merge_part(&mut self, shared: &Shared) {
        if self.merging.is_none() {
            let Ok(layers) = shared.layers() else { return };
            // At most `RUNS_MERGED`, the oldest ones, so that a merge ends even if many runs piled
            // up.
            let newer = layers.runs().len().saturating_sub(RUNS_MERGED);
            let (runs, after, carried) = (layers.runs()[newer..].to_vec(), None, BTreeSet::new());
            shared.drains.merged(0.0);
            self.merging = Some(Merging { runs, after, carried });
        }
        // Put back below unless it is over: after a failure the merge continues here once there is
        // space.
        let Some(mut merging) = self.merging.take() else { return };
        let result = self.try_merge_part(shared, &mut merging);
        let is_over = matches!(result, Ok(true));
        // A merge whose last part failed is not over.
        shared.drains.merged(if is_over { 1.0 } else { merging.done().min(0.999) });
        match is_over {
            true => _ = shared.counters.merges.fetch_add(1, Ordering::Relaxed),
            false => self.merging = Some(merging),
        }
        self.count_tree(&shared.counters);
        match result {
            Ok(_) => shared.drains.set_blocked(false),
            Err(error) => stop(shared, &error),
        }
    }

    /// Applies one part. `true` if it was the last one.
    fn try_merge_part(&mut self, shared: &Shared, merging: &mut Merging) -> Result<bool, KvError> {
        let engine = self.engine.clone().ok_or(KvError::Closed)?;
        loop {
            let mut changes = merging.changes(shared)?;
            match engine.apply(&mut Freeing::new(&mut changes, shared), &self.checkpoint) {
                Ok(checkpoint) => {
                    self.checkpoint = checkpoint;
                    if changes.is_at_end() {
                        break;
                    }
                    let after = changes.last_key().map(<[u8]>::to_vec);
                    merging.after = after.or_else(|| merging.after.take());
                    let tree = OpenTree::new(&engine)?;
                    // New snapshots read the new tree, so that the replaced pages can be reused.
                    shared.change_layers(|layers| Some(layers.over(tree)));
                    return Ok(false);
                }
                Err(ApplyError { error: KvError::Corrupt(what), key: Some(key) })
                    if engine.frozen().is_none() && merging.carried.len() < CARRIED_MAX =>
                {
                    if merging.carried.contains(&key) {
                        return Err(KvError::Corrupt(what));
                    }
                    let mut damaged = unread(&engine, merging.changes(shared)?)?;
                    damaged.push(key);
                    // If carrying fails, the next attempt finds the same keys again.
                    self.carry(shared, damaged.clone())?;
                    merging.carried.extend(damaged);
                }
                // The file still is as the last checkpoint left it.
                Err(ApplyError { error, .. }) => return Err(engine.frozen().unwrap_or(error)),
            }
        }
        // Order: drop the names in a synced transaction, then change the layers, then remove the
        // files. A crash in between leaves files without a name, which the next start removes.
        let count = merging.runs.len();
        // The checkpoint lists the oldest run first, and a merge takes the oldest.
        let runs = self.checkpoint.runs[count..].to_vec();
        let checkpoint = Checkpoint { runs, ..self.checkpoint.clone() };
        self.checkpoint = engine.apply_whole(&mut NoChanges, &checkpoint)?;
        let tree = OpenTree::new(&engine)?;
        shared.change_layers(|layers| Some(layers.with_merged(tree, count)));
        shared.tree_file.iter().for_each(|files| files.set_runs(self.runs()));
        merging.runs.iter().for_each(|run| remove(shared, run));
        Ok(true)
    }
}

/// The keys among the changes whose page of the tree is damaged.
fn unread(engine: &Engine, mut changes: MergedRuns<'_>) -> Result<Vec<Vec<u8>>, KvError> {
    let view = engine.view()?;
    let mut keys = Vec::new();
    while let Some(change) = changes.next()? {
        if view.get(change.key).is_err() {
            keys.push(change.key.to_vec());
        }
    }
    Ok(keys)
}
