//! Tiers: bodies of versions in buckets of other services.
//!
//! Lifecycle rules write a row for each version that is to move. A task ([`worker`]) reads the rows,
//! uploads the bodies in pieces and ends the rows; the store replaces the body of the version in one
//! transaction. Removed versions leave rows of remote objects, which the same task deletes. Reads of
//! a moved version come through [`remote`], and the store verifies every block of them.
//!
//! | Module | Content |
//! |---|---|
//! | `limits` | bounds of the work |
//! | `remote` | the clients of tiers: reads, uploads with verification, deletions |
//! | `worker` | the task: moves, deletions, waits |
//!
//! The crate must not know requests to this server or where tiers are configured.

mod limits;
mod remote;
mod worker;

use std::sync::Arc;

use liteio_access::state::App;
use tokio::task::JoinHandle;

use self::remote::Remotes;
pub use self::remote::{TierFailure, is_tier_used, verify_tier};

/// The task of tiers, which ends when this is dropped.
#[derive(Debug)]
pub struct Tiering {
    task: JoinHandle<()>,
}

impl Tiering {
    /// Lets the store read from the tiers, and starts the task.
    #[must_use]
    pub fn start(app: &Arc<App>) -> Tiering {
        let remotes = Arc::new(Remotes::new(Arc::clone(&app.tiers)));
        app.store.set_tiers(Arc::clone(&remotes) as _);
        Tiering { task: tokio::spawn(worker::run(Arc::clone(app), remotes)) }
    }

    /// Stops the task. What is in flight goes on after the next start.
    pub fn stop(&self) {
        self.task.abort();
    }
}

impl Drop for Tiering {
    fn drop(&mut self) {
        self.stop();
    }
}
