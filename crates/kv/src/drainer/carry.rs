//! Carrying: rewriting pairs that cannot be drained.

use liteio_disk::Durability;

use super::Drainer;
use crate::queue::Update;
use crate::shared::Shared;
use crate::{KvError, Transaction, syncer};

/// Maximum number of carried pairs. More damage stops writing.
pub(super) const CARRIED_MAX: usize = 100_000;

impl Drainer {
    /// Writes the newest entries of `keys` above the tree once more, before the log drops them:
    /// they cannot be drained.
    pub(super) fn carry(&mut self, shared: &Shared, keys: Vec<Vec<u8>>) -> Result<(), KvError> {
        let closure = move |transaction: &mut Transaction<'_>| {
            keys.iter().try_for_each(|key| transaction.carry(key))
        };
        let (sender, receiver) = oneshot::channel::<Result<(), KvError>>();
        let (result, ahead) = (None, None);
        let update = Update { closure, result, sender, frees_space: true, then: |()| {}, ahead };
        // Set before the push: a committer that waits for room must not wait for this drain.
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

/// Makes durable everything acknowledged before the call. A committer that waits for the drain
/// would hold up the mark of this sync, so no committer waits meanwhile.
pub(super) fn make_log_durable(shared: &Shared) -> Result<(), KvError> {
    if shared.config.durability == Durability::Os && shared.home.is_some() {
        shared.drains.set_carrying(true);
        let synced = syncer::sync(shared, shared.config.attachments.as_deref());
        shared.drains.set_carrying(false);
        synced?;
    }
    Ok(())
}
