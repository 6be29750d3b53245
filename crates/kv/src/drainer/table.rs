//! Draining of a table into the tree.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Drainer;
use super::carry::{CARRIED_MAX, make_log_durable};
use super::freeing::Freeing;
use crate::KvError;
use crate::committer::sync_attachments;
use crate::drain::Frozen;
use crate::engine::{ApplyError, Change, Changes, Checkpoint, Engine};
use crate::layers::OpenTree;
use crate::log::{Round, Version};
use crate::memtable::{Entries, Entry, Memtable};
use crate::shared::Shared;

impl Drainer {
    /// Applies the table. Returns the resulting tree.
    pub(super) fn apply(
        &mut self,
        shared: &Shared,
        table: &Memtable,
        frozen: Frozen,
    ) -> Result<OpenTree, KvError> {
        // Attachments first: the checkpoint drops their notes in the log.
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
                        // On the first damage, find most of the damaged pages in one pass; each
                        // retry repeats the transaction.
                        let view = engine.view()?;
                        let entries = table.entries(frozen.sequence);
                        let unread = entries.filter(|it| view.get(it.key).is_err());
                        damaged.extend(unread.map(|it| it.key.to_vec()));
                    }
                    carried.extend(damaged.iter().cloned());
                    self.carry(shared, damaged)?;
                }
                // The file still is as the last checkpoint left it.
                Err(ApplyError { error, .. }) => {
                    return Err(engine.frozen().unwrap_or(error));
                }
            }
        }
        OpenTree::new(&engine)
    }

    /// Applies the changes in several transactions. All but the last keep the old checkpoint: after
    /// a crash the log is replayed over their changes, which is idempotent.
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
                // A power cut between two transactions must not lose updates from the log whose
                // later ones are in the tree.
                make_log_durable(shared)?;
                is_log_durable = true;
            }
            let mut part = Part { changes: &mut changes, left: changes_max, last: None };
            self.checkpoint =
                engine.apply(&mut Freeing::new(&mut part, shared), &self.checkpoint)?;
            // A carried key is not in the tree, or cannot be read there.
            let reached = part.last.filter(|_| changes.without.is_empty());
            let tree = OpenTree::new(engine)?;
            // New snapshots read the new tree, so that the replaced pages can be reused.
            shared
                .change_layers(|layers| Some(layers.draining_into(tree, frozen.sequence, reached)));
            drained += changes_max;
            shared.drains.drained(drained as f64 / writes.max(1) as f64);
        }
        // The last transaction advances the checkpoint to the last record of the table.
        let round = Round { number: frozen.number, ..self.checkpoint.round };
        let round = Round { version: Version::Current, ..round };
        let log_bytes = frozen.log_bytes;
        let checkpoint = Checkpoint { round, log_bytes, ..self.checkpoint.clone() };
        self.checkpoint = engine.apply(&mut Freeing::new(&mut changes, shared), &checkpoint)?;
        Ok(())
    }
}

/// The entries of a table except some keys.
pub(crate) struct TableChanges<'t> {
    pub(crate) entries: Entries<'t>,
    pub(crate) without: &'t BTreeSet<Vec<u8>>,
}

impl<'t> TableChanges<'t> {
    fn entry(&mut self) -> Option<Entry<'t>> {
        self.entries.find(|entry| !self.without.contains(entry.key))
    }
}

impl Changes for TableChanges<'_> {
    fn next(&mut self) -> Result<Option<Change<'_>>, KvError> {
        Ok(self.entry().map(|entry| Change { key: entry.key, value: entry.value }))
    }
}

/// The first `left` changes.
struct Part<'p, 't> {
    changes: &'p mut TableChanges<'t>,
    left: usize,
    /// The key of the last change.
    last: Option<&'t [u8]>,
}

impl Changes for Part<'_, '_> {
    fn next(&mut self) -> Result<Option<Change<'_>>, KvError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let entry = self.changes.entry();
        self.last = entry.map(|entry| entry.key).or(self.last);
        Ok(entry.map(|entry| Change { key: entry.key, value: entry.value }))
    }
}
