//! Background syncs: at [`Durability::Os`](crate::Durability::Os) of every update with its attachments,
//! at [`Durability::Fsync`](crate::Durability::Fsync) of attachments whose contents the log holds
//! meanwhile.
//!
//! ```text
//!  appended ≥ n          attachments up to n       committer: mark n, sync the log      synced = n
//!  ──────────► take n ─────────────────────► ask ────────────────────────────────────► ─────────►
//! ```
//! Commits continue meanwhile; they wait for the sync of the log only. The mark is a watermark: it is
//! appended only after the attachments are synced, so it is valid whenever it reaches the disk.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::queue::Update;
use super::shared::Shared;
use super::{Attachments, KvError};

/// Makes everything durable that was acknowledged before the call. `false` when nothing was left to
/// sync.
pub(super) fn sync(
    shared: &Shared,
    attachments: Option<&dyn Attachments>,
) -> Result<bool, KvError> {
    let syncs = &shared.syncs;
    let _alone = syncs.running.lock();
    let begun = Instant::now();
    let number = {
        let progress = syncs.progress.lock();
        if progress.synced >= progress.appended {
            return Ok(false);
        }
        progress.appended
    };
    attachments.map_or(Ok(()), Attachments::sync)?;
    {
        let mut progress = syncs.progress.lock();
        progress.outcome = None;
        progress.mark = Some(number);
    }
    // An empty update wakes the committer, which appends the mark after its group.
    let (sender, _) = oneshot::channel();
    let closure = |_: &mut super::Transaction<'_>| Ok::<(), KvError>(());
    let wake = Update { closure, result: None, sender, frees_space: true };
    if shared.queue.push(Box::new(wake)).is_err() {
        return Err(KvError::Closed);
    }
    let outcome = {
        let mut progress = syncs.progress.lock();
        syncs.changed.wait_while(&mut progress, |it| it.outcome.is_none() && !it.is_stopped);
        progress.mark = None;
        progress.outcome.take().unwrap_or(Err(KvError::Closed))
    };
    if outcome.is_ok() {
        syncs.synced(number, begun);
    }
    outcome.map(|()| true)
}

/// Syncs every `interval` while there is something to sync, until [`Syncs::stop`].
pub(super) fn run(
    shared: &Arc<Shared>,
    attachments: Option<Arc<dyn Attachments>>,
    interval: Duration,
) {
    let syncs = &shared.syncs;
    let mut retry_at: Option<Instant> = None;
    loop {
        {
            let mut progress = syncs.progress.lock();
            loop {
                if progress.is_stopped {
                    return;
                }
                let now = Instant::now();
                let due = match (retry_at, progress.unsynced_since) {
                    (Some(retry), _) => Some(retry),
                    (None, Some(_)) if progress.is_pressing => break,
                    (None, since) => since.and_then(|since| since.checked_add(interval)),
                };
                match due {
                    Some(due) if due <= now => break,
                    Some(due) => _ = syncs.changed.wait_until(&mut progress, due),
                    None => syncs.changed.wait(&mut progress),
                }
            }
        }
        retry_at = match sync(shared, attachments.as_deref()) {
            Ok(_) => None,
            // No update is written any more; `Kv::refusal` has the reason.
            Err(KvError::Poisoned { .. } | KvError::Closed) => return,
            Err(_) => Instant::now().checked_add(interval),
        };
    }
}
