//! Background syncs. At [`Durability::Os`](liteio_disk::Durability::Os) they cover every update
//! with its attachments; at [`Durability::Fsync`](liteio_disk::Durability::Fsync) only attachments,
//! whose contents the log holds meanwhile.
//!
//! ```text
//!  appended ≥ n          attachments up to n              mark n, sync the log          synced = n
//!  ──────────► take n ─────────────────────► ask ────────────────────────────────────► ─────────►
//! ```
//! Commits continue during a sync. The mark is a watermark: it is appended only after the
//! attachments are synced, so it is valid whenever it reaches the disk.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::shared::Shared;
use crate::{Attachments, KvError};

/// Makes durable everything acknowledged before the call. `false` when nothing was left to sync.
pub(super) fn sync(
    shared: &Shared,
    attachments: Option<&dyn Attachments>,
) -> Result<bool, KvError> {
    let syncs = &shared.syncs;
    // No lock but `running` is held while the device syncs, so commits continue.
    let _alone = syncs.running.lock();
    let begun = Instant::now();
    let number = {
        let progress = syncs.progress.lock();
        if progress.synced >= progress.appended {
            return Ok(false);
        }
        progress.appended
    };
    // Attachments first, then the mark, then its sync: the mark must never claim more than is
    // durable.
    attachments.map_or(Ok(()), Attachments::sync)?;
    let to_sync = shared.committer().mark(shared, number)?;
    // A failed sync poisons: the kernel may have dropped the dirty pages, so a second sync could
    // succeed without them.
    to_sync.sync().inspect_err(|error| shared.stop_writing(error))?;
    if let Some(log) = &mut shared.committer().log {
        log.synced(to_sync.number);
    }
    syncs.synced(number, begun);
    shared.counters.background_syncs.fetch_add(1, Ordering::Relaxed);
    Ok(true)
}

/// Delay before the next sync, so that it ends one `interval` after the oldest update that it
/// covers if it takes as long as the `last` one. At least a tenth of the interval: on a slow device
/// each sync then covers more.
fn wait_for_sync(interval: Duration, last: Duration) -> Duration {
    interval.saturating_sub(last).max(interval / 10)
}

/// Syncs about one `interval` after each unsynced update, until [`Syncs::stop`].
pub(super) fn run(shared: &Arc<Shared>) {
    let (attachments, interval) = (&shared.config.attachments, shared.config.sync_interval);
    let syncs = &shared.syncs;
    let mut retry_at: Option<Instant> = None;
    let mut last = Duration::ZERO;
    loop {
        let wait = wait_for_sync(interval, last);
        {
            let mut progress = syncs.progress.lock();
            loop {
                if progress.is_stopped {
                    return;
                }
                let now = Instant::now();
                let due = match (retry_at, progress.unsynced_since) {
                    // A retry keeps its time even when pressed, or a failing device would be tried
                    // in a busy loop.
                    (Some(retry), _) => Some(retry),
                    (None, Some(_)) if progress.is_pressing => break,
                    (None, since) => since.and_then(|since| since.checked_add(wait)),
                };
                match due {
                    Some(due) if due <= now => break,
                    Some(due) => _ = syncs.changed.wait_until(&mut progress, due),
                    None => syncs.changed.wait(&mut progress),
                }
            }
        }
        let begun = Instant::now();
        let result = sync(shared, attachments.as_deref());
        last = begun.elapsed();
        retry_at = match result {
            Ok(_) => None,
            // Writing has stopped for good; `Kv::refusal` has the reason.
            Err(KvError::Poisoned { .. } | KvError::Closed) => return,
            Err(_) => Instant::now().checked_add(interval),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_begins_early_enough_to_end_in_time() {
        let ms = Duration::from_millis;
        for (last, wait) in [(0, 1_000), (50, 950), (700, 300), (900, 100), (5_000, 100)] {
            assert_eq!(wait_for_sync(ms(1_000), ms(last)), ms(wait), "after {last} ms");
        }
    }
}
