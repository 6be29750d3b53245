//! Background syncs: at [`Durability::Os`](crate::Durability::Os) of every update with its attachments,
//! at [`Durability::Fsync`](crate::Durability::Fsync) of attachments whose contents the log holds
//! meanwhile.
//!
//! ```text
//!  appended ≥ n          attachments up to n       committer: mark n, sync the log      synced = n
//!  ──────────► take n ─────────────────────► ask ────────────────────────────────────► ─────────►
//! ```
//! Commits go on beside it; they wait for the sync of the log alone. The mark is a watermark: it is
//! appended only after the attachments are synced, so it is valid whenever it reaches the disk.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::commit::Shared;
use super::queue::Update;
use super::{Attachments, KvError};

/// Unsynced bytes of attachments that start a sync before the interval is over: a longer backlog would
/// make the sync, and what waits for it, long.
const PRESSING_BYTES: u64 = 256 << 20;
/// Unsynced bytes of attachments up to which a checkpoint syncs them itself, while commits wait.
const CHECKPOINT_BYTES_MAX: u64 = 4 << 20;

/// The progress of background syncs.
#[derive(Debug, Default)]
pub(super) struct Syncs {
    /// Held by the sync that runs.
    running: Mutex<()>,
    progress: Mutex<Progress>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Progress {
    /// Number of the newest record that needs a sync.
    appended: u64,
    /// Number of the newest record that is durable with its attachments.
    synced: u64,
    /// The time at which the oldest unsynced record was appended.
    unsynced_since: Option<Instant>,
    /// The mark that the committer is asked to append.
    mark: Option<u64>,
    /// The result of appending it.
    outcome: Option<Result<(), KvError>>,
    /// A sync is wanted before its time.
    is_pressing: bool,
    is_stopped: bool,
}

impl Syncs {
    /// A record that needs a sync is in the log.
    pub(super) fn appended(&self, number: u64, attachments: Option<&dyn Attachments>) {
        let is_pressing = attachments.is_some_and(|it| it.unsynced_bytes() >= PRESSING_BYTES);
        let mut progress = self.progress.lock();
        progress.appended = number;
        let is_first = progress.unsynced_since.is_none();
        if is_first {
            progress.unsynced_since = Some(Instant::now());
        }
        let is_news = is_first || (is_pressing && !progress.is_pressing);
        progress.is_pressing |= is_pressing;
        drop(progress);
        if is_news {
            self.changed.notify_all();
        }
    }

    /// Everything up to record `number` is durable, which was the newest at `begun`.
    pub(super) fn synced(&self, number: u64, begun: Instant) {
        let mut progress = self.progress.lock();
        progress.synced = progress.synced.max(number);
        progress.is_pressing = false;
        progress.unsynced_since = (progress.synced < progress.appended).then_some(begun);
    }

    /// The number of the newest record that needs a sync; `None` when it is durable already.
    pub(super) fn newest_unsynced(&self) -> Option<u64> {
        let progress = self.progress.lock();
        (progress.synced < progress.appended).then_some(progress.appended)
    }

    /// `true` when everything up to record `number` is durable.
    pub(super) fn is_synced(&self, number: u64) -> bool {
        self.progress.lock().synced >= number
    }

    /// `true` when a checkpoint can begin without a long sync first; if not, that sync is requested.
    pub(super) fn allow_checkpoint(&self, attachments: Option<&dyn Attachments>) -> bool {
        if attachments.is_none_or(|it| it.unsynced_bytes() <= CHECKPOINT_BYTES_MAX) {
            return true;
        }
        self.progress.lock().is_pressing = true;
        self.changed.notify_all();
        false
    }

    /// The mark that the committer is to append.
    pub(super) fn take_mark(&self) -> Option<u64> {
        self.progress.lock().mark.take()
    }

    /// The committer's result of appending a mark.
    pub(super) fn marked(&self, result: Result<(), KvError>) {
        self.progress.lock().outcome = Some(result);
        self.changed.notify_all();
    }

    /// Ends [`run`] and every sync.
    pub(super) fn stop(&self) {
        self.progress.lock().is_stopped = true;
        self.changed.notify_all();
    }
}

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
            // Nothing is written any more, as `Kv::refusal` tells.
            Err(KvError::Poisoned { .. } | KvError::Closed) => return,
            Err(_) => Instant::now().checked_add(interval),
        };
    }
}
