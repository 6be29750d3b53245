//! Background syncs: at [`Durability::Os`](liteio_disk::Durability::Os) of every update with its attachments,
//! at [`Durability::Fsync`](liteio_disk::Durability::Fsync) of attachments whose contents the log holds
//! meanwhile.
//!
//! ```text
//!  appended ≥ n          attachments up to n              mark n, sync the log          synced = n
//!  ──────────► take n ─────────────────────► ask ────────────────────────────────────► ─────────►
//! ```
//! Commits continue meanwhile. The mark is a watermark: it is
//! appended only after the attachments are synced, so it is valid whenever it reaches the disk.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::shared::Shared;
use crate::{Attachments, KvError};

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
    let to_sync = shared.committer().mark(shared, number)?;
    to_sync.sync().inspect_err(|error| shared.stop_writing(error))?;
    if let Some(log) = &mut shared.committer().log {
        log.synced(to_sync.number);
    }
    syncs.synced(number, begun);
    shared.counters.background_syncs.fetch_add(1, Ordering::Relaxed);
    Ok(true)
}

/// The wait for a sync to begin, so that it ends an `interval` after the oldest update that it covers, if it
/// takes as long as the one before. It is a tenth at least: a device that cannot keep up gets larger syncs.
fn wait_for_sync(interval: Duration, last: Duration) -> Duration {
    interval.saturating_sub(last).max(interval / 10)
}

/// Syncs while there is something to sync, about an `interval` after it came, until [`Syncs::stop`].
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
            // No update is written any more; `Kv::refusal` has the reason.
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
