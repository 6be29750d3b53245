//! Carrying: pairs that cannot be drained are written once more.

use liteio_disk::Durability;

use super::Drainer;
use crate::queue::Update;
use crate::shared::Shared;
use crate::{KvError, Transaction, syncer};

/// Pairs that are carried at most. More damage ends writing.
pub(super) const CARRIED_MAX: usize = 100_000;

impl Drainer {
    /// Writes what keys have above the tree once more, before the log may forget it: it cannot be drained.
    pub(super) fn carry(&mut self, shared: &Shared, keys: Vec<Vec<u8>>) -> Result<(), KvError> {
        let closure = move |transaction: &mut Transaction<'_>| {
            keys.iter().try_for_each(|key| transaction.carry(key))
        };
        let (sender, receiver) = oneshot::channel::<Result<(), KvError>>();
        let update = Update { closure, result: None, sender, frees_space: true, then: |()| {} };
        shared.drains.set_carrying(true);
        let pushed = shared.queue.push(Box::new(update)).map_err(|_| KvError::Closed);
        shared.commit_for_drain();
        let result = pushed.and_then(|()| receiver.recv().unwrap_or(Err(KvError::Closed)));
        shared.drains.set_carrying(false);
        result?;
        make_log_durable(shared)?;
        self.carried_at = Some(shared.drains.groups());
        Ok(())
    }
}

/// Makes durable what was acknowledged before that. Whoever writes may wait for the drain, and hold up the mark of this:
/// so nobody does meanwhile.
pub(super) fn make_log_durable(shared: &Shared) -> Result<(), KvError> {
    if shared.config.durability == Durability::Os && shared.home.is_some() {
        shared.drains.set_carrying(true);
        let synced = syncer::sync(shared, shared.config.attachments.as_deref());
        shared.drains.set_carrying(false);
        synced?;
    }
    Ok(())
}
