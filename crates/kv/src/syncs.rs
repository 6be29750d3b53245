//! The progress of background syncs, shared by the committer and the syncer.

use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use crate::Attachments;

/// Unsynced bytes of attachments that start a sync before the interval is over. A longer backlog
/// would lengthen the sync and every wait for it.
const PRESSING_BYTES: u64 = 256 << 20;
/// The progress of background syncs.
#[derive(Debug, Default)]
pub(super) struct Syncs {
    /// Held by the running sync: at most one runs at a time.
    pub(super) running: Mutex<()>,
    pub(super) progress: Mutex<Progress>,
    pub(super) changed: Condvar,
}

#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Number of the newest record that needs a sync.
    pub(super) appended: u64,
    /// Number of the newest record that is durable with its attachments.
    pub(super) synced: u64,
    /// The time at which the oldest unsynced record was appended.
    pub(super) unsynced_since: Option<Instant>,
    /// `true` if the next sync should begin before the interval is over.
    pub(super) is_pressing: bool,
    pub(super) is_stopped: bool,
}

impl Syncs {
    /// Notes that a record which needs a sync is in the log.
    pub(super) fn appended(&self, number: u64, attachments: Option<&dyn Attachments>) {
        let is_pressing = attachments.is_some_and(|it| it.unsynced_bytes() >= PRESSING_BYTES);
        let mut progress = self.progress.lock();
        progress.appended = number;
        let is_first = progress.unsynced_since.is_none();
        if is_first {
            progress.unsynced_since = Some(Instant::now());
        }
        // Wakes the syncer only when its deadline changes; a wake-up for each group would cost a
        // system call.
        let is_news = is_first || (is_pressing && !progress.is_pressing);
        progress.is_pressing |= is_pressing;
        drop(progress);
        if is_news {
            self.changed.notify_all();
        }
    }

    /// Notes that everything up to record `number`, the newest at `begun`, is durable.
    pub(super) fn synced(&self, number: u64, begun: Instant) {
        let mut progress = self.progress.lock();
        progress.synced = progress.synced.max(number);
        progress.is_pressing = false;
        // The oldest record that is still unsynced was appended after `begun`; `begun` is a safe
        // lower bound.
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

    /// Ends the syncer and every sync.
    pub(super) fn stop(&self) {
        self.progress.lock().is_stopped = true;
        self.changed.notify_all();
    }
}
