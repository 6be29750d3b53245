//! [`Drainer`]: drains frozen tables into the tree, in the background.
//!
//! ```text
//!  frozen table ──► sync attachments ──► one transaction of the tree, in order of keys, ──► new layers: the table
//!                                        with the number of the last record                 is in the tree; its
//!                                                                                           file of log is free
//! ```
//! Only writers that are much faster wait for it. A power cut before the end of the transaction
//! leaves the tree and the log as they were.
//!
//! Where the tree is much larger than the table, this would write a page for each small pair. Then
//! the table first becomes a *run*, a file of its own (`spill.rs`), and the tree absorbs many runs
//! together (`merge.rs`).
//!
//! # Damage
//! A pair whose page of the tree is damaged cannot be drained. It is *carried*: written once more
//! to the log and to the active table, so that it stays readable and durable. The other pairs are
//! drained without it.

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

/// Sizes of the log files while the key space is idle, and after it is closed.
const IDLE_LOG_BYTES: u64 = 4 << 20;
const CLOSED_LOG_BYTES: u64 = 1 << 20;

/// The state of the drain.
pub(super) struct Drainer {
    /// The engine; `None` while a broken tree could not be reopened.
    pub(super) engine: Option<Arc<Engine>>,
    /// The checkpoint in the tree.
    pub(super) checkpoint: Checkpoint,
    /// The layers, while there is no tree beneath them.
    parked: Option<Layers>,
    /// Number of groups when pairs were last carried. Another drain is useless before new groups
    /// commit: it would carry the same pairs.
    carried_at: Option<u64>,
    compaction: Compaction,
    merging: Option<Merging>,
    /// A run whose checkpoint failed, and the last sequence in it. It is unknown whether the tree
    /// names it.
    unnamed: Option<(u64, Arc<Run>)>,
    /// Number of the next run.
    next_run: u64,
}

/// The reason why a table is drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// Memory or log must become free.
    Room,
    /// The key space is idle, so everything can be moved into the tree.
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

    /// Notes the size of the tree in the counters.
    pub(super) fn count_tree(&self, counters: &Counters) {
        if let Some(engine) = &self.engine {
            counters.tree_bytes.store(engine.file_bytes(), Ordering::Relaxed);
        }
    }

    /// Does the most urgent work: reopen a broken tree, drain a waiting table, or merge one part of
    /// the runs.
    pub(super) fn step(&mut self, shared: &Shared) {
        if shared.poisoned().is_some() {
            return;
        }
        // A frozen tree writes nothing more, so it has to be reopened first.
        let is_broken = self.engine.as_ref().is_none_or(|engine| engine.frozen().is_some());
        if is_broken {
            match self.reopen(shared) {
                Ok(()) => shared.drains.set_blocked(false),
                Err(KvError::NoSpace) => return,
                Err(error) => return shared.stop_writing(&error),
            }
        }
        if shared.drains.is_blocked() && self.is_below_reserve(shared) {
            // The rest of the space is reserved for updates that free space.
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
            // On an error the refusal is set already.
            let _ = committer.prepare_to_write(shared);
        }
    }

    /// `true` if ordinary updates have no space.
    fn is_below_reserve(&self, shared: &Shared) -> bool {
        let free = shared.home.as_ref().map(|home| home.disk.free_bytes());
        free.is_some_and(|free| free.is_ok_and(|free| free < shared.config.reserve_bytes))
    }

    /// Called after an idle time: drains everything and truncates long log files. `false` if that
    /// must be retried.
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

    /// Called when updates are few: drains the active table, so that the log stays short, and frees
    /// space. With more updates the free space would soon be reused.
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

    /// Freezes the active table and drains it. `false` if a writer is active.
    fn drain_all(&mut self, shared: &Shared, log_bytes: u64, reason: Reason) -> bool {
        let Some(mut committer) = shared.try_committer() else { return false };
        let Ok(layers) = shared.layers() else { return true };
        if layers.draining().is_some() {
            return false;
        }
        // Holding the committer lock, no update can reach the active table between the check and
        // the freeze.
        if !layers.active().is_empty() {
            committer.freeze(shared, log_bytes);
            drop((committer, layers));
            let Some(frozen) = shared.drains.frozen() else { return true };
            self.drain(shared, frozen, reason);
            let Some(free) = shared.try_committer() else { return false };
            committer = free;
        }
        // The lock was free during the drain. Truncate only if no update came meanwhile, and if the
        // checkpoint permits the shorter length.
        let is_drained = shared
            .layers()
            .is_ok_and(|layers| layers.active().is_empty() && layers.draining().is_none());
        let recorded = self.checkpoint.log_bytes.into_iter().max().unwrap_or(0);
        if let Some(log) = committer.log.as_mut().filter(|_| is_drained && recorded <= log_bytes) {
            log.shrink(log_bytes);
            match log.preallocate(shared.config.log_bytes.min(log_bytes)) {
                // Without space to preallocate, the log grows on use.
                Ok(()) | Err(KvError::NoSpace) => {}
                Err(error) => shared.stop_writing(&error),
            }
        }
        true
    }

    /// Drains the frozen table into the tree, or makes it a run.
    fn drain(&mut self, shared: &Shared, frozen: Frozen, reason: Reason) {
        let Ok(layers) = shared.layers() else { return };
        let Some(table) = layers.draining().map(Arc::clone) else { return };
        // Pairs newer than a run must not be placed beneath it.
        let is_spilled = !layers.runs().is_empty()
            || reason == Reason::Room
                && self.pays_to_spill(shared, &table)
                && has_room_for_run(shared, &table);
        drop(layers);
        let begun = Instant::now();
        shared.drains.begin_draining();
        let (sequence, memory_bytes) = (frozen.sequence, shared.config.memory_bytes);
        let drained = if is_spilled {
            // `change_layers` comes only after the checkpoint is durable: then the log file of the
            // table may be overwritten.
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
                // The drain has synced the attachments of these records, so the syncer need not.
                shared.syncs.synced(frozen.number, begun);
                shared.drains.end(frozen, table.bytes());
            }
            Err(error) => stop(shared, &error),
        }
    }

    /// Drains everything and closes the tree. There are no writers any more.
    pub(super) fn close(&mut self, shared: &Shared) {
        self.step(shared);
        if let Some(frozen) = shared.drains.frozen()
            && shared.poisoned().is_none()
            && !shared.drains.is_blocked()
        {
            // It was waiting for a merge, which the next start can continue.
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
        // An engine may write while it closes. It must not do so after a failed drain, nor where a
        // snapshot outlives the key space and closes the engine: by then the files may belong to
        // another key space.
        if !is_drained || Arc::strong_count(&engine) > 1 {
            engine.close_without_checkpoint();
        }
    }
}

/// Stops draining: until there is space again, or for good.
fn stop(shared: &Shared, error: &KvError) {
    // Blocked before it is told: who hears of the refusal and tries again must not find the old state.
    shared.drains.set_blocked(true);
    match error {
        KvError::NoSpace => shared.set_refusal(Some(KvError::NoSpace)),
        error => shared.stop_writing(error),
    }
}
