//! [`LeaseKeeper`]: the thread of a primary that looks at its lease.
//!
//! ```text
//!  held ──► look again, each interval
//!  claimed by a standby ──► suspend writes ──► tell ──► the writer stores what is left and ends ──► release
//!  lost ──► suspend writes, end the writer
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use liteio_backup::target::Target;
use liteio_backup::writer::{Status, Stop};
use liteio_backup::{Error, Holder, Look, Repository};
use liteio_store::Store;
use tokio::sync::oneshot;

/// Longest time between two looks, however long the interval of the backup is: a promotion waits for
/// the next one.
const LOOK_MAX: Duration = Duration::from_secs(1);
/// Looks within the time of the fence: one that is slow or fails must not stop the writes.
const LOOKS_IN_FENCE: u32 = 4;
/// Time between two looks at the writer that stores what is left.
const WAIT: Duration = Duration::from_millis(20);

const CLAIMED: &str =
    "This server hands over to a standby, which becomes the primary. Reading still works.";
const LOST: &str = "Another server is the primary now: this one has lost its lease at the backup and refuses writes. \
     Write to the other one. If it is gone, and this one shall be the primary again, stop this one, remove the object \
     `lease` of the backup, and start it again. Reading still works.";

/// The lease of a primary.
pub(super) struct LeaseKeeper {
    pub(super) store: Store,
    pub(super) target: Arc<dyn Target>,
    pub(super) key: Option<[u8; 32]>,
    pub(super) holder: Arc<Holder>,
    pub(super) interval: Duration,
    pub(super) fence: Option<Duration>,
    /// Ends the keeper.
    pub(super) stop: Arc<Stop>,
    /// Ends the writer.
    pub(super) writer: Arc<Stop>,
    pub(super) writer_ended: Arc<Stop>,
    pub(super) status: Arc<Status>,
    /// Set once another server has the lease, or may take it.
    pub(super) is_lost: Arc<AtomicBool>,
}

impl LeaseKeeper {
    /// Looks until it is stopped. Tells `looked` of the first look, whatever it finds.
    pub(super) fn run(self, looked: oneshot::Sender<()>) {
        let mut looked = Some(looked);
        let mut repository = None;
        let mut last = None;
        let fence = self.fence.map_or(LOOK_MAX, |fence| fence / LOOKS_IN_FENCE);
        let every = self.interval.min(LOOK_MAX).min(fence);
        loop {
            let look = self.look(&mut repository);
            // Until the first one the writer makes the backup, and tells why it cannot.
            if last.is_some() {
                self.status.looked_at_lease(look.as_ref().err().map(ToString::to_string));
            }
            if let Ok(look) = &look
                && last.as_ref() != Some(look)
            {
                self.found(look, repository.as_ref());
                last = Some(look.clone());
            }
            if let Some(looked) = looked.take() {
                // Nobody waits any more.
                let _ = looked.send(());
            }
            if !self.stop.wait(every) {
                return;
            }
        }
    }

    fn look(&self, opened: &mut Option<Repository>) -> Result<Look, Error> {
        let repository = match opened {
            Some(repository) => &*repository,
            // The writer tells the reason of a failure.
            None => {
                let target = Arc::clone(&self.target);
                opened.insert(Repository::of_store(target, self.key.as_ref(), &self.store)?)
            }
        };
        self.holder.look(repository)
    }

    fn found(&self, look: &Look, repository: Option<&Repository>) {
        match look {
            Look::Held => {}
            Look::Claimed => {
                tracing::warn!("a standby takes over: writes are refused from now on");
                let released = repository.map_or(Ok(false), |it| self.hand_over(it));
                match released {
                    Ok(true) => {
                        tracing::info!("everything is in the backup: the lease is released")
                    }
                    Ok(false) => tracing::warn!("the lease was not released: its claim is gone"),
                    Err(error) => tracing::error!(%error, "the lease was not released"),
                }
            }
            Look::Lost => {
                tracing::error!("another server has the lease of the backup: writes are refused");
                self.is_lost.store(true, Ordering::Release);
                self.suspend(LOST);
                self.writer.stop();
            }
        }
    }

    fn hand_over(&self, repository: &Repository) -> Result<bool, Error> {
        self.suspend(CLAIMED);
        let suspended_ms = self.store.now_ms();
        if !self.holder.answer(repository, None)? {
            return Ok(false);
        }
        // Without a base the generation is of no use, and what was written since the one before it
        // would be lost.
        while self.status.state().base_ms.is_none() {
            if !self.stop.wait(WAIT) {
                return Ok(false);
            }
        }
        self.writer.stop();
        while self.writer_ended.wait(WAIT) {
            if !self.stop.wait(WAIT) {
                return Ok(false);
            }
        }
        let state = self.status.state();
        match state.stored {
            Some(stored) if state.kept_ms.is_some_and(|kept_ms| kept_ms >= suspended_ms) => {
                // Before the standby can be the primary: two servers must not say so at a time.
                self.is_lost.store(true, Ordering::Release);
                let released = self.holder.answer(repository, Some(stored));
                if !matches!(released, Ok(true)) {
                    self.is_lost.store(false, Ordering::Release);
                }
                released
            }
            _ => Err(Error::Refused(
                state.error.unwrap_or_else(|| "the last changes could not be stored".to_owned()),
            )),
        }
    }

    fn suspend(&self, reason: &str) {
        if let Err(error) = self.store.suspend(reason) {
            tracing::error!(%error, "writes are refused, but the last ones may not be durable");
        }
    }
}
