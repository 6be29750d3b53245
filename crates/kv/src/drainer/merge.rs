//! The tree takes the runs above it, in order of keys and some thousand pairs at a time.
//!
//! ```text
//!  tree    ░░░░░░░░░░░░░░░░░░░░░░      ▓▓▓▓▓▓▓▓▓░░░░░░░░░░░░░      ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓
//!  runs    ═══════════════════════     ═══════════════════════
//!          ═══════════════════════ ──► ═══════════════════════ ──►
//!                                      ═══════════════════════     ═══════════════════════
//!                                      spilled meanwhile
//! ```
//! Each part is a transaction that leaves the checkpoint as it was: the runs hide what it has done, and after a crash
//! it is done again. The last transaction drops their names, then their files are removed. A table that waits goes
//! between two parts.

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

/// Runs that are merged, however few pairs they have: each is one more place to look for a key. A merge has no more.
const RUNS_MERGED: usize = 16;

/// A merge under way.
pub(super) struct Merging {
    /// The oldest runs, newest first.
    runs: Vec<Arc<Run>>,
    /// The last key that is in the tree.
    after: Option<Vec<u8>>,
    carried: BTreeSet<Vec<u8>>,
}

impl Merging {
    fn changes<'m>(&'m self, shared: &Shared) -> Result<MergedRuns<'m>, KvError> {
        let lower = self.after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let runs = self.runs.iter().map(|run| &**run);
        Ok(MergedRuns::new(runs, lower, &self.carried)?.take(shared.config.drain_changes()))
    }

    /// The part of the runs that is in the tree.
    fn done(&self) -> f64 {
        let Some(after) = &self.after else { return 0.0 };
        let parts = self.runs.iter().map(|run| run.part_up_to(after) * run.bytes() as f64);
        let bytes: u64 = self.runs.iter().map(|run| run.bytes()).sum();
        parts.sum::<f64>() / bytes.max(1) as f64
    }
}

impl Drainer {
    /// `true` if runs are to be merged: a merge is under way, they are as large as the tree, or many.
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

    /// The same for runs that much was written to at once, before updates became few: they have as many bytes as all that
    /// are merged otherwise would have, if each were a table like the one since the last look. Space that deletions in
    /// them give back would be waited for.
    pub(super) fn is_merge_due_at_trickle(&self, shared: &Shared) -> bool {
        let Ok(layers) = shared.layers() else { return false };
        layers.run_bytes() > RUNS_MERGED as u64 * layers.active().bytes() as u64
    }

    /// `true` if a table that waits must wait for a merge: there are too many runs, or no space for another, which
    /// the merge of those that are there gives back.
    pub(super) fn is_merge_overdue(&self, shared: &Shared) -> bool {
        let Ok(layers) = shared.layers() else { return false };
        let is_blocked = shared.drains.is_blocked();
        layers.runs().len() >= RUNS_MAX || is_blocked && !layers.runs().is_empty()
    }

    /// Merges all runs. `false` if a table came between, the end, or a failure.
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

    /// Brings a part of the runs into the tree, the first of a merge if none is under way.
    pub(super) fn merge_part(&mut self, shared: &Shared) {
        if self.merging.is_none() {
            let Ok(layers) = shared.layers() else { return };
            // Not more, so that a merge comes to its end even if there were many.
            let newer = layers.runs().len().saturating_sub(RUNS_MERGED);
            let (runs, after, carried) = (layers.runs()[newer..].to_vec(), None, BTreeSet::new());
            shared.drains.merged(0.0);
            self.merging = Some(Merging { runs, after, carried });
        }
        // What fails goes on from here once there is space again.
        let Some(mut merging) = self.merging.take() else { return };
        let result = self.try_merge_part(shared, &mut merging);
        let is_over = matches!(result, Ok(true));
        // Its own last part is not the end.
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

    /// `true` if it was the last part.
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
                    // Whoever reads from now on lets go of the pages that were replaced.
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
                    // If that fails they are part of the next attempt, too.
                    self.carry(shared, damaged.clone())?;
                    merging.carried.extend(damaged);
                }
                // The file still is as the last checkpoint left it.
                Err(ApplyError { error, .. }) => return Err(engine.frozen().unwrap_or(error)),
            }
        }
        let count = merging.runs.len();
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
