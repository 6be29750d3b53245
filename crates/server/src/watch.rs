//! The watch over a store: lines in the log when it begins to refuse writes by itself, and when it takes them again.

use std::time::Duration;

use liteio_store::{RESERVE_BYTES, Store, StoreHealth};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

/// The state of a server whose data directory is not at its path any more.
pub(crate) const MOVED: &str = "the data directory was renamed or unmounted, or another is mounted over it: the server goes on in the \
                                former one, which a restart would not find. Stop the server, and move or mount the directory back";

/// Interval of looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Starts the watch over a store on a device, until the server stops.
pub(crate) fn start(store: Store, mut stopping: watch::Receiver<bool>) {
    if matches!(store.space(), Ok(None)) {
        return;
    }
    tokio::spawn(async move {
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut seen = Seen::default();
        loop {
            tokio::select! {
                _ = looks.tick() => {}
                _ = stopping.wait_for(|it| *it) => return,
            }
            let now = Now::of(&store);
            // A store that the end of the server has closed takes no writes, either.
            if *stopping.borrow() {
                return;
            }
            seen.look(now);
        }
    });
}

/// The state of a store at one look.
#[derive(Clone, Debug, Default)]
struct Now {
    is_full: bool,
    is_moved: bool,
    /// The reason, if a failure ended all writes.
    failed: Option<String>,
    /// The reason, while only the time of the lease keeps writes out.
    fenced: Option<String>,
    /// Writes are refused, whatever for.
    is_suspended: bool,
}

impl Now {
    fn of(store: &Store) -> Now {
        let suspended = store.suspended();
        let (is_full, failed) = match store.health() {
            StoreHealth::Ready => (false, None),
            StoreHealth::Full => (true, None),
            StoreHealth::ReadOnly { reason } => (false, Some(reason)),
        };
        Now {
            is_full,
            is_moved: !store.is_in_place(),
            failed,
            is_suspended: suspended.is_some(),
            fenced: suspended.filter(|_| store.is_fenced()).map(|error| error.to_string()),
        }
    }
}

/// The state that the log has told.
#[derive(Debug, Default)]
struct Seen {
    is_full: bool,
    is_moved: bool,
    has_failed: bool,
    is_fenced: bool,
}

impl Seen {
    /// Tells what has changed.
    fn look(&mut self, now: Now) {
        // Only the next start admits writes after a failure.
        if let Some(reason) = now.failed {
            if !self.has_failed {
                tracing::warn!(
                    reason,
                    "writes are refused until the server is started again. If they are refused again soon, stop it and run \
                     `liteio verify`"
                );
                self.has_failed = true;
            }
            return;
        }
        if now.is_full != self.is_full {
            match now.is_full {
                true => tracing::warn!(
                    kept_free_mib = RESERVE_BYTES >> 20,
                    "the storage device is full: writes are refused until there is space"
                ),
                false => tracing::info!("the storage device has space again: writes are admitted"),
            }
            self.is_full = now.is_full;
        }
        if now.is_moved != self.is_moved {
            match now.is_moved {
                true => tracing::error!("{MOVED}"),
                false => tracing::info!("the data directory is at its path again"),
            }
            self.is_moved = now.is_moved;
        }
        match (self.is_fenced, now.fenced) {
            (false, Some(reason)) => {
                tracing::warn!(
                    reason,
                    "the fence is closed: writes are refused until the lease is renewed"
                );
                self.is_fenced = true;
            }
            (true, None) => {
                // Otherwise the lease is lost, which its keeper tells.
                if !now.is_suspended {
                    tracing::info!("the lease is renewed, the fence is open: writes are admitted");
                }
                self.is_fenced = false;
            }
            (false, None) | (true, Some(_)) => {}
        }
    }
}
