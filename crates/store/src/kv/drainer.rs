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
//! # Damage
//! A pair whose page of the tree is damaged cannot be drained. It is *carried*: written once more to the log and to
//! the active table, so that it is read and kept as before, and the others are drained without it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::committer::sync_attachments;
use super::drain::Frozen;
use super::engine::{ApplyError, Change, Changes, Checkpoint, Engine};
use super::home::Home;
use super::layers::{Layers, OpenTree};
use super::log::{Round, Version};
use super::memtable::{Entries, Memtable};
use super::queue::Update;
use super::shared::Shared;
use super::{KvError, Transaction, syncer};
use crate::Durability;

/// Bytes of the log's files while nothing is written, and after the end.
const IDLE_LOG_BYTES: u64 = 4 << 20;
const CLOSED_LOG_BYTES: u64 = 1 << 20;
/// Pairs that are carried at most. More damage ends writing.
const CARRIED_MAX: usize = 100_000;
/// References to an engine without snapshots: the drainer's and that of the layers.
const OWN_REFERENCES: usize = 2;
/// Longest wait for snapshots to end before the tree is opened again.
const SNAPSHOTS_WAIT: Duration = Duration::from_millis(50);

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
    pub(super) compaction: super::compact::Compaction,
}

impl Drainer {
    pub(super) fn new(engine: Arc<Engine>, checkpoint: Checkpoint) -> Self {
        let compaction = super::compact::Compaction::default();
        Self { engine: Some(engine), checkpoint, parked: None, carried_at: None, compaction }
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
        if let Some(frozen) = shared.drains.frozen() {
            self.drain(shared, frozen);
        }
        if shared.refusal.read().is_some()
            && let Some(mut committer) = shared.try_committer()
        {
            // An error is in the refusal already.
            let _ = committer.prepare_to_write(shared);
        }
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
        self.drain_all(shared, IDLE_LOG_BYTES) && self.compact(shared)
    }

    /// Freezes the active table and drains it. `false` if somebody writes.
    fn drain_all(&mut self, shared: &Shared, log_bytes: u64) -> bool {
        let Some(mut committer) = shared.try_committer() else { return false };
        let Ok(layers) = shared.layers() else { return true };
        if layers.draining().is_some() {
            return false;
        }
        if !layers.active().is_empty() {
            committer.freeze(shared, &layers, log_bytes);
            drop((committer, layers));
            let Some(frozen) = shared.drains.frozen() else { return true };
            self.drain(shared, frozen);
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

    fn drain(&mut self, shared: &Shared, frozen: Frozen) {
        let Ok(layers) = shared.layers() else { return };
        let Some(table) = layers.draining().map(Arc::clone) else { return };
        drop(layers);
        let begun = Instant::now();
        shared.drains.begin_draining();
        match self.apply(shared, &table, frozen) {
            Ok(tree) => {
                let memory_bytes = shared.config.memory_bytes;
                shared.change_layers(|layers| {
                    Some(layers.with_drained(tree, frozen.sequence, memory_bytes))
                });
                shared.syncs.synced(frozen.number, begun);
                shared.drains.end(frozen, table.bytes());
            }
            Err(KvError::NoSpace) => {
                shared.set_refusal(Some(KvError::NoSpace));
                shared.drains.set_blocked(true);
            }
            Err(error) => {
                shared.stop_writing(&error);
                shared.drains.set_blocked(true);
            }
        }
    }

    /// Applies the table. Returns the tree with it.
    fn apply(
        &mut self,
        shared: &Shared,
        table: &Memtable,
        frozen: Frozen,
    ) -> Result<OpenTree, KvError> {
        sync_attachments(shared.config.attachments.as_ref())?;
        let engine = self.engine.clone().ok_or(KvError::Closed)?;
        let mut carried = BTreeSet::new();
        loop {
            let entries = table.entries(frozen.sequence);
            let changes = TableChanges { entries, without: &carried };
            match self.apply_all(shared, &engine, changes, table.writes(), frozen) {
                Ok(()) => break,
                Err(ApplyError { error: KvError::Corrupt(what), key: Some(key) })
                    if engine.frozen().is_none() && carried.len() < CARRIED_MAX =>
                {
                    if carried.contains(&key) {
                        return Err(KvError::Corrupt(what));
                    }
                    let mut damaged = vec![key];
                    if carried.is_empty() {
                        // Most of them at once.
                        let view = engine.view()?;
                        let entries = table.entries(frozen.sequence);
                        let unread = entries.filter(|it| view.get(it.key).is_err());
                        damaged.extend(unread.map(|it| it.key.to_vec()));
                    }
                    self.carry(shared, table, frozen, &damaged)?;
                    carried.extend(damaged);
                }
                // The file still is as the last checkpoint left it.
                Err(ApplyError { error, .. }) => {
                    return Err(engine.frozen().unwrap_or(error));
                }
            }
        }
        OpenTree::new(&engine)
    }

    /// Applies changes in some transactions. All but the last leave the checkpoint where it was: after a crash the log is
    /// replayed over what they have done, which comes to the same.
    fn apply_all(
        &mut self,
        shared: &Shared,
        engine: &Arc<Engine>,
        mut changes: TableChanges<'_>,
        writes: u64,
        frozen: Frozen,
    ) -> Result<(), ApplyError> {
        let changes_max = shared.config.drain_changes();
        let mut drained = 0;
        let mut is_log_durable = false;
        while changes.entries.clone().nth(changes_max).is_some() {
            if !is_log_durable {
                // A power cut between two of them must not take what the log has of the others.
                make_log_durable(shared)?;
                is_log_durable = true;
            }
            let mut part = Part { changes: &mut changes, left: changes_max };
            self.checkpoint = engine.apply(&mut part, &self.checkpoint)?;
            let tree = OpenTree::new(engine)?;
            // Whoever reads from now on lets go of the pages that were replaced.
            shared.change_layers(|layers| Some(layers.draining_into(tree, frozen.sequence)));
            drained += changes_max;
            shared.drains.drained(drained as f64 / writes.max(1) as f64);
        }
        let round = Round { number: frozen.number, ..self.checkpoint.round };
        let round = Round { version: Version::Current, ..round };
        let checkpoint = Checkpoint { round, log_bytes: frozen.log_bytes, ..self.checkpoint };
        self.checkpoint = engine.apply(&mut changes, &checkpoint)?;
        Ok(())
    }

    /// Writes pairs of a table once more that cannot be drained, before the log may forget them.
    fn carry(
        &mut self,
        shared: &Shared,
        table: &Memtable,
        frozen: Frozen,
        keys: &[Vec<u8>],
    ) -> Result<(), KvError> {
        let entries = keys.iter().filter_map(|key| {
            let entry = table.entries_from(key, frozen.sequence).next()?;
            (entry.key == key).then(|| (key.clone(), entry.value.map(<[u8]>::to_vec)))
        });
        let pairs: Vec<(Vec<u8>, Option<Vec<u8>>)> = entries.collect();
        let closure = move |transaction: &mut Transaction<'_>| {
            pairs.iter().try_for_each(|(key, value)| transaction.carry(key, value.as_deref()))
        };
        let (sender, receiver) = oneshot::channel::<Result<(), KvError>>();
        let update = Update { closure, result: None, sender, frees_space: true };
        shared.drains.set_carrying(true);
        let pushed = shared.queue.push(Box::new(update)).map_err(|_| KvError::Closed);
        // Not by this thread: the answers to other updates may end the key space, which waits for it.
        shared.queue.wake();
        let result = pushed.and_then(|()| receiver.recv().unwrap_or(Err(KvError::Closed)));
        shared.drains.set_carrying(false);
        result?;
        make_log_durable(shared)?;
        self.carried_at = Some(shared.drains.groups());
        Ok(())
    }

    /// Opens a tree again that found no space. The tables above it still have all that it does not.
    fn reopen(&mut self, shared: &Shared) -> Result<(), KvError> {
        let Some(home) = &shared.home else { return Err(KvError::Closed) };
        if let Some(reason) = home.disk.health().reason() {
            // The frozen tree has pages in memory that the device lost.
            return Err(KvError::Poisoned { reason: reason.to_owned() });
        }
        if home.disk.free_bytes().unwrap_or(u64::MAX) < shared.config.reserve_bytes {
            return Err(KvError::NoSpace);
        }
        // The lock keeps new snapshots from beginning. Live ones must end first: the new tree overwrites
        // pages that the frozen one still reads.
        let mut current = shared.layers_mut();
        if self.parked.is_none() {
            let layers = match &mut *current {
                Ok(layers) => layers,
                Err(error) => return Err(error.clone()),
            };
            let engine = self.engine.as_ref();
            let begun = Instant::now();
            while !(Arc::get_mut(layers).is_some_and(Layers::is_alone)
                && engine.is_none_or(|it| Arc::strong_count(it) == OWN_REFERENCES))
            {
                if begun.elapsed() >= SNAPSHOTS_WAIT {
                    return Err(KvError::NoSpace);
                }
                thread::park_timeout(Duration::from_millis(1));
            }
            if let Ok(layers) = std::mem::replace(&mut *current, Err(KvError::NoSpace)) {
                self.parked = Arc::into_inner(layers);
            }
        }
        if let Some(layers) = &mut self.parked {
            layers.close_tree();
        }
        self.engine = None;
        let tree = open_again(home, shared, &self.checkpoint).inspect_err(|error| {
            *current = Err(error.clone());
        })?;
        self.engine = Some(Arc::clone(&tree.engine));
        let frozen = tree.engine.frozen();
        if let Some(layers) = self.parked.take() {
            *current = Ok(Arc::new(layers.over(tree)));
        }
        // It can be read, at least.
        frozen.map_or(Ok(()), Err)
    }

    /// Drains everything and closes the tree. Nobody writes any more.
    pub(super) fn close(&mut self, shared: &Shared) {
        self.step(shared);
        let mut attempts = 0;
        while shared.poisoned().is_none() && !shared.drains.is_blocked() && attempts < 2 {
            self.drain_all(shared, CLOSED_LOG_BYTES);
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

/// Makes durable what was acknowledged before that.
fn make_log_durable(shared: &Shared) -> Result<(), KvError> {
    if shared.config.durability == Durability::Os && shared.home.is_some() {
        syncer::sync(shared, shared.config.attachments.as_deref())?;
    }
    Ok(())
}

/// The entries of a table, but some.
pub(super) struct TableChanges<'t> {
    pub(super) entries: Entries<'t>,
    pub(super) without: &'t BTreeSet<Vec<u8>>,
}

impl Changes for TableChanges<'_> {
    fn next(&mut self) -> Result<Option<Change<'_>>, KvError> {
        let entry = self.entries.find(|entry| !self.without.contains(entry.key));
        Ok(entry.map(|entry| Change { key: entry.key, value: entry.value }))
    }
}

/// The first of some changes.
struct Part<'p, 't> {
    changes: &'p mut TableChanges<'t>,
    left: usize,
}

impl Changes for Part<'_, '_> {
    fn next(&mut self) -> Result<Option<Change<'_>>, KvError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.changes.next()
    }
}

fn open_again(home: &Home, shared: &Shared, checkpoint: &Checkpoint) -> Result<OpenTree, KvError> {
    let config = &shared.config;
    let engine = Engine::open(config.engine, &home.disk, &home.path, config.cache_bytes)?;
    let failure = match engine.read_checkpoint() {
        Ok(Some(found)) if found.round.number >= checkpoint.round.number => {
            return OpenTree::new(&engine);
        }
        Ok(_) => KvError::Corrupt(format!("{} has lost its newest checkpoint", home.path)),
        Err(error) => error,
    };
    engine.close_without_checkpoint();
    Err(failure)
}
