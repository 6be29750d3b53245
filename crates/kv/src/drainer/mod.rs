//! [`Drainer`]: brings frozen tables into the tree, in the background.
//!
//! ```text
//!  frozen table ──► sync attachments ──► one transaction of the tree, in order of keys, ──► new layers: the table
//!                                        with the number of the last record                 is in the tree; its
//!                                                                                           file of log is free
//! ```
//! Nothing waits for it but writers that are much faster. A power cut before the end of the transaction leaves
//! the tree and the log as they were.
//!
//! Where the tree is much larger than the table, that would write a page for each small pair. Then the table becomes a
//! *run* first, a file of its own (`spill.rs`), and the tree takes many runs together (`merge.rs`).
//!
//! # Damage
//! A pair whose page of the tree is damaged cannot be drained. It is *carried*: written once more to the log and to
//! the active table, so that it is read and kept as before, and the others are drained without it.

mod carry;
pub(super) mod compact;
mod freeing;
mod merge;
mod merged;
mod reopen;
mod retry;
mod spill;
mod table;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use self::compact::Compaction;
use self::merge::Merging;
#[cfg(test)]
pub(super) use self::merged::MergedRuns;
use self::spill::has_room_for_run;
pub(super) use self::table::TableChanges;
use super::KvError;
use super::drain::Frozen;
use super::engine::{Checkpoint, Engine};
use super::layers::Layers;
use super::run::{Run, RunName};
use super::shared::Shared;
use super::stats::Counters;

/// Bytes of the log's files while nothing is written, and after the end.
const IDLE_LOG_BYTES: u64 = 4 << 20;
const CLOSED_LOG_BYTES: u64 = 1 << 20;

/// State of the one that drains.
pub(super) struct Drainer {
    /// `None` while a tree that broke could not be opened again.
    pub(super) engine: Option<Arc<Engine>>,
    /// That in the tree.
    pub(super) checkpoint: Checkpoint,
    /// The layers while there is no tree beneath them.
    parked: Option<Layers>,
    /// Groups when pairs were last carried: draining them again makes no sense before others come.
    carried_at: Option<u64>,
    compaction: Compaction,
    merging: Option<Merging>,
    /// A run that no checkpoint is known to name, because that failed, and the last sequence in it.
    unnamed: Option<(u64, Arc<Run>)>,
    /// Number of the next run.
    next_run: u64,
}

/// The reason to drain a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// Memory or log are to be free again.
    Room,
    /// Nothing is written, so that everything can be in the tree.
    Idle,
}

impl Drainer {
    pub(super) fn new(engine: Arc<Engine>, checkpoint: Checkpoint) -> Self {
        let compaction = Compaction::default();
        let next_run = checkpoint.next_run();
        Self {
            engine: Some(engine),
            checkpoint,
            parked: None,
            carried_at: None,
            compaction,
            merging: None,
            unnamed: None,
            next_run,
        }
    }

    /// The runs that the checkpoint names.
    pub(super) fn runs(&self) -> &[RunName] {
        &self.checkpoint.runs
    }

    /// Notes the size of the tree.
    pub(super) fn count_tree(&self, counters: &Counters) {
        if let Some(engine) = &self.engine {
            counters.tree_bytes.store(engine.file_bytes(), Ordering::Relaxed);
        }
    }

    /// Does what there is to do.
    pub(super) fn step(&mut self, shared: &Shared) {
        if shared.poisoned().is_some() {
            return;
        }
        let is_broken = self.engine.as_ref().is_none_or(|engine| engine.frozen().is_some());
        if is_broken {
            match self.reopen(shared) {
                Ok(()) => shared.drains.set_blocked(false),
                Err(KvError::NoSpace) => return,
                Err(error) => return shared.stop_writing(&error),
            }
        }
        if shared.drains.is_blocked() && self.is_below_reserve(shared) {
            // What is left is for those that free space.
            return;
        }
        match shared.drains.frozen() {
            Some(frozen) if !self.is_merge_overdue(shared) => {
                self.drain(shared, frozen, Reason::Room);
            }
            waiting if waiting.is_some() || self.is_merge_due(shared) => self.merge_part(shared),
            _ => {}
        }
        shared.drains.set_merging(self.is_merge_due(shared));
        if shared.refusal.read().is_some()
            && let Some(mut committer) = shared.try_committer()
        {
            // An error is in the refusal already.
            let _ = committer.prepare_to_write(shared);
        }
    }

    /// `true` if ordinary updates have no space.
    fn is_below_reserve(&self, shared: &Shared) -> bool {
        let free = shared.home.as_ref().map(|home| home.disk.free_bytes());
        free.is_some_and(|free| free.is_ok_and(|free| free < shared.config.reserve_bytes))
    }

    /// Nothing was written for a while: everything is drained, and long files are cut. `false` if that has to be tried
    /// again.
    pub(super) fn idle(&mut self, shared: &Shared) -> bool {
        self.step(shared);
        if shared.poisoned().is_some() || shared.drains.is_blocked() {
            return true;
        }
        if self.carried_at == Some(shared.drains.groups()) {
            return true;
        }
        self.merge_all(shared)
            && self.drain_all(shared, IDLE_LOG_BYTES, Reason::Idle)
            && self.compact(shared)
    }

    /// Updates come, but few: what they have in memory is drained, so that the log stays short, and space that is free
    /// is given back. Where more come, they use it again.
    pub(super) fn trickle(&mut self, shared: &Shared) {
        self.step(shared);
        let is_over = shared.poisoned().is_some() || shared.drains.is_blocked();
        if is_over || self.carried_at == Some(shared.drains.groups()) {
            return;
        }
        if self.is_merge_due_at_trickle(shared) && !self.merge_all(shared) {
            return;
        }
        self.drain_all(shared, IDLE_LOG_BYTES, Reason::Room);
        if !self.is_merge_due(shared) {
            self.compact(shared);
        }
    }

    /// Freezes the active table and drains it. `false` if somebody writes.
    fn drain_all(&mut self, shared: &Shared, log_bytes: u64, reason: Reason) -> bool {
        let Some(mut committer) = shared.try_committer() else { return false };
        let Ok(layers) = shared.layers() else { return true };
        if layers.draining().is_some() {
            return false;
        }
        if !layers.active().is_empty() {
            committer.freeze(shared, log_bytes);
            drop((committer, layers));
            let Some(frozen) = shared.drains.frozen() else { return true };
            self.drain(shared, frozen, reason);
            let Some(free) = shared.try_committer() else { return false };
            committer = free;
        }
        let is_drained = shared
            .layers()
            .is_ok_and(|layers| layers.active().is_empty() && layers.draining().is_none());
        let recorded = self.checkpoint.log_bytes.into_iter().max().unwrap_or(0);
        if let Some(log) = committer.log.as_mut().filter(|_| is_drained && recorded <= log_bytes) {
            log.shrink(log_bytes);
            match log.preallocate(shared.config.log_bytes.min(log_bytes)) {
                // Without the space the log grows as it is used.
                Ok(()) | Err(KvError::NoSpace) => {}
                Err(error) => shared.stop_writing(&error),
            }
        }
        true
    }

    /// Brings the table that waits into the tree, or makes it a run.
    fn drain(&mut self, shared: &Shared, frozen: Frozen, reason: Reason) {
        let Ok(layers) = shared.layers() else { return };
        let Some(table) = layers.draining().map(Arc::clone) else { return };
        // What is above a run must not get beneath it.
        let is_spilled = !layers.runs().is_empty()
            || reason == Reason::Room
                && self.pays_to_spill(shared, &table)
                && has_room_for_run(shared, &table);
        drop(layers);
        let begun = Instant::now();
        shared.drains.begin_draining();
        let (sequence, memory_bytes) = (frozen.sequence, shared.config.memory_bytes);
        let drained = if is_spilled {
            self.spill(shared, &table, frozen).map(|run| {
                shared.change_layers(|layers| Some(layers.with_run(run, sequence, memory_bytes)));
            })
        } else {
            self.apply(shared, &table, frozen).map(|tree| {
                shared.change_layers(|layers| {
                    Some(layers.with_drained(tree, sequence, memory_bytes))
                });
            })
        };
        match drained {
            Ok(()) => {
                self.forget_unnamed(shared);
                let counters = &shared.counters;
                let counter = if is_spilled { &counters.spills } else { &counters.drains };
                counter.fetch_add(1, Ordering::Relaxed);
                self.count_tree(counters);
                shared.syncs.synced(frozen.number, begun);
                shared.drains.end(frozen, table.bytes());
            }
            Err(error) => stop(shared, &error),
        }
    }

    /// Drains everything and closes the tree. Nobody writes any more.
    pub(super) fn close(&mut self, shared: &Shared) {
        self.step(shared);
        if let Some(frozen) = shared.drains.frozen()
            && shared.poisoned().is_none()
            && !shared.drains.is_blocked()
        {
            // It waited for a merge, which can go on later.
            self.drain(shared, frozen, Reason::Room);
        }
        let mut attempts = 0;
        while shared.poisoned().is_none() && !shared.drains.is_blocked() && attempts < 2 {
            self.drain_all(shared, CLOSED_LOG_BYTES, Reason::Room);
            attempts += 1;
        }
        let layers = std::mem::replace(&mut *shared.layers_mut(), Err(KvError::Closed));
        let is_drained = layers
            .as_ref()
            .is_ok_and(|layers| layers.active().is_empty() && layers.draining().is_none());
        drop(layers);
        self.parked = None;
        let Some(engine) = self.engine.take() else { return };
        // The engine may write while it closes. It must not after a drain that failed, nor where a
        // snapshot outlives the key space and closes it: by then the files may belong to another one.
        if !is_drained || Arc::strong_count(&engine) > 1 {
            engine.close_without_checkpoint();
        }
    }
}

/// Nothing is drained until there is space again, or never again.
fn stop(shared: &Shared, error: &KvError) {
    match error {
        KvError::NoSpace => shared.set_refusal(Some(KvError::NoSpace)),
        error => shared.stop_writing(error),
    }
    shared.drains.set_blocked(true);
}
