//! Tiers: bodies of versions in buckets of other services. Archives: versions that must be restored
//! before they are read.
//!
//! Lifecycle rules write a row for each version that is to move. A task ([`worker`]) reads the rows,
//! uploads the bodies in pieces and ends the rows; the store replaces the body of the version in one
//! transaction. Removed versions leave rows of remote objects, which the same task deletes. Reads of
//! a moved version come through [`remote`], and the store verifies every block of them.
//!
//! | Module | Content |
//! |---|---|
//! | `limits` | bounds of the work |
//! | `restores` | the task that ends restores |
//! | `remote` | the clients of tiers: reads, uploads with verification, deletions |
//! | `worker` | the task: moves, deletions, waits |
//!
//! The crate must not know requests to this server or where tiers are configured.

mod limits;
mod remote;
mod restores;
mod worker;

use std::sync::Arc;

use liteio_access::state::App;
use tokio::task::JoinHandle;

use self::remote::Remotes;
pub use self::remote::{TierFailure, is_tier_used, verify_tier};

/// The tasks of tiers and restores, which end when this is dropped.
#[derive(Debug)]
pub struct Tiering {
    moves: JoinHandle<()>,
    restores: JoinHandle<()>,
}

impl Tiering {
    /// Lets the store read from the tiers, and starts the tasks.
    #[must_use]
    pub fn start(app: &Arc<App>) -> Tiering {
        let remotes = Arc::new(Remotes::new(Arc::clone(&app.tiers)));
        app.store.set_tiers(Arc::clone(&remotes) as _);
        Tiering {
            moves: tokio::spawn(worker::run(Arc::clone(app), remotes)),
            restores: tokio::spawn(restores::run(Arc::clone(app))),
        }
    }

    /// Stops the tasks. What is in flight goes on after the next start.
    pub fn stop(&self) {
        self.moves.abort();
        self.restores.abort();
    }
}

impl Drop for Tiering {
    fn drop(&mut self) {
        self.stop();
    }
}
